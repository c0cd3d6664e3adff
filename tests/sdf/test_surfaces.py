"""Surface properties that change the motion and that a scene does not have are reported, and have no fate "exact"."""

from __future__ import annotations

import pytest

import exoskel
from exoskel.fates import Fate
from tests.sdf.support import link, load_world


def keys_of(inside: str) -> list[str]:
    return [diagnostic.key for diagnostic in load_world(inside).scene.diagnostics]


def box(surface: str) -> str:
    return f'<collision name="c"><geometry><box><size>1 1 1</size></box></geometry><surface>{surface}</surface></collision>'


def mask(collide: str, category: str = "") -> str:
    category = f"<category_bitmask>{category}</category_bitmask>" if category else ""
    return f"<contact><collide_bitmask>{collide}</collide_bitmask>{category}</contact>"


def masks(*each: str, static: bool = False) -> str:
    head = "<static>true</static>" if static else ""
    models = (f'<model name="m{i}">{head}{link("l", box(one))}</model>' for i, one in enumerate(each))
    return "".join(models)


@pytest.mark.parametrize(
    "inside",
    [
        masks(mask("0x01"), mask("0x02")),
        masks(mask("0xf0"), mask("15")),
        masks(mask("1", "2"), mask("1", "2")),
        f'<model name="m">{link("a", box(mask("1")))}{link("b", box(mask("2")))}<self_collide>true</self_collide></model>',
    ],
    ids=["disjoint", "decimal", "categories", "in one model"],
)
def test_bitmasks_that_exclude_collisions_are_reported(inside: str) -> None:
    assert "SD082.bitmask" in keys_of(inside)
    report = exoskel.convert(f'<sdf version="1.11"><world name="w">{inside}</world></sdf>', to="mjcf")
    fates = [item for item in report.items if "_bitmask" in item.path]
    assert fates and all(item.loss and item.fate is Fate.DROPPED for item in fates)


@pytest.mark.parametrize(
    "inside",
    [
        masks(mask("0x03"), mask("0x02"), ""),
        masks(mask("1"), mask("2"), static=True),
        masks(mask("0"), mask("2")),
        masks(mask("1", "2"), mask("2", "1")),
        f'<model name="m">{link("a", box(mask("1")))}{link("b", box(mask("2")))}</model>',
    ],
    ids=["common bit", "static", "none", "categories", "in one model"],
)
def test_bitmasks_without_effect_are_not_reported(inside: str) -> None:
    assert keys_of(inside) == []


@pytest.mark.parametrize(
    ("tag", "value", "harmless"),
    [("fdir1", "1 0 0", "0 0 0"), ("slip1", "0.3", "0"), ("slip2", "0.1", "0.0")],
)
def test_friction_along_directions_is_reported(tag: str, value: str, harmless: str) -> None:
    for text, keys in ((value, ["SD082.motion"]), (harmless, [])):
        inside = masks(f"<friction><ode><mu>1</mu><{tag}>{text}</{tag}></ode></friction>")
        assert keys_of(inside) == keys
        document = f'<sdf version="1.11"><world name="w">{inside}</world></sdf>'
        report = exoskel.convert(document, to="mjcf")
        assert any(item.affects_motion for item in report.losses if item.path.endswith(tag)) == bool(keys)
        again = exoskel.convert(document, to="sdf")
        assert not again.losses
        assert f"<{tag}>".encode() in again.data


@pytest.mark.parametrize(("value", "keys"), [("true", ["SD082.motion"]), ("1", ["SD082.motion"]), ("false", [])])
def test_contacts_without_forces_are_reported(value: str, keys: list[str]) -> None:
    inside = masks(f"<contact><collide_without_contact>{value}</collide_without_contact></contact>")
    assert keys_of(inside) == keys
