"""Write scenes as documents with the functions of each format.

To add a format, add a function to `_WRITERS` and a reader to `reader_process.READERS`.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from msgspec import Struct

from exoskel import Body, Joint, Model, Scene, World
from exoskel.formats.comments_and_extensions import preserve_comments
from exoskel.formats.interface import ReadOptions
from exoskel.formats.mjcf.file_writer import write_document
from exoskel.formats.mjcf.model.inertials import Inertials
from exoskel.formats.mjcf.names import NameTable, name_geoms, shorten_names
from exoskel.formats.mjcf.tree import MjcfElement, markup
from exoskel.formats.sdf.read import read as read_sdf
from exoskel.formats.sdf.write import write as write_sdf
from exoskel.formats.urdf.read import read as read_urdf
from exoskel.formats.urdf.write import write as write_urdf
from exoskel.formats.usd.tree import to_text as to_usda
from exoskel.formats.usd.write import write as write_usd
from exoskel.source.document import Document
from exoskel.source.file_lookup import Location
from exoskel.source.markup import Markup, serialize
from exoskel.source.numbers import given_numbers, round_markup
from exoskel.source.output_context import OutputContext
from tests.external.expectation import Array, Mechanism
from tests.external.mechanisms import Tree, read_mechanism
from tests.external.mjcf import MjcfMechanism, holders
from tests.external.usd import UsdMechanism
from tests.external.usd import traits as usd_traits
from tests.urdf.support import chain as urdf_chain


class WrittenDocument(Struct, frozen=True):
    """The text of a document, its file name, traits that some readers cannot handle, and its expected mechanism.

    `plain` is the text without the comments of the scene, `companions` the files written with it, by their paths.
    """

    name: str
    text: str
    plain: str
    traits: frozenset[str]
    mechanism: Callable[[], Mechanism]
    companions: dict[str, bytes] = {}


def write(scene: Scene, format: str, stem: str, folder: Path) -> Iterator[WrittenDocument]:
    """The documents that a scene becomes, for files in `folder`: in MJCF one for each world, in URDF for each model."""
    yield from _WRITERS[format](scene, stem, folder)


def _texts(root: Markup, scene: Scene, *, is_part: bool = False) -> tuple[str, str]:
    """The text of a document with rounded numbers, as conversions write it, and without comments."""
    round_markup(root, given_numbers(scene.documents))
    plain = serialize(root)
    preserve_comments(root, scene, is_part=is_part)
    return serialize(root), plain


# --- URDF ---------------------------------------------------------------------------------------------


def _urdf(scene: Scene, stem: str, folder: Path) -> Iterator[WrittenDocument]:
    models = [model for world in scene.worlds for model in world.models]
    for number, model in enumerate(models):
        output = OutputContext(folder)
        root = write_urdf(Scene([World(models=[model])]), output)
        text, plain = _texts(root, scene, is_part=len(models) > 1)
        mechanism = partial(_urdf_mechanism, model, root, text, folder)
        yield WrittenDocument(f"{stem}.{number}.urdf", text, plain, frozenset(), mechanism, output.companions)


def _urdf_mechanism(model: Model, root: Markup, text: str, folder: Path) -> Mechanism:
    back = read_urdf(_document(text, folder / "robot.urdf"), ReadOptions()).world.models
    return Tree([model], back, _names(root, "link"), urdf_chain, lambda _: "", _urdf_shift).mechanism()


def _urdf_shift(model: Model, joint: Joint | None) -> Array:
    """URDF has a link's frame at its joint."""
    return np.eye(4) if model.static or joint is None else joint.pose.matrix()


# --- SDFormat -----------------------------------------------------------------------------------------


def _sdf(scene: Scene, stem: str, folder: Path) -> Iterator[WrittenDocument]:
    output = OutputContext(folder)
    root = write_sdf(scene, output)
    text, plain = _texts(root, scene)
    mechanism = partial(sdf_mechanism, scene, root, text, folder)
    yield WrittenDocument(f"{stem}.sdf", text, plain, _sdf_traits(root), mechanism, output.companions)


def _sdf_traits(root: Markup) -> frozenset[str]:
    worlds = [element for element in root.children if element.tag == "world"]
    ends: Counter[tuple[int, frozenset[str]]] = Counter()
    for model in (element for element in root.iter() if element.tag == "model"):
        joints = [element for element in model.children if element.tag == "joint"]
        ends.update((id(model), frozenset(e.text for e in j.children if e.tag in ("parent", "child"))) for j in joints)
    found = {"several worlds": len(worlds) > 1, "two joints between two links": max(ends.values(), default=0) > 1}
    return frozenset(trait for trait, has in found.items() if has)


def sdf_mechanism(scene: Scene, root: Markup, text: str, folder: Path) -> Mechanism:
    back = read_sdf(_document(text, folder / "scene.sdf"), ReadOptions())
    models = [model for world in scene.worlds for model in world.models]
    there = [model for world in back.worlds for model in world.models]
    return Tree(models, there, sdf_names(root), sdf_chain, sdf_prefix, lambda model, joint: np.eye(4)).mechanism()


def sdf_names(root: Markup) -> dict[int, str]:
    """The names of links, with those of their models, by the ids of bodies."""
    named: dict[int, str] = {}
    for element in (e for e in root.iter() if e.tag == "model"):
        named |= {key: f"{element.attributes['name']}::{name}" for key, name in _names(element, "link").items()}
    return named


def sdf_prefix(model: Model) -> str:
    return f"{model.name}::"


def sdf_chain(joint: Joint, q: Array) -> Sequence[float]:
    if joint.kind == "free" and joint.parent is not None:
        return [*q[3:], *q[:3]]
    return [q[1], q[0]] if joint.swapped and len(q) == 2 else [*q]


def _document(text: str, file: Path) -> Document:
    return Document(text.encode(), str(file), Location(path=str(file)))


def read(text: str, child: str, name: str, shown: str) -> WrittenDocument:
    """An SDFormat document by others, with a second one that it may include, and the models we read from it."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "child.sdf").write_text(child, encoding="utf-8")
        models = read_sdf(_document(text, Path(folder) / name), ReadOptions()).world.models
    return WrittenDocument(name, shown, shown, frozenset(), partial(read_mechanism, models, sdf_prefix))


def _names(root: Markup, tag: str) -> dict[int, str]:
    return {id(e.item): e.attributes["name"] for e in root.iter() if e.tag == tag and isinstance(e.item, Body)}


# --- MJCF ---------------------------------------------------------------------------------------------


def _mjcf(scene: Scene, stem: str, folder: Path) -> Iterator[WrittenDocument]:
    for number, world in enumerate(scene.worlds):
        document = write_document(world, OutputContext(folder))
        several = max(Counter(holders(document)[0].values()).values(), default=0) > 1
        repaired = any(repair.fault == "moment" for repair in Inertials(_moving(world)).repairs)
        known = {
            "several joints in a body": several,
            "a moment of zero": repaired,
            "more than 500 joints": len(holders(document)[0]) > 500,
        }
        traits = frozenset(trait for trait, has in known.items() if has)
        short, names = shortened_document(world, OutputContext(folder))
        yield WrittenDocument(
            f"{stem}.{number}.xml",
            *_texts(markup(short), scene, is_part=len(scene.worlds) > 1),
            traits,
            partial(_mjcf_mechanism, world, document, names),
        )


def shortened_document(world: World, output: OutputContext) -> tuple[MjcfElement, NameTable]:
    """The document with the names of the file, and these names by those in `write_document`."""
    short = write_document(world, output)
    name_geoms(short)
    return short, shorten_names(short)


def _moving(world: World) -> list[Body]:
    return [body for model in world.models if not model.static for body in model.bodies]


def _mjcf_mechanism(world: World, document: MjcfElement, names: NameTable) -> Mechanism:
    return MjcfMechanism(world, document, names).mechanism()


# --- USD ----------------------------------------------------------------------------------------------


def _usd(scene: Scene, stem: str, folder: Path) -> Iterator[WrittenDocument]:
    layer = write_usd(scene, OutputContext(folder))
    text = to_usda(layer, given_numbers(scene.documents))
    models = [model for world in scene.worlds for model in world.models]
    mechanism = partial(_usd_mechanism, scene, text, folder)
    yield WrittenDocument(f"{stem}.usda", text, text, usd_traits(models, layer), mechanism)


def _usd_mechanism(scene: Scene, text: str, folder: Path) -> Mechanism:
    stage = UsdMechanism(scene.worlds, OutputContext(folder))
    assert to_usda(stage.layer, given_numbers(scene.documents)) == text, (
        "joints are lowered differently than in the writer"
    )
    return stage.mechanism()


_WRITERS: dict[str, Callable[[Scene, str, Path], Iterator[WrittenDocument]]] = {
    "mjcf": _mjcf,
    "urdf": _urdf,
    "sdf": _sdf,
    "usd": _usd,
}
FORMATS = tuple(_WRITERS)
