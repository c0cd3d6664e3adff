"""The equality constraints of the scene in MuJoCo: which of them are active."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from exoskel.formats.mjcf.compile import CompiledWorld
from exoskel.formats.mjcf.model.equalities import equality_name


class SwitchedEqualities:
    """The equality constraints of one world."""

    compiled: CompiledWorld
    model: Any
    data: Any
    _is_stale: bool

    @property
    def equality_states(self) -> dict[str, bool]:
        """Whether each constraint is active, by name."""
        return {name: bool(self.data.eq_active[number]) for name, number in self._equality_numbers.items()}

    def set_equality(self, name: str, active: bool) -> None:
        """Let a constraint act or not, from the next step on."""
        self.data.eq_active[self._equality_numbers[name]] = active
        self._is_stale = True

    @cached_property
    def _equality_numbers(self) -> dict[str, int]:
        """MuJoCo's numbers of the constraints, by their names in the scene."""
        world, model = self.compiled.world, self.model
        known = {model.equality(number).name: number for number in range(model.neq)} if world.equalities else {}
        names = {one.name: equality_name(one.name) for one in world.equalities}
        return {name: known[written] for name, written in names.items() if written in known}
