"""Recipes: what they may say, and what a wrong one is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from common.errors import YaoheError
from distill.recipe import STAGES, Recipe, load_recipe, parse_recipe, shipped

TEXT = """
name: small
seed: 1
voices: {woman: {teacher: zf_xiaoxiao, speaker: 0}}
corpus: {name: small, sentences: 3}
stages:
  acoustic: {steps: 1}
  masks: {steps: 1}
  joint: {steps: 1}
"""


def test_every_shipped_recipe_is_one() -> None:
    assert {"shop", "tiny"} <= set(shipped())
    for name in shipped():
        recipe = load_recipe(name)
        assert recipe.name == name
        taught = {"joint"} if recipe.start else set(STAGES)
        assert taught <= set(recipe.stages) <= set(STAGES)
        assert recipe.packs


def test_the_first_voice_is_a_woman_and_a_man_in_one_training_and_a_pack_each() -> None:
    recipe = load_recipe("shop")
    assert {name: v.speaker for name, v in recipe.voices.items()} == {
        "woman": 0,
        "man": 1,
    }
    own = [plan for plan in recipe.packs.values() if plan.base is None]
    assert [plan.voices for plan in own] == [["woman"], ["man"]]
    standing = {
        (plan.base, plan.dialect): plan.voices
        for plan in recipe.packs.values()
        if plan.base is not None
    }
    assert standing == {
        (f"yaohe-{voice}", dialect): [voice]
        for voice in ("woman", "man")
        for dialect in ("sc", "gd")
    }


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"dialect": "sc"}, "belong together"),
        ({"base": "small"}, "belong together"),
        ({"dialect": "sc", "base": "nothing"}, "no pack to stand on"),
        ({"dialect": "sc", "base": "small-gd"}, "no pack to stand on"),
        ({"dialect": "zz", "base": "small"}, "dialect"),
        ({"dialect": "sc", "base": "small", "voices": ["man"]}, "no voice man"),
    ],
)
def test_a_dialect_pack_stands_on_a_pack_of_the_recipe(
    wrong: dict[str, object], why: str
) -> None:
    plan: dict[str, object] = {
        "voices": ["woman"],
        "version": "1.0.0",
        "golden": ["欢迎光临。"],
    }
    packs = {
        "small": plan,
        "small-gd": {**plan, "dialect": "gd", "base": "small"},
        "wrong": {**plan, **wrong},
    }
    with pytest.raises(YaoheError, match=why):
        parse_recipe(f"{TEXT}\npacks: {json.dumps(packs, ensure_ascii=False)}")
    del packs["wrong"]
    assert parse_recipe(f"{TEXT}\npacks: {json.dumps(packs)}").packs["small-gd"].base


@pytest.mark.parametrize(
    ("was", "now", "field"),
    [
        ("seed: 1", "sed: 1", "seed"),
        ("seed: 1", "seed: many", "seed"),
        ("seed: 1", "seed: -1", "seed"),
        ("speaker: 0", "speaker: 99", "voices.woman.speaker"),
        ("speaker: 0", "speaker: 0, colour: red", "voices.woman.colour"),
        ("sentences: 3", "sentences: 0", "corpus.sentences"),
        ("  joint: {steps: 1}", "", "stage joint"),
        ("joint: {steps: 1}", "joint: {steps: 0}", "stages.joint.steps"),
        ("joint: {steps: 1}", "dessert: {steps: 1}", "stages"),
        ("name: small", "name: ../up", "name"),
        ("seed: 1", "seed: 1\nteacher: nobody", "teacher"),
        ("seed: 1", "seed: 1\nteacher: chattts", "takes characters"),
        ("seed: 1", "seed: 1\nquality: {least_voiced: 2}", "quality.least_voiced"),
    ],
)
def test_a_wrong_field_is_named(was: str, now: str, field: str) -> None:
    assert was in TEXT
    with pytest.raises(YaoheError) as caught:
        parse_recipe(TEXT.replace(was, now))
    assert caught.value.code == "invalid_request"
    assert field in caught.value.message


@pytest.mark.parametrize("text", ["", "[1, 2]", "a: [", "- - -", "\x00", "name: 1"])
def test_what_is_no_recipe_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(YaoheError) as caught:
        parse_recipe(text)
    assert "\n" not in caught.value.message


def test_two_voices_cannot_share_a_slot() -> None:
    more = "{woman: {teacher: a, speaker: 0}, man: {teacher: b, speaker: 0}}"
    text = TEXT.replace("{woman: {teacher: zf_xiaoxiao, speaker: 0}}", more)
    with pytest.raises(YaoheError, match="share a speaker slot"):
        parse_recipe(text)


def test_a_pack_holds_only_voices_of_the_recipe() -> None:
    pack = "packs: {p: {voices: [child], version: 1.0.0, golden: [好]}}\n"
    with pytest.raises(YaoheError, match="no voice child"):
        parse_recipe(TEXT + pack)


def test_a_missing_recipe_names_the_shipped_ones(tmp_path: Path) -> None:
    with pytest.raises(YaoheError) as caught:
        load_recipe(str(tmp_path / "none.yaml"))
    assert caught.value.code == "not_found"
    assert "tiny" in caught.value.message


def test_only_what_shapes_a_corpus_changes_its_digest() -> None:
    recipe = parse_recipe(TEXT)

    def digest(**changes: object) -> str:
        return Recipe.model_validate(recipe.model_dump() | changes).corpus_digest

    assert digest(name="other", size="tiny", noise_seed=5) == recipe.corpus_digest
    assert digest(seed=2) != recipe.corpus_digest
    assert digest(corpus={"name": "small", "sentences": 4}) != recipe.corpus_digest
    assert digest(corpus={"name": "other", "sentences": 3}) == recipe.corpus_digest
