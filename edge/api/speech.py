"""``/v1/audio/speech`` and the receipts of what was spoken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from common.audio.containers import media_type
from common.body import parse_json, read_body
from common.leaving import unless_gone
from common.protocol.synthesis import SpeechRequest, parse_speech
from common.responses import Answer, speech_answer
from common.speech import new_utterance
from edge.api.answers import response
from edge.api.deps import ServicePart
from edge.service import Service

router = APIRouter()

_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": SpeechRequest.model_json_schema()}},
    }
}
_SOUND: dict[int | str, dict[str, Any]] = {
    200: {"description": "The sound.", "content": {"audio/mpeg": {}}}
}


@router.post("/v1/audio/speech", openapi_extra=_BODY, responses=_SOUND)
async def create_speech(request: Request, service: ServicePart) -> Response:
    """Speak a text, as the OpenAI speech API does."""
    request.state.utterance = new_utterance()
    values = parse_json(await read_body(request.stream()))
    return await _spoken(request, service, values, is_cacheable=False)


@router.get("/v1/audio/speech", responses=_SOUND)
async def get_speech(request: Request, service: ServicePart) -> Response:
    """Speak a text for devices that only know addresses; the query is the request."""
    request.state.utterance = new_utterance()
    values = dict(request.query_params)
    return await _spoken(request, service, values, is_cacheable=True)


@router.head("/v1/audio/speech", include_in_schema=False)
async def head_speech(request: Request, service: ServicePart) -> Response:
    """Say what a GET would answer; players ask before they listen."""
    return await get_speech(request, service)


@router.get("/v1/receipts/{utterance}")
async def get_receipt(utterance: str, service: ServicePart) -> dict[str, Any]:
    """Say what was read for an utterance of the last minutes, by whom, and why."""
    return service.receipts.find(utterance).as_dict()


async def _spoken(
    request: Request,
    service: Service,
    values: Mapping[str, object],
    *,
    is_cacheable: bool,
) -> Response:
    """Parse, speak and answer; a client that leaves stops it at any point."""
    asked = parse_speech(values)
    # A format that nobody can make must not cost a synthesis.
    media_type(asked.response_format)

    async def answered() -> Answer:
        speech = await service.speak(asked, request.state.utterance)
        answer = await speech_answer(
            asked,
            speech,
            range_header=request.headers.get("range"),
            if_none_match=request.headers.get("if-none-match"),
            if_range=request.headers.get("if-range"),
            cacheable=is_cacheable,
        )
        return await answer.head() if request.method == "HEAD" else answer

    return response(await unless_gone(request.receive, answered()), service.metrics)
