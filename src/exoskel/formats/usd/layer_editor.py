"""Change the paths of files in a layer and write it in another form, with usd-core in a child process.

The layer is edited by itself: no other file is opened, and no stage is composed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct, field

from exoskel.formats.usd.reader.stage import prims_with_clips
from exoskel.formats.usd.usd_process import UsdAnswer, UsdProcess, answer_requests

Relocate = Callable[[str], str]


class _LayerRequest(Struct):
    """A layer; with an `extension`, it is written in this form, with other paths of files."""

    data: bytes
    extension: str = ""
    paths: dict[str, str] = field(default_factory=dict)


class LayerAnswer(UsdAnswer):
    """The new paths of files in a layer by the old ones, and the edited layer.

    `files` are the properties with paths: the paths of their prims, or "/" of the layer, their names and values.
    """

    paths: dict[str, str] = field(default_factory=dict)
    data: bytes = b""
    files: list[tuple[str, str, list[str]]] = field(default_factory=list)


class LayerEditor:
    """Edits layers, one after the other, in one child process.  Raises StageError or StageLimitError."""

    def __init__(self) -> None:
        self._child: UsdProcess[LayerAnswer] | None = None
        self._size = 0

    def edit(self, data: bytes, extension: str, relocate: Relocate) -> LayerAnswer:
        """The layer in the form for an extension; `relocate` has the new path of each file."""
        named = self._ask(_LayerRequest(data)).paths
        paths = {path: relocate(path) for path in named}
        answer = self._ask(_LayerRequest(data, extension, paths))
        answer.paths = paths
        return answer

    def close(self) -> None:
        """End the child process."""
        if self._child is not None:
            self._child.close()

    def _ask(self, request: _LayerRequest) -> LayerAnswer:
        if self._child is None:
            self._child = UsdProcess(__name__, LayerAnswer)
        self._size += len(request.data)
        return self._child.ask(request, self._size)


# --- in the child -------------------------------------------------------------------------------------


def edit_paths(layer: Any, relocate: Relocate) -> None:
    """Replace the paths of files in a layer of usd-core, also in metadata and time samples."""
    from pxr import UsdUtils

    clips = [(prim, dict(prim.GetInfo("clips"))) for prim in prims_with_clips(layer) if prim.HasInfo("clips")]
    for prim, _ in clips:  # usd-core would search for their files
        prim.ClearInfo("clips")
    UsdUtils.ModifyAssetPaths(layer, relocate)
    for prim, found in clips:
        prim.SetInfo("clips", _relocated_clips(found, relocate))


_TEMPLATE = "templateAssetPath"


def _relocated_clips(value: Any, relocate: Relocate, name: str = "") -> Any:
    from pxr import Sdf

    if isinstance(value, dict):
        return {key: _relocated_clips(one, relocate, str(key)) for key, one in value.items()}
    if isinstance(value, Sdf.AssetPath):
        return Sdf.AssetPath(relocate(value.path) if value.path else "")
    if isinstance(value, Sdf.AssetPathArray):
        return Sdf.AssetPathArray([Sdf.AssetPath(relocate(one.path) if one.path else "") for one in value])
    return relocate(value) if name == _TEMPLATE and value else value


def _properties_with_files(layer: Any) -> Iterator[tuple[str, str, list[str]]]:
    """The properties of a layer with paths of files."""
    yield "/", "subLayers", list(layer.subLayerPaths)
    found: list[Any] = []
    layer.Traverse("/", lambda path: found.append(path) if path.IsPropertyPath() else None)
    for path in found:
        spec = layer.GetAttributeAtPath(path)
        if spec is None or str(spec.typeName) not in ("asset", "asset[]"):
            continue
        values = [spec.default, *(layer.QueryTimeSample(path, time) for time in layer.ListTimeSamplesForPath(path))]
        named = [str(one.path) for value in values for one in _asset_paths(value)]
        yield str(path.GetPrimPath().StripAllVariantSelections()), str(path.name), named


def _asset_paths(value: Any) -> list[Any]:
    if hasattr(value, "path"):
        return [value]
    return list(value) if type(value).__name__ == "AssetPathArray" else []


class _OpenLayer:
    """The layer of the last request."""

    def __init__(self) -> None:
        self._data = b""
        self._layer: Any = None

    def answer(self, request: _LayerRequest) -> LayerAnswer:
        from pxr import Sdf

        from exoskel.formats.usd.tree import BINARY, TEXT, layer_bytes, open_layer

        if request.data != self._data:
            extension = BINARY if request.data.startswith(b"PXR-USDC") else TEXT
            self._layer, self._data = open_layer(request.data, extension, Sdf), request.data
        if not request.extension:
            named: dict[str, str] = {}
            copy = Sdf.Layer.CreateAnonymous(TEXT)
            copy.TransferContent(self._layer)
            edit_paths(copy, lambda path: named.setdefault(path, path))
            return LayerAnswer(paths=named)
        files = list(_properties_with_files(self._layer))
        edit_paths(self._layer, lambda path: request.paths.get(path, path))
        self._data = b""
        return LayerAnswer(data=layer_bytes(self._layer, request.extension), files=files)


def main() -> None:
    """Answer requests for layers."""
    layer, size = _OpenLayer(), 0

    def total(request: _LayerRequest) -> int:
        nonlocal size
        size += len(request.data)
        return size

    answer_requests(_LayerRequest, layer.answer, LayerAnswer, total)


if __name__ == "__main__":
    main()
