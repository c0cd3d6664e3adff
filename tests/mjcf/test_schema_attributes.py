"""Attributes of MuJoCo's schema from MJCF to MJCF: kept, or reported as losses.

Each attribute is added to a document with the first value that changes the compiled model.  The list of attributes is
that of MuJoCo's own schema, so that none is forgotten.
"""

from __future__ import annotations

from functools import cache

import mujoco
import numpy as np
import pytest

import exoskel
from exoskel.fates import Fate
from tests.mjcf.model_fields import differing_fields, model_fields
from tests.mjcf.schema import schema
from tests.support.edits import edited

DOCUMENT = """<mujoco><option{option}><flag{flag}/></option><size nuser_geom="3" nuser_jnt="3" nuser_body="3"/><worldbody>
<geom name="floor" type="box" size="1 1 1" pos="0 0 -3"/>
<body name="b"{body}><joint name="j" range="-0.5 0.5" limited="true" frictionloss="0.1" stiffness="3"{joint}/>
<geom name="g" size="0.1 0.2 0.3" type="box"{geom}/><site name="s"{site}/><camera name="c"{camera}/><light name="l"{light}/>
</body></worldbody></mujoco>"""
PATHS = {
    "option": "option",
    "flag": "option/flag",
    "body": "(world)body",
    "joint": "(world)body/joint",
    "geom": "(world)body/geom",
    "site": "(world)body/site",
    "camera": "(world)body/camera",
    "light": "(world)body/light",
}
OBJECTS = {"body": "b", "joint": "j", "geom": "g", "site": "s", "camera": "c", "light": "l"}
PREFIXES = {"body": "body_", "joint": "jnt_", "geom": "geom_", "site": "site_", "camera": "cam_", "light": "light_"}
VALUES = (
    *("0.37", "2", "4", "1", "true", "false", "enable", "disable", "0.3 0.7", "0.01 0.9 0.002", "0.3 0.4 0.5"),
    *("0.3 0.4 0.5 0.6", "0.8 0.9 0.002 0.4 3", "0.1 0.2 0.3 0.4 0.5 0.6", "slide", "sphere", "ellipsoid", "RK4"),
    *("elliptic", "dense", "CG", "trackcom", "point", "depth", "orthographic"),
)
IN_ANOTHER_FORM = {
    ("joint", "actuatorfrcrange"): "as the range of a motor",
    ("joint", "actuatorfrclimited"): "as the range of a motor",
    ("joint", "limited"): "without a range",
    ("geom", "contype"): "as bits with which the same geoms collide",
    ("geom", "conaffinity"): "as bits with which the same geoms collide",
}
"""Attributes that a new document states in another form with the same effect."""


def document(element: str, attribute: str, value: str) -> str:
    parts = dict.fromkeys(PATHS, "") | {element: f' {attribute}="{value}"'}
    text = DOCUMENT.format(**parts)
    stated = f' {attribute}="{value}"'
    for own in ('range="-0.5 0.5"', 'limited="true"', 'frictionloss="0.1"', 'stiffness="3"', 'size="0.1 0.2 0.3"'):
        if own.startswith(f"{attribute}=") or (own.startswith('size="') and attribute == "fromto"):
            text = text.replace(f" {own}", "", 1)
    return (
        text
        if 'type="box"' not in text or attribute != "type" or element != "geom"
        else text.replace(f'type="box"{stated}', stated.strip())
    )


@cache
def base() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(DOCUMENT.format(**dict.fromkeys(PATHS, "")))


def first_effective(element: str, attribute: str) -> tuple[str, mujoco.MjModel] | None:
    """The document with the first value of an attribute that changes the compiled model."""
    for value in VALUES:
        text = document(element, attribute, value)
        try:
            model = mujoco.MjModel.from_xml_string(text)
        except ValueError:
            continue
        if differing_fields_or_sizes(base(), model):
            return text, model
    return None


def differing_fields_or_sizes(one: mujoco.MjModel, other: mujoco.MjModel) -> list[str]:
    mine, theirs = model_fields(one), model_fields(other)
    return [n for n in mine if not np.array_equal(np.asarray(mine[n]), np.asarray(theirs[n]), equal_nan=False)]


def own_values(model: mujoco.MjModel, element: str) -> dict[str, np.ndarray]:
    """The values of the object of an element, or of the options."""
    if element in ("option", "flag"):
        return {name: np.asarray(one) for name, one in model_fields(model).items() if name.startswith("opt.")}
    number = getattr(model, element)(OBJECTS[element]).id
    count = {"body": model.nbody, "joint": model.njnt, "geom": model.ngeom}.get(element)
    count = count if count is not None else {"site": model.nsite, "camera": model.ncam, "light": model.nlight}[element]
    found = {name: np.asarray(one) for name, one in model_fields(model).items() if name.startswith(PREFIXES[element])}
    skipped = ("adr", "num", "id", "simple", "bvh", "invweight", "aabb", "rbound", "sameframe")
    return {n: one[number] for n, one in found.items() if len(one) == count and not n.endswith(skipped)}


CASES = [(element, name) for element, path in PATHS.items() for name in schema()[path] if name not in ("name", "class")]


@pytest.mark.parametrize(("element", "attribute"), CASES, ids=[f"{one}-{name}" for one, name in CASES])
def test_attributes_are_kept_or_losses(element: str, attribute: str) -> None:
    found = first_effective(element, attribute)
    if found is None:  # it needs other elements, or has no effect on the model
        return
    text, before = found
    report = exoskel.convert(text, None, to="mjcf")
    assert report.losses == []
    assert differing_fields(before, mujoco.MjModel.from_xml_string(report.data.decode())) == []
    again = exoskel.convert(edited(text), None, to="mjcf")
    item = next(one for one in again.items if one.attribute == attribute and f"{element}[" in one.path)
    if item.fate not in (Fate.EXACT, Fate.KEPT):
        assert item.why
        return
    if (element, attribute) in IN_ANOTHER_FORM:
        return
    after = own_values(mujoco.MjModel.from_xml_string(again.data.decode()), element)
    plain = own_values(base(), element)
    for name, value in own_values(before, element).items():
        if not np.array_equal(plain[name], value):  # what the attribute sets
            assert after[name] == pytest.approx(value, rel=1e-9, abs=1e-12), (name, item.fate, item.why)


def test_most_attributes_are_tried() -> None:
    tried = [one for one in CASES if first_effective(*one) is not None]
    assert len(tried) > 0.7 * len(CASES), sorted(set(CASES) - set(tried))
