"""Scenes as objects of MuJoCo, and back: no file is written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from exoskel.diagnostics import ExoskelError
from exoskel.formats.load import load
from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.file_writer import write_document
from exoskel.formats.mjcf.names import name_geoms, shorten_names
from exoskel.formats.mjcf.preserved_writer import add_preserved_elements
from exoskel.formats.mjcf.spec_text import full_text
from exoskel.formats.mjcf.tree import to_text
from exoskel.scene.validation import require_valid_world
from exoskel.scene.world import Scene, SceneLike
from exoskel.source.memory_files import MemoryFiles
from exoskel.source.output_context import OutputContext

if TYPE_CHECKING:
    import mujoco


class MujocoModel(Struct, frozen=True):
    """A world in MuJoCo: its specification, which can be edited and compiled again, and the compiled model.

    `names` are MuJoCo's names by kind (`"body"`, `"joint"`, `"geom"`, `"site"`, …) and by path in the scene, such as
    `"model/body"`.  `losses` lists what MuJoCo approximates or lacks.
    """

    spec: mujoco.MjSpec
    model: mujoco.MjModel
    names: Mapping[str, Mapping[str, str]]
    losses: tuple[str, ...] = ()

    def data(self) -> mujoco.MjData:
        """New data in the initial state of the scene."""
        library = mujoco_import.load()
        data = library.MjData(self.model)
        if self.model.nkey:
            library.mj_resetDataKeyframe(self.model, data, 0)
        library.mj_forward(self.model, data)
        return data

    def __repr__(self) -> str:
        return f"MujocoModel({self.model.nbody - 1} bodies, {self.model.nv} degrees of freedom)"


def to_mujoco(scene: SceneLike, *, limits: bool | None = None) -> MujocoModel:
    """Build a world in MuJoCo: the document that `convert(..., target="mujoco4")` writes, compiled.

    Meshes become part of the specification.  `limits` enforces the position limits of all joints, or of none; by
    default the scene says which are enforced.  Raises ExoskelError for invalid scenes and several worlds.
    """
    output = OutputContext(target="mujoco4")
    document = write_document(require_valid_world(scene), output, limits=limits)
    if isinstance(scene, Scene):
        add_preserved_elements(document, scene, output)
    renamed = name_geoms(document)
    names = shorten_names(document)
    library = mujoco_import.load()

    def build() -> tuple[Any, Any]:
        spec = library.MjSpec.from_string(to_text(document))
        return spec, spec.compile()

    try:
        spec, model = mujoco_import.run_in_thread(build)
    except (ValueError, RuntimeError, MemoryError, library.FatalError) as error:
        raise ExoskelError(f"MuJoCo cannot compile the world: {error}") from None
    listed: dict[str, Mapping[str, str]] = {kind: dict(found) for kind, found in names.items() if found}
    if renamed:
        listed["geom"] = {**names["geom"], **{old: names["geom"][new] for old, new in renamed.items()}}
    return MujocoModel(spec, model, listed, tuple(dict.fromkeys(loss.text for loss in output.losses)))


def from_mujoco(spec: mujoco.MjSpec, *, base: str | os.PathLike[str] | None = None, **options: Any) -> Scene:
    """Read a `mujoco.MjSpec` as a scene, as `load` reads the MJCF that MuJoCo writes for it.

    Files that the specification names are its `assets`, or found relative to `base`; by default where MuJoCo looks for
    them.  `options` are those of `load`.  Conversions write copies of assets beside the output.  Raises ExoskelError
    if MuJoCo cannot write the specification.
    """
    library = mujoco_import.load()
    if not isinstance(spec, library.MjSpec):
        raise ExoskelError(f"expected a mujoco.MjSpec, not {spec!r}; use exoskel.load to read MJCF")
    try:
        text = mujoco_import.run_in_thread(lambda: full_text(spec, spec.compile()))  # only compiled ones are written
    except (ValueError, RuntimeError, MemoryError, library.FatalError) as error:
        raise ExoskelError(f"MuJoCo cannot compile the specification: {error}") from None
    if spec.assets:
        options["resolver"] = MemoryFiles(spec.assets, options.get("resolver"))
    return load(
        text, format="mjcf", base=base or spec.modelfiledir or None, name=spec.modelname or "<MjSpec>", **options
    )
