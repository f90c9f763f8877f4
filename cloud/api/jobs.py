"""``/v1/jobs``: long texts spoken in the background, fetched when they are done."""

from __future__ import annotations

from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, Request
from fastapi.responses import FileResponse

from cloud.dispatch import Dispatch
from cloud.jobs.runner import JobRunner
from common.audio.containers import media_type
from common.body import parse_json, read_body
from common.errors import YaoheError
from common.protocol.synthesis import LongSpeechRequest, parse_long_speech

router = APIRouter()

_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": LongSpeechRequest.model_json_schema()}
        },
    }
}


async def _jobs(request: Request) -> JobRunner:
    return cast(JobRunner, request.app.state.jobs)


JobsPart = Annotated[JobRunner, Depends(_jobs)]


@router.post("/v1/jobs", status_code=202, openapi_extra=_BODY)
async def create_job(request: Request, jobs: JobsPart) -> dict[str, Any]:
    """Have a text of up to 20,000 characters spoken in the background."""
    asked = parse_long_speech(parse_json(await read_body(request.stream())))
    dispatch = cast(Dispatch, request.app.state.dispatch)
    # What nobody can speak is refused now, not found out later.
    dispatch.choose(asked)
    return jobs.submit(asked).body()


@router.get("/v1/jobs/{number}")
async def get_job(number: str, jobs: JobsPart) -> dict[str, Any]:
    """Say how far a job is."""
    return jobs.find(number).body()


@router.get("/v1/jobs/{number}/sound")
async def get_sound(number: str, jobs: JobsPart) -> FileResponse:
    """The finished sound of a job."""
    job = jobs.find(number)
    if job.path is None or job.state != "done":
        raise job.error or YaoheError(
            "not_ready", f"the job is {job.state}", retry_after_s=1
        )
    kind = media_type(job.request.response_format)
    return FileResponse(job.path, media_type=kind)


@router.delete("/v1/jobs/{number}", status_code=204)
async def delete_job(number: str, jobs: JobsPart) -> None:
    """Stop a job and delete its sound."""
    await jobs.remove(number)
