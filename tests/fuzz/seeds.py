"""The seeds of the fuzzer: the documents of the tests, and small inputs saved from earlier runs.

Saved inputs are in tests/fuzz/saved_seeds: a list of texts for each reader, one character per byte.  Together they cover
nearly all lines of a reader.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

SAVED_SEEDS = Path(__file__).parent / "saved_seeds"
LARGEST = 3000
"""The largest size of a seed in bytes: small documents are read quickly."""


def saved_seeds(name: str) -> list[bytes]:
    path = SAVED_SEEDS / f"{name}.json"
    return [text.encode("latin-1") for text in json.loads(path.read_text(encoding="utf-8"))] if path.exists() else []


def save_seeds(name: str, inputs: list[bytes]) -> None:
    texts = [data.decode("latin-1") for data in sorted(inputs, key=lambda data: (len(data), data))]
    SAVED_SEEDS.mkdir(exist_ok=True)
    (SAVED_SEEDS / f"{name}.json").write_text(json.dumps(texts, indent=0, ensure_ascii=True) + "\n", encoding="utf-8")


def _texts(*documents: Any) -> Iterator[bytes]:
    for document in documents:
        data = document if isinstance(document, bytes) else str(document).encode("utf-8", "surrogatepass")
        if len(data) < LARGEST:
            yield data


def skel() -> Iterator[bytes]:
    from tests.skel.cases import CASES
    from tests.support.places import SAMPLES, example_files

    yield from saved_seeds("skel")
    yield from _texts(*(case.document for case in CASES.values()))
    yield from _texts(*(path.read_bytes() for path in [*example_files(), *SAMPLES.glob("skel/*.skel")]))


def xode() -> Iterator[bytes]:
    from tests.support.places import SAMPLES, TESTS
    from tests.xode.cases import CASES

    yield from saved_seeds("xode")
    yield from _texts(*(case.document for case in CASES.values()))
    yield from _texts(*(path.read_bytes() for path in (TESTS / "xode" / "examples").glob("*.xode")))
    yield from _texts(*(path.read_bytes() for path in SAMPLES.glob("xode/*.xode")))


def urdf() -> Iterator[bytes]:
    from tests.urdf.test_read import FINDINGS

    yield from saved_seeds("urdf")
    yield from _texts(*(text for text, _ in FINDINGS.values()))


def sdf() -> Iterator[bytes]:
    from tests.sdf.documents import DOCUMENTS
    from tests.sdf.test_messages import CASES
    from tests.sdf.test_sensors import WORLD

    yield from saved_seeds("sdf")
    yield from _texts(*DOCUMENTS.values(), *CASES.values(), WORLD)


def mjcf() -> Iterator[bytes]:
    from tests.mjcf.test_read import HUMANOID

    yield from saved_seeds("mjcf")
    yield from _texts(HUMANOID)
    inner = "<body pos='0 0 1'><joint type='{}' axis='0 0 1' range='-1 1'/><geom size='1'/></body>"
    yield from _texts(*MJCF)
    for kind in ("hinge", "slide", "ball"):
        body = f"<body><freejoint/><geom size='1'/>{inner.format(kind)}</body>"
        yield f"<mujoco><worldbody>{body}</worldbody></mujoco>".encode()


def trajectory() -> Iterator[bytes]:
    shapes: dict[str, Any] = {
        "time": np.arange(2.0),
        "body_names": np.array(["m/b"]),
        "body_poses": np.ones((2, 1, 7)),
        "dof_names": np.array(["j"]),
        "positions": np.zeros((2, 1)),
        "velocities": np.zeros((2, 1)),
        "energy": np.zeros((2, 2)),
        "meta": np.array('{"format": 1}'),
    }
    for save in (np.savez, np.savez_compressed):
        for left_out in ("", "meta", "time"):
            yield _archive(save, {key: value for key, value in shapes.items() if key != left_out})
    for odd in (np.array("[" * 3000), np.array("[]"), np.array(3.0), np.zeros((2, 2), dtype="V8")):
        yield _archive(np.savez, {**shapes, "meta": odd})
    two = {"dof_names": np.array(["j", "j"]), "positions": np.zeros((2, 2)), "velocities": np.zeros((2, 2))}
    pairs = np.array('{"dof_pairs": [["a", "j"], ["b", "j"]]}')
    yield _archive(np.savez, {**shapes, **two})
    yield _archive(np.savez, {**shapes, **two, "meta": pairs})
    yield b"\x93NUMPY\x01\x00"
    yield from saved_seeds("trajectory")


def _archive(save: Any, arrays: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    save(file, **arrays)
    return file.getvalue()


def comment() -> Iterator[bytes]:
    sections = {
        "passpairs": "['a', 'b']\n('a','b','c')\n[1]\n[",
        "affixToEnvironment": "body",
        "colors": "('a', (1.0, 0.5, 0, 0.8))\n('b', (1,))\n('c', 'x')\n('d', (1, 2, 'x'))",
        "centerOn": "body",
        "odd": "x",
    }
    for name, text in sections.items():
        yield f"<{name}>\n{text}\n<end>\n".encode()
    yield "".join(f"<{name}>\n{text}\n" for name, text in sections.items()).encode()
    yield from saved_seeds("comment")


_GEOM = "<geom size='1'/>"
_HINGE = "<body name='b'><joint name='j'/><geom size='1'/></body>"
_TWO = "<body name='b'><joint name='j'/><geom size='1'/></body><body name='c' pos='3 0 0'><joint name='k'/><geom size='1'/></body>"
_BALLS = "<body name='b'><joint name='j' type='ball'/><geom size='1'/></body>"


def _mujoco(bodies: str, beside: str = "") -> str:
    return f"<mujoco><worldbody>{bodies}</worldbody>{beside}</mujoco>"


MJCF = (
    _mujoco("<include file='part.xml'/><include file='part.xml'/><include file='none.xml'/><include file='broken.xml'/>"),
    _mujoco(
        "<geom type='mesh' mesh='tetra'/><geom type='mesh' mesh='gone'/><geom type='mesh' mesh='m' pos='1 0 0'/>",
        "<compiler meshdir='.' strippath='true'/><asset><mesh file='x/tetra.obj'/><mesh name='gone' file='gone.stl'/>"
        "<mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/><mesh name='dae' file='a.dae'/></asset>",
    ),
    _mujoco("<geom type='mesh' mesh='tetra'/>", "<asset><mesh file='tetra.obj' refpos='1 0 0'/></asset>"),
    _mujoco("<geom type='mesh' mesh='tetra'/>", "<asset><mesh file='tetra.obj' scale='1 2 -1'/></asset>"),
    _mujoco("<geom type='mesh' mesh='bad'/>", "<asset><mesh file='bad.obj'/></asset>"),
    _mujoco(
        "<geom type='hfield' hfield='h'/><geom type='hfield' hfield='g'/>",
        "<asset><hfield name='h' nrow='2' ncol='3' size='1 1 1 1' elevation='0 1 2 3 4 5'/>"
        "<hfield name='g' file='gone.png' size='1 1 1 1'/></asset>",
    ),
    _mujoco("<geom type='sdf' mesh='tetra'/>", "<asset><mesh file='tetra.obj'/></asset>"),
    _mujoco("<replicate count='99999999'><geom size='1'/></replicate>"),
    _mujoco("<replicate count='3' offset='1 0 0'><geom size='1'/></replicate>"),
    _mujoco(_HINGE, "<option timestep='-1'><flag gravity='disable'/></option>"),
    _mujoco(_HINGE, "<option timestep='nan' gravity='0 0 nan'/>"),
    _mujoco(_BALLS.replace("type='ball'", "type='ball' range='0 1' limited='true'")),
    _mujoco(_GEOM.replace("/>", " material='m'/>"), "<asset><material name='m' rgba='1 0 0 1' texture='t'/></asset>"),
    _mujoco(
        "<geom size='1' material='m'/><geom size='2' material='n'/><geom size='3' material='o'/>",
        "<compiler texturedir='.'/><default><material texture='s'/><default class='c'><material/></default></default><asset>"
        "<texture name='t' type='2d' file='gone.png'/><texture type='cube' file='s.png'/>"
        "<texture name='u' builtin='checker' width='8' height='8'/><material name='m' texture='t' texrepeat='2 -3'/>"
        "<material name='n'><layer role='rgb' texture='t'/><layer role='normal' texture='u'/></material>"
        "<material name='o' class='c' texuniform='true'/></asset>",
    ),
    _mujoco("<body name='b' gravcomp='0.3'><freejoint/><geom size='1'/></body>"),
    _mujoco("<body name='b'><joint name='j' type='hinge' axis='0 0 1'/><joint name='k' type='slide' axis='0 0 1'/>"
            "<geom size='1'/></body>", "<equality><joint joint1='k' joint2='j' polycoef='0 2 0 0 0'/></equality>"),
    _mujoco(_TWO, "<equality><joint joint1='j' joint2='k' polycoef='1 2 0 0 0'/><joint joint1='k'/></equality>"),
    _mujoco(_TWO, "<equality><joint joint1='j' joint2='k' polycoef='1 2 3 0 0'/></equality>"),
    _mujoco(_TWO, "<tendon><fixed name='t'><joint joint='j' coef='2'/></fixed></tendon><equality><tendon tendon1='t'"
                  " polycoef='1' solref='-9 -1'/><weld body1='b' body2='c' torquescale='2' anchor='0 0 1'"
                  " relpose='1 0 0 1 0 0 0'/></equality>"),
    _mujoco(_TWO, "<equality><weld body1='b' body2='c'/><connect body1='b' anchor='0 0 0'/></equality>"),
    _mujoco(_TWO, "<equality><weld body1='b' active='false'/><connect body1='b' body2='c' anchor='0 1 0'/>"
                  "<connect body1='b' body2='c' anchor='0 2 0'/></equality>"),
    _mujoco("<body name='s'><geom size='1'/></body>" + _HINGE,
            "<equality><weld body1='s'/><weld body1='s' body2='b' relpose='9 0 0 1 0 0 0'/></equality>"),
    _mujoco("<body name='a'><joint/><geom size='1'/><body name='d'><joint/><geom size='1'/><site name='t'/></body>"
            "<site name='s'/></body>", "<equality><connect site1='s' site2='t'/><weld site1='s' site2='t'/></equality>"),
    _mujoco(_HINGE, "<tendon><fixed name='t'><joint joint='j' coef='1'/></fixed><fixed><joint joint='j' coef='1'/></fixed>"
                    "</tendon><actuator><motor tendon='t'/><motor joint='j' ctrlrange='-1 1' forcerange='-2 2'/>"
                    "<position joint='j' kp='2'/><velocity joint='j'/><cylinder joint='j'/><muscle joint='j' lengthrange='0 1'/>"
                    "<general joint='j' dyntype='integrator' biastype='muscle'/></actuator>"
                    "<keyframe><key ctrl='1 2 3 4 5 6 7' qpos='1' qvel='2'/></keyframe>"),
    _mujoco(_HINGE, "<actuator><motor joint='j' ctrlrange='-1 1'/><motor joint='j' forcerange='-2 2'/></actuator>"
                    "<keyframe><key name='k' ctrl='1 2'/></keyframe>"),
    _mujoco(_BALLS, "<actuator><motor joint='j' gear='1 0 0'/></actuator>"),
    _mujoco(_TWO, "<contact><exclude body1='b' body2='c'/><pair geom1='b' geom2='c'/></contact>"),
    _mujoco("<body name='m/b'><geom name='m/b/visual' size='1'/><geom name='m/b/x' type='box' size='1 1 1'/>"
            "<geom name='m/b/x/0' type='box' size='1 1 1'/><site name='m/b/s'/><site name='m/b/amotor/s'/></body>"),
    _mujoco("<frame pos='1 0 0'><geom size='1'/></frame><light/><camera/>", "<sensor/><visual/><statistic/>"),
)  # fmt: skip
"""Small models that cover code which the other documents do not reach."""


SOURCES = {"skel": skel, "xode": xode, "urdf": urdf, "sdf": sdf, "mjcf": mjcf}
