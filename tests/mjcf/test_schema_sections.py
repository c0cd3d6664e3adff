"""Attributes of assets, tendons, actuators, sensors, constraints and settings from MJCF to MJCF: kept, or losses.

Each attribute of MuJoCo's own schema is added to a document with the first value that changes the compiled model.
"""

from __future__ import annotations

from functools import cache

import mujoco
import numpy as np
import pytest

import exoskel
from exoskel.fates import Fate
from tests.mjcf.model_fields import model_fields
from tests.mjcf.schema import schema
from tests.support.edits import edited

BODIES = """<worldbody><geom name="floor" type="box" size="1 1 1" pos="0 0 -3"/>
<body name="b"><joint name="j" axis="0 1 0"/><geom name="g" size="0.1 0.2 0.3" type="box"/><site name="s"/>
<camera name="c" resolution="8 8"/>
<body name="d" pos="0 0 1"><joint name="k" type="slide" axis="1 0 0"/><geom name="h" size="0.1" material="m"/>
<site name="t" size="0.1"/><body name="e" pos="0 0 0.5"><joint name="l" axis="1 0 0"/><geom name="i" size="0.1"/></body>
</body></body>
<body name="n" pos="3 0 0"><freejoint/><geom name="o" size="0.1"/></body></worldbody>"""
ASSETS = """<texture name="z" type="skybox" builtin="flat" width="4" height="4"/><texture name="x" type="2d" builtin="flat" width="4" height="4"/><material name="m" texture="x"/>"""
_JOINTS = {f"actuator/{tag}": f'<{tag} name="a" joint="j"/>' for tag in ("motor", "position", "velocity")}
_JOINTS |= {f"actuator/{tag}": f'<{tag} name="a" joint="j"/>' for tag in ("general", "cylinder")}
_SENSORS = {
    **dict.fromkeys(("touch", "accelerometer", "force", "rangefinder"), 'site="t"'),
    **dict.fromkeys(("jointpos", "jointactuatorfrc"), 'joint="j"'),
    "tendonvel": 'tendon="f"',
    "actuatorfrc": 'actuator="q"',
    **dict.fromkeys(("framepos", "framelinvel"), 'objtype="site" objname="t"'),
    "subtreecom": 'body="d"',
    "distance": 'geom1="g" geom2="o"',
    **dict.fromkeys(("clock", "e_kinetic"), ""),
    "camprojection": 'site="t" camera="c"',
    "insidesite": 'site="t" objtype="geom" objname="o"',
}
ELEMENTS = {
    "asset/material": '<material name="y"/>',
    "asset/texture": '<texture name="y" type="2d" builtin="checker" width="4" height="4"/>',
    "tendon/fixed": '<fixed name="y"><joint joint="j" coef="1"/></fixed>',
    "tendon/spatial": '<spatial name="y"><site site="s"/><site site="t"/></spatial>',
    **_JOINTS,
    "actuator/intvelocity": '<intvelocity name="a" joint="j" actrange="-1 1"/>',
    "actuator/damper": '<damper name="a" joint="j" ctrlrange="0 1"/>',
    "actuator/dcmotor": '<dcmotor name="a" joint="j" motorconst="0.1" resistance="2"/>',
    "actuator/muscle": '<muscle name="a" joint="j" lengthrange="-1 1"/>',
    "actuator/adhesion": '<adhesion name="a" body="d" ctrlrange="0 1"/>',
    **{f"sensor/{tag}": f'<{tag} name="a" {target}/>' for tag, target in _SENSORS.items()},
    "equality/connect": '<connect name="a" body1="e" body2="n" anchor="0 0 0"/>',
    "equality/weld": '<weld name="a" body1="e" body2="n"/>',
    "equality/joint": '<joint name="a" joint1="j" joint2="l"/>',
    "equality/tendon": '<tendon name="a" tendon1="f" tendon2="w"/>',
    "contact/pair": '<pair name="a" geom1="g" geom2="o"/>',
    "contact/exclude": '<exclude name="a" body1="b" body2="n"/>',
    "custom/numeric": '<numeric name="a" data="1 2"/>',
    "custom/text": '<text name="a" data="words"/>',
    **{f"visual/{tag}": f"<{tag}/>" for tag in ("global", "quality", "headlight", "map", "scale", "rgba")},
    "statistic": "<statistic/>",
    "compiler": "<compiler/>",
    "size": "<size/>",
    "asset/mesh": '<mesh name="y" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>',
    "asset/hfield": '<hfield name="y" nrow="3" ncol="3" size="1 1 1 1" elevation="0 1 0 1 2 1 0 1 0"/>',
    "deformable/skin": """<skin name="y" vertex="0 0 0 1 0 0 0 1 0" face="0 1 2"><bone body="d" bindpos="0 0 0"
      bindquat="1 0 0 0" vertid="0 1 2" vertweight="1 1 1"/></skin>""",
    "keyframe/key": '<key name="y"/>',
}
BODIES_OF = {
    "asset/mesh": '<body pos="0 3 0"><geom type="mesh" mesh="y"/></body>',
    "asset/hfield": '<geom type="hfield" hfield="y" pos="0 0 -5"/>',
}
"""Bodies that use an element."""
if "actuator/pid" in schema():  # from MuJoCo 4 on
    ELEMENTS["actuator/pid"] = '<pid name="a" joint="j" kp="2"/>'
COMMON = {
    "asset": ASSETS,
    "tendon": '<fixed name="f"><joint joint="k" coef="1"/></fixed><fixed name="w"><joint joint="l" coef="1"/></fixed>',
    "actuator": '<motor name="q" joint="k"/>',
}
VALUES = (
    *(
        "0.37",
        "2",
        "4",
        "1",
        "true",
        "false",
        "0.3 0.7",
        "0.01 0.9",
        "0.01 0.9 0.002",
        "0.3 0.4 0.5",
        "0.3 0.4 0.5 0.6",
    ),
    *("0.8 0.9 0.002 0.4 3", "0.1 0.2 0.3 0.4 0.5 0.6", "1 2 3 4 5", "integrator", "affine", "none", "random", "edge"),
    *("gradient", "cube", "sRGB", "x", "m", "b", "e", "n", "s", "t", "site", "body", "xbody", "joint", "degree"),
    *("0.1 0.2 0.3 0.1 0.2 0.3 0.1 0.2 0.3 1", "0.1 0.2 0.3 0.1 0.2 0.3 0.1 0.2 0.3", "0 2 1", "0 0 1 0 0 1"),
    *("convex", "shell", "0 0 0 2 0 0 0 2 0 0 0 2", "0 0 0 2 0 0 0 2 0", "100K"),
    *("radian", "other words", "0.2 0.1 0 0 0", "filter", "filterexact", "user", "muscle", "dof", "0.1 0.2 0.3 0.4"),
)
PREFIXES = (
    *("tendon_", "actuator_", "sensor_", "eq_", "pair_", "mat_", "tex_", "numeric_", "text_", "wrap_", "vis.", "stat."),
    *("jnt_stiffness", "dof_damping", "dof_armature", "skin_"),
)
"""Fields of the compiled model that have the same rows in a new document."""
DERIVED = ("adr", "id", "0", "_data", "num", "dim", "size", "meansize", "extent", "center", "meanmass", "meaninertia")
"""Ends of the names of fields that are numbers in a document, or that the compiler computes from the whole model."""
WITHOUT_EFFECT = {
    ("tendon/fixed", "springlength"): "the tendon has no stiffness",
    ("tendon/spatial", "springlength"): "the tendon has no stiffness",
    ("actuator/general", "biasprm"): "the bias is none",
    ("actuator/general", "biastype"): "the parameters of the bias are zero",
    ("actuator/general", "gaintype"): "the factors of the gain are zero",
}
"""Attributes that change numbers of the compiled model, but no force."""
WITHOUT_EFFECT_IN_DEFAULTS = {
    **dict.fromkeys(("width", "rgba", "material"), "fixed tendons, to which it applies as well, are not drawn"),
    "cranklength": "actuators of joints, to which it applies, have no crank",
}
"""The same for attributes of default classes of tendons and actuators."""


def document(path: str, attribute: str, value: str, default: str = "") -> str:
    """A document with an element that states an attribute, or with a default class that does, for the tag `default`."""
    section, _, tag = path.partition("/")
    element = ELEMENTS[path]
    defaults = f'<default><{default} {attribute}="{value}"/></default>' if default and attribute else ""
    attribute = "" if default else attribute
    start = element.index(f"<{tag or section}") + len(tag or section) + 1
    own = f' {attribute}="{value}"' if attribute else ""
    if f" {attribute}=" in element.split(">")[0]:
        before, _, rest = element.partition(f' {attribute}="')
        element = before + own + rest.partition('"')[2]
    else:
        element = element[:start] + own + element[start:]
    sections = dict(COMMON)
    if tag:
        sections[section] = sections.get(section, "") + element
    else:
        sections[section] = ""
    texts = [
        element if not tag and name == section else f"<{name}>{text}</{name}>"
        for name, text in sorted(sections.items(), key=lambda one: one[0] != "asset")
    ]
    bodies = BODIES.replace("</worldbody>", f"{BODIES_OF.get(path, '')}</worldbody>")
    sizes = '<size nuser_tendon="2" nuser_actuator="2" nuser_sensor="2"/>'
    return f"<mujoco>{sizes}{defaults}{texts[0]}{bodies}{''.join(texts[1:])}</mujoco>"


def compiled(text: str) -> mujoco.MjModel | None:
    try:
        return mujoco.MjModel.from_xml_string(text)
    except ValueError:
        return None


@cache
def base(path: str) -> dict[str, object]:
    found = compiled(document(path, "", ""))
    assert found is not None, path
    return model_fields(found)


def differing(one: dict[str, object], other: dict[str, object]) -> list[str]:
    return [
        name
        for name in one
        if not np.array_equal(np.asarray(one[name]), np.asarray(other[name])) and not name.startswith(("name", "nname"))
    ]


def first_effective(path: str, attribute: str, default: str = "") -> tuple[str, dict[str, object]] | None:
    """The document with the first value of an attribute that changes the compiled model."""
    for value in VALUES:
        text = document(path, attribute, value, default)
        model = compiled(text)
        if model is not None and differing(base(path), model_fields(model)):
            return text, model_fields(model)
    return None


def schema_attributes(path: str) -> tuple[str, ...]:
    """The attributes of an element, which the schema may list with others of the same form."""
    return next(
        (names for known, names in schema().items() if known == path or known.rpartition("/")[2] == path),
        (),
    )


CASES = [(path, name) for path in ELEMENTS for name in schema_attributes(path) if name not in ("name", "class")]


def default_tag(path: str) -> str:
    """The element of default classes that applies to an element; empty if there is none."""
    section, _, tag = path.partition("/")
    shared = section in ("tendon", "equality")
    found = section if shared else "pair" if path == "contact/pair" else tag
    is_known = section in ("asset", "actuator", "tendon", "equality", "contact") and f"default/{found}" in schema()
    return found if is_known else ""


DEFAULT_CASES = [
    (path, name) for path, name in CASES if (tag := default_tag(path)) and name in schema().get(f"default/{tag}", ())
]


@pytest.mark.parametrize(("path", "attribute"), CASES, ids=[f"{one}-{name}" for one, name in CASES])
def test_attributes_are_kept_or_losses(path: str, attribute: str) -> None:
    check_attribute(path, attribute, path.rpartition("/")[2], first_effective(path, attribute))


@pytest.mark.parametrize(("path", "attribute"), DEFAULT_CASES, ids=[f"{one}-{name}" for one, name in DEFAULT_CASES])
def test_attributes_of_default_classes_are_kept_or_losses(path: str, attribute: str) -> None:
    tag = default_tag(path)
    check_attribute(path, attribute, tag, first_effective(path, attribute, tag))


def check_attribute(path: str, attribute: str, tag: str, found: tuple[str, dict[str, object]] | None) -> None:
    """Check that what an attribute sets in the model is in that of the output, or that the attribute is a loss."""
    if found is None:  # it needs other elements, or has no effect on the model
        return
    text, before = found
    report = exoskel.convert(edited(text), None, to="mjcf")
    items = [one for one in report.items if one.attribute == attribute and f"{tag}[" in one.path.split("/")[-2]]
    item = items[0 if "/default[" in items[0].path else -1]
    if item.fate not in (Fate.EXACT, Fate.KEPT):
        assert item.why
        return
    in_default = "/default[" in item.path and path.partition("/")[0] in ("tendon", "actuator")
    if (path, attribute) in WITHOUT_EFFECT or (in_default and attribute in WITHOUT_EFFECT_IN_DEFAULTS):
        return
    after = model_fields(mujoco.MjModel.from_xml_string(report.data.decode()))
    plain = base(path)
    for name in differing(plain, before):  # what the attribute sets
        mine, theirs = (np.asarray(side[name]) for side in (before, after))
        if name.startswith(PREFIXES) and not name.endswith(DERIVED) and mine.shape == np.asarray(plain[name]).shape:
            assert theirs.shape == mine.shape, (name, item.fate, item.why)
            np.testing.assert_allclose(theirs, mine, rtol=1e-9, atol=1e-12, err_msg=f"{name} {item.fate} {item.why}")


def test_most_attributes_are_tried() -> None:
    missing = [path for path in ELEMENTS if not schema_attributes(path)]
    assert missing == []
    tried = [one for one in CASES if first_effective(*one) is not None]
    assert len(tried) > 0.6 * len(CASES), sorted(set(CASES) - set(tried))
