"""The ChatTTS package on the same machine: one request after another, or one list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cloud.engine.reference.client import PackageProcess, Spoken


def _steps_s(spoken: Spoken) -> tuple[float, int]:
    """Seconds and number of the steps between the prompt's and the last."""
    return spoken.steps[-1] - spoken.steps[1], len(spoken.steps) - 2


@dataclass(frozen=True)
class Served:
    """Requests that the package served one after another, with sound.

    Attributes:
        spoken: What each took, in order.
    """

    spoken: tuple[Spoken, ...]

    def rate(self, count: int) -> float:
        """Steps a second over the first requests, prompts and sound excluded."""
        taken = [_steps_s(each) for each in self.spoken[:count]]
        return sum(steps for _, steps in taken) / sum(seconds for seconds, _ in taken)

    def spent(self, count: int, *, has_prompts: bool) -> float:
        """Seconds until the first requests were served, sound included."""
        first = self.spoken[:count]
        prompts = 0.0 if has_prompts else sum(each.steps[1] for each in first)
        return sum(each.spent for each in first) - prompts


def serve(
    package: PackageProcess, texts: Sequence[str], speaker: str, steps: int
) -> Served:
    """Serve requests one after another, not streaming.

    Args:
        package: The package.
        texts: What each says.
        speaker: The voice.
        steps: Steps that each is made to take.

    Returns:
        What each took.
    """
    return Served(
        tuple(
            package.speak(
                [text],
                spk_emb=speaker,
                manual_seed=seed,
                min_new_token=steps,
                max_new_token=steps,
            )
            for seed, text in enumerate(texts)
        )
    )


def batch_rate(
    package: PackageProcess, texts: Sequence[str], speaker: str, steps: int
) -> float:
    """Steps of all texts a second when the package takes them as one list.

    Args:
        package: The package.
        texts: What is said; nobody may join.
        speaker: The voice.
        steps: Steps of each.

    Returns:
        The rate, prompts and sound excluded.
    """
    spoken = package.speak(
        texts,
        spk_emb=speaker,
        manual_seed=0,
        min_new_token=steps,
        max_new_token=steps,
    )
    seconds, count = _steps_s(spoken)
    return len(texts) * count / seconds
