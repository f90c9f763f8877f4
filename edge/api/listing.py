"""What may be chosen: models and voices."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from common.listing import MODEL, model_body, models_body, voices_body
from common.protocol.synthesis import unknown_model
from edge.api.deps import ServicePart

router = APIRouter()


@router.get("/v1/models")
async def list_models() -> dict[str, Any]:
    """List the models."""
    return models_body()


@router.get("/v1/models/{model}")
async def get_model(model: str) -> dict[str, Any]:
    """Show one model."""
    if model != MODEL:
        raise unknown_model(model)
    return model_body(model)


@router.get("/v1/audio/voices")
async def list_voices(service: ServicePart) -> dict[str, Any]:
    """List the voices that this box can let speak."""
    return voices_body(service.repertoire)
