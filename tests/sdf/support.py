"""Helpers for the SDFormat tests, which call the reader and writer directly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import exoskel
from exoskel import Scene, World
from exoskel.formats.interface import ReadOptions
from exoskel.formats.sdf.read import read
from exoskel.formats.sdf.write import write
from exoskel.scene.lowering import joint_passes
from exoskel.source.document import Document
from exoskel.source.file_lookup import Location, SearchPaths
from exoskel.source.markup import serialize
from exoskel.source.output_context import OutputContext
from tests.support.findings import Read


def load_text(text: str, base: Path | None = None, *, packages: Any = (), **options: Any) -> Scene:
    location = Location(path=str(base / "doc.sdf")) if base else Location()
    paths = SearchPaths(packages=packages, confine=options.pop("confine", False))
    return read(Document(text.encode(), "doc.sdf", location), ReadOptions(paths=paths, **options))


def load_model(inside: str, version: str = "1.11", attributes: str = "", **options: Any) -> Read:
    """A document with a model named m that contains `inside`, on line 1."""
    return Read(load_text(f'<sdf version="{version}"><model name="m" {attributes}>{inside}</model></sdf>', **options))


def load_world(inside: str, version: str = "1.11", **options: Any) -> Read:
    return Read(load_text(f'<sdf version="{version}"><world name="w">{inside}</world></sdf>', **options))


def link(name: str, inside: str = "") -> str:
    """A link with mass properties, which has no diagnostics."""
    return f'<link name="{name}"><inertial><mass>1</mass></inertial>{inside}</link>'


def written(scene: Scene, folder: Path | None = None) -> tuple[str, OutputContext]:
    output = OutputContext(folder)
    return serialize(write(scene, output)), output


def written_world(world: World) -> tuple[str, OutputContext]:
    return written(Scene([world]))


def save(scene: Scene, file: Path) -> OutputContext:
    text, output = written(scene, file.parent)
    file.write_text(text, encoding="utf-8")
    return output


def lowered(world: World) -> World:
    """The world with its joints lowered, as in the writer."""
    return joint_passes.lower_joints(world).world if joint_passes.joints_to_lower(world) else world


def read_file(file: Path) -> Scene:
    return read(Document(file.read_bytes(), str(file), Location(path=str(file))), ReadOptions())


def original(file: Path) -> Scene:
    return exoskel.load(str(file))
