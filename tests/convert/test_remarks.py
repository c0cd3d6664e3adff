"""What a reader could not take as it stands is no better in the account, and `convert` says so."""

from __future__ import annotations

import pytest

import exoskel
from exoskel.convert.report import Refused
from exoskel.diagnostics import Severity
from exoskel.fates import NodeFate
from exoskel.formats import registry

BALL = '<geom type="sphere" size=".2"/>'


def mjcf(joint: str, body: str = "", rest: str = "") -> str:
    return f'<mujoco><worldbody><body name="a" {body}>{joint}{BALL}</body></worldbody>{rest}</mujoco>'


def losses(text: str, to: str) -> dict[str, NodeFate]:
    """The losses of a conversion by the last steps of their paths; a strict one is refused if there are any."""
    report = exoskel.convert(text, None, to=to)
    if report.losses:
        with pytest.raises(Refused):
            exoskel.convert(text, None, to=to, strict=True)
    return {item.path.rpartition("/")[2]: item for item in report.losses}


@pytest.mark.parametrize("to", ["skel", "mjcf"])
@pytest.mark.parametrize(
    ("text", "spot", "code"),
    [
        (mjcf('<joint name="r"/>', 'gravcomp="0.4"'), "@gravcomp", "MJ305"),
        (mjcf('<joint name="r" type="ball" range="0 40"/>'), "@range", "MJ304"),
        (mjcf('<joint name="r" damping="1 2 3"/>'), "@damping", "MJ303"),
        (mjcf('<joint name="r" armature="0.5"/>'), "@armature", "MJ302"),
        (
            mjcf('<joint class="c"/>', rest='<default><default class="c"><joint armature="1"/></default></default>'),
            "joint[1]",
            "MJ302",
        ),
    ],
)
def test_what_is_not_read_as_it_stands_is_a_loss(text: str, spot: str, code: str, to: str) -> None:
    found = losses(text, to)
    assert spot in found, found
    assert code in found[spot].why


def test_notes_are_no_losses() -> None:
    plane = '<geom type="plane" size="0 0 .1" solref=".01 1"/>'
    assert losses(f"<mujoco><worldbody>{plane}<body><freejoint/>{BALL}</body></worldbody></mujoco>", "mjcf") == {}


def test_old_spellings_are_no_losses() -> None:
    text = """<skel version="1.0"><world name="w"><skeleton name="s"><body name="b"><inertia><mass>1</mass></inertia>
    <collision_shape><geometry><cylinder><radius>1</radius><length>2</length></cylinder></geometry></collision_shape>
    </body></skeleton></world></skel>"""
    assert [d.key for d in exoskel.load(text).diagnostics if d.severity is Severity.WARNING] == ["SK074", "SK069"]
    assert losses(text, "skel") == {}


@pytest.mark.parametrize("name", ["skel", "xode", "urdf", "sdf", "mjcf"])
def test_the_tables_of_findings_name_findings_that_there_are(name: str) -> None:
    source = registry.by_name(name)
    keys = list(source.part("codes", "CATALOGUE").messages)
    for table in ("NO_EFFECT", "STILL_USED", "READ_IN_FULL", "SPEAKS_OF"):
        unknown = [start for start in source.part("feeds", table) if not any(key.startswith(start) for key in keys)]
        assert unknown == []
