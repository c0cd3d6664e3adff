"""The report on a conversion: the fate of every node, and the certificate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field

from exoskel.conversion.selection import Unselected
from exoskel.diagnostics import Diagnostic, ExoskelError, pluralize, sort_by_position
from exoskel.display_hooks import html_table
from exoskel.fates import LOSSES, Fate, NodeFate, UnselectedPart, count_fates


class Check(Struct, frozen=True):
    """One comparison: the largest error, relative where values are above 1, and its tolerance."""

    name: str
    max_error: float | None
    tolerance: float
    passed: bool


class Certificate(Struct, frozen=True):
    """The checks that compare a scene with its output."""

    passed: bool
    checks: list[Check]

    @classmethod
    def of(cls, checks: list[Check]) -> Certificate:
        """Create a certificate, which passes if all checks pass."""
        return cls(all(check.passed for check in checks), checks)

    def __repr__(self) -> str:
        failed = [check.name for check in self.checks if not check.passed]
        result = f"failed: {', '.join(failed)}" if failed else "passed"
        return f"Certificate({pluralize(len(self.checks), 'check')}, {result})"

    def _repr_html_(self) -> str:
        rows = [(c.name, _error(c), f"{c.tolerance:.3g}", "passed" if c.passed else "failed") for c in self.checks]
        return html_table("", ("check", "largest error", "tolerance", "result"), rows)


class Report(Struct):
    """The result of a conversion: `data` is the output, and `saved` is set if it was written to disk."""

    input: str
    output: str
    formats: tuple[str, str]
    items: list[NodeFate]
    certificate: Certificate
    diagnostics: list[Diagnostic]
    data: bytes
    saved: bool = False
    hint: str = ""
    """Options that may help, and losses that no single node shows; one per line."""
    companions: dict[str, bytes] = field(default_factory=dict)
    """Files beside the output, such as meshes, by their paths from its folder."""
    has_inexact_masses: bool = False
    """Some masses are not supported by the target; the nearest ones are in the output."""
    unselected: Unselected = Unselected()
    """The worlds and models that were not selected."""
    refusals: list[str] = field(default_factory=list)
    """Why the target reader refuses the output, each reason once; empty if it reads it."""

    @property
    def nodes(self) -> int:
        return len(self.items)

    @property
    def fates(self) -> dict[str, int]:
        """The number of nodes with each fate."""
        return count_fates(self.items)

    @property
    def losses(self) -> list[NodeFate]:
        """Nodes that were approximated, or dropped although they have a meaning."""
        return [item for item in self.items if item.loss]

    @property
    def loss_groups(self) -> list[LossGroup]:
        """The losses by cause, the most harmful first."""
        return group_losses(self.losses, self.refusals)

    @property
    def without_effect(self) -> int:
        """The number of nodes that were dropped or approximated without a loss."""
        return sum(item.fate in LOSSES and not item.loss for item in self.items)

    def __repr__(self) -> str:
        fates = ", ".join(f"{count} {fate}" for fate, count in self.fates.items() if count)
        return f"Report({self.input!r} -> {self.output or self.formats[1]!r}, {fates}, {self.certificate!r})"

    def _repr_html_(self) -> str:
        rows = [(fate, str(count)) for fate, count in self.fates.items()]
        lost = [(g.fate.value, g.why, str(g.count)) for g in self.loss_groups]
        lost += [("dropped", "without effect", str(self.without_effect))] if self.without_effect else []
        losses = html_table("", ("loss", "reason", "nodes"), lost) if lost else ""
        return html_table("", ("fate", "nodes"), rows) + losses + self.certificate._repr_html_()

    def as_dict(self) -> dict[str, Any]:
        """The report as `convert --json` prints it."""
        return {
            "input": self.input,
            "output": self.output,
            "formats": list(self.formats),
            "nodes": self.nodes,
            "fates": self.fates,
            "refusals": self.refusals,
            "losses": len(self.losses),
            "not_selected": {"worlds": list(self.unselected.worlds), "models": list(self.unselected.models)},
            "items": [
                {
                    "line": item.line,
                    "path": item.path,
                    "fate": item.fate.value,
                    "why": item.why or None,
                    "loss": item.loss,
                    "file": item.file or self.input,
                }
                for item in self.items
            ],
            "certificate": {
                "passed": self.certificate.passed,
                "checks": [
                    {"name": c.name, "max_error": c.max_error, "tolerance": c.tolerance, "passed": c.passed}
                    for c in self.certificate.checks
                ],
            },
            "hints": self.hint.splitlines(),
            "diagnostics": [diagnostic.as_dict() for diagnostic in sort_by_position(self.diagnostics)],
        }


class LostNode(Struct):
    """A lost node, and the number of lost nodes inside of it that share its fate."""

    top: NodeFate
    inside: int = 0


class LossGroup(Struct):
    """The nodes that are lost for the same reason."""

    fate: Fate
    why: str
    affects_motion: bool
    unselected: UnselectedPart
    is_refused: bool
    """The target reader refuses the output because of it."""
    nodes: list[LostNode]

    @property
    def count(self) -> int:
        """The number of nodes, including those inside of others."""
        return sum(1 + node.inside for node in self.nodes)

    @property
    def harm(self) -> int:
        """The place in a list of losses: what the reader refuses, missing physics, other physics, missing names and
        appearance, not selected.
        """
        if self.is_refused:
            return 0
        if self.unselected:
            return 4
        return 3 if not self.affects_motion else 1 if self.fate is Fate.DROPPED else 2


def group_losses(losses: list[NodeFate], refusals: Sequence[str] = ()) -> list[LossGroup]:
    """The lost nodes by cause, the most harmful first; the content of a dropped node is counted with it.

    `refusals` are the reasons why the target reader refuses the output.
    """
    groups: dict[tuple[Fate, str, bool, UnselectedPart], LossGroup] = {}
    around: list[LostNode] = []
    """The lost nodes that the current node may be inside of, outermost first."""
    for item in losses:
        while around and not around[-1].top.contains(item):
            around.pop()
        outer = next((node for node in around if _shares_fate(item, node.top)), None)
        if outer is not None:
            outer.inside += 1
            continue
        key = (item.fate, item.why, item.affects_motion, item.unselected)
        node = LostNode(item)
        if key not in groups:
            groups[key] = LossGroup(*key, any(why in item.why for why in refusals), [])
        groups[key].nodes.append(node)
        around.append(node)
    return sorted(groups.values(), key=lambda group: group.harm)


def _shares_fate(item: NodeFate, outer: NodeFate) -> bool:
    """Whether the loss of a node around another one explains that of the inner one."""
    return item.fate is outer.fate and (item.fate is Fate.DROPPED or item.why == outer.why)


class RefusedError(ExoskelError):
    """A conversion is refused because of a loss or a failed check; `report` has the details.  Nothing was written."""

    def __init__(self, message: str, report: Report) -> None:
        super().__init__(message)
        self.report = report


def _error(check: Check) -> str:
    return "none" if check.max_error is None else f"{check.max_error:.3g}"
