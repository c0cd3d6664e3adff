"""What readers of URDF without physics have in common: the poses of links follow from the joints they know."""

from __future__ import annotations

import numpy as np
from protocol import inertia, transform


def describe_links(links, floating, poses_at, request):
    """An answer with the inertials of links, and the poses of all.

    `links` are names with inertials (None for none) that have `mass`, `inertia` and `origin`.  `floating` are the
    links below each floating joint, by its child.  `poses_at` gives the poses of links in the base for joint positions.
    """
    rows = [row(name, one) for name, one in links.items() if one is not None]
    poses = []
    for configuration in request["configurations"]:
        found = poses_at({name: value for name, (value,) in configuration["joints"].items()})
        for name, value in configuration["floating"].items():
            change = transform(value) @ np.linalg.inv(found[name])
            for link in floating[name]:
                found[link] = change @ found[link]
        poses.append({name: np.asarray(pose)[:3].tolist() for name, pose in found.items()})
    return {"bodies": rows, "poses": poses}


def row(name, inertial):
    origin = np.eye(4) if inertial.origin is None else np.asarray(inertial.origin)
    turn = origin[:3, :3]
    moment = turn @ np.asarray(inertial.inertia) @ turn.T
    return inertia([name], name, inertial.mass, origin[:3, 3], moment)


def links_below(joints, child):
    """A link and all links that its joints carry; `joints` are pairs of parent and child."""
    found = [child]
    for link in found:
        found += [below for above, below in joints if above == link]
    return found
