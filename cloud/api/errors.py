"""Every failure in one shape: ``{"error": {"message", "type", "param", "code"}}``."""

from __future__ import annotations

import logging

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from common.errors import Code, YaoheError

_log = logging.getLogger(__name__)

_CODES: dict[int, Code] = {404: "not_found", 405: "method_not_allowed"}


def install(app: FastAPI) -> None:
    """Teach an application to answer failures.

    Args:
        app: An application with ``state.metrics``.
    """
    app.add_exception_handler(YaoheError, _answer)
    app.add_exception_handler(HTTPException, _answer)
    app.add_exception_handler(Exception, _answer)


async def _answer(request: Request, failure: Exception) -> JSONResponse:
    """The answer to a failure."""
    error = _as_ours(request, failure)
    request.app.state.metrics.errors.labels(error.code).inc()
    headers = error.headers
    utterance = getattr(request.state, "utterance", None)
    if utterance is not None:
        headers["X-Yaohe-Utterance"] = utterance
    return JSONResponse(error.as_body(), error.status, headers)


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
