"""yourdfpy as a reader of URDF."""

from __future__ import annotations

from importlib.metadata import version

from protocol import serve
from urdf_tree import describe_links, links_below
from yourdfpy import URDF


def describe(request):
    robot = URDF.load(request["file"], load_meshes=False, build_scene_graph=True)
    problems = [] if robot.validate() else [str(error) for error in robot.errors]
    if problems:
        raise ValueError("; ".join(problems))
    links = {name: link.inertial for name, link in robot.link_map.items()}
    joints = list(robot.joint_map.values())
    pairs = [(joint.parent, joint.child) for joint in joints]
    floating = {joint.child: links_below(pairs, joint.child) for joint in joints if joint.type == "floating"}
    floating[robot.base_link] = list(links)

    def poses_at(positions):
        robot.update_cfg([positions.get(name, 0.0) for name in robot.actuated_joint_names])
        return {name: robot.get_transform(name, robot.base_link) for name in links}

    return describe_links(links, floating, poses_at, request)


if __name__ == "__main__":
    serve(describe, lambda: version("yourdfpy"))
