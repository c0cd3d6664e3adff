"""The docs page about MJCF contains all codes and losses."""

from __future__ import annotations

import re

import pytest

from exoskel.formats.mjcf.codes import CATALOGUE
from tests.support.places import PROJECT

PAGE = " ".join((PROJECT / "docs" / "mjcf.md").read_text(encoding="utf-8").split())


def test_the_docs_contain_all_codes() -> None:
    assert set(re.findall(r"MJ\d{3}", PAGE)) == set(CATALOGUE.topics)


REASONS = {key: message.text for key, message in CATALOGUE.messages.items() if key >= "MJ5"}


@pytest.mark.parametrize("key", REASONS)
def test_the_docs_contain_all_losses(key: str) -> None:
    assert (
        REASONS[key].replace("{program}", "…").replace("{reason}", "…").replace("{name}", "…").replace("{what}", "…")
        in PAGE
    )
