"""Records what MuJoCo 3.3 compiles of cables: `python tests/mjcf/record_cables.py` in an environment with MuJoCo 3.3."""

from __future__ import annotations

import json
from pathlib import Path

import mujoco

FILE = Path(__file__).parents[1] / "golden" / "cables.json"
FIELDS = (
    *("body_pos", "body_quat", "body_mass", "body_inertia", "geom_size", "geom_pos", "geom_quat", "geom_condim"),
    *("geom_friction", "geom_group", "site_pos", "site_size", "site_group", "jnt_type", "jnt_range", "jnt_group"),
    *("dof_damping", "dof_armature", "dof_frictionloss", "exclude_signature"),
)
_GEOM, _SITE = '<geom type="capsule" size=".02" condim="1"/>', '<site group="2" size=".01"/>'
_JOINT = '<joint kind="main" damping="0.1" armature="0.01"/>'
_DEFAULTS = """<default><geom friction="2" density="10"/><joint type="slide" damping="4" frictionloss="3"/><site size=".2"/>
  <default class="x"><joint armature="3"/></default></default>"""


def _cable(attributes: str, parts: str, *, defaults: str = "", body: str = 'pos="0 0 1" quat="1 1 0 0"') -> str:
    cable = f'<composite type="cable" {attributes}>{parts}</composite>'
    inside = f"<body {body}>{cable}</body>" if body else cable
    return f"<mujoco>{defaults}<worldbody>{inside}</worldbody></mujoco>"


CABLES = {
    "spiral": _cable(
        'prefix="p" curve="cos(s) sin(s) s" count="6 1 1" size="1 .1 1" offset="0 0 0.2"', _GEOM + _JOINT + _SITE
    ),
    "boxes": _cable(
        'prefix="p" curve="s" count="5 1 1" size="1" initial="none" quat="0.5 0.5 0.3 0.1"',
        '<geom type="box" size="0.1 .02 .03" density="500"/>' + _JOINT,
    ),
    "straight": _cable(
        'curve="0 s 0" count="5 1 1" size="1 0 0"',
        '<geom type="cylinder" size=".02" group="1"/><joint kind="main" frictionloss="2" limited="true" range="0 40"/>',
    ),
    "diagonal": _cable('curve="s s s" count="5 1 1" size="1 0 0"', _GEOM),
    "vertices": _cable('prefix="v_" vertex="0 0 0 .1 0 0 .1 .1 0 .1 .1 .1 0.2 0.1 0.3"', _GEOM),
    "bend": _cable('prefix="p" vertex="0 0 0 1 0 0 2 0 0 2 1 0 2 2 0 1 2 0"', _GEOM, body=""),
    "defaults": _cable(
        'prefix="d" curve="sin(s) 0 cos(s)" count="12 1 1" size="1 .5 2"',
        _GEOM + _JOINT + _SITE,
        defaults=_DEFAULTS,
        body='childclass="x"',
    ),
    "one body": _cable('prefix="p" curve="s" count="2 1 1" size="1 0 0"', _GEOM + _JOINT),
    "free": _cable('prefix="p" curve="s" count="5 1 1" size="1 0 0" initial="free"', _GEOM + _JOINT, body=""),
}
"""Documents with a cable."""


def main() -> None:
    assert mujoco.__version__.startswith("3.3."), mujoco.__version__
    found = {}
    for name, document in CABLES.items():
        model = mujoco.MjModel.from_xml_string(document)
        counts = ((mujoco.mjtObj.mjOBJ_BODY, model.nbody), (mujoco.mjtObj.mjOBJ_JOINT, model.njnt))
        names = [[mujoco.mj_id2name(model, kind, i) or "" for i in range(count)] for kind, count in counts]
        found[name] = {"names": names, **{field: getattr(model, field).tolist() for field in FIELDS}}
    rows = [f"{json.dumps(name)}: {json.dumps(one)}" for name, one in found.items()]
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
