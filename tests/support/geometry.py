"""Small meshes, and measures of bodies, for tests."""

from __future__ import annotations

import numpy as np

from exoskel import Body, spatial

TETRA = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def spatial_inertia(body: Body) -> spatial.Array:
    """The 6x6 inertia about the body origin in body axes, angular part first."""
    cross = spatial.cross_matrix(body.com)
    moment = spatial.moment_matrix(body.moment) + body.mass * cross @ cross.T
    return np.block([[moment, body.mass * cross], [body.mass * cross.T, body.mass * np.eye(3)]])
