"""Bodies, geoms and joints of XODE files inside of others that move: they stay where they are in the scene."""

from __future__ import annotations

import pytest

import exoskel
from exoskel import Body, Euler, Pose, Shape
from exoskel.formats import registry
from exoskel.formats.interface import ReadOptions
from exoskel.scene.fields import differences, iter_items
from exoskel.scene.world import Scene
from exoskel.source.document import Document
from tests.saving.support import save_and_verify

TURNED = '<rotation><euler x="0.5" y="0" z="0"/></rotation>'
ABSOLUTE = ' absolute="true"'
BALL = '<sphere radius="1"/>'
HINGE = '<link1 body="y"/><link2 body="z"/><hinge><anchor x="0" y="1" z="0"/><axis x="1" y="0" z="0"/></hinge>'
TWO = '<body name="y"/><body name="z"/>'


def at(x: float, rotation: str = "", attributes: str = "") -> str:
    return f'<transform{attributes}><position x="{x}" y="0" z="0"/>{rotation}</transform>'


NESTED = {
    "body in geom": f'<geom name="g">{at(1, TURNED)}{BALL}<body name="b">{at(2)}</body></geom>',
    "geom in geom": f'<geom name="g">{at(1, TURNED)}{BALL}<geom name="h">{at(2)}{BALL}</geom></geom>',
    "body in group in geom": f'<geom name="g">{at(1)}{BALL}<group>{at(3)}<body name="b">{at(2)}</body></group></geom>',
    "joint in geom": f'{TWO}<geom name="g">{at(1)}{BALL}<joint name="j">{HINGE}</joint></geom>',
    "geom in geom in body": f'<body name="a">{at(5)}<geom name="g">{at(1, TURNED)}{BALL}<geom name="h">{at(2)}{BALL}</geom>'
    "</geom></body>",
    "body in geom in body": f'<body name="a">{at(5, TURNED)}<geom name="g">{at(1)}{BALL}<body name="b">{at(2)}</body>'
    "</geom></body>",
    "joint in geom in body": f'{TWO}<body name="a">{at(5)}<geom name="g">{at(1)}{BALL}<joint name="j">{HINGE}</joint>'
    "</geom></body>",
    "joint in another body": f'{TWO}<body name="a">{at(5)}<joint name="j">{HINGE}</joint></body>',
    "three bodies": f'<body name="a">{at(5)}<body name="b">{at(1)}<body name="c">{at(2)}</body></body></body>',
    "absolute geom": f'<body name="a">{at(5)}<geom name="g">{at(1, "", ABSOLUTE)}{BALL}</geom></body>',
    "geom in absolute group": f'<body name="a">{at(5)}<group>{at(1, "", ABSOLUTE)}<geom name="g">{at(2)}{BALL}</geom>'
    "</group></body>",
    "body in absolute group": f'<body name="a">{at(5)}<group>{at(1, "", ABSOLUTE)}<body name="b">{at(2)}</body></group></body>',
    "body in absolute geom": f'<geom name="g">{at(5)}{BALL}<geom name="h">{at(1, "", ABSOLUTE)}{BALL}<body name="b">{at(2)}'
    "</body></geom></geom>",
}
MOVES = {"moved": Pose((0.25, 0.5, -1.0)), "turned": Pose((0.25, 0.5, -1.0), Euler((0.0, 0.3, 0.1)))}
SAME = 1e-9


def document(inside: str) -> bytes:
    return f'<xode version="1.0r22"><world name="w"><space>{inside}</space></world></xode>'.encode()


def placed(scene: Scene) -> list[Body | Shape]:
    """The bodies and shapes that the document has elements of."""
    items = (item for item, _, _ in iter_items(scene))
    return [item for item in items if isinstance(item, Body | Shape) and item.node >= 0]


def native_differences(scene: Scene, data: bytes) -> list[str]:
    """What readers that ignore embedded data find elsewhere."""
    native = registry.by_name("xode").reader()(Document(data), ReadOptions(apply_embedded_data=False))
    pairs = zip((one for one, *_ in iter_items(scene)), (other for other, *_ in iter_items(native)), strict=True)
    return [f"{found.one!r}.{found.field}" for found in differences(list(pairs)) if found.error > SAME]


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("name", NESTED)
def test_what_is_inside_of_something_moved_stays_where_it_is(name: str, move: str) -> None:
    data = document(NESTED[name])
    count = len(placed(exoskel.load(data)))
    choices = [(index,) for index in range(count)]
    for moved in (*choices, tuple(range(count)), tuple(range(count - 1))):
        scene = exoskel.load(data)
        items = placed(scene)
        for index in moved:
            items[index].pose = items[index].pose @ MOVES[move]
        saved = save_and_verify(scene)
        joints_turn = move == "turned" and "joint" in name  # their axes are embedded with all digits
        assert joints_turn or b"<carry" not in saved, moved
        if not joints_turn:
            assert native_differences(scene, saved) == [], moved
