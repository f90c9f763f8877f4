"""Every failure in one shape: ``{"error": {"message", "type", "param", "code"}}``."""

from __future__ import annotations

import logging

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from common.errors import Code, YaoheError
from common.leaving import CLIENT_LEFT, ClientGone

_log = logging.getLogger(__name__)

_CODES: dict[int, Code] = {404: "not_found", 405: "method_not_allowed"}


def install(app: FastAPI) -> None:
    """Teach an application to answer failures.

    Args:
        app: An application with ``state.metrics``.
    """
    app.add_exception_handler(YaoheError, _answer)
    app.add_exception_handler(HTTPException, _answer)
    app.add_exception_handler(ClientDisconnect, _nobody)
    app.add_exception_handler(ClientGone, _nobody)
    app.add_exception_handler(Exception, _answer)


async def _answer(request: Request, failure: Exception) -> JSONResponse:
    """The answer to a failure."""
    error = _as_ours(request, failure)
    request.app.state.metrics.errors.labels(error.code).inc()
    # Such as Allow, beside a refused method.
    headers = dict(getattr(failure, "headers", None) or {}) | error.headers
    utterance = getattr(request.state, "utterance", None)
    if utterance is not None:
        headers["X-Yaohe-Utterance"] = utterance
    return JSONResponse(error.as_body(), error.status, headers)


async def _nobody(request: Request, failure: Exception) -> Response:
    """What is sent to a client that has left: nothing that anybody reads."""
    return Response(status_code=CLIENT_LEFT)


def _as_ours(request: Request, failure: Exception) -> YaoheError:
    """Our error for any failure; what nobody foresaw is logged and not shown."""
    if isinstance(failure, YaoheError):
        return failure
    if isinstance(failure, HTTPException):
        code = _CODES.get(failure.status_code, "invalid_request")
        where = f"{request.method} {request.url.path}"
        return YaoheError(code, f"{where[:200]}: {failure.detail}")
    _log.error("unforeseen failure", exc_info=failure)
    return YaoheError("internal_error", "something went wrong here; it was logged")
