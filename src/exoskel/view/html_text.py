"""What the page says about a scene, as HTML.  Every name and message comes from a file, and is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape as _escape
from itertools import islice
from math import inf

from exoskel.diagnostics import Diagnostic, Severity, count_by_severity, printable, sort_by_position
from exoskel.scene.body import Body
from exoskel.scene.joint import Joint
from exoskel.scene.world import Model, Scene, World
from exoskel.view.draw_batches import BatchGap, Rows

MOST_ROWS = 300
"""How much of a tree or a list of problems is shown."""
_MARKS = {
    Severity.ERROR: ("#d64545", "error"),
    Severity.WARNING: ("#c98a1b", "warning"),
    Severity.INFO: ("#3b78a8", "note"),
}
_SMALL = "font-size:0.82em;line-height:1.45;padding:0 1em 0.5em;overflow-wrap:anywhere"


def safe(text: str) -> str:
    """Text as it may stand in HTML."""
    return _escape(printable(text), quote=True)


def _number(value: float) -> str:
    return {inf: "∞", -inf: "−∞"}.get(value, f"{value:.5g}")


def _numbers(values: Iterable[float]) -> str:
    return " ".join(_number(float(value)) for value in values)


def _table(rows: Iterable[tuple[str, str]]) -> str:
    """Rows of a name and HTML."""
    cells = "".join(
        f"<tr><td style='opacity:0.65;padding-right:0.8em;vertical-align:top;white-space:nowrap'>{safe(name)}</td>"
        f"<td style='font-variant-numeric:tabular-nums'>{value}</td></tr>"
        for name, value in rows
    )
    return f"<table>{cells}</table>"


# --- one body -----------------------------------------------------------------------------------------


def about_body(scene: Scene, model: Model, body: Body, pose: Rows) -> str:
    """A body and the joint that holds it, in numbers; `pose` is x y z qw qx qy qz in the world."""
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
    held = _about_joint(scene, joint) if joint is not None else ""
    return f"<div id='exoskel-inspector' style='{_SMALL}'>{title}{_table(rows)}{held}</div>"


def _about_joint(scene: Scene, joint: Joint) -> str:
    rows = [("kind", safe(joint.kind)), ("parent", safe(joint.parent.name) if joint.parent else "the world")]
    for name, dof in zip(joint.dof_names, joint.dofs, strict=True):
        low, high = dof.position_limits
        limits = "no limits" if (low, high) == (-inf, inf) else f"{_number(low)} … {_number(high)}"
        more = "".join(
            f", {word} {_number(value)}"
            for word, value in (("damping", dof.damping), ("friction", dof.friction), ("stiffness", dof.stiffness))
            if value
        )
        rows.append((name, limits + more))
    return f"<b>joint {safe(joint.name)}</b>{_line(scene, joint)}{_table(rows)}"


def _line(scene: Scene, item: Body | Joint) -> str:
    place = scene.where(item)
    return f" <span style='opacity:0.65'>line {place.line}</span>" if place else ""


def nothing_chosen() -> str:
    return (
        f"<div id='exoskel-inspector' style='{_SMALL};opacity:0.65'>Click on a body, or choose one above. "
        "Ctrl-drag pulls a body while the motion plays.</div>"
    )


# --- the whole ----------------------------------------------------------------------------------------


def tree_of(world: World) -> str:
    """Models with their bodies, each under the one it hangs on, with the joint between them."""
    rows: list[str] = []
    for model in world.models:
        if len(rows) >= MOST_ROWS:
            break
        rows.append(f"<b>{safe(model.name)}</b>" + (" <i>static</i>" if model.static else ""))
        for depth, body, joint in islice(_hanging(model), MOST_ROWS - len(rows)):
            kind = f" <span style='opacity:0.6'>{safe(joint.kind)}</span>" if joint else ""
            rows.append(f"<span style='padding-left:{min(depth, 12)}em'>{safe(body.name)}{kind}</span>")
    total = sum(len(model.bodies) + 1 for model in world.models)
    if total > len(rows):
        rows.append(f"<i>and {total - len(rows)} more</i>")
    return f"<div id='exoskel-tree' style='{_SMALL}'>{'<br>'.join(rows)}</div>"


def _hanging(model: Model) -> Iterator[tuple[int, Body, Joint | None]]:
    """Bodies with their depth and the joint that holds each, every one before those that hang on it."""
    holder = {id(joint.child): joint for joint in model.joints if not joint.loop}
    below: dict[int, list[Body]] = {}
    for body in model.bodies:
        joint = holder.get(id(body))
        below.setdefault(id(joint.parent) if joint else id(None), []).append(body)
    waiting = [(1, body) for body in reversed(below.get(id(None), []))]
    while waiting:
        depth, body = waiting.pop()
        yield depth, body, holder.get(id(body))
        waiting += [(depth + 1, child) for child in reversed(below.get(id(body), []))]


def problems(diagnostics: Sequence[Diagnostic], gaps: Sequence[BatchGap] = ()) -> str:
    """All findings about the file with their lines, and the meshes that could not be shown."""
    rows = [_problem(one) for one in sort_by_position(diagnostics)[:MOST_ROWS]]
    if len(diagnostics) > MOST_ROWS:
        rows.append(f"<i>and {len(diagnostics) - MOST_ROWS} more</i>")
    color, _ = _MARKS[Severity.WARNING]
    seen: set[str] = set()
    for gap in gaps:
        text = f"{safe(gap.body.name)}: a mesh is not shown: {safe(gap.reason)}"
        if text not in seen and len(seen) < MOST_ROWS:
            seen.add(text)
            rows.append(f"<div style='border-left:3px solid {color};padding-left:0.6em;margin:0.4em 0'>{text}</div>")
    inside = "".join(rows) or "<span style='opacity:0.65'>The file has no problems.</span>"
    return f"<div id='exoskel-problems' style='{_SMALL}'>{inside}</div>"


def _problem(one: Diagnostic) -> str:
    color, word = _MARKS[one.severity]
    where = f"line {one.line}" if one.line else safe(one.file)
    hint = f"<br><span style='opacity:0.65'>{safe(one.hint)}</span>" if one.hint else ""
    return (
        f"<div style='border-left:3px solid {color};padding-left:0.6em;margin:0.4em 0'>"
        f"<b style='color:{color}'>{word}[{safe(one.code)}]</b> {where}: {safe(one.message)}{hint}</div>"
    )


def trouble(*troubles: tuple[str, str]) -> str:
    """A box over the picture: titles, each with HTML below."""
    color, _ = _MARKS[Severity.ERROR]
    inside = "".join(f"<div><b style='color:{color}'>{safe(title)}</b>{text}</div>" for title, text in troubles)
    return f"<div id='exoskel-trouble' style='{_SMALL}'>{inside}</div>"


def tally(diagnostics: Sequence[Diagnostic]) -> int:
    """How many findings somebody should look at."""
    totals = count_by_severity(diagnostics)
    return totals["error"] + totals["warning"]
