"""urchin as a reader of URDF."""

from __future__ import annotations

from importlib.metadata import version

from protocol import serve
from urchin import URDF
from urdf_tree import describe_links, links_below


def describe(request):
    robot = URDF.load(request["file"], lazy_load_meshes=True)
    links = {link.name: link.inertial for link in robot.links}
    pairs = [(joint.parent, joint.child) for joint in robot.joints]
    floating = {
        joint.child: links_below(pairs, joint.child) for joint in robot.joints if joint.joint_type == "floating"
    }
    floating[robot.base_link.name] = list(links)

    def poses_at(positions):
        return {link.name: pose for link, pose in robot.link_fk(cfg=positions).items()}

    return describe_links(links, floating, poses_at, request)


if __name__ == "__main__":
    serve(describe, lambda: version("urchin"))
