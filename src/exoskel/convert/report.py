"""What a conversion tells: the fate of every node, and the certificate."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from exoskel.diagnostics import Diagnostic, ExoskelError, sort_by_position
from exoskel.fates import NodeFate, count


class Check(Struct, frozen=True):
    """One comparison: the largest error found, relative where values are above 1, and what it may be."""

    name: str
    max_error: float | None
    tolerance: float
    passed: bool


class Certificate(Struct, frozen=True):
    passed: bool
    checks: list[Check]

    @classmethod
    def of(cls, checks: list[Check]) -> Certificate:
        """Passed if every check is."""
        return cls(all(check.passed for check in checks), checks)


class Report(Struct):
    """What a conversion did: `data` is the output, `saved` whether it is on disk."""

    input: str
    output: str
    formats: tuple[str, str]
    items: list[NodeFate]
    certificate: Certificate
    diagnostics: list[Diagnostic]
    data: bytes
    saved: bool = False
    hint: str = ""
    """What else could be asked for, and what no single node tells; a line each."""
    companions: dict[str, bytes] = field(default_factory=dict)
    """Files that go beside the output, such as meshes, by their paths from its folder."""
    has_inexact_masses: bool = False
    """The format the output is for has no words for some masses; the nearest ones are there."""

    @property
    def nodes(self) -> int:
        return len(self.items)

    @property
    def fates(self) -> dict[str, int]:
        """How many nodes had each fate."""
        return count(self.items)

    @property
    def losses(self) -> list[NodeFate]:
        """Nodes that were dropped although they meant something, or that could only be approximated."""
        return [item for item in self.items if item.loss]

    def as_dict(self) -> dict[str, Any]:
        """The shape of `convert --json`."""
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
            "diagnostics": [finding.as_dict() for finding in sort_by_position(self.diagnostics)],
        }


class RefusedError(ExoskelError):
    """A conversion that was to be strict and was not without loss; `report` tells why.  Nothing was written."""

    def __init__(self, message: str, report: Report) -> None:
        super().__init__(message)
        self.report = report
