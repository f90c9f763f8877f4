"""The fleet over HTTP: a new box enrols, any box may fetch a blob by its digest."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import APIRouter, Depends, Request
from fastapi.responses import FileResponse, Response
from starlette.concurrency import run_in_threadpool

from cloud.fleet.office import Office
from common.body import read_body
from common.protocol import reports

router = APIRouter()

A_YEAR_S = 365 * 24 * 3600


def _office(request: Request) -> Office:
    return cast(Office, request.app.state.office)


OfficePart = Annotated[Office, Depends(_office)]


@router.post("/v1/enrol")
async def enrol(request: Request, office: OfficePart) -> Response:
    """Make a box with a claim code one of the chain."""
    asked = reports.decode(reports.EnrolRequest, await read_body(request.stream()))
    answer = await run_in_threadpool(office.enrol, asked)
    return Response(reports.encode(answer), media_type="application/json")


@router.get("/v1/blobs/{digest}")
async def blob(digest: str, office: OfficePart) -> Response:
    """Send a blob; ranges are answered, and its name never means anything else."""
    path = await run_in_threadpool(office.blobs.path, digest)
    return FileResponse(
        path,
        media_type="application/octet-stream",
        headers={
            "ETag": f'"{digest}"',
            "Cache-Control": f"public, max-age={A_YEAR_S}, immutable",
        },
    )
