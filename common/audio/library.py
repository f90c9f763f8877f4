"""The codecs that other libraries bring, loaded on first use.

A process that never encodes mp3 never loads LAME, and one without libopus still speaks
wav. What is missing is an ``unsupported_format`` that says what to install.
"""

from __future__ import annotations

import functools
import importlib
import warnings
from typing import Any

from common.errors import YaoheError


@functools.cache
def load(module: str, parts: tuple[str, ...], advice: str) -> Any:
    """Import a codec's module.

    Args:
        module: Name of the module.
        parts: Submodules that it does not import by itself.
        advice: What to do when it cannot be loaded, one sentence.

    Returns:
        The module.

    Raises:
        YaoheError: ``unsupported_format`` with the advice.
    """
    try:
        with warnings.catch_warnings():
            # opuslib compares with `is` against literals; that is not our caller's.
            warnings.simplefilter("ignore", SyntaxWarning)
            loaded = importlib.import_module(module)
            for part in parts:
                importlib.import_module(part)
    except Exception as error:
        # opuslib raises a plain Exception where its library is missing.
        raise YaoheError(
            "unsupported_format", advice, param="response_format"
        ) from error
    return loaded
