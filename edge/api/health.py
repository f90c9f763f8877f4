"""Is it alive, does it speak, what has it done."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST

from common.errors import YaoheError
from edge.api.deps import ServicePart
from edge.service import RETRY_WHILE_LOADING_S

router = APIRouter()


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz")
async def health(service: ServicePart) -> dict[str, str]:
    """Say that the process works; fails once no voice could be loaded."""
    if service.failure is not None:
        raise YaoheError("not_ready", service.failure)
    return {"status": "ok"}


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz")
async def ready(service: ServicePart) -> dict[str, str]:
    """Say that a voice is loaded."""
    if not service.is_ready:
        raise YaoheError(
            "not_ready",
            service.failure or "the voice is still loading",
            retry_after_s=RETRY_WHILE_LOADING_S,
        )
    return {"status": "ready", "pack": service.packs.loaded[0].name}


@router.get("/metrics", include_in_schema=False)
async def metrics(service: ServicePart) -> Response:
    """Everything that was counted, in Prometheus' text format."""
    return Response(service.exposition(), media_type=CONTENT_TYPE_LATEST)
