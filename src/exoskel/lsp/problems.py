"""Diagnostics and quick fixes for the editor, the same as those of `exoskel check`."""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types

from exoskel.diagnostics import Diagnostic, Severity
from exoskel.formats.fixer import Fixes, apply_fixes, fixable_diagnostics
from exoskel.formats.registry import engine_of
from exoskel.lsp.open_document import OpenDocument, line_splices

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}

FIX_ALL = "source.fixAll.exoskel"


def diagnostics(opened: OpenDocument) -> list[types.Diagnostic]:
    return [_to_lsp(opened, found) for found in opened.scene.diagnostics if found.source is opened.source]


def _to_lsp(opened: OpenDocument, found: Diagnostic) -> types.Diagnostic:
    engine = f"\n{engine_of(found.code)}: {found.engine}" if found.engine else ""
    hint = f"\n{found.hint}" if found.hint else ""
    return types.Diagnostic(
        range=opened.positions.diagnostic_range(opened.source, found),
        message=f"{found.message}{hint}{engine}",
        severity=_SEVERITIES[found.severity],
        code=found.code,
        source="exoskel",
    )


def code_actions(
    opened: OpenDocument, uri: str, selection: types.Range, only: Iterable[str] | None
) -> list[types.CodeAction]:
    """The quick fixes for diagnostics in a range, and one action that applies all safe fixes."""
    found: list[types.CodeAction] = []
    if _is_requested(types.CodeActionKind.QuickFix, only):
        found += _quick_fixes(opened, uri, selection)
    if _is_requested(FIX_ALL, only) and fixable_diagnostics(opened.scene):
        found += _fix_all(opened, uri)
    return found


def _is_requested(kind: str, only: Iterable[str] | None) -> bool:
    return only is None or any(kind == one or kind.startswith(f"{one}.") for one in only)


def _quick_fixes(opened: OpenDocument, uri: str, selection: types.Range) -> list[types.CodeAction]:
    code_actions: list[types.CodeAction] = []
    for found in opened.scene.diagnostics:
        if found.fix is None or found.source is not opened.source:
            continue
        place = opened.positions.diagnostic_range(opened.source, found)
        if place.end < selection.start or selection.end < place.start:
            continue
        splices = Fixes(opened.source).add(found)
        if splices:
            code_actions.append(
                types.CodeAction(
                    title=found.fix.title,
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[_to_lsp(opened, found)],
                    is_preferred=found.fix.safe,
                    edit=types.WorkspaceEdit({uri: [opened.positions.edit(splice) for splice in splices]}),
                )
            )
    return code_actions


def _fix_all(opened: OpenDocument, uri: str) -> list[types.CodeAction]:
    result = apply_fixes(opened.scene, opened.read)
    if not result.done:
        return []
    return [
        types.CodeAction(
            title=f"Apply all {len(result.done)} safe fixes",
            kind=FIX_ALL,
            edit=types.WorkspaceEdit({uri: edits_for(opened, result.data)}),
        )
    ]


def edits_for(opened: OpenDocument, data: bytes) -> list[types.TextEdit]:
    """The edits that replace the open text by new content of the same file."""
    mark = opened.source.encoding.mark
    return [opened.positions.edit(splice) for splice in line_splices(opened.text, data[mark:])]
