"""Numbers given as options: a value out of range is refused before anything runs, with the option and the value."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Command

SCENE = "dart://sample/skel/pendulum.skel"
READING = ("--max-bytes", "--max-depth", "--max-elements", "--max-seconds")
POSITIVE = {
    "check": READING,
    "run": ("--step",),
    "compare": ("--time",),
    "rollout": ("--worlds", "--threads", "--workers", "--shard", "--stride"),
    "render": ("--rate",),
}
NOT_NEGATIVE = {
    "diff": ("--tolerance",),
    "run": ("--time", "--friction"),
    "compare": ("--friction",),
    "rollout": ("--time", "--friction", "--steps", "--seed"),
    "render": ("--time",),
    "view": ("--time", "--port"),
}
FILES = {
    "diff": (SCENE, SCENE),
    "render": (SCENE, "--out", "out.gif"),
    "view": (SCENE, "--no-browser"),
}


def _cases(options: dict[str, tuple[str, ...]], values: tuple[str, ...]) -> list[tuple[str, str, str]]:
    return [(command, option, value) for command, names in options.items() for option in names for value in values]


@pytest.mark.parametrize(
    ("command", "option", "value"),
    [
        *_cases(POSITIVE, ("0", "-1", "nan", "inf", "")),
        *_cases(NOT_NEGATIVE, ("-1", "nan", "inf", "text")),
        *_cases({"rollout": ("--threads",), "check": ("--max-depth",), "view": ("--port",)}, ("99999999999",)),
        *_cases({"render": ("--rate",)}, ("1e-308", "1e308")),
    ],
)
def test_numbers_out_of_range_are_refused_by_option_and_value(
    exoskel_command: Command, command: str, option: str, value: str
) -> None:
    ran = exoskel_command(command, *FILES.get(command, (SCENE,)), f"{option}={value}")
    assert (ran.code, ran.out) == (2, "")
    assert option in ran.err and value in ran.err and "internal error" not in ran.err


@pytest.mark.parametrize("values", [("0", "0", "nan"), ("1", "2", "inf"), ("1", "2", "text"), ("earth-x", "1", "2")])
@pytest.mark.parametrize("command", ["run", "compare", "rollout"])
def test_gravity_is_three_finite_numbers(exoskel_command: Command, command: str, values: tuple[str, ...]) -> None:
    ran = exoskel_command(command, SCENE, "--gravity", *values)
    given = " ".join(values[: 1 if values[0].startswith("earth") else 3])
    assert ran.code == 2
    assert ran.err == f"exoskel: --gravity must be three finite numbers, earth-y or earth-z, not {given}\n"


def test_values_in_messages_are_escaped(exoskel_command: Command) -> None:
    ran = exoskel_command("run", SCENE, "--gravity", "\x1b[31m", "[/red]", "0")
    assert "\x1b" not in ran.err and "[/red]" in ran.err
