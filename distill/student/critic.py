"""An adversary that tells the student's sound from the teacher's.

What lies between several true answers is what a distance asks for and what an ear
calls dull. The critic looks at spectrograms in two resolutions and says of each spot
whether a teacher made it (least squares, Mao et al., 2017); the student also learns to
look alike inside it (feature matching, Larsen et al., 2016). Strides keep it small.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

RESOLUTIONS = (512, 1024)
"""Windows of the spectrograms, in samples; hops are a quarter of them."""
CHANNELS = (16, 32, 48, 64)
RATE = 4e-4
"""Learning rate of the critic."""
SLOPE = 0.2
"""Of what is below zero."""
FLOOR = 1e-3
Views = list[list[Tensor]]
"""By resolution, what every layer saw; the last is the verdict on each spot."""


class Critic(nn.Module):
    """Judges sound, spot by spot; near 1 is a teacher's."""

    def __init__(self) -> None:
        """Build one stack of convolutions for each resolution."""
        super().__init__()
        self.stacks = nn.ModuleList(_stack() for _ in RESOLUTIONS)

    def forward(self, sound: Tensor) -> Views:
        """Judge.

        Args:
            sound: ``[batch, samples]``.

        Returns:
            What every layer saw.
        """
        views: Views = []
        for size, stack in zip(RESOLUTIONS, self.stacks, strict=True):
            spectrum = torch.stft(
                sound,
                size,
                size // 4,
                window=torch.hann_window(size),
                return_complex=True,
            )
            seen = torch.log(spectrum.abs() + FLOOR).unsqueeze(1)
            views.append([])
            for layer in stack:
                seen = layer(seen)
                views[-1].append(seen)
                seen = functional.leaky_relu(seen, SLOPE)
        return views


def _stack() -> nn.ModuleList:
    """Convolutions over bins and frames, each half as fine as the one before."""
    weigh = nn.utils.parametrizations.weight_norm
    layers: list[nn.Module] = []
    before = 1
    for channels in CHANNELS:
        kernel = 5 if before == 1 else 3
        layers.append(
            weigh(nn.Conv2d(before, channels, kernel, stride=2, padding=kernel // 2))
        )
        before = channels
    layers.append(weigh(nn.Conv2d(before, 1, 3, padding=1)))
    return nn.ModuleList(layers)


class Adversary:
    """A critic that learns beside the student.

    Attributes:
        critic: The critic.
    """

    def __init__(self) -> None:
        """Begin with a critic that knows nothing."""
        self.critic = Critic()
        self._optimizer = torch.optim.AdamW(
            self.critic.parameters(), lr=RATE, betas=(0.8, 0.99), weight_decay=0.01
        )

    def learn(self, ours: Tensor, theirs: Tensor) -> None:
        """Learn to tell two sounds apart.

        Args:
            ours: The student's sound ``[batch, samples]``; nothing flows back into it.
            theirs: The teacher's.
        """
        verdicts = zip(self.critic(ours.detach()), self.critic(theirs), strict=True)
        error = torch.stack(
            [
                (mine[-1] ** 2).mean() + ((true[-1] - 1) ** 2).mean()
                for mine, true in verdicts
            ]
        ).mean()
        # Also what flowed in while the student asked.
        self._optimizer.zero_grad()
        error.backward()
        self._optimizer.step()

    def opinion(self, ours: Tensor, theirs: Tensor) -> dict[str, Tensor]:
        """Say how far a student's sound is from a teacher's.

        Args:
            ours: The student's sound ``[batch, samples]``.
            theirs: The teacher's.

        Returns:
            ``verdict``, smaller where it took it for a teacher's, and ``likeness``,
            the mean distance inside it by how large a layer's values are.
        """
        mine = self.critic(ours)
        with torch.no_grad():
            true = self.critic(theirs)
        verdict = torch.stack([((views[-1] - 1) ** 2).mean() for views in mine]).mean()
        apart = [
            (a - b).abs().mean() / b.abs().mean().clamp(min=1e-3)
            for views, others in zip(mine, true, strict=True)
            for a, b in zip(views[:-1], others[:-1], strict=True)
        ]
        return {"verdict": verdict, "likeness": torch.stack(apart).mean()}

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps of it."""
        return {
            "critic": self.critic.state_dict(),
            "optimizer": self._optimizer.state_dict(),
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint.

        Args:
            state: From :meth:`state`.
        """
        self.critic.load_state_dict(state["critic"])
        self._optimizer.load_state_dict(state["optimizer"])
