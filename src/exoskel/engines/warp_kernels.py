"""What runs on the device beside MuJoCo Warp.  This module needs Warp."""

from typing import Any

import warp as wp


@wp.kernel  # type: ignore[untyped-decorator]
def _bound_rows(nefc: wp.array(dtype=int), overflow: wp.array(dtype=int), most: int, flag: int):  # type: ignore[no-untyped-def,valid-type]
    world = wp.tid()
    if nefc[world] > most:
        nefc[world] = most
        overflow[world] = overflow[world] | flag


def bound_rows(data: Any, flag: int) -> None:
    """Let no world count more constraint rows than it has room for, and note it where it would.

    MuJoCo Warp 4.0 notes it too, but only after its discrete integrator has read beyond the end of the rows.
    """
    wp.launch(_bound_rows, dim=data.nworld, inputs=[data.nefc, data.overflow, data.njmax, flag])
