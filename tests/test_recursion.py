"""No function recurses over a depth that a file chooses, unless something bounds that depth."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.support.places import PROJECT

SOURCE = PROJECT / "src"
Function = tuple[str, ...]
"""Module, classes and name."""
Definition = ast.FunctionDef | ast.AsyncFunctionDef

_TYPES = "values nest as the types of the scene do"
_VOCABULARY = "elements of the vocabulary nest as its table does"
_DEPTH = "bounded by Limits.depth, at most 500"
_NESTED_MODELS = "bounded by MAX_NESTED"
_PRIMS = "the writer nests a few levels: world, model, body, shape"
_OUTPUT = "values that we build, a few levels deep"
_ONCE = "calls itself once"
_OTHER = "another object of the same name: no recursion"
ALLOWED = {
    "exoskel.conversion.comparable_values._split": _TYPES,
    "exoskel.conversion.diff._SceneDifferences._pair_items": _TYPES,
    "exoskel.conversion.diff._struct": _TYPES,
    "exoskel.conversion.edited_values._with_content": _TYPES,
    "exoskel.formats.unread_elements.ElementCopier._owners": _DEPTH,
    "exoskel.conversion.matching.content": _TYPES,
    "exoskel.formats.inserted_items._all_pairs": _TYPES,
    "exoskel.formats.inserted_items._old_pairs": _TYPES,
    "exoskel.formats.saving.changes._ChangeFinder.compare_items": _TYPES,
    "exoskel.formats.saving.editor.DocumentEditor._items_with_elements": _TYPES,
    "exoskel.formats.saving.editor.DocumentEditor._new_elements": _TYPES,
    "exoskel.formats.saving.editor.DocumentEditor._note_unsupported": _TYPES,
    "exoskel.formats.saving.verification._match_lists": _TYPES,
    "exoskel.scene.fields.relative_difference": _TYPES,
    "exoskel.scene.json_codec._encode_set_fields": _TYPES,
    "exoskel.scene.json_codec._is_finite": _TYPES,
    "exoskel.scene.json_codec._round_numbers": _TYPES,
    "exoskel.scene.field_checks._converter": _TYPES,
    "exoskel.cli.reference._schema": _OUTPUT,
    "exoskel.scene.pose.Pose.inverse": _OTHER,
    "exoskel.scene.world.Scene._repr_html_": _OTHER,
    "exoskel.scene.world.World.remove": _OTHER,
    "exoskel.scene.world.World.rename": _OTHER,
    "exoskel.scene.value_checks.ValueChecker.describe": _TYPES,
    "exoskel.scene.value_checks._invalid_rows": _ONCE,
    "exoskel.scene.value_checks.shown": _TYPES,
    "exoskel.conversion.physics_certificate._WorldCertificate.rows": _OTHER,
    "exoskel.source.flat_tree.Node.stated_fields": _OTHER,
    "exoskel.cli.reference._add_children": _VOCABULARY,
    "exoskel.formats.urdf.context._elements_of_item": _VOCABULARY,
    "exoskel.source.mesh_packages._Package3mf._place": "components are nested at most 50 levels deep",
    "exoskel.source.numbers.round_value": _TYPES,
    "exoskel.source.schema._SchemaWriter._anywhere": _VOCABULARY,
    "exoskel.formats.saving.editor.DocumentEditor._merge": _DEPTH,
    "exoskel.source.markup.Markup.is_same": _DEPTH,
    "exoskel.formats.xode.document_layout.DocumentLayout._add_mass_extensions": _DEPTH,
    "exoskel.formats.xode.document_layout.DocumentLayout._visit": _DEPTH,
    "exoskel.formats.xode.editor._keep_unmoved": _DEPTH,
    "exoskel.formats.xode.editor._markup": _DEPTH,
    "exoskel.formats.xode.editor._round_digits": _DEPTH,
    "exoskel.formats.xode.editor._scale_mass": _DEPTH,
    "exoskel.formats.xode.editor._without_anchor_values": _DEPTH,
    "exoskel.formats.xode.mass.MassReader._apply": _DEPTH,
    "exoskel.formats.xode.mass._states_moment": _DEPTH,
    "exoskel.source.flat_tree.SubtreePlan._add_container": _DEPTH,
    "exoskel.source.piecewise_reader.PiecewiseReader._read_open": _DEPTH,
    "exoskel.source.structure.StructureReader._container": _DEPTH,
    "exoskel.source.structure.StructureReader._read_shallow": _DEPTH,
    "exoskel.formats.sdf.models.SdfModelReader._add_nested": _NESTED_MODELS,
    "exoskel.formats.sdf.models.SdfModelReader._outer_transform": _NESTED_MODELS,
    "exoskel.formats.usd.tree._PrimWriter.append": _PRIMS,
    "exoskel.formats.usd.tree.Layer.iter": _PRIMS,
    "exoskel.formats.usd.tree.Layer.paths": _PRIMS,
    "exoskel.formats.usd.tree.Prim.iter": _PRIMS,
    "exoskel.formats.usd.tree.Prim.paths": _PRIMS,
    "exoskel.cli.terminal._escape_surrogates": _OUTPUT,
    "exoskel.formats.usd.tree._rounded": _OUTPUT,
    "exoskel.formats.usd.tree._value": _OUTPUT,
    "exoskel.formats.sdf.shape_elements._shape": _ONCE,
    "exoskel.formats.skel.read._read": _ONCE,
    "exoskel.formats.xode.read._read": _ONCE,
    "exoskel.formats.written_names.WrittenNames._find_in_world": _ONCE,
    "exoskel.source.positions._declaration_end": _ONCE,
    "exoskel.cli.rerun_importer.main": _OTHER,
    "exoskel.diagnostics.Diagnostic.position": _OTHER,
    "exoskel.engines.mujoco.mujoco_world.MujocoWorld.copy": _OTHER,
    "exoskel.conversion.report.Report.as_dict": _OTHER,
    "exoskel.formats.mjcf.model.coordinates.Coordinates.forces": _OTHER,
    "exoskel.formats.mjcf.model.coordinates.Coordinates.positions": _OTHER,
    "exoskel.formats.mjcf.model.coordinates.Coordinates.set_positions": _OTHER,
    "exoskel.formats.mjcf.model.coordinates.Coordinates.set_velocities": _OTHER,
    "exoskel.formats.mjcf.model.coordinates.Coordinates.velocities": _OTHER,
    "exoskel.formats.sdf.context.SdfContext.search_hint": _OTHER,
    "exoskel.formats.sdf.context.SdfContext.value": _OTHER,
    "exoskel.formats.urdf.context.UrdfContext.search_hint": _OTHER,
    "exoskel.formats.skel.write.SkelEditor.adapt_added": _OTHER,
    "exoskel.formats.xode.editor.XodeEditor.adapt_added": _OTHER,
    "exoskel.lsp.open_document._quick_fixes": _OTHER,
    "exoskel.scene.pose.Pose.quaternion": _OTHER,
    "exoskel.source.child_process.ChildProcess.close": _OTHER,
    "exoskel.source.embedded_data.EmbeddedReader.apply": _OTHER,
    "exoskel.source.embedded_format.ExtensionElements.insert": _OTHER,
    "exoskel.source.embedded_format.ExtensionElements.remove": _OTHER,
    "exoskel.source.embedded_format.NamespacedElements.insert": _OTHER,
    "exoskel.source.embedded_format.NamespacedElements.remove": _OTHER,
    "exoskel.view.browser_scene.BrowserScene.on_drag": _OTHER,
    "exoskel.view.browser_scene.BrowserScene.remove": _OTHER,
    "exoskel.view.page.Page.close": _OTHER,
    "exoskel.view.player.Player.pull_force": _OTHER,
    "exoskel.formats.collision_visuals._copy": "an element of a geometry: three levels",
    "exoskel.formats.fixer._fix_most": "halves the list of fixes",
    "exoskel.conversion.pipeline.Conversion._write": _ONCE,
    "exoskel.formats.gltf.foreign_data.ForeignDataWriter.add_all": _OUTPUT,
    "exoskel.formats.mjcf.source_edits._SourceEditor.apply": _OTHER,
    "exoskel.formats.usd.layer_editor._relocated_clips": "in the child process of usd-core, whose failures are handled",
    "exoskel.formats.usd.source_copy.UsdSourceCopier._copied": "bounded by _MOST_NESTED",
}


class _Module:
    """The functions of a module, and which of them call which functions of the package."""

    def __init__(self, path: Path) -> None:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        self.name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        self.functions: dict[Function, tuple[Definition, Function]] = {}
        self.imported: dict[str, tuple[str, str]] = {
            alias.asname or alias.name: (node.module or "", alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        self._collect(tree, (), ())

    def _collect(self, tree: ast.AST, path: Function, owner: Function) -> None:
        for node in ast.iter_child_nodes(tree):
            if isinstance(node, Definition):
                self.functions[*path, node.name] = (node, owner)
                self._collect(node, (*path, node.name), owner)
            elif isinstance(node, ast.ClassDef):
                self._collect(node, (*path, node.name), (*path, node.name))
            else:
                self._collect(node, path, owner)

    def calls(self) -> Iterator[tuple[Function, set[Function]]]:
        for path, (definition, owner) in self.functions.items():
            found = (self._target(node, path, owner) for node in ast.walk(definition))
            yield (self.name, *path), {target for target in found if target is not None}

    def _target(self, node: ast.AST, path: Function, owner: Function) -> Function | None:
        """The function that an expression refers to, as far as names tell."""
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            for length in range(len(path), -1, -1):
                if (*path[:length], node.id) in self.functions and (not length or path[:length] != owner):
                    return (self.name, *path[:length], node.id)
            return self.imported.get(node.id)
        if isinstance(node, ast.Call):
            return self._same_method(node.func, path, owner)
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            return None
        if node.value.id in ("self", "cls"):
            return (self.name, *owner, node.attr) if owner else None
        return (".".join(self.imported[node.value.id]), node.attr) if node.value.id in self.imported else None

    def _same_method(self, called: ast.expr, path: Function, owner: Function) -> Function | None:
        """A method calls the method of the same name of another object, which may be of its own class."""
        is_other = isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.attr == path[-1]
        return (self.name, *path) if is_other and owner and path[:-1] == owner else None


def _cycles() -> set[str]:
    """All functions that may call themselves, directly or through others; a cycle is named after its first function."""
    graph: dict[Function, set[Function]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        graph.update(_Module(path).calls())
    reached = {start: _reach(graph, start) for start in graph}
    recursive = [start for start in graph if start in reached[start]]
    return {
        ".".join(min(other for other in reached[start] if other in reached and start in reached[other]))
        for start in recursive
    }


def _reach(graph: dict[Function, set[Function]], start: Function) -> set[Function]:
    found: set[Function] = set()
    waiting = list(graph[start])
    while waiting:
        one = waiting.pop()
        if one in graph and one not in found:
            found.add(one)
            waiting += graph[one]
    return found


def test_every_recursive_function_has_a_bounded_depth() -> None:
    assert _cycles() == ALLOWED.keys(), "turn recursion into iteration, or add what bounds its depth to ALLOWED"
    assert all(ALLOWED.values())
