"""Every failure in one shape: ``{"error": {"message", "type", "param", "code"}}``."""

from __future__ import annotations

import logging
from typing import cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from common.complaint import sentence
from common.errors import Code, YaoheError
from common.leaving import CLIENT_LEFT, ClientGone
from edge.service import Service

log = logging.getLogger(__name__)

CODES: dict[int, Code] = {404: "not_found", 405: "method_not_allowed"}


def install(app: FastAPI) -> None:
    """Teach an application to answer failures.

    Args:
        app: An application with ``state.service``.
    """
    app.add_exception_handler(YaoheError, _answer)
    app.add_exception_handler(HTTPException, _answer)
    app.add_exception_handler(RequestValidationError, _answer)
    app.add_exception_handler(ClientDisconnect, _nobody)
    app.add_exception_handler(ClientGone, _nobody)
    app.add_exception_handler(Exception, _answer)


async def _answer(request: Request, failure: Exception) -> JSONResponse:
    error = _as_ours(request, failure)
    service = cast(Service, request.app.state.service)
    service.metrics.refusals.labels(error.code).inc()
    headers = dict(getattr(failure, "headers", None) or {}) | error.headers
    utterance = getattr(request.state, "utterance", None)
    if utterance is not None:
        headers["X-Yaohe-Utterance"] = utterance
    return JSONResponse(error.as_body(), error.status, headers)


async def _nobody(request: Request, failure: Exception) -> Response:
    service = cast(Service, request.app.state.service)
    service.metrics.abandoned.inc()
    return Response(status_code=CLIENT_LEFT)


def _as_ours(request: Request, failure: Exception) -> YaoheError:
    """Our error for any failure; what nobody foresaw is logged and not shown."""
    if isinstance(failure, YaoheError):
        return failure
    if isinstance(failure, HTTPException):
        code = CODES.get(failure.status_code, "invalid_request")
        where = f"{request.method} {request.url.path[:200]}"
        return YaoheError(code, f"{where}: {failure.detail}")
    if isinstance(failure, RequestValidationError):
        first = failure.errors()[0]
        param = str(first["loc"][-1]) if first["loc"] else None
        return YaoheError("invalid_request", f"{param}: {sentence(first)}", param=param)
    log.error("unforeseen failure", exc_info=failure)
    return YaoheError("internal_error", "something went wrong here; it was logged")
