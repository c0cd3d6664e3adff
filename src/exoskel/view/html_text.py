"""The texts of the page about a scene, as HTML.  Names and messages come from files and are escaped."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from html import escape as _escape
from math import inf
from urllib.parse import quote

from exoskel.diagnostics import Diagnostic, Severity, count_by_severity, printable, sort_by_position
from exoskel.scene.body import Body
from exoskel.scene.equality import Equality
from exoskel.scene.item import Item
from exoskel.scene.joint import UNLIMITED, Joint
from exoskel.scene.model import Model
from exoskel.scene.tendon import Tendon
from exoskel.scene.world import Scene
from exoskel.source.document import Document
from exoskel.view.render_scene import MissingMesh
from exoskel.view.surfaces import PoseRows

EDITOR_URL = "EXOSKEL_EDITOR_URL"
"""The environment variable with the address of links to an editor; it contains {path}, {line} and {column}."""
_VS_CODE = "vscode://file{path}:{line}:{column}"
MAX_ROWS = 300
"""The most rows that a tree or a list of problems shows."""
_MARKS = {
    Severity.ERROR: ("#d64545", "error"),
    Severity.WARNING: ("#c98a1b", "warning"),
    Severity.INFO: ("#3b78a8", "note"),
}
_SMALL = "font-size:0.82em;line-height:1.45;padding:0 1em 0.5em;overflow-wrap:anywhere"


def safe(text: str) -> str:
    """Escape text for HTML."""
    return _escape(printable(text), quote=True)


def _number(value: float) -> str:
    return {inf: "∞", -inf: "−∞"}.get(value, f"{value:.5g}")


def _numbers(values: Iterable[float]) -> str:
    return " ".join(_number(float(value)) for value in values)


def _table(rows: Iterable[tuple[str, str]]) -> str:
    """A table with a name and HTML in each row."""
    cells = "".join(
        f"<tr><td style='opacity:0.65;padding-right:0.8em;vertical-align:top;white-space:nowrap'>{safe(name)}</td>"
        f"<td style='font-variant-numeric:tabular-nums'>{value}</td></tr>"
        for name, value in rows
    )
    return f"<table>{cells}</table>"


# --- one body -----------------------------------------------------------------------------------------


def describe_model(scene: Scene, model: Model) -> str:
    """What a model consists of."""
    rows = [
        ("bodies", str(len(model.bodies))),
        ("joints", str(len(model.joints))),
        ("degrees of freedom", str(sum(joint.dof_count for joint in model.joints if not joint.loop))),
        ("mass", f"{_number(sum(body.mass for body in model.bodies))} kg"),
    ]
    title = f"<b>model {safe(model.name)}</b>{_line(scene, model)}"
    return f"<div id='exoskel-inspector' style='{_SMALL}'>{title}{_table(rows)}</div>"


def describe_joint(scene: Scene, model: Model, joint: Joint, positions: Sequence[float]) -> str:
    """The properties of a joint and its current positions, rad or m."""
    now = [(f"{name} now", _number(value)) for name, value in zip(joint.dof_names, positions, strict=False)]
    title = f"<div style='opacity:0.65'>{safe(model.name)} / {safe(joint.child.name if joint.child else '')}</div>"
    text = f"{title}{_describe_joint(scene, joint)}{_table(now)}"
    return f"<div id='exoskel-inspector' style='{_SMALL}'>{text}</div>"


def describe_tendon(tendon: Tendon) -> str:
    """The properties of a tendon."""
    parts = [f"{one.coefficient:g} · {one.joint}" for one in tendon.joints]
    parts += [f"pulley, divisor {one.divisor:g}" if one.divisor else one.site or one.shape for one in tendon.path]
    rows = [("joints" if tendon.joints else "path", "<br>".join(map(safe, parts)))]
    names = ("stiffness", "damping", "friction", "armature")
    rows += [(name, _number(value)) for name in names if (value := getattr(tendon, name))]
    if tendon.limits != UNLIMITED:
        rows.append(("limits", " … ".join(map(_number, tendon.limits)) + " m"))
    return f"<div id='exoskel-inspector' style='{_SMALL}'><b>tendon {safe(tendon.name)}</b>{_table(rows)}</div>"


def describe_equality(equality: Equality) -> str:
    """What an equality constraint connects."""
    rows = [("kind", equality.kind), ("target", safe(equality.target) or "the world")]
    if equality.other or equality.target_kind == "body":
        rows.append(("other", safe(equality.other) or "the world"))
    if equality.target_kind in ("joint", "tendon"):
        rows.append(("polynomial" if equality.other else "constant", _polynomial(equality)))
    elif equality.target_kind == "body":
        rows.append(("anchor", f"{_numbers(equality.anchor)} m"))
    rows.append(("active", "yes" if equality.active else "no"))
    title = f"<b>equality constraint {safe(equality.name)}</b>"
    return f"<div id='exoskel-inspector' style='{_SMALL}'>{title}{_table(rows)}</div>"


def _polynomial(equality: Equality) -> str:
    return _numbers(equality.polynomial if equality.other else equality.polynomial[:1])


def describe_body(scene: Scene, model: Model, body: Body, pose: PoseRows) -> str:
    """The properties of a body and of its parent joint; `pose` is x y z qw qx qy qz in the world."""
    joint = next((one for one in model.joints if one.child is body and not one.loop), None)
    rows = [
        ("mass", f"{_number(body.mass)} kg"),
        ("centre of mass", f"{_numbers(body.com)} m"),
        ("inertia", f"{_numbers(body.moment[:3])}<br>{_numbers(body.moment[3:])} kg·m²"),
        ("position", f"{_numbers(pose[:3])} m"),
        ("quaternion", _numbers(pose[3:])),
        ("shapes", f"{len(body.visuals)} visual, {len(body.collisions)} collision"),
    ]
    title = f"<b>{safe(model.name)} / {safe(body.name)}</b>{_line(scene, body)}"
    joint_text = _describe_joint(scene, joint) if joint is not None else ""
    return f"<div id='exoskel-inspector' style='{_SMALL}'>{title}{_table(rows)}{joint_text}</div>"


def _describe_joint(scene: Scene, joint: Joint) -> str:
    rows = [("kind", safe(joint.kind)), ("parent", safe(joint.parent.name) if joint.parent else "the world")]
    for name, dof in zip(joint.dof_names, joint.dofs, strict=True):
        low, high = dof.position_limits
        limits = "no limits" if (low, high) == (-inf, inf) else f"{_number(low)} … {_number(high)}"
        more = "".join(
            f", {label} {_number(value)}"
            for label in ("damping", "friction", "stiffness", "armature")
            if (value := getattr(dof, label))
        )
        rows.append((name, limits + more))
    return f"<b>joint {safe(joint.name)}</b>{_line(scene, joint)}{_table(rows)}"


def _line(scene: Scene, item: Item) -> str:
    """The line of an item in its file, with a link that opens it in an editor."""
    place = scene.where(item)
    if place is None:
        return ""
    document = scene.documents[item.document]
    path = document.location.path if isinstance(document, Document) and not document.location.is_base else ""
    link = f" · {editor_link(path, place.line, place.column)}" if path else ""
    return f" <span style='opacity:0.75'>line {place.line}{link}</span>"


def editor_link(path: str, line: int, column: int = 1) -> str:
    """A link that opens a file at a line: in VS Code, or as the environment variable says."""
    template = os.environ.get(EDITOR_URL, "") or _VS_CODE
    parts = {"{path}": quote(os.path.abspath(path)), "{line}": str(line), "{column}": str(column)}
    for name, value in parts.items():
        template = template.replace(name, value)
    return f"<a href='{safe(template)}' style='color:#3b78a8'>open in editor</a>"


def nothing_selected() -> str:
    return (
        f"<div id='exoskel-inspector' style='{_SMALL};opacity:0.65'>Click a body or a row of the tree. "
        "Ctrl-drag a body to pull it while the motion plays.</div>"
    )


# --- the whole scene ----------------------------------------------------------------------------------


def problems(diagnostics: Sequence[Diagnostic], missing_meshes: Sequence[MissingMesh] = ()) -> str:
    """The diagnostics of the file with their lines, and the missing meshes."""
    rows = [_problem(one) for one in sort_by_position(diagnostics)[:MAX_ROWS]]
    if len(diagnostics) > MAX_ROWS:
        rows.append(f"<i>and {len(diagnostics) - MAX_ROWS} more</i>")
    color, _ = _MARKS[Severity.WARNING]
    seen: set[str] = set()
    for missing in missing_meshes:
        text = safe(missing.reason) if missing.is_texture else f"a mesh cannot be shown: {safe(missing.reason)}"
        text = f"{safe(missing.body.name)}: {text}"
        if text not in seen and len(seen) < MAX_ROWS:
            seen.add(text)
            rows.append(f"<div style='border-left:3px solid {color};padding-left:0.6em;margin:0.4em 0'>{text}</div>")
    inside = "".join(rows) or "<span style='opacity:0.65'>The file has no problems.</span>"
    return f"<div id='exoskel-problems' style='{_SMALL}'>{inside}</div>"


def _problem(one: Diagnostic) -> str:
    color, label = _MARKS[one.severity]
    where = f"line {one.line}" if one.line else safe(one.file)
    hint = f"<br><span style='opacity:0.65'>{safe(one.hint)}</span>" if one.hint else ""
    return (
        f"<div style='border-left:3px solid {color};padding-left:0.6em;margin:0.4em 0'>"
        f"<b style='color:{color}'>{label}[{safe(one.code)}]</b> {where}: {safe(one.message)}{hint}</div>"
    )


def error_box(*errors: tuple[str, str]) -> str:
    """A box over the view: titles, each with HTML below."""
    color, _ = _MARKS[Severity.ERROR]
    inside = "".join(f"<div><b style='color:{color}'>{safe(title)}</b>{text}</div>" for title, text in errors)
    return f"<div id='exoskel-errors' style='{_SMALL};max-height:30vh;overflow:auto'>{inside}</div>"


def tally(diagnostics: Sequence[Diagnostic]) -> int:
    """The number of errors and warnings."""
    totals = count_by_severity(diagnostics)
    return totals["error"] + totals["warning"]
