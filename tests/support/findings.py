"""Loading documents in tests: every diagnostic has to be expected, and every expected one has to occur."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import exoskel
from exoskel import Body, Diagnostic, Joint, Model, Scene, World


class Read:
    """One loaded document.  `expect` checks off diagnostics; any that are left fail the test."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.left = list(scene.diagnostics)

    @property
    def world(self) -> World:
        return self.scene.world

    @property
    def model(self) -> Model:
        (model,) = self.world.models
        return model

    def body(self, name: str = "b") -> Body:
        return self.model.body(name)

    def joint(self, name: str = "j") -> Joint:
        return self.model.joint(name)

    def expect(
        self,
        code: str,
        severity: str | None = None,
        *,
        line: int | None = None,
        column: int | None = None,
        path: str | None = None,
        says: str | None = None,
    ) -> Diagnostic:
        """Check off one diagnostic by its code or key."""
        for finding in self.left:
            if code in (finding.code, finding.key) and (says is None or says in finding.message):
                break
        else:
            raise AssertionError(f"no {code} among {[d.key for d in self.left]}")
        self.left.remove(finding)
        shown = str(finding)
        assert severity is None or finding.severity == severity, shown
        assert line is None or finding.line == line, shown
        assert column is None or finding.column == column, shown
        assert path is None or finding.path == path, f"{shown} at {finding.path}"
        return finding

    def expect_all(self, *codes: str) -> Read:
        for code in codes:
            self.expect(code)
        return self

    def ignore(self, *codes: str) -> Read:
        """Drop diagnostics that are irrelevant for the test."""
        self.left = [d for d in self.left if d.code not in codes and d.key not in codes]
        return self

    def assert_clean(self) -> None:
        assert not self.left, "unexpected: " + "; ".join(str(d) for d in self.left)


Reads = Callable[..., Read]


def load_text(source: str | bytes, **options: Any) -> Scene:
    return exoskel.load(source.encode() if isinstance(source, str) else source, name="doc.skel", **options)
