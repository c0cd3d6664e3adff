"""Names in URDF files and the places that refer to them, also in extensions of ROS, Gazebo and Drake."""

from __future__ import annotations

from collections.abc import Iterator

from exoskel.formats.name_references import NAME, NOWHERE, NameReference, NameReferences
from exoskel.source.positions import Span

_LINK, _JOINT, _MATERIAL = "link", "joint", "material"
_NAMES = (_LINK, _JOINT, _MATERIAL)
_ATTRIBUTES: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {
    ("joint", "parent"): {_LINK: (_LINK,)},
    ("joint", "child"): {_LINK: (_LINK,)},
    ("joint", "mimic"): {_JOINT: (_JOINT,)},
    ("visual", "material"): {NAME: (_MATERIAL,)},
    ("robot", "gazebo"): {"reference": (_LINK, _JOINT)},
    ("robot", "frame"): {_LINK: (_LINK,)},
    ("robot", "disable_collisions"): {"link1": (_LINK,), "link2": (_LINK,)},
    ("sensor", "parent"): {_LINK: (_LINK,), _JOINT: (_JOINT,)},
    ("loop_joint", "link1"): {_LINK: (_LINK,)},
    ("loop_joint", "link2"): {_LINK: (_LINK,)},
    **{
        (around, tag): {NAME: (_JOINT,)}
        for around in ("ros2_control", "transmission")
        for tag in ("joint", "gripper_joint", "passive_joint", "rollJoint", "flexJoint", "gap_joint")
    },
    ("transmission", "simulated_actuated_joint"): {NAME: (_JOINT,), "passive_actuated_joint": (_JOINT,)},
    ("transmission", "use_simulated_gripper_joint"): {NAME: (_JOINT,)},
    ("collision_filter_group", "member"): {_LINK: (_LINK,)},
    ("linear_bushing_rpy", "bushing_frameA"): {NAME: (_LINK,)},
    ("linear_bushing_rpy", "bushing_frameC"): {NAME: (_LINK,)},
    ("ball_constraint", "ball_constraint_body_A"): {NAME: (_LINK,)},
    ("ball_constraint", "ball_constraint_body_B"): {NAME: (_LINK,)},
}
"""The kinds of items that attributes name, by the tags of the elements around and of their own, without prefixes."""
_TEXTS: dict[tuple[str, str], tuple[str, ...]] = {
    ("joint", "parent"): (_LINK,),
    ("joint", "child"): (_LINK,),
    ("gripper", "gripper_link"): (_LINK,),
    ("gripper", "palm_link"): (_LINK,),
}
"""The kinds of items that texts name, in elements of SDF in `<gazebo>`."""
_FRAMES = ("relative_to", "attached_to", "expressed_in", "frame")
"""Attributes that name links or joints, in elements of SDF in `<gazebo>`."""
_PARAMETERS: dict[tuple[str, str], tuple[str, ...]] = {
    ("joint", "mimic"): (_JOINT,),
    ("sensor", "frame_id"): (_LINK,),
}
"""The kinds of items that parameters of `ros2_control` name, by the element around them and their name."""
_GAZEBO, _PLUGIN = "gazebo", "plugin"


class UrdfNames(NameReferences):
    """Links, joints and materials: a name is unique in the document for its kind."""

    def find_names(self) -> Iterator[tuple[int, Span]]:
        materials = set[str]()
        for node, tag in enumerate(self.tags):
            is_name = node == 0 or (tag in _NAMES and self.above(node) in ("robot", "visual"))
            if tag == _MATERIAL:  # the first one with a name; the others refer to it
                text = self.document.attribute_text(node, NAME)
                is_name = is_name and text not in materials
                materials.add(text)
            if is_name and (span := self.attribute(node, NAME)) is not None:
                yield node, span

    def check_format(self, node: int, name: str) -> None:
        """All names are allowed."""

    def find_references(self) -> Iterator[NameReference]:
        for node, tag in enumerate(self.tags):
            place = (_local(self.above(node)), _local(tag))
            for name, kinds in _ATTRIBUTES.get(place, {}).items():
                yield from self.refer(node, self.attribute(node, name), NOWHERE, kinds)
            if tag == "param" and self.around(node, ("ros2_control",)) >= 0:
                kinds = _PARAMETERS.get((place[0], self.document.attribute_text(node, NAME)), ())
                yield from self.refer(node, self._value(node), NOWHERE, kinds)
        for node, tag in enumerate(self.tags):
            if tag == _GAZEBO:
                yield from self._in_gazebo(node)

    def _in_gazebo(self, gazebo: int) -> Iterator[NameReference]:
        """The references in elements of SDF, plugins aside."""
        end = self.document.outline.ends[gazebo]
        node = gazebo + 1
        while node < end:
            if self.tags[node] == _PLUGIN:
                node = self.document.outline.ends[node]
                continue
            kinds = _TEXTS.get((self.above(node), self.tags[node]), ())
            yield from self.refer(node, self._value(node), NOWHERE, kinds)
            for name in _FRAMES:
                yield from self.refer(node, self.attribute(node, name), NOWHERE, (_LINK, _JOINT))
            node += 1

    def _value(self, node: int) -> Span:
        return self.document.scan.value(node)


def _local(tag: str) -> str:
    """A tag without its prefix, such as that of Drake's extensions."""
    return tag.rpartition(":")[2]
