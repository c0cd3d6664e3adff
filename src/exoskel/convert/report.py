"""The report on a conversion: the fate of every node, and the certificate."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from exoskel.convert.selection import NOT_SELECTED
from exoskel.diagnostics import Diagnostic, ExoskelError, pluralize, sort_by_position
from exoskel.display_hooks import html_table
from exoskel.fates import Fate, NodeFate, count_fates


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
        """A certificate that passes if all checks do."""
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

    def __repr__(self) -> str:
        fates = ", ".join(f"{count} {fate}" for fate, count in self.fates.items() if count)
        return f"Report({self.input!r} -> {self.output or self.formats[1]!r}, {fates}, {self.certificate!r})"

    def _repr_html_(self) -> str:
        rows = [(fate, str(count)) for fate, count in self.fates.items()]
        return html_table("", ("fate", "nodes"), rows) + self.certificate._repr_html_()

    def as_dict(self) -> dict[str, Any]:
        """The report as `convert --json` prints it."""
        return {
            "input": self.input,
            "output": self.output,
            "formats": list(self.formats),
            "nodes": self.nodes,
            "fates": self.fates,
            "items": [
                {
                    "line": item.line,
                    "path": item.path,
                    "fate": item.fate.value,
                    "why": item.why or None,
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
    """A lost node, and the number of nodes inside of it that are lost for the same reason."""

    top: NodeFate
    inside: int = 0


def group_losses(losses: list[NodeFate]) -> list[list[LostNode]]:
    """The lost nodes by cause: what is dropped before what is approximated, and models that were not chosen last."""
    causes: dict[tuple[Fate, str], list[LostNode]] = {}
    for item in losses:
        nodes = causes.setdefault((item.fate, item.why), [])
        last = nodes[-1].top if nodes else None
        if last is not None and last.file == item.file and item.path.startswith(f"{last.path}/"):
            nodes[-1].inside += 1
        else:
            nodes.append(LostNode(item))
    order = sorted(causes, key=lambda cause: (cause[1] == NOT_SELECTED, cause[0] is not Fate.DROPPED))
    return [causes[cause] for cause in order]


class RefusedError(ExoskelError):
    """A conversion is refused because of a loss or a failed check; `report` has the details.  Nothing was written."""

    def __init__(self, message: str, report: Report) -> None:
        super().__init__(message)
        self.report = report


def _error(check: Check) -> str:
    return "none" if check.max_error is None else f"{check.max_error:.3g}"
