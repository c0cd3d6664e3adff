"""The fates of repeated elements are those that each of them has by itself."""

from __future__ import annotations

import pytest

import exoskel
from exoskel.conversion.repeated_elements import FatePattern, RepeatedElements

_BODY = """<body name="b{i}"><transformation>{i} 0 1 0 0 0</transformation>
  <inertia><mass>1.5</mass><offset>0.1 0 0</offset></inertia>
  <visualization_shape><geometry>{seen}</geometry><color>0.5 0.5 0.5</color></visualization_shape>
  <collision_shape>{extra}<geometry><box><size>0.1 0.2 0.3</size></box></geometry></collision_shape></body>
"""
_JOINT = """<joint type="{kind}" name="j{i}"><parent>{parent}</parent><child>b{i}</child>
  <axis><xyz>0 0 1</xyz>{more}</axis></joint>
"""
_BOX = "<box><size>0.1 0.2 0.3</size></box>"
_BODIES = [
    {},
    {},
    {"extra": "<transformation>0 0 0.1 0 0 0</transformation>"},
    {"seen": "<ellipsoid><size>0.1 0.2 0.3</size></ellipsoid>"},
    {"seen": "<ellipsoid><size>0.2 0.2 0.2</size></ellipsoid>"},
    {"extra": "<collidable>0</collidable>"},
    {"extra": "<collidable>1</collidable>"},
    {"seen": "<cone><radius>0.1</radius><height>0.2</height></cone>"},
    {"extra": "<unknown/>"},
    {},
    {"extra": "<!-- a comment -->"},
]
_JOINTS = [
    {},
    {"more": "<dynamics><damping>0</damping></dynamics>"},
    {"more": "<dynamics><damping>0.1</damping></dynamics>"},
    {"more": "<dynamics><damping>0.3</damping></dynamics>"},
    {"more": "<dynamics><spring_stiffness>2</spring_stiffness><rest_position>0.5</rest_position></dynamics>"},
    {"more": "<dynamics><spring_stiffness>0</spring_stiffness><rest_position>0.5</rest_position></dynamics>"},
    {"kind": "prismatic"},
    {"more": "<limit><lower>-1</lower><upper>1</upper></limit>"},
    {"more": "<limit><lower>-inf</lower><upper>inf</upper></limit>"},
    {"kind": "screw"},
]


def _document(name: str = "b") -> bytes:
    bodies = [_BODY.format(i=i, **{"seen": _BOX, "extra": "", **own}) for i, own in enumerate(_BODIES)]
    joints = [
        _JOINT.format(i=i, parent=f"b{i - 1}" if i else "world", **{"kind": "revolute", "more": "", **own})
        for i, own in enumerate(_JOINTS)
    ]
    models = "".join(
        f'<skeleton name="s{number}">{"".join(bodies)}{"".join(joints)}{mobile}</skeleton>'
        for number, mobile in enumerate(("", "", "<mobile>0</mobile>"))
    )
    models = models.replace('"b', f'"{name}').replace(">b", f">{name}")
    return f'<skel version="1.0"><world name="w">{models}</world></skel>'.encode()


@pytest.mark.parametrize("name", ["b", "two words "])
@pytest.mark.parametrize("target", ["mjcf", "xode", "sdf", "urdf", "usd", "gltf", "skel"])
def test_fates_of_repeated_elements_are_those_of_each(target: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    repeated: list[str] = []
    repeat = FatePattern.repeat
    monkeypatch.setattr(FatePattern, "repeat", lambda *given: repeated.append(given[2]) or repeat(*given))
    found = exoskel.convert(_document(name), to=target, lower=True).items
    monkeypatch.setattr(RepeatedElements, "key", lambda self, node: None)
    assert found == exoskel.convert(_document(name), to=target, lower=True).items
    tags = {path.rpartition("/")[2].partition("[")[0] for path in repeated}
    assert tags == {"body", "joint"}
