"""Our ChatTTS engine computes what the ChatTTS package computes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

torch = pytest.importorskip("torch", reason="it comes with the extra engine")
pytest.importorskip("safetensors", reason="it comes with the extra engine")

from cloud.engine.chattts import assets, sampler  # noqa: E402
from cloud.engine.chattts.request import Request  # noqa: E402
from cloud.engine.chattts.runner import Runner  # noqa: E402
from cloud.engine.chattts.sampler import Draws, Sampling  # noqa: E402
from cloud.engine.chattts.scheduler import Scheduler  # noqa: E402
from cloud.engine.chattts.sequence import MARKUP, Prompt, Tokenizer  # noqa: E402
from cloud.engine.chattts.stream import Vocoder  # noqa: E402
from cloud.engine.reference.client import PackageProcess  # noqa: E402
from tests.tools import chattts_cases as cases  # noqa: E402
from tests.tools.kept_assets import kept  # noqa: E402
from tests.tools.make_random_assets import build  # noqa: E402

if TYPE_CHECKING:
    from torch import Tensor

pytestmark = pytest.mark.slow

EXACT = 1e-4
"""Logits and hidden states: the package differs from itself by 2e-5 in a batch."""
SOUND = 1e-5


@dataclass
class Both:
    """What the package said, and ours with the same weights."""

    said: cases.Arrays
    loaded: assets.Assets
    runner: Runner
    tokenizer: Tokenizer

    @property
    def is_slim(self) -> bool:
        return bool(self.said["logits0"].shape[-1] < self.runner.shape.codes)

    def seen(self, logits: NDArray[Any]) -> NDArray[Any]:
        return logits[..., :: cases.SPARSE] if self.is_slim else logits


def both(folder: Path, said: cases.Arrays) -> Both:
    loaded = assets.load(folder)
    runner = Runner(loaded, budget_bytes=64 << 20)
    return Both(said, loaded, runner, Tokenizer(loaded.tokenizer))


def asked(folder: Path) -> cases.Arrays:
    package = PackageProcess(cases.PYTHON, folder, threads=2)
    try:
        return cases.ask(package)
    finally:
        package.close()


@pytest.fixture(
    scope="module",
    params=[
        "golden",
        "tiny",
        "full",
    ],
)
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Both]:
    """The package's golden answers, or its answers for tiny and full assets."""
    if request.param == "full":
        folder = kept("full")
        yield both(folder, asked(folder))
        return
    folder = build(tmp_path_factory.mktemp("assets"), "tiny")
    if request.param == "tiny":
        yield both(folder, asked(folder))
        return
    with np.load(cases.GOLDEN) as golden:
        yield both(folder, dict(golden))


def ran(
    pair: Both,
    case: int,
    *,
    codes: NDArray[Any] | None = None,
    steps: int = 0,
    is_text: bool = False,
) -> tuple[NDArray[Any], NDArray[Any], list[tuple[int, ...]]]:
    """Hidden states, logits and codes of a request that is forced, or greedy."""
    scores: list[Tensor] = []

    def choose(logits: Tensor, rows: Sequence[Draws]) -> list[list[int]]:
        scores.append(logits[0].clone())
        if codes is not None:
            return [codes[len(scores) - 1].tolist()]
        return sampler.sample(logits, rows)

    steps = steps if codes is None else len(codes)
    rules = Sampling(0.0, repetition_penalty=1.0, min_steps=steps, max_steps=steps)
    scheduler = Scheduler(pair.runner, choose=choose, prompt_tokens=3)
    if is_text:
        prompt = Prompt(pair.said[f"text_ids{case}"].tolist())
        end = pair.tokenizer.refined_end
        scheduler.submit(Request(prompt, sampling=rules, text_end=end))
    else:
        prompt = Prompt(pair.said[f"ids{case}"].tolist())
        ticket = scheduler.submit(Request(prompt, sampling=rules))
        # The package rounds the speaker's direction to half floats; this compares what
        # comes after it.
        ticket.inputs = torch.from_numpy(pair.said[f"embedded{case}"])
    made = []
    while scheduler.is_busy:
        made.extend(scheduler.step())
    hidden = torch.stack([one.hidden for one in made if one.hidden is not None])
    drawn = [one.codes for one in made]
    return hidden.numpy(), torch.stack(scores).numpy(), drawn


@pytest.mark.parametrize("case", range(len(cases.TEXTS)))
def test_hidden_states_and_logits_are_the_packages_under_forced_codes(
    pair: Both, case: int
) -> None:
    hidden, logits, _ = ran(pair, case, codes=cases.forced(case))
    np.testing.assert_allclose(hidden, pair.said[f"hidden{case}"], atol=EXACT, rtol=0)
    expected = pair.said[f"logits{case}"]
    np.testing.assert_allclose(pair.seen(logits), expected, atol=EXACT, rtol=0)


@pytest.mark.parametrize("case", range(len(cases.TEXTS)))
def test_the_most_probable_codes_are_the_packages(pair: Both, case: int) -> None:
    _, _, drawn = ran(pair, case, steps=cases.GREEDY)
    np.testing.assert_array_equal(drawn, pair.said[f"greedy{case}"])


@pytest.mark.parametrize("case", range(len(cases.TEXTS)))
def test_a_prompts_embedding_is_the_packages(pair: Both, case: int) -> None:
    ids = pair.said[f"ids{case}"].tolist()
    expected = pair.said[f"embedded{case}"]
    speaker = torch.from_numpy(expected[1])
    ours = pair.runner.embed_prompt(ids, 1, speaker).numpy()
    np.testing.assert_allclose(ours, expected, atol=EXACT, rtol=0)
    others = [index for index in range(len(ids)) if index != 1]
    np.testing.assert_array_equal(ours[others], expected[others])


@pytest.mark.parametrize(("case", "text"), list(enumerate(cases.TEXTS)))
def test_tokens_of_prompts_are_the_packages(pair: Both, case: int, text: str) -> None:
    for name, character in MARKUP.items():
        text = text.replace(name, character)
    words = pair.tokenizer.words(text, has_markup=True)
    speech, refinement = pair.tokenizer.speech(words), pair.tokenizer.refinement(words)
    np.testing.assert_array_equal(speech.ids, pair.said[f"ids{case}"])
    np.testing.assert_array_equal(refinement.ids, pair.said[f"text_ids{case}"])
    assert speech.speaker_at == 1


@pytest.mark.parametrize("case", range(len(cases.TEXTS)))
def test_refined_text_is_the_packages(pair: Both, case: int) -> None:
    _, logits, drawn = ran(pair, case, steps=cases.STEPS, is_text=True)
    expected = pair.said[f"text_logits{case}"]
    np.testing.assert_allclose(pair.seen(logits), expected, atol=EXACT, rtol=0)
    written = np.array(drawn)[:, 0]
    np.testing.assert_array_equal(written, pair.said[f"refined{case}"])


def test_sound_of_hidden_states_is_the_packages(pair: Both) -> None:
    hidden = torch.from_numpy(pair.said["hidden0"])
    ours = Vocoder(pair.loaded).whole(hidden)
    np.testing.assert_allclose(ours, pair.said["wave"], atol=SOUND, rtol=0)
    assert np.abs(ours).max() > 100 * SOUND


def test_sound_of_codes_is_the_packages(pair: Both) -> None:
    codes = torch.from_numpy(cases.forced(0))
    ours = Vocoder(pair.loaded, from_codes=True).whole(codes)
    np.testing.assert_allclose(ours, pair.said["wave_of_codes"], atol=SOUND, rtol=0)
    assert np.abs(ours).max() > 100 * SOUND


@pytest.mark.parametrize("case", range(len(cases.SAMPLING)))
def test_a_share_of_chance_draws_the_code_that_the_package_gives_it(
    pair: Both, case: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Just inside both ends of each kept code's share of the whole."""
    rules, (logits, history) = cases.SAMPLING[case], cases.sampler_case(case)
    said = pair.said[f"probabilities{case}"].astype(np.float64)
    ours = Sampling(
        temperature=rules["temperature"],
        top_p=rules["top_p"],
        top_k=rules["top_k"],
        repetition_penalty=rules["penalty"],
    )
    row = Draws.begin(ours, seed=0, end=cases.CODES)
    row.codes.extend(history.T.tolist())
    order = np.argsort(-said, axis=1)
    ends = np.cumsum(np.take_along_axis(said, order, axis=1), axis=1)
    ends /= ends[:, -1:]
    most = int((said > 0).sum(1).max())
    assert most >= 3
    for rank in range(most):
        begins = ends[:, rank - 1] if rank else np.zeros(len(ends))
        for share in (begins + SOUND, ends[:, rank] - SOUND):
            chance = torch.from_numpy(np.clip(share, 0, 1 - 1e-12))
            monkeypatch.setattr(torch, "rand", lambda *_, c=chance, **__: c)
            drawn = sampler.sample(torch.from_numpy(logits)[None], [row])[0]
            monkeypatch.undo()
            is_wide = ends[:, rank] - begins > 3 * SOUND
            np.testing.assert_array_equal(
                np.array(drawn)[is_wide], order[:, rank][is_wide]
            )


def test_the_golden_file_is_what_the_package_says(tmp_path: Path) -> None:
    said = cases.slim(asked(build(tmp_path, "tiny")))
    with np.load(cases.GOLDEN) as golden:
        assert set(golden) == set(said)
        for name, kept_array in golden.items():
            if kept_array.dtype.kind == "f":
                np.testing.assert_allclose(said[name], kept_array, atol=EXACT, rtol=0)
            else:
                np.testing.assert_array_equal(said[name], kept_array, name)
