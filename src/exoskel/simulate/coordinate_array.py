"""Arrays of a simulation with one number per degree of freedom: read-only copies that know names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from exoskel.diagnostics import ExoskelError


class ArrayOwner(Protocol):
    """What hands out arrays: a simulation."""

    def dof_slice(self, name: str) -> slice:
        """The degrees of freedom of a joint, or one of them, by name."""


class CoordinateArray(np.ndarray[tuple[int, ...], np.dtype[np.float64]]):
    """Values of a simulation, one per degree of freedom.

    It is a read-only copy.  `array["knee"]` is the value of a joint or degree of freedom, and `array["knee"] = value`
    sets it in the simulation, if it can be set.  Results of computations are ordinary arrays.
    """

    _owner: ArrayOwner | None = None
    _field: str = ""
    _settable: bool = True

    @classmethod
    def of(cls, owner: ArrayOwner, field: str, values: ArrayLike, *, settable: bool = True) -> CoordinateArray:
        """The values of a field of a simulation."""
        out = np.asarray(values, dtype=np.float64).view(cls)
        out._owner, out._field, out._settable = owner, field, settable
        out.flags.writeable = False
        return out

    def __array_finalize__(self, source: Any) -> None:
        if isinstance(source, CoordinateArray):
            self._owner, self._field, self._settable = source._owner, source._field, source._settable

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Results of computations as ordinary arrays and numbers."""
        plain = np.asarray(array)
        return plain[()] if return_scalar else plain

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self._named(key)
        return super().__getitem__(key)

    def _named(self, name: str) -> Any:
        if self._owner is None:
            raise ExoskelError(f"this array has no names of joints; {name!r} is unknown")
        place = self._owner.dof_slice(name)
        row = np.asarray(self)[place]
        return row.item() if row.shape == (1,) else row

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.flags.writeable or self._owner is None:
            super().__setitem__(key, value)
            return
        if not isinstance(key, str) or not self._settable:
            raise ExoskelError(self._advice())
        place = self._owner.dof_slice(key)
        values = np.array(getattr(self._owner, self._field))
        values[place] = value
        setattr(self._owner, self._field, values)
        self.flags.writeable = True
        np.asarray(self)[place] = value
        self.flags.writeable = False

    def _advice(self) -> str:
        if not self._settable:
            return (
                f"the {self._field} of a simulation are a read-only copy; use {self._field}.copy() to change the copy"
            )
        names = {"velocities": "velocity"}
        one = names.get(self._field, self._field.removesuffix("s"))
        return (
            f"the {self._field} of a simulation are a read-only copy: assigning to its elements would not change the "
            f"simulation; set all with simulation.{self._field} = values, or one with "
            f'simulation.joint("NAME").{one} = value'
        )

    if not TYPE_CHECKING:  # NumPy's own types fit
        # `simulation.forces += 1` makes a new array, which is then set.
        def __iadd__(self, other: Any) -> Any:
            return self + other

        def __isub__(self, other: Any) -> Any:
            return self - other

        def __imul__(self, other: Any) -> Any:
            return self * other

        def __itruediv__(self, other: Any) -> Any:
            return self / other
