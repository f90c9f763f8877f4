"""What the ChatTTS package computes for tiny random assets, as a small file.

    .venv/bin/python -m tests.tools.chattts_cases      # writes the file anew

The file lets the fast tests compare our engine with the package where the package is not
installed. Slow tests ask the package itself and hold the file against it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloud.engine.reference.client import PackageProcess

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-reference" / "bin" / "python"
"""Where ``make reference`` puts the package."""
GOLDEN = ROOT / "tests" / "unit" / "engine" / "golden" / "chattts-tiny.npz"

Arrays = dict[str, NDArray[Any]]

TEXTS = ("一丁七上下", "三万[uv_break]不与hello world[laugh]，丈。", "a")
STEPS, GREEDY = 12, 24
CODES = 625
"""Codes that do not end speech."""
SPARSE = 16
"""Of the logits every 16th is kept."""
SAMPLING: tuple[dict[str, Any], ...] = (
    {"temperature": 0.3, "top_p": 0.7, "top_k": 20, "penalty": 1.05},
    {"temperature": 1.0, "top_p": 0.9, "top_k": 40, "penalty": 1.3},
    {"temperature": 0.7, "top_p": 0.99, "top_k": 5, "penalty": 1.0},
    {"temperature": 2.0, "top_p": 0.05, "top_k": 1, "penalty": 2.0},
)


def forced(case: int, steps: int = STEPS) -> NDArray[np.int64]:
    """Codes that a text's steps are made to draw, [steps, 4]."""
    return np.random.default_rng(case).integers(0, CODES, (steps, 4))


def sampler_case(case: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Logits [4, 626] and a history [4, steps] with codes that come again."""
    rng = np.random.default_rng(100 + case)
    logits = (3 * rng.standard_normal((4, CODES + 1))).astype(np.float32)
    likely = np.argsort(logits, axis=1)[:, -12:]
    steps = (0, 7, 16, 40)[case]
    chosen = rng.integers(0, likely.shape[1], (4, steps))
    return logits, np.take_along_axis(likely, chosen, axis=1)


def ask(package: PackageProcess) -> Arrays:
    """Everything that is compared, as the package has it.

    Args:
        package: The package, with any assets.

    Returns:
        Arrays by name; logits are whole.
    """
    speaker = package.speaker(1)
    found: Arrays = {"speaker": np.array(speaker)}
    for case, text in enumerate(TEXTS):
        ids, embedded = package.prompt(text, spk_emb=speaker)
        trace = package.trace(text, forced(case), STEPS, spk_emb=speaker)
        greedy = package.trace(text, None, GREEDY, spk_emb=speaker).codes
        refined = package.trace(text, None, STEPS, refine=True)
        text_ids, _ = package.prompt(text, refine=True)
        named: Arrays = {
            "ids": ids,
            "embedded": embedded,
            "greedy": greedy.astype(np.int16),
            "hidden": trace.hidden,
            "logits": trace.logits,
            "text_ids": text_ids,
            "text_logits": refined.logits,
            "refined": refined.codes,
        }
        found |= {f"{name}{case}": array for name, array in named.items()}
    found["wave"] = package.decode(hidden=found["hidden0"])
    found["wave_of_codes"] = package.decode(codes=forced(0))
    for case, rules in enumerate(SAMPLING):
        logits, history = sampler_case(case)
        found[f"probabilities{case}"] = package.probabilities(logits, history, **rules)
    return found


def slim(found: Arrays) -> Arrays:
    """The same with fewer logits."""
    return {
        name: array[..., ::SPARSE] if "logits" in name else array
        for name, array in found.items()
    }


def main() -> None:
    """Ask the package about tiny assets and keep what it says."""
    # Whoever only wants the cases needs no safetensors.
    from tests.tools.make_random_assets import build

    with tempfile.TemporaryDirectory() as folder:
        package = PackageProcess(PYTHON, build(Path(folder), "tiny"), threads=1)
        found = slim(ask(package))
        package.close()
    GOLDEN.parent.mkdir(exist_ok=True)
    # Typing: a name may be any, keywords of savez_compressed are arrays alone.
    np.savez_compressed(GOLDEN, **found)  # type: ignore[arg-type]
    sys.stdout.write(f"{GOLDEN}: {GOLDEN.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
