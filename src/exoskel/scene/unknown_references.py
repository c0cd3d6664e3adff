"""Reports of references to what a world does not have, or does not have in the way it is referred to."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from exoskel.diagnostics import pluralize
from exoskel.scene.actuator import ROTATION_VECTORS
from exoskel.scene.item import qualified_name
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.value_checks import ValueChecker
from exoskel.scene.world import World


class UnknownReferences:
    """Reports the references of the objects of a world, with the reason why each of them is ignored."""

    def __init__(self, world: World, check: ValueChecker) -> None:
        self.world = world
        self.check = check

    def report(self, field: str, what: str, name: str, path: str, coordinate: int = 0) -> None:
        """Report that an object in a list of the world refers to something, by its path or name.

        `what` is the kind of the object.  `coordinate` is that of the joint that it refers to, if it is stated.
        """
        found = self._joints.get(path)
        details: dict[str, Any] = {"what": what, "name": name, "path": path}
        if found is None:
            self.check.report("SC116", self.world, field, **details)
        elif coordinate and not _problem(*found):
            count = found[1].dof_count
            self.check.report("SC116.coordinate", self.world, field, coordinate=coordinate, count=count, **details)
        else:
            problem = _problem(*found) or f"which has {pluralize(found[1].dof_count, 'coordinate')}"
            self.check.report("SC116.joint", self.world, field, problem=[problem], **details)

    @cached_property
    def _joints(self) -> dict[str, tuple[Model, Joint]]:
        models = (model for model in self.world.models if isinstance(model, Model))
        return {
            qualified_name(model.name, joint.name): (model, joint)
            for model in models
            for joint in model.joints
            if isinstance(joint, Joint)
        }


def _problem(model: Model, joint: Joint) -> str:
    """Why no coordinate of a joint can be referred to; empty if that is possible."""
    if model.static:
        return "whose model is static"
    if not joint.dof_count:
        return "which has no coordinates"
    return f"which is of kind '{joint.kind}'" if joint.kind in ROTATION_VECTORS else ""
