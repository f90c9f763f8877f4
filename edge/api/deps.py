"""What the routes are given: the service that the application was built with."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Request

from edge.service import Service


async def _service(request: Request) -> Service:
    # Not a plain function: the framework would run that on a thread, each time.
    return cast(Service, request.app.state.service)


ServicePart = Annotated[Service, Depends(_service)]
