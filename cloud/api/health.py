"""Is it alive, does it take work, what has it done."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from cloud.api.deps import DispatchPart, MetricsPart
from cloud.metrics import MEDIA_TYPE
from common.errors import YaoheError

router = APIRouter()


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz")
async def health(request: Request) -> dict[str, str]:
    """Say that the process works; fails once the engine could not be loaded."""
    failure = request.app.state.failure
    if failure is not None:
        raise YaoheError("not_ready", failure.message)
    return {"status": "ok"}


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz")
async def ready(dispatch: DispatchPart) -> dict[str, str]:
    """Say that requests are taken."""
    if not dispatch.engine.is_ready:
        raise YaoheError(
            "not_ready", "no engine takes requests yet, or any more", retry_after_s=1
        )
    return {"status": "ready", "engine": dispatch.engine.name}


@router.get("/metrics", include_in_schema=False)
async def metrics(parts: MetricsPart) -> Response:
    """Everything that was counted, in Prometheus' text form."""
    return Response(parts.exposition(), media_type=MEDIA_TYPE)
