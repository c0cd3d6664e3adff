"""Pages send actions to the viewer as text; what is not an action is ignored."""

from __future__ import annotations

from typing import Any

import pytest

from exoskel.view.page import PageScript

Action = tuple[int, str, str]


def actions(value: Any) -> list[Action]:
    """The actions that the viewer takes from a value that page 3 sends."""
    found: list[Action] = []
    script = PageScript.__new__(PageScript)
    script._received = lambda client, action, value: found.append((client, action, value))
    script._receive(3, value)
    return found


def test_an_action_has_a_name_and_a_value() -> None:
    assert actions('["1 0.5", "select", "body 2"]') == [(3, "select", "body 2")]


@pytest.mark.parametrize(
    "value",
    [
        "",
        "5",
        "null",
        "{}",
        '["1", "select"]',
        '["1", "select", 7]',
        '["1", ["select"], ""]',
        "[" * 1000,
        "[" * 100_000,
        '"' * 5000,
        "\ud800",
        7,
        None,
        ["1", "select", ""],
    ],
)
def test_other_messages_are_ignored(value: Any) -> None:
    assert actions(value) == []
