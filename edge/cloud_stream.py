"""What the policy asks of a cloud; a box without one has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from common.protocol.synthesis import SpeechRequest
from common.speech import Speech


class CloudStream(Protocol):
    """A way to let the cloud speak."""

    @property
    def is_up(self) -> bool:
        """Whether it is worth asking now."""

    @property
    def repertoire(self) -> Mapping[str, Sequence[str]]:
        """Voices that the cloud has, and the dialects that each speaks."""

    async def speak(
        self, request: SpeechRequest, utterance: str, deadline_s: float
    ) -> Speech:
        """Let the cloud begin to speak.

        Args:
            request: What to say.
            utterance: Its id.
            deadline_s: Seconds within which first audio is worth having.

        Returns:
            Speech of tier ``cloud`` whose first chunk has arrived.

        Raises:
            YaoheError: It cannot, or not in time.
        """
