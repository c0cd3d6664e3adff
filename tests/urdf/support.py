"""Helpers for the URDF tests: write models, read them back and compare them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

import exoskel
from exoskel import Kinematics, Model, Scene, spatial
from exoskel.formats.interface import ReadOptions
from exoskel.formats.urdf.read import read
from exoskel.formats.urdf.write import write
from exoskel.scene.joint import Joint
from exoskel.scene.summary import moments
from exoskel.source.document import Document
from exoskel.source.file_lookup import Location
from exoskel.source.markup import serialize
from exoskel.source.output_context import OutputContext

SAMPLES = Path(exoskel.__file__).parent / "samples"
FILES = sorted([*SAMPLES.glob("skel/*.skel"), *SAMPLES.glob("xode/*.xode")])
EXACT_SHAPES = {"box", "sphere", "cylinder", "mesh"}


@cache
def sample(file: Path) -> Scene:
    return exoskel.load(file)


def cases() -> list[tuple[Path, str]]:
    """Every model of every sample."""
    return [(file, model.name) for file in FILES for model in sample(file).world.models]


def read_text(text: str | bytes, name: str = "robot.urdf", folder: Path | None = None, **options: object) -> Scene:
    data = text.encode() if isinstance(text, str) else text
    location = Location(path=str(folder / name)) if folder else Location()
    return read(Document(data, name, location), ReadOptions(**options))  # type: ignore[arg-type]


def written(scene: Scene, model: str = "", folder: Path | None = None, output: OutputContext | None = None) -> str:
    return serialize(write(scene, output or OutputContext(folder), model=model))


# --- configurations -----------------------------------------------------------------------------------


def random_positions(model: Model, rng: np.random.Generator) -> np.ndarray:
    """Random positions of all joints; a static model has its initial positions."""
    if model.static:
        return np.array([q for joint in model.joints if not joint.loop for q in joint.positions])
    return rng.uniform(-1.0, 1.0, model.dof_count)


def in_urdf(model: Model, positions: np.ndarray) -> np.ndarray:
    """The same configuration in the coordinates of the written model."""
    if model.static:
        return np.array([])
    values: list[float] = []
    first = 0
    for joint in model.joints:
        own = positions[first : first + joint.dof_count]
        first += joint.dof_count
        if not joint.loop:
            values += chain(joint, own)
    return np.array(values)


def chain(joint: Joint, q: np.ndarray) -> list[float]:
    """The coordinates of the joints that one joint is written as."""
    match joint.kind:
        case "ball":
            return spatial.euler_xyz(spatial.exp(q)).tolist()
        case "free" | "amotor" if joint.parent is not None:
            return [*q[3:], *spatial.euler_xyz(spatial.exp(q[:3])).tolist()]
        case "screw":
            return [q[0] * joint.pitch / (2 * np.pi), q[0]]
        case "universal" | "hinge2" if joint.swapped:
            return [q[1], q[0]]
    return list(q)


# --- physics ------------------------------------------------------------------------------------------


def physics(model: Model, positions: np.ndarray) -> dict[str, tuple[float, np.ndarray, np.ndarray]]:
    """Mass, centre of mass and moments about it in world coordinates, by body name."""
    poses = Kinematics([model]).poses(positions)
    tensors = spatial.moment_matrix(moments(model.bodies))
    return {
        body.name: (
            body.mass,
            (pose @ np.array([*body.com, 1.0]))[:3],
            spatial.rotate_moment(pose[:3, :3], tensor),
        )
        for body, pose, tensor in zip(model.bodies, poses, tensors, strict=True)
    }


def shape_places(model: Model, positions: np.ndarray, kind: str) -> dict[str, list[tuple[object, np.ndarray]]]:
    """The geometries that URDF supports, with their world poses, by body name."""
    poses = Kinematics([model]).poses(positions)
    return {
        body.name: [
            (shape.geometry, pose @ shape.pose.matrix())
            for shape in getattr(body, kind)
            if shape.kind in EXACT_SHAPES and (kind == "visuals" or shape.collidable)
        ]
        for body, pose in zip(model.bodies, poses, strict=True)
    }
