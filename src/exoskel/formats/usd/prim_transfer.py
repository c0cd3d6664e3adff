"""Copy prims and properties that a scene does not contain to a new layer, with usd-core in a child process.

The stage is composed as when it was read: its files are in memory, and others are not opened.  What is copied has no
references: it has the values that the stage has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct, field

from exoskel.formats.usd.layer_editor import edit_paths
from exoskel.formats.usd.mapping import PHYSICAL, PRESERVED
from exoskel.formats.usd.reader.stage import (
    ROOT,
    FindLayer,
    LoadAnswer,
    StageLayers,
    StageRequest,
    load_layers,
    own_custom_data,
)
from exoskel.formats.usd.usd_process import StageError, UsdProcess, answer_requests

Property = tuple[str, str]
"""The path of a prim in the source, and the name of a property."""


class Transfer(Struct):
    """What to copy to a new `layer`.

    `places` are the paths of items in the layer by those in the source, and `bodies` the items whose children are
    placed in the frame of a body.  `prims` are the paths of prims in the source, `properties` those of items.
    """

    layer: bytes
    places: dict[str, str]
    bodies: list[str]
    prims: list[str]
    properties: dict[str, list[str]]
    metre: float
    has_other_units: bool = False
    """Lengths are not in m, or masses not in kg."""


class Transferred(Struct):
    """The new layer, and what was copied: the paths in the source.  `lost` are properties of copied prims."""

    data: bytes
    prims: list[str] = field(default_factory=list)
    properties: list[Property] = field(default_factory=list)
    lost: list[Property] = field(default_factory=list)


class _Request(Struct):
    stage: StageRequest | None = None
    transfer: Transfer | None = None
    files: dict[str, str] = field(default_factory=dict)
    extension: str = ""


class _Answer(LoadAnswer):
    files: list[tuple[str, str, str]] = field(default_factory=list)
    """The paths of files that are copied: a token, the key of the layer, and the path."""
    result: Transferred | None = None


def transfer(
    data: bytes, find: FindLayer, wanted: Transfer, extension: str, relocate: Callable[[str, str], str]
) -> Transferred:
    """Copy prims from a file to a layer, in the form for an extension.

    `relocate` has the new path of a file by the key of a layer and the path in it.  Raises StageError or
    StageLimitError.
    """
    child = UsdProcess(__name__, _Answer)
    try:
        _, size = load_layers(data, find, "", lambda request: child.ask(_Request(request), request.size))
        files = child.ask(_Request(transfer=wanted), size).files
        paths = {token: relocate(key, path) for token, key, path in files}
        answer = child.ask(_Request(files=paths, extension=extension), size)
        if answer.result is None:
            raise StageError(answer.problem)
        return answer.result
    finally:
        child.close()


# --- in the child -------------------------------------------------------------------------------------


_NUMBERS = ("float", "double", "half", "vector", "point", "normal", "matrix")
_TOKEN = "exoskel-file:"
_FRAME = "xformOp:transform:frame"
_ORDER = "xformOpOrder"
_NOT_COPIED = ("Physics", "MaterialBindingAPI", "NewtonMass", "NewtonScene", "NewtonArticulation", "NewtonMimic")
"""Beginnings of applied schemas that the writer decides on."""
_LAYER_DATA = (
    *("customLayerData", "documentation", "comment"),
    *("startTimeCode", "endTimeCode", "timeCodesPerSecond", "framesPerSecond"),
)
"""Metadata of a layer that is written again."""
_ALSO_NOT_COPIED = ("NewtonSite", "MjcSite", "MjcScene", "PhysxMimicJoint", "PhysxJointState")


class _FileTokens:
    """Tokens instead of paths of files, so that it is known which layer states a path that is copied."""

    def __init__(self) -> None:
        self.places: list[tuple[str, str]] = []

    def replace_in(self, key: str, layer: Any) -> None:
        edit_paths(layer, lambda path: path if path.startswith("anon:") else self._token(key, path))

    def _token(self, key: str, path: str) -> str:
        self.places.append((key, path))
        return f"{_TOKEN}{len(self.places) - 1}"

    def used_in(self, layer: Any) -> list[tuple[str, str, str]]:
        found: dict[str, tuple[str, str, str]] = {}

        def note(path: str) -> str:
            if path.startswith(_TOKEN):
                found[path] = (path, *self.places[int(path.removeprefix(_TOKEN))])
            return path

        edit_paths(layer, note)
        return list(found.values())


class _PrimCopier:
    """Copies prims of a stage to a stage of the new layer."""

    def __init__(self, layers: StageLayers, wanted: Transfer) -> None:
        from pxr import Sdf, Usd, UsdGeom

        from exoskel.formats.usd.tree import TEXT, open_layer

        self.layer = open_layer(wanted.layer, TEXT, Sdf)
        self.wanted = wanted
        self.source = Usd.Stage.Open(layers.layers[ROOT])
        self.target = Usd.Stage.Open(self.layer)
        self.cache = UsdGeom.XformCache(Usd.TimeCode.EarliestTime())
        self.new_cache = UsdGeom.XformCache(Usd.TimeCode.EarliestTime())
        self.places = dict(wanted.places)
        self.copied: list[str] = []
        self.properties: list[Property] = []
        self.lost: list[Property] = []
        self._pending: dict[str, Any] = {}
        """The transforms that the children of copied prims without a transform need."""

    def copy(self) -> None:
        for path in self.wanted.prims:
            self._place_prim(path)
        for path in self.copied:
            for one in self.source.GetPrimAtPath(path).GetAuthoredProperties():
                if one.GetName() != _ORDER or path not in self._framed:
                    self._copy_property(path, one, self.lost)
        for path, names in self.wanted.properties.items():
            prim = self.source.GetPrimAtPath(path)
            self._add_metadata(prim, self.target.GetPrimAtPath(self.places[path]))
            for name in names:
                one = prim.GetProperty(name)
                if one and self._copy_property(path, one, []):
                    self.properties.append((path, name))
        self._remove_dangling()
        self._add_layer_data()

    # --- prims ----------------------------------------------------------------------------------------

    _framed: frozenset[str] = frozenset()

    def _place_prim(self, path: str) -> None:
        from pxr import Sdf, UsdGeom

        prim = self.source.GetPrimAtPath(path)
        above = path.rpartition("/")[0]
        while above and above not in self.places:
            above = above.rpartition("/")[0]
        home = self.places.get(above or "/")
        if not prim or home is None:
            return
        name, number = prim.GetName(), 0
        while self.layer.GetPrimAtPath(f"{home}/{name}"):
            number += 1
            name = f"{prim.GetName()}_{number}"
        new = f"{home}/{name}"
        spec = Sdf.CreatePrimInLayer(self.layer, new)
        spec.specifier = Sdf.SpecifierDef
        if prim.GetTypeName():
            spec.typeName = str(prim.GetTypeName())
        self.places[path] = new
        self.copied.append(path)
        made = self.target.GetPrimAtPath(new)
        self._add_metadata(prim, made, is_whole=True)
        is_inside = above in self.copied
        if not is_inside:
            made.SetCustomDataByKey(PRESERVED, "true")
        pending = self._pending.get(above) if is_inside else self._frame(prim, above, home)
        if pending is None:
            return
        xform = UsdGeom.Xformable(prim)
        if not xform:
            self._pending[path] = pending
            return
        order = [str(one) for one in xform.GetXformOpOrderAttr().Get() or ()]
        if "!resetXformStack!" in order:
            return
        attribute = made.CreateAttribute(_FRAME, Sdf.ValueTypeNames.Matrix4d, False)
        attribute.Set(pending)
        made.CreateAttribute(_ORDER, Sdf.ValueTypeNames.TokenArray, False, Sdf.VariabilityUniform).Set([_FRAME, *order])
        self._framed = self._framed | {path}

    def _frame(self, prim: Any, above: str, home: str) -> Any:
        """The transform from the parent in the source to that in the new layer; None if it does nothing."""
        from pxr import Gf

        parent = prim.GetParent()
        metre = self.wanted.metre
        scale = Gf.Matrix4d(1.0).SetScale(metre)
        matrix = self.cache.GetLocalToWorldTransform(parent) if parent else Gf.Matrix4d(1.0)
        if above in self.wanted.bodies:
            frame = (self.cache.GetLocalToWorldTransform(self.source.GetPrimAtPath(above)) * scale).RemoveScaleShear()
        else:
            frame = self.new_cache.GetLocalToWorldTransform(self.target.GetPrimAtPath(home))
        found = matrix * scale * frame.GetInverse()
        return None if Gf.IsClose(found, Gf.Matrix4d(1.0), 1e-9) else found

    def _add_metadata(self, prim: Any, made: Any, *, is_whole: bool = False) -> None:
        """Copy metadata and applied schemas that the new prim lacks."""
        for name in ("assetInfo", "documentation", "comment", "hidden", "displayName") if is_whole else ("assetInfo",):
            if prim.HasAuthoredMetadata(name):
                made.SetMetadata(name, prim.GetMetadata(name))
        if is_whole and (kind := str(prim.GetMetadata("kind") or "")):
            is_model = made.GetParent().IsGroup()  # a model must be in a group, and a group in a group
            made.SetMetadata("kind", kind if is_model else "subcomponent")
        for key, value in own_custom_data(prim).items():
            if not key.startswith("exoskel") and key not in own_custom_data(made):
                made.SetCustomDataByKey(key, value)
        listed = prim.GetMetadata("apiSchemas")
        known = {*made.GetAppliedSchemas(), *_listed(made.GetMetadata("apiSchemas"))}
        for name in _listed(listed):
            if name not in known and (is_whole or not name.startswith((*_NOT_COPIED, *_ALSO_NOT_COPIED))):
                made.AddAppliedSchema(name)

    def _add_layer_data(self) -> None:
        source, made = self.source.GetRootLayer().pseudoRoot, self.layer.pseudoRoot
        for name in _LAYER_DATA:
            if not source.HasInfo(name):
                continue
            value = source.GetInfo(name)
            if name == "customLayerData":
                value = {**value, **self.layer.customLayerData}
            made.SetInfo(name, value)
            self.properties.append(("/", name))

    # --- properties -----------------------------------------------------------------------------------

    def _copy_property(self, path: str, one: Any, lost: list[Property]) -> bool:
        """Copy a property to the prim that a path became, unless that has it; False if it is not copied."""
        from pxr import Usd

        made = self.target.GetPrimAtPath(self.places[path])
        name = one.GetName()
        if not made or self.layer.GetPropertyAtPath(f"{self.places[path]}.{name}"):
            return False
        if path not in self.copied and not self._is_independent(one):
            return False
        is_relationship = isinstance(one, Usd.Relationship)
        targets = one.GetTargets() if is_relationship else one.GetConnections()
        translated = [self._translated(target) for target in targets]
        if None in translated or (targets and is_relationship and not translated):
            lost.append((path, name))
            return False
        copy = one.FlattenTo(made, name)
        if targets and is_relationship:
            copy.SetTargets(translated)
        elif targets:
            copy.SetConnections(translated)
        return True

    def _is_independent(self, one: Any) -> bool:
        """Whether a property of an item depends neither on its vertices nor on units."""
        if one.GetMetadata("interpolation") not in (None, "constant"):
            return False
        is_number = any(word in str(one.GetMetadata("typeName") or "") for word in _NUMBERS)
        return not (self.wanted.has_other_units and is_number and one.GetName().startswith(PHYSICAL))

    def _translated(self, target: Any) -> Any:
        """The path of a target in the new layer; None if the target is not in it."""
        prim = str(target.GetPrimPath())
        new = self.places.get(prim)
        if new is None:
            return None
        return target.ReplacePrefix(target.GetPrimPath(), type(target)(new))

    def _remove_dangling(self) -> None:
        """Remove copied properties with targets that do not exist."""
        for path, name in [*self.properties, *self._all_copied()]:
            spec = self.layer.GetPropertyAtPath(f"{self.places[path]}.{name}")
            if spec is None:
                continue
            listed = spec.targetPathList if hasattr(spec, "targetPathList") else spec.connectionPathList
            targets = list(listed.GetAddedOrExplicitItems())
            if all(self.layer.GetObjectAtPath(one) for one in targets):
                continue
            self.layer.GetPrimAtPath(self.places[path]).RemoveProperty(spec)
            if (path, name) in self.properties:
                self.properties.remove((path, name))
            else:
                self.lost.append((path, name))

    def _all_copied(self) -> Iterator[Property]:
        for path in self.copied:
            for one in self.source.GetPrimAtPath(path).GetAuthoredProperties():
                yield path, one.GetName()


def _listed(found: Any) -> list[str]:
    return [str(name) for name in (found.GetAddedOrExplicitItems() if found else ())]


class _Copying:
    """The requests about one file."""

    def __init__(self) -> None:
        self.layers = StageLayers()
        self.tokens = _FileTokens()
        self.copier: _PrimCopier | None = None

    def answer(self, request: _Request) -> _Answer:
        from exoskel.formats.usd.tree import layer_bytes

        if request.stage is not None:
            return _Answer(wanted=self.layers.add(request.stage))
        if request.transfer is not None:
            for key, layer in self.layers.layers.items():
                self.tokens.replace_in(key, layer)
            self.copier = _PrimCopier(self.layers, request.transfer)
            self.copier.copy()
            return _Answer(files=self.tokens.used_in(self.copier.layer))
        copier = self.copier
        assert copier is not None
        edit_paths(copier.layer, lambda path: request.files.get(path, path))
        data = layer_bytes(copier.layer, request.extension)
        return _Answer(result=Transferred(data, copier.copied, copier.properties, copier.lost))


def main() -> None:
    """Answer requests about one file."""
    copying, size = _Copying(), 0

    def total(request: _Request) -> int:
        nonlocal size
        size = max(size, request.stage.size if request.stage else 0)
        size += len(request.transfer.layer) if request.transfer else 0
        return size

    answer_requests(_Request, copying.answer, _Answer, total, times=2.0)


if __name__ == "__main__":
    main()
