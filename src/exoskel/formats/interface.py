"""What a format package provides: its reader with its options, its writer, its editor, and their tables.

`exoskel.formats.registry` has one subclass of `Format` for each package.  Its methods import the modules of the package
when they are called, so that a program loads only the parts it uses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Literal, get_args

from msgspec import Struct

from exoskel.diagnostics import Catalogue, ExoskelError
from exoskel.fates import Verdict
from exoskel.scene.inertia import InertiaRule
from exoskel.scene.item import Item
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document
from exoskel.source.embedded_format import EmbeddedDataFormat, RejectedElements
from exoskel.source.file_lookup import SearchPaths
from exoskel.source.limits import DEFAULT_LIMITS, Limits
from exoskel.source.markup import Markup
from exoskel.source.native_reading import NativeReading
from exoskel.source.source_elements import FindUnread
from exoskel.source.vocabulary import Element, SceneFieldTable, Vocabulary

if TYPE_CHECKING:
    from exoskel.formats.name_references import NameReferences
    from exoskel.formats.saving.changes import Changes
    from exoskel.scene.collision_filter import CollisionRules
    from exoskel.scene.lowering.joint_passes import LoweredWorld
    from exoskel.source.output_context import ComposedFile, OutputContext, Target
    from exoskel.source.positions import Elements

Semantics = Literal["written", "dart"]
VelocityAxes = Literal["parent", "child"]
Dialect = Literal["auto", "spec", "pyode"]


_CHOICES: dict[str, tuple[object, ...]] = {
    "semantics": get_args(Semantics),
    "inertia_rule": get_args(InertiaRule),
    "free_velocity_axes": get_args(VelocityAxes),
    "dialect": get_args(Dialect),
    "index_base": (None, 0, 1),
}


class ReadOptions(Struct, frozen=True, kw_only=True):
    """How a file is read.

    `semantics` (SKEL): `written`, as documented, or `dart`, as DART 6.20 loads it.
    `inertia_rule` (SKEL): the shapes that missing moments of inertia derive from; `first_shape` is DART up to 6.19.
    `free_velocity_axes` (SKEL): the axes of a free joint's initial velocity; `child` is DART up to 6.16.
    `dialect` (XODE): that of the specification, that of PyODE, or `auto` to detect it in the file.
    `index_base` (XODE): the index of the first vertex of a mesh; None detects it in the mesh.
    """

    semantics: Semantics = "written"
    inertia_rule: InertiaRule = "all_shapes"
    free_velocity_axes: VelocityAxes = "parent"
    dialect: Dialect = "auto"
    index_base: Literal[0, 1] | None = None
    apply_embedded_data: bool = True
    """Apply the data that Exoskel has embedded in the file; otherwise ignore it."""
    rejected_elements: RejectedElements = RejectedElements()
    """Elements with embedded data that make the scene invalid: they are reported instead of applied."""
    on_native_scene: Callable[[Scene], None] | None = None
    """Called with the scene before embedded data is applied."""
    native_reading: NativeReading | None = None
    """A reading of the document before data was embedded in it, which need not be read again."""
    on_compiled: Callable[[object], None] | None = None
    """Called with the engine's model of the document, by a reader that compiles one (MJCF)."""
    is_own: bool = False
    """The document was written by this process, which then compiles its parts itself (MJCF)."""
    strict: bool = False
    """Use the strict severities of diagnostics."""
    expand: bool = True
    """Expand macros (xacro); otherwise they are errors."""
    arguments: Mapping[str, object] = {}
    """The arguments of macros."""
    limits: Limits = DEFAULT_LIMITS
    paths: SearchPaths = SearchPaths()

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                shown = ", ".join(map(repr, choices))
                raise ExoskelError(f"{name}={value!r} is not supported; use one of {shown}")

    @classmethod
    def of(cls, scene: Scene) -> ReadOptions:
        """The options that a scene was read with; the defaults if it was built in Python."""
        return scene.options if isinstance(scene.options, cls) else cls()


# --- the interface -------------------------------------------------------------------------------------


Reader = Callable[[Document, ReadOptions], Scene]
SceneReader = Callable[[bytes], Scene]
"""Reads new content of the same file with the same options."""
Writer = Callable[[Scene, "OutputContext"], Markup]
"""Writes an XML document as a tree whose elements know the items they were written from."""
Composer = Callable[[Scene, "OutputContext"], "ComposedFile"]
"""Writes a document that is not XML, and reads it back."""
CopySource = Callable[[Scene, "OutputContext"], "SourceCopy | None"]
"""Copies the document of an unedited scene for the folder of another one; None if it has to be written instead."""
EditSource = Callable[[Document, Scene, Scene, "Changes", Collection[int]], "SourceCopy | None"]
"""Edits a document, given the scene read from it, an edited scene and the differences; None if this is not possible.

The last argument has the ids of items that were not edited, but whose values would follow from edited ones.
"""
AdaptCopy = Callable[["SourceCopy", Scene, "OutputContext"], "SourceCopy"]
"""Adapts the copy of the document of a scene to the program that it is for."""
CompareCopy = Callable[[Scene, "SourceCopy", "OutputContext"], int]
"""The number of elements of the document of a scene that differ in a copy, edited values aside."""
CompareForces = Callable[[World, object, Mapping[int, frozenset[str]]], tuple[float, int]]
"""The largest relative difference of generalised forces between a world and its compiled document, and how many joints
with forces are omitted.

The mapping has the fields that are written approximately, by the ids of joints; an empty name stands for all.
"""
Field = tuple[type[Item], str]
"""A field of a scene item: the type of the item and the name of the field; the empty name is the item itself."""
NodeKey = tuple[int, str]
"""An element of a document and the name of one of its attributes; the empty name is the element itself."""


def item_fields(names: Mapping[type[Item], tuple[str, ...]]) -> frozenset[Field]:
    """The fields of a table that has the names of fields by the type of their item."""
    return frozenset((kind, name) for kind, own in names.items() for name in own)


_COLOR: Field = (Shape, "color")


def _lower_nothing(world: World) -> LoweredWorld | None:
    return None


def _no_shapes(native: Scene) -> Mapping[int, Shape]:
    return {}


def _find_nothing(document: Document) -> dict[NodeKey, Verdict]:
    return {}


def _carry_all(document: Document, node: int, owner: Markup) -> bool:
    return True


class SourceCopy(Struct, frozen=True):
    """The copy of a document, and the fates of the elements and attributes that differ from it.

    `inserted` are the numbers of elements that replace those that include files.
    """

    data: bytes
    fates: Mapping[NodeKey, Verdict] = {}
    inserted: Mapping[int, int] = {}
    is_edited: bool = False
    """The document has the values of an edited scene."""
    is_converted: bool = False
    """The copy has another form than the document, such as binary instead of text."""
    ignored: Mapping[NodeKey, Verdict] = {}
    """The fates of what the program that the copy is for ignores, although the copy states it."""
    replaced: Mapping[NodeKey, str | None] = {}
    """New values of attributes, by the elements of the copy, for the program that it is for; None: removed."""
    source_numbers: Sequence[int] | None = None
    """The number in the source of each element of the copy; -1 for new ones; None: all are the same."""
    inserted_numbers: Sequence[int] | None = None
    """The same in the source with the content of included files, whose elements have no numbers in the source."""
    removed: Set[int] = frozenset()
    """The elements of the source with the content of included files that are not in the copy."""
    replaced_items: Set[int] = frozenset()
    """The ids of joints of the source in place of which others were inserted, which have other elements."""
    moved: Set[int] = frozenset()
    """The elements of the source, as in `removed`, that are in other ones in the copy."""


class WriterCapabilities(Struct, frozen=True):
    """What a format can express, and the functions that write it.

    A field counts as expressed only if a reader gets the same physics from it.  Fields of a scene that are in no table
    here are embedded as extra data where the format has a place for it, and dropped elsewhere.
    """

    native_joints: frozenset[str]
    """Kinds of joint that are written as they are; others are lowered to chains of these."""
    write: Writer | None = None
    """For XML formats."""
    update_version: Callable[[Markup], None] | None = None
    """States the version that elements which were copied from the source into the document need."""
    compose: Composer | None = None
    """For all other formats."""
    copy_source: CopySource | None = None
    """For formats without embedded data, whose documents say more than a scene."""
    edit_source: EditSource | None = None
    """For formats with `copy_source`, to write edited scenes as their documents with the edited values."""
    insert_items: Callable[[Document, Scene, Scene, Changes, OutputContext], SourceCopy | None] | None = None
    """Inserts new items into a document before it is edited; see `EditSource`.  The same bytes if nothing is new."""
    expand_copies: Callable[[Document, Changes], SourceCopy | None] | None = None
    """Writes copies that a document only counts as elements of their own, if some of them were edited."""
    adapt_copy: AdaptCopy | None = None
    """Adapts a copy to the program that it is for."""
    copy_targets: frozenset[Target] = frozenset({"portable"})
    """The programs that documents are copied for; others get new documents."""
    compare_copy: CompareCopy | None = None
    """Compares a copy of a document, which is not compared with a scene in all details, with the document itself."""
    depends_on_source: bool = False
    """The writer considers not only the values of a scene, but also what the source of the scene states."""
    fields: frozenset[Field] = frozenset()
    """What the elements of the vocabulary set, where the format expresses exactly that (URDF, SDF).

    MJCF, USD and glTF have no vocabulary.  SKEL and XODE list what is never embedded; other fields may be embedded even
    if elements set them.
    """
    dof_fields: Mapping[str, frozenset[str]] = {}
    """Fields of degrees of freedom, with the kinds of joint at which they can be written."""
    drive_fields: Mapping[str, str] = {}
    """Fields of `Drive` that can be written, with how they are written; empty text: as they are."""
    rewritten_fields: Mapping[Field, str] = {}
    """Fields that are written in another form with the same physics, and in which form."""
    loops: bool = False
    """Joints that close loops can be written."""
    visual_shapes: bool = True
    """Shapes that are only seen can be written."""
    shapes: frozenset[str] = frozenset()
    rewritten_shapes: Mapping[str, str] = {}
    """Geometries that are written in another form with the same physics, and in which form."""
    euler_orders: tuple[str, ...] = ()
    """Axis orders of Euler joints; a joint with another order is written in a frame with permuted axes."""
    mesh_extensions: frozenset[str] = frozenset()
    """Extensions of the mesh files that readers of the format support; empty: all."""
    resolves_model_uris: bool = False
    """Readers of the format resolve `model://` URIs."""
    reads_mesh_textures: bool = True
    """Readers of the format get the textures of mesh files."""
    has_textures: bool = False
    """Textures of shapes are written; those that are not are recorded as lost."""
    precision: float = 1e-9
    """Relative error of a number that still counts as the same value."""
    color_precision: float | None = None
    """The same for colours, if readers of the format round them; None: as for all numbers."""
    has_initial_state: bool = False
    body_frames_at_joints: bool = False
    """The frame of a body in the file is that of its parent joint."""
    motor_joints: frozenset[str] = frozenset()
    """Kinds of joint at which motors are written, if the format has no other actuators: one motor for each joint, whose
    control is a force."""
    targets_without_actuators: frozenset[Target] = frozenset()
    """The programs that read no actuators of the format."""
    resting_actuators: frozenset[str] = frozenset()
    """Actuator types whose joints have no initial velocity in the file."""
    lower_joints: Callable[[World], LoweredWorld | None] = _lower_nothing
    """Replaces the joints that the format lacks; None if the world has no such joints."""
    collision_rules: Callable[[Scene, World], CollisionRules] | None = None
    """The collision rules of a document that was read back, where the fields of the scene do not state them."""
    compare_forces: CompareForces | None = None
    """Compares the forces of springs, dampers, friction and motors in a compiled document with those of the scene."""
    shapes_read_back: Callable[[Scene], Mapping[int, Shape]] = _no_shapes
    """Shapes that were read back for certificates only, by the ids of those they were written from."""

    is_picture: bool = False
    """Only the appearance of the initial state is written; other data is dropped or added as metadata."""
    field_fates: Mapping[Field, Verdict] = {}
    """Fates of fields that are written but not read back."""
    shape_fates: Mapping[str, Verdict] = {}
    """Fates of geometries that are not read back."""
    hidden_shape_reason: str = ""
    """Why a shape has no element in a picture."""
    pyode_fields: frozenset[Field] = frozenset()
    """Fields that a document for PyODE depends on; it has no place for others."""

    def tolerance(self, kind: type[Item], field: str) -> float:
        """The error of a field that still counts as the same value, for certificates and fates."""
        if (kind, field) == _COLOR and self.color_precision is not None:
            return self.color_precision
        return self.precision


class DiagnosticEffects(Struct, frozen=True):
    """What the diagnostics of a reader mean for the elements they point at, by prefixes of message keys."""

    ignored: tuple[str, ...] = ()
    """Diagnostics, errors aside, about something that has no effect."""
    used: tuple[str, ...] = ()
    """Exceptions from `ignored` and from errors: something that has at least part of its effect."""
    lossless: tuple[str, ...] = ()
    """Warnings about something that is read as it is meant."""
    attributes: Mapping[str, tuple[str, ...]] = {}
    """The attributes that a diagnostic is about, where it points at an element and means several of its attributes."""
    preserved: tuple[str, ...] = ()
    """Diagnostics about elements that are not part of a scene, and that are written to the same format again."""
    all_similar: tuple[str, ...] = ()
    """Diagnostics about all elements with the name of the one they point at."""


class SourceMapping(Struct, frozen=True):
    """How the elements of a format relate to the fields of a scene."""

    scene_fields: SceneFieldTable
    diagnostics: DiagnosticEffects
    find_unused: Callable[[Document], dict[NodeKey, Verdict]] = _find_nothing
    """Finds elements and attributes without effect because of what the document states elsewhere."""
    transparent: frozenset[str] = frozenset()
    """Elements that only group their content."""
    joint_elements: frozenset[str] = frozenset()
    """Elements in a body that together define its parent joint."""
    settings: Mapping[str, frozenset[str]] = {}
    """Elements that are not part of a scene and are written to the same format again, by those around them."""
    find_unread: FindUnread | None = None
    """Finds what no field of a scene has, which is written to the same format again."""
    may_carry: Callable[[Document, int, Markup], bool] = _carry_all
    """Whether such an element has the same meaning in an element of the output."""
    includes: frozenset[str] = frozenset()
    """Elements that are replaced by the content of another file."""
    find_dependents: Callable[[Document, Collection[int]], set[int]] | None = None
    """Finds the elements that are lost with others because they refer to them, if the format has any."""


class FormatEditor:
    """Adapts edits to one format and one document.  The methods here are the defaults for all formats.

    `base` is the source, read again; `changes` the differences between it and `scene`.
    """

    writes_items_alone: bool = True
    """Whether the text of an item does not depend on the other items of its model."""
    derived_fields: frozenset[tuple[type[Item], str]] = frozenset()
    """Fields that the reader derives from others: unless they were edited, the values that are read back count."""
    has_model_elements: bool = True
    """Whether models have elements; otherwise the grouping of bodies into models is embedded."""
    has_independent_models: bool = False
    """Whether the elements of a model are read without those of other models, in the order of the document."""
    fixes_static_bodies: bool = False
    """Whether each body of a static model is written with a fixed joint of its own."""

    def __init__(
        self,
        format: Format,
        document: Document,
        options: ReadOptions,
        elements: Elements,
        base: Scene,
        scene: Scene,
        changes: Changes,
    ) -> None:
        self.format = format
        self.document = document
        self.options = options
        self.elements = elements
        self.base = base
        self.scene = scene
        self.changes = changes

    @staticmethod
    def mark_replaced_items(changes: Changes) -> None:
        """Convert edits that need new elements into removed and added items."""

    @staticmethod
    def find_name_clash(base: Scene, reread: Scene) -> str:
        """Why the names in an edited document are not allowed; empty if they are."""
        return ""

    def update_dependent_fields(self) -> Callable[[], None]:
        """Set fields of the scene that depend on edited ones while it is written; the result undoes that."""
        return lambda: None

    def writes_alone(self, model: Model) -> bool:
        """Whether the text of the items of one model does not depend on others in it that were not edited."""
        return self.writes_items_alone

    def affected_items(self) -> list[tuple[Item, Item]]:
        """Items that were not edited, but whose text may change because of other edits."""
        return []

    def has_element(self, item: Item) -> bool:
        """Whether an item of the source has an element of its own."""
        return item.node >= 0

    def adapt_edited(self, source: Item, item: Item, old: Markup, new: Markup) -> tuple[Markup, Markup]:
        """Convert the canonical elements of an item before and after the edit to the form that the document uses."""
        return old, new

    def adapt_added(self, item: Item, element: Markup) -> Markup:
        """Convert the canonical element of a new item to the form that the document uses."""
        return element

    def container(self, item: Item, owner: Item | None) -> int:
        """The element of the document that a new item is inserted in, or -1."""
        if owner is not None and owner.node >= 0:
            return owner.node
        return 0 if isinstance(item, World | Model) else -1

    def find_child(self, node: int, wanted: Markup, ordinal: int, rule: Element | None) -> int:
        """The child of an element that corresponds to `wanted`, the n-th of its tag, or -1."""
        rows = rule.children.items() if rule is not None else ()
        tags = {wanted.tag} | {name for name, row in rows if row.alias_of == wanted.tag}
        if len(tags) == 1 and ordinal == 0:
            return self.elements.child(node, wanted.tag)
        same = [child for child in self.elements.children(node) if self.elements.tag(child) in tags]
        return same[ordinal] if ordinal < len(same) else -1


class Format(ABC):
    """A file format: how its files are recognised, and the functions and tables that its package provides."""

    name: str
    title: str
    label: str
    """A short name for messages."""
    extensions: tuple[str, ...]
    """Extensions of its files in lower case, the usual one first."""
    roots: tuple[str, ...] = ()
    """Names of the root element."""
    magic: tuple[bytes, ...] = ()
    """First bytes of files that are not XML."""
    embedding: EmbeddedDataFormat | None = None
    """How data that the format cannot express is embedded in its documents; None if there is no place for it."""
    has_vocabulary: bool = True
    """There is a table of all elements.  Documents of other formats are checked by the library that reads them."""
    is_readable: bool = True
    is_mesh: bool = False
    """Its files are mostly meshes of other scenes: commands for folders leave them out."""
    is_xml: bool = True
    """Documents that are not XML are composed and read back by the format's package."""
    holds_one_world: bool = False
    holds_one_model: bool = False
    """A document is one model, not a world."""
    can_hold_one_model: bool = False
    """A document may be one model without a world."""
    has_pyode_dialect: bool = False
    """PyODE reads the format in a dialect of its own."""
    targets: tuple[Target, ...] = ()
    """The programs that it can be written for, besides any reader."""
    one_world_targets: frozenset[Target] = frozenset()
    """The programs of these that read only the first world of a document."""
    up_axis: str = ""
    """The axis that points up by convention; empty if the format has none or states it in the file."""
    dart_ignores_limits: bool = False
    """DART stores the joint limits of its files and does not enforce them."""
    expands_xacro: bool = False
    """Its documents may have macros of xacro, which are expanded before they are read."""
    has_state_file: bool = False
    """The initial state is in a file beside the document: see `exoskel.formats.initial_state`."""
    has_srdf: bool = False
    """It is also in a file in SRDF."""
    world_name: str = ""
    """The name by which joints refer to the world; empty if they have another way."""

    @property
    def embeds_data(self) -> bool:
        return self.embedding is not None

    @abstractmethod
    def catalogue(self) -> Catalogue:
        """The diagnostics of the reader and the writer."""

    @abstractmethod
    def capabilities(self) -> WriterCapabilities: ...

    @abstractmethod
    def reader(self) -> Reader: ...

    def writer(self) -> Writer:
        write = self.capabilities().write
        if write is None:
            raise ExoskelError(f"{self.label} files are not XML")
        return write

    def vocabulary(self) -> Vocabulary:
        raise ExoskelError(f"Exoskel has no vocabulary of {self.label}")

    @abstractmethod
    def source_mapping(self) -> SourceMapping: ...

    def editor(self) -> type[FormatEditor]:
        """The class that edits documents in place."""
        raise ExoskelError(f"{self.label} files cannot be edited in place")

    def name_references(self) -> type[NameReferences] | None:
        """The class that finds names in documents that are not edited in place, if the format has one."""
        return None
