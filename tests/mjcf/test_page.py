"""The docs page about MJCF contains all codes and losses."""

from __future__ import annotations

import re

import pytest

from exoskel.formats.mjcf import losses
from exoskel.formats.mjcf.codes import CATALOGUE
from tests.support.places import PROJECT

PAGE = " ".join((PROJECT / "docs" / "mjcf.md").read_text(encoding="utf-8").split())


def test_the_docs_contain_all_codes() -> None:
    assert set(re.findall(r"MJ\d{3}", PAGE)) == set(CATALOGUE.topics)


REASONS = [
    *(reason for reason, *_ in (*losses._JOINTS, *losses._BODIES)),
    *losses._SHAPES,
    losses.ROTATED_AXES,
    losses.NO_BALL_MOTOR,
    losses.ROTATED_FRICTION,
]


@pytest.mark.parametrize("reason", REASONS)
def test_the_docs_contain_all_losses(reason: str) -> None:
    assert reason in PAGE
