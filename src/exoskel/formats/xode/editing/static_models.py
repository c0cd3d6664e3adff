"""Models that become static, or cease to be: for other readers all of their joints are others then."""

from __future__ import annotations

from exoskel.formats.saving.changes import Added, Changes
from exoskel.scene.joint import Joint
from exoskel.scene.world import Model


def recast_joints(changes: Changes) -> None:
    """Have the joints of such models removed and added: a static body is held by a joint of its own."""
    for source, model in list(changes.edited):
        if isinstance(source, Model) and isinstance(model, Model) and source.static != model.static:
            _recast(changes, model)


def _recast(changes: Changes, model: Model) -> None:
    known: set[int] = set()
    for place, joint in enumerate(model.joints):
        source = changes.sources.get(id(joint))
        if isinstance(source, Joint) and not joint.loop:
            del changes.sources[id(joint)]
            known.add(id(joint))
            if not source.implicit and source.node != source.child.node:
                changes.removed.append(source)
            changes.added.append(Added(joint, model, "joints", model.joints[:place][::-1]))
    changes.edited[:] = [pair for pair in changes.edited if id(pair[1]) not in known]
