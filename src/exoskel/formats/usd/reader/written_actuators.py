"""Read the actuators and tendons of a layer that Exoskel wrote, without composing a stage, for its certificate."""

from __future__ import annotations

from typing import Any

import numpy as np

from exoskel.formats.usd.reader.actuators import DRIVING, ActuatorPrimReader, DrivenJoint, DrivingPrims
from exoskel.formats.usd.reader.bodies import UsdShapeReader
from exoskel.formats.usd.reader.joints import UsdJointReader
from exoskel.formats.usd.reader.prims import apis, custom_data, is_preserved, name_of, targets, values
from exoskel.formats.usd.reader.stage import StageArray, StagePrim
from exoskel.formats.usd.reader.tendon_paths import tendon_shapes, tendon_sites
from exoskel.scene.item import qualified_name
from exoskel.scene.world import World


def add_written_actuators(world: World, root: Any, joints: UsdJointReader, shapes: UsdShapeReader) -> None:
    """Add the actuators and tendons in the prim of a world, whose bodies and joints have been read."""
    groups = [one for one in root.nameChildren if one.typeName == "Scope" and not is_preserved(one)]
    found = [one for group in groups for one in group.nameChildren if one.typeName in DRIVING]
    if not found:
        return
    names = {id(one): qualified_name(model.name, one.name) for model in world.models for one in model.joints}
    driven = {path: DrivenJoint(names[id(one)], one, {}) for path, one in joints.by_path.items() if id(one) in names}
    paths = {id(item): path for path, item in (*shapes.found.items(), *shapes.markers.items())}
    known = DrivingPrims(
        [_prim(one) for one in found],
        lambda _: 0,
        driven,
        tendon_sites(world, lambda item: paths[id(item)]),
        tendon_shapes(world, lambda item: paths[id(item)]),
    )
    ActuatorPrimReader(known, world, _ignore).read()


_ARRAYS = ("DoubleArray", "IntArray")
"""The types of arrays of numbers in usd-core."""


def _ignore(*_: object, **__: object) -> None:
    """What is not read is missing in the certificate."""


def _prim(prim: Any) -> StagePrim:
    found, relationships = values(prim), [str(one.name) for one in prim.relationships]
    arrays = {name: _array(value) for name, value in found.items() if type(value).__name__ in _ARRAYS}
    return StagePrim(
        path=str(prim.path),
        type=str(prim.typeName),
        apis=apis(prim),
        kind="",
        display_name=name_of(prim),
        custom=custom_data(prim),
        properties=[],
        values={name: value for name, value in found.items() if name not in arrays},
        arrays=arrays,
        targets={name: targets(prim, name) for name in relationships},
        place=[],
        is_visible=True,
        purpose="",
        materials={},
        animated=[],
    )


def _array(value: Any) -> StageArray:
    numbers = np.array(value, dtype=np.float64)
    return StageArray(numbers.dtype.str, numbers.shape, numbers.tobytes())
