"""Open a USD file and compose its stage with usd-core, in a child process with limits on time and memory.

usd-core can crash on invalid files, and a few bytes can refer to any number of prims.  It gets all files in memory:
this process finds and reads those that a file refers to.  The answer has all prims with their values.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct, field

from exoskel import spatial
from exoskel.formats.usd.usd_process import StageError, UsdAnswer, UsdProcess, answer_requests

ROOT = ""
"""The key of the file itself."""
_MOST_ROUNDS = 50
"""How deep references to files may be nested."""
_USED_ARRAYS = frozenset(
    {
        "points",
        "faceVertexIndices",
        "faceVertexCounts",
        "primvars:displayColor",
        "primvars:displayOpacity",
        "newton:inertia",
        "mjc:gainPrm",
        "mjc:dynPrm",
        "mjc:biasPrm",
        "mjc:gear",
        "mjc:path:coef",
        "mjc:path:indices",
        "mjc:path:segments",
        "mjc:path:divisors",
        "mjc:sideSites:indices",
        "mjc:springlength",
        "exoskel:path:axes",
    }
)


class StageArray(Struct):
    """The numbers of an array attribute."""

    kind: str
    shape: tuple[int, ...]
    data: bytes

    def array(self) -> Any:
        return np.frombuffer(self.data, dtype=self.kind).reshape(self.shape)


class StagePrim(Struct):
    """One composed prim.

    `properties` are the names of all authored properties, `values` those with one number, word or vector.
    Quaternions are w x y z.  `place` is the transform to the world, row by row, for row vectors.  `materials` are the
    paths of the bound materials by purpose.  `interpolations` say what the rows of arrays belong to: vertices, corners
    and so on.  `animated` are properties with time samples, of which the first is the value.
    """

    path: str
    type: str
    apis: list[str]
    kind: str
    display_name: str
    custom: dict[str, str]
    properties: list[str]
    values: dict[str, Any]
    arrays: dict[str, StageArray]
    targets: dict[str, list[str]]
    place: list[float]
    is_visible: bool
    purpose: str
    materials: dict[str, str]
    animated: list[str]
    interpolations: dict[str, str] = {}

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def title(self) -> str:
        """The name in the scene: the display name, if there is one."""
        return self.display_name or self.name

    def target(self, name: str) -> str:
        """The first target of a relationship, or an empty string."""
        return next(iter(self.targets.get(name, ())), "")


class UnreadPart(Struct):
    """A part of a file that is not in its composed stage: a variant that is not selected, an inactive prim, and so on.

    `kind` is one of the tags below.  With `is_used`, other prims inherit it or refer to it.
    """

    kind: str
    path: str
    is_used: bool = False


VARIANT, INACTIVE, CLASS, OVER = "variant", "inactive prim", "class", "over"


class StageInstances(Struct):
    """The instances of a point instancer: their prototypes by path, and transforms to the world for row vectors."""

    path: str
    roots: list[str]
    places: StageArray


class Stage(Struct):
    """The composed prims of a file in order, and its metadata; None where the file does not state it."""

    prims: list[StagePrim] = field(default_factory=list)
    creator: str = ""
    up_axis: str = "Y"
    meters_per_unit: float | None = None
    kilograms_per_unit: float | None = None
    default_prim: str = ""
    metadata: list[str] = field(default_factory=list)
    """The names of the metadata of the layer that the file states."""
    problems: list[str] = field(default_factory=list)
    """The problems that usd-core reports while composing."""
    unread: list[UnreadPart] = field(default_factory=list)
    instances: list[StageInstances] = field(default_factory=list)
    invalid_instancers: dict[str, str] = field(default_factory=dict)
    """Why point instancers are not read, by their paths."""
    prototypes: list[StagePrim] = field(default_factory=list)
    """The prims of prototypes of point instancers that are not among the others, such as those in classes."""


Reference = tuple[str, str]
"""The key of a layer, and a path in it that names another file."""
FindLayer = Callable[[str, str], tuple[str, bytes] | None]
"""Finds the file that a layer refers to by a path: its key and content; None if there is no such file."""


class StageRequest(Struct):
    """Files that the child process does not have yet; `size` is that of all files."""

    layers: dict[str, bytes]
    found: list[tuple[str, str, str | None]]
    """Layer, path in it, and the key of the file; None: not found."""
    size: int
    folder: str = ""
    """The folder that paths of files are relative to."""


class LoadAnswer(UsdAnswer):
    """The files that a file refers to and that are still wanted."""

    wanted: list[Reference] = field(default_factory=list)


class _StageAnswer(LoadAnswer):
    stage: Stage | None = None


Loaded = TypeVar("Loaded", bound=LoadAnswer)


def is_available() -> bool:
    """Whether usd-core, or another package with the same module, is installed."""
    return find_spec("pxr") is not None


def open_stage(data: bytes, find: FindLayer, folder: str = "") -> Stage:
    """The composed stage of a file in a folder.  Raises StageError or StageLimitError."""
    child = UsdProcess(__name__, _StageAnswer)
    try:
        answer, _ = load_layers(data, find, folder, lambda request: child.ask(request, request.size))
        if answer.stage is None:
            raise StageError(answer.problem)
        return answer.stage
    finally:
        child.close()


def load_layers(data: bytes, find: FindLayer, folder: str, ask: Callable[[StageRequest], Loaded]) -> tuple[Loaded, int]:
    """Send a file and those that it refers to; returns the last answer, and the size of all files."""
    request = StageRequest({ROOT: data}, [], len(data), folder)
    known = {ROOT}
    for _ in range(_MOST_ROUNDS):
        answer = ask(request)
        if not answer.wanted:
            return answer, request.size
        request = StageRequest({}, [], request.size, folder)
        for key, path in answer.wanted:
            found = find(key, path)
            request.found.append((key, path, None if found is None else found[0]))
            if found is not None and found[0] not in known:
                known.add(found[0])
                request.layers[found[0]] = found[1]
                request.size += len(found[1])
    raise StageError(f"references to files are nested more than {_MOST_ROUNDS} deep")


# --- in the child -------------------------------------------------------------------------------------


class StageLayers:
    """Files as layers of usd-core, which refer to each other only."""

    def __init__(self) -> None:
        self.layers: dict[str, Any] = {}
        self.keys: dict[str, str] = {}
        """The keys of files by the identifiers of their layers."""

    def add(self, request: StageRequest) -> list[Reference]:
        """Add the files of a request; returns the files that they refer to."""
        from pxr import Sdf

        from exoskel.formats.usd.tree import BINARY, TEXT, open_layer

        wanted: list[Reference] = []
        for key, data in request.layers.items():
            layer = open_layer(data, BINARY if data.startswith(b"PXR-USDC") else TEXT, Sdf)
            self.layers[key] = layer
            self.keys[layer.identifier] = key
            _remove_clips(layer)
            wanted += [(key, path) for path in layer.GetCompositionAssetDependencies() if path]  # empty: in itself
        for key, path, other in request.found:
            name = "" if other is None else self.layers[other].identifier
            self.layers[key].UpdateCompositionAssetDependency(path, name)
        return wanted


def _remove_clips(layer: Any) -> None:
    """Remove value clips, which would read further files."""
    for prim in prims_with_clips(layer):
        for name in _CLIPS:
            prim.ClearInfo(name)


_CLIPS = ("clips", "clipSets")


def prims_with_clips(layer: Any) -> list[Any]:
    """The prims of a layer of usd-core with value clips, also in variants."""
    paths: list[Any] = []
    layer.Traverse("/", paths.append)
    prims = (layer.GetPrimAtPath(one) for one in paths if one.IsPrimPath() or one.IsPrimVariantSelectionPath())
    return [prim for prim in prims if prim is not None and any(map(prim.HasInfo, _CLIPS))]


def _answer(layers: StageLayers, request: StageRequest) -> _StageAnswer:
    wanted = layers.add(request)
    return _StageAnswer(wanted=wanted) if wanted else _StageAnswer(stage=_compose(layers, request.folder))


def _compose(layers: StageLayers, folder: str) -> Stage:
    from pxr import Usd, UsdGeom

    layer = layers.layers[ROOT]
    stage = Usd.Stage.Open(layer)
    root = stage.GetPseudoRoot()
    made = Stage(
        creator=str(layer.customLayerData.get("creator", "")),
        up_axis=str(UsdGeom.GetStageUpAxis(stage)),
        default_prim=str(layer.defaultPrim),
        metadata=sorted({*map(str, root.GetAllAuthoredMetadata()), *(["subLayers"] if layer.subLayerPaths else [])}),
        problems=[_without_identifiers(str(problem), layers.keys) for problem in stage.GetCompositionErrors()],
    )
    for name, field_name in (("metersPerUnit", "meters_per_unit"), ("kilogramsPerUnit", "kilograms_per_unit")):
        if stage.HasAuthoredMetadata(name):
            setattr(made, field_name, float(stage.GetMetadata(name)))
    cache = UsdGeom.XformCache(Usd.TimeCode.EarliestTime())
    prims = Usd.PrimRange(root, Usd.TraverseInstanceProxies())
    found = [prim for prim in prims if prim != root]
    made.prims += [_prim(prim, cache, layers.keys, folder) for prim in found]
    made.instances += _instances(found, cache, made.invalid_instancers)
    hidden = _hidden_prototypes(stage, made)
    made.prototypes += [_prim(prim, cache, layers.keys, folder) for prim in hidden]
    made.unread += [*_unselected_variants(found), *_unread_prims(root, [*found, *hidden])]
    for part in made.unread:
        part.is_used = part.is_used or any(_is_in(one.path, part.path) for one in made.prototypes)
    return made


def _is_in(path: str, outer: str) -> bool:
    return path == outer or path.startswith(f"{outer}/")


_IDENTIFIER = re.compile(r"@(anon:[^@]*)@,?")


def _without_identifiers(problem: str, keys: Mapping[str, str]) -> str:
    """A problem with the paths of files instead of the identifiers of layers in memory."""

    def name(found: re.Match[str]) -> str:
        key = keys.get(found[1], ROOT)
        return f"@{key}@" if key != ROOT else ""

    return " ".join(_IDENTIFIER.sub(name, problem).split())


def _instances(prims: list[Any], cache: Any, problems: dict[str, str]) -> Iterator[StageInstances]:
    """The instances of the point instancers whose attributes are valid; `problems` gets those of others."""
    from pxr import Usd, UsdGeom

    time = Usd.TimeCode.EarliestTime()
    for prim in prims:
        instancer = UsdGeom.PointInstancer(prim)
        if not instancer:
            continue
        roots = [str(path) for path in instancer.GetPrototypesRel().GetForwardedTargets()]
        numbers = np.array(instancer.GetProtoIndicesAttr().Get(time) or (), np.int64)
        moved = _instance_transforms(instancer, len(numbers), time) if len(numbers) else None
        problem = _instancer_problem(roots, numbers, moved)
        if problem:
            problems[str(prim.GetPath())] = problem
            continue
        local = np.array([_local_transform(prim.GetStage().GetPrimAtPath(root), time) for root in roots])
        mask = np.array(list(instancer.ComputeMaskAtTime(time)) or [True] * len(numbers), bool)
        places = local[numbers] @ moved @ np.array(cache.GetLocalToWorldTransform(prim))
        chosen = [roots[one] for one in numbers[mask].tolist()]
        yield StageInstances(str(prim.GetPath()), chosen, StageArray("<f8", places[mask].shape, places[mask].tobytes()))


def _instancer_problem(roots: list[str], numbers: Any, moved: Any) -> str:
    """Why the instances of a point instancer cannot be read; empty if they can."""
    if not len(numbers):
        return "it has no protoIndices"
    if moved is None:
        return f"its positions, orientations and scales do not have {len(numbers)} rows, like its protoIndices"
    outside = numbers[(numbers < 0) | (numbers >= len(roots))].tolist()
    return f"its protoIndices contain {outside[0]}, but it has {len(roots)} prototypes" if outside else ""


def _local_transform(prim: Any, time: Any) -> Any:
    """The transform of a prim in the one around it; identity if it has none, or does not exist."""
    from pxr import UsdGeom

    is_placed = bool(prim) and prim.IsA(UsdGeom.Xformable)
    return np.array(UsdGeom.Xformable(prim).GetLocalTransformation(time)) if is_placed else np.eye(4)


def _instance_transforms(instancer: Any, count: int, time: Any) -> Any:
    """The transforms of instances for row vectors, without those of prototypes; None if an array is too short.

    usd-core does not normalize rotations, which have three digits in half precision: they would scale the instances.
    """
    positions = np.array(instancer.GetPositionsAttr().Get(time) or (), np.float64).reshape(-1, 3)
    scales = np.array(instancer.GetScalesAttr().Get(time) or [(1.0, 1.0, 1.0)] * count, np.float64)
    fine = instancer.GetPrim().GetAttribute("orientationsf")
    stated = (fine.Get(time) if fine else None) or instancer.GetOrientationsAttr().Get(time) or ()
    turns = np.array([(one.real, *one.imaginary) for one in stated] or [(1.0, 0.0, 0.0, 0.0)] * count, np.float64)
    if not len(positions) == len(scales) == len(turns) == count:
        return None
    turns[~turns.any(axis=1)] = (1.0, 0.0, 0.0, 0.0)
    found = np.tile(np.eye(4), (count, 1, 1))
    rotations = spatial.quaternion_matrix(turns)
    found[:, :3, :3] = scales[:, :, None] * rotations.swapaxes(1, 2)
    found[:, 3, :3] = positions
    return found


def _hidden_prototypes(stage: Any, made: Stage) -> list[Any]:
    """The prims of prototypes that are abstract or not defined."""
    from pxr import Usd

    known = {prim.path for prim in made.prims}
    found: dict[str, Any] = {}
    for root in dict.fromkeys(root for one in made.instances for root in one.roots):
        prim = stage.GetPrimAtPath(root)
        if prim and root not in known:
            found |= {str(one.GetPath()): one for one in Usd.PrimRange(prim, Usd.PrimIsActive)}
    return list(found.values())


def _unselected_variants(prims: list[Any]) -> Iterator[UnreadPart]:
    for prim in prims:
        if prim.IsInstanceProxy() or not prim.HasVariantSets():
            continue
        for name in prim.GetVariantSets().GetNames():
            chosen = prim.GetVariantSet(name)
            others = [one for one in chosen.GetVariantNames() if one != chosen.GetVariantSelection()]
            yield from (UnreadPart(VARIANT, f"{prim.GetPath()}{{{name}={one}}}") for one in others)


def _unread_prims(root: Any, read: list[Any]) -> Iterator[UnreadPart]:
    """The prims that are inactive, abstract or not defined, without those inside."""
    from pxr import Usd

    unread: list[UnreadPart] = []
    prims = iter(Usd.PrimRange(root, Usd.PrimAllPrimsPredicate))
    for prim in prims:
        if prim == root or (prim.IsActive() and prim.IsDefined() and not prim.IsAbstract()):
            continue
        prims.PruneChildren()
        kind = INACTIVE if not prim.IsActive() else CLASS if prim.IsAbstract() else OVER
        unread.append(UnreadPart(kind, str(prim.GetPath())))
    if unread:
        pairs = ((str(prim.GetPath()), str(spec.path)) for prim in read for spec in prim.GetPrimStack())
        used = {path for own, path in pairs if own != path}
        for part in unread:
            part.is_used = any(path == part.path or path.startswith(f"{part.path}/") for path in used)
    yield from unread


def _prim(prim: Any, cache: Any, keys: Mapping[str, str], folder: str) -> StagePrim:
    from pxr import Usd, UsdGeom

    first = Usd.TimeCode.EarliestTime()
    properties, values, arrays, interpolations, animated = [], {}, {}, {}, []
    for attribute in prim.GetAuthoredAttributes():
        name = attribute.GetName()
        properties.append(name)
        is_animated = bool(attribute.GetNumTimeSamples())
        animated += [name] if is_animated else []
        value = attribute.Get(first) if is_animated else attribute.Get()
        is_used = name in _USED_ARRAYS or _is_texture_coordinates(attribute)
        value_read = _builtin_value(value, is_single=_is_single(attribute), with_arrays=is_used)
        if value_read and type(value).__name__ == "AssetPath":
            value_read = _path_from(folder, value_read, attribute, keys)
        if isinstance(value_read, StageArray):
            arrays[name] = value_read
            interpolations[name] = str(attribute.GetMetadata("interpolation") or "constant")
        elif value_read is not None:
            values[name] = value_read
    connections = {
        one.GetName(): [str(path.GetPrimPath()) for path in one.GetConnections()]
        for one in prim.GetAuthoredAttributes()
        if one.HasAuthoredConnections()
    }
    relationships = {one.GetName(): [str(path) for path in one.GetTargets()] for one in prim.GetAuthoredRelationships()}
    imageable = UsdGeom.Imageable(prim)
    is_imageable = bool(imageable)
    return StagePrim(
        path=str(prim.GetPath()),
        type=str(prim.GetTypeName()),
        apis=_apis(prim),
        kind=str(prim.GetMetadata("kind") or ""),
        display_name=str(prim.GetMetadata("displayName") or ""),
        custom={str(name): str(value) for name, value in own_custom_data(prim).items()},
        properties=[*properties, *relationships],
        values=values,
        arrays=arrays,
        interpolations=interpolations,
        targets=relationships | connections,
        place=[number for row in cache.GetLocalToWorldTransform(prim) for number in row],
        is_visible=not is_imageable or imageable.ComputeVisibility(first) != UsdGeom.Tokens.invisible,
        purpose=str(imageable.ComputePurpose()) if is_imageable else "default",
        materials=dict(_materials(prim)),
        animated=animated,
    )


def _is_texture_coordinates(attribute: Any) -> bool:
    """Whether an attribute has texture coordinates, or their indices."""
    name, kind = attribute.GetName(), str(attribute.GetTypeName())
    return name.startswith("primvars:") and (kind in _COORDINATE_TYPES or name.endswith(":indices"))


_COORDINATE_TYPES = frozenset({"texCoord2f[]", "texCoord2d[]", "texCoord2h[]", "float2[]", "double2[]", "half2[]"})


def _path_from(folder: str, path: str, attribute: Any, keys: Mapping[str, str]) -> str:
    """The path of a file from a folder: that in a layer is relative to the layer."""
    stack = attribute.GetPropertyStack()
    key = keys.get(stack[0].layer.identifier, ROOT) if stack else ROOT
    if key == ROOT or os.path.isabs(path) or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", path):
        return path
    return os.path.relpath(os.path.join(os.path.dirname(key), path), folder or os.curdir).replace(os.sep, "/")


def own_custom_data(prim: Any) -> dict[str, Any]:
    """The custom data of a prim, without the documentation of its schema."""
    return {name: value for name, value in prim.GetCustomData().items() if not name.startswith("userDoc")}


def _apis(prim: Any) -> list[str]:
    """The applied schemas, also those that usd-core does not know."""
    listed = prim.GetMetadata("apiSchemas")
    return [str(name) for name in (listed.GetAddedOrExplicitItems() if listed else ())]


def _materials(prim: Any) -> Iterator[tuple[str, str]]:
    from pxr import UsdShade

    binding = UsdShade.MaterialBindingAPI(prim)
    for purpose in ("", "physics"):
        material, _ = binding.ComputeBoundMaterial(purpose)
        if material:
            yield purpose, str(material.GetPath())


def _is_single(attribute: Any) -> bool:
    """Whether an attribute is in single precision, such as `point3f`, `float` or `quatf`."""
    kind = str(attribute.GetTypeName()).removesuffix("[]")
    return kind.startswith("float") or (kind[-1:] == "f" and kind != "half")


def _builtin_value(value: Any, *, is_single: bool, with_arrays: bool) -> Any:
    """A value as a number, text, tuple of numbers or array; None if it is nothing like that.

    Numbers in single precision are the shortest ones that round to them.
    """
    if isinstance(value, float) and is_single:
        return _shortest(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    kind = type(value).__name__
    if kind == "AssetPath":
        return str(value.path)
    number = _shortest if is_single else float
    if kind.startswith("Quat") and not kind.endswith("Array"):
        return (number(value.real), *map(number, value.imaginary))
    if kind.startswith("Vec") and not kind.endswith("Array"):
        return tuple(map(number, value))
    if not with_arrays:
        return None
    try:
        numbers = np.array(value)
    except (TypeError, ValueError):
        return None
    if numbers.dtype.kind not in "iuf":
        return None
    if is_single:
        numbers = numbers.astype(np.float32).astype(str)
    wide = numbers.astype(np.int64 if numbers.dtype.kind in "iu" else np.float64)
    return StageArray(wide.dtype.str, wide.shape, wide.tobytes())


def _shortest(value: float) -> float:
    return float(str(np.float32(value)))


def main() -> None:
    """Compose one stage: each answer but the last one asks for further files."""
    layers = StageLayers()
    answer_requests(StageRequest, lambda request: _answer(layers, request), _StageAnswer, lambda request: request.size)


if __name__ == "__main__":
    main()
