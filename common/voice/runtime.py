"""The one place that knows onnxruntime: which provider, how many threads.

A wheel of the GPU runtime and one of the CPU runtime install into the same folder and
hide each other; :func:`describe` tells ``doctor`` what is really there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The runtime would write a device id into the home folder and report to its maker:
# a box speaks to nobody but its own chain. It reads this when it is imported.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime

from common.errors import YaoheError

Array = NDArray[Any]

PROVIDERS = {"cuda": "CUDAExecutionProvider", "cpu": "CPUExecutionProvider"}
"""Our name of a provider, and the runtime's, best first."""
DEFAULT_THREADS = 1
"""Threads of one session; several requests run side by side instead."""
LOG_ERRORS_ONLY = 3
"""Severity from which the runtime may print."""


class Session:
    """A loaded graph; safe to run from several threads at once."""

    def __init__(
        self,
        model: Path | bytes,
        *,
        provider: str = "cpu",
        threads: int = DEFAULT_THREADS,
    ) -> None:
        """Load a graph.

        Args:
            model: The file, or its bytes.
            provider: ``cpu`` or ``cuda``.
            threads: Threads inside one run.

        Raises:
            YaoheError: ``pack_invalid`` where the runtime cannot load the graph,
                ``voice_unavailable`` where it lacks the provider.
        """
        if PROVIDERS.get(provider) not in onnxruntime.get_available_providers():
            raise YaoheError(
                "voice_unavailable", f"this runtime has no {provider} provider"
            )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = LOG_ERRORS_ONLY
        # An arena that grows with the longest sentence would never shrink again.
        options.enable_cpu_mem_arena = False
        source = model if isinstance(model, bytes) else str(model)
        try:
            self._session = onnxruntime.InferenceSession(
                source, options, providers=[PROVIDERS[provider]]
            )
        except Exception as error:
            raise YaoheError(
                "pack_invalid", f"the runtime cannot load the graph: {error}"
            ) from error

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the graph's outputs in order."""
        return tuple(output.name for output in self._session.get_outputs())

    def run(self, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
        """Run the graph.

        Args:
            feeds: Arrays by input name.

        Returns:
            All outputs in order.
        """
        return tuple(
            np.asarray(value) for value in self._session.run(None, dict(feeds))
        )


@dataclass(frozen=True)
class Runtime:
    """What is installed.

    Attributes:
        version: Version of the runtime that Python imports.
        providers: Our names of the providers it offers, best first.
        distributions: Installed distributions that bring the runtime.
    """

    version: str
    providers: tuple[str, ...]
    distributions: tuple[str, ...]

    @property
    def has_clash(self) -> bool:
        """Whether two distributions overwrite each other."""
        return len(self.distributions) > 1


def describe() -> Runtime:
    """Say which runtime is installed and what it offers."""
    offered = set(onnxruntime.get_available_providers())
    found = []
    for name in ("onnxruntime", "onnxruntime-gpu"):
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        found.append(name)
    return Runtime(
        version=str(onnxruntime.__version__),
        providers=tuple(
            ours for ours, theirs in PROVIDERS.items() if theirs in offered
        ),
        distributions=tuple(found),
    )


def choose_provider(wanted: Sequence[str]) -> str:
    """Pick the best provider that both a pack and the runtime have.

    Args:
        wanted: Providers the pack has weights for.

    Returns:
        The provider; ``cpu`` is always there.
    """
    offered = describe().providers
    return next((name for name in offered if name in wanted), "cpu")
