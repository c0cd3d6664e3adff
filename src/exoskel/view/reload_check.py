"""Whether a scene that was read again may take the place of the one on show."""

from __future__ import annotations

from exoskel.diagnostics import Diagnostic, ExoskelError, Severity
from exoskel.scene.world import Scene, World


class BrokenFileError(ExoskelError):
    """A file that cannot be shown as it is; `diagnostics` say why."""

    def __init__(self, message: str, diagnostics: list[Diagnostic]) -> None:
        super().__init__(message)
        self.diagnostics = diagnostics


def errors_of(scene: Scene) -> list[Diagnostic]:
    return [one for one in scene.diagnostics if one.severity is Severity.ERROR]


def is_broken(scene: Scene) -> bool:
    return bool(errors_of(scene))


def is_worse(scene: Scene, world: World, before: Scene, shown: World) -> bool:
    """Whether an edit broke something: nothing was broken before, or a new error leaves less to see than there was."""
    errors = errors_of(scene)
    if not errors or not is_broken(before):
        return bool(errors)
    known = {(one.code, one.message) for one in errors_of(before)}
    return any((one.code, one.message) not in known for one in errors) and not _shows_as_much(world, shown)


def _shows_as_much(world: World, before: World) -> bool:
    return all(new >= old for new, old in zip(_content(world), _content(before), strict=True))


def _content(world: World) -> tuple[int, int]:
    """How many bodies there are, and how many shapes."""
    bodies = list(world.bodies())
    return len(bodies), sum(len(list(body.shapes)) for body in bodies)
