"""Small valid SKEL documents for tests."""

from __future__ import annotations

PHYSICS = "<time_step>0.001</time_step><gravity>0 0 -9.81</gravity><collision_detector>dart</collision_detector>"
BOX = "<geometry><box><size>0.1 0.2 0.3</size></box></geometry>"
MOMENT = "<ixx>1</ixx><iyy>1</iyy><izz>1</izz><ixy>0</ixy><ixz>0</ixz><iyz>0</iyz>"
INERTIA = f"<inertia><mass>1</mass><moment_of_inertia>{MOMENT}</moment_of_inertia></inertia>"


def skel(inner: str, attributes: str = ' version="1.0"') -> str:
    return f"<skel{attributes}>{inner}</skel>"


def world(inner: str = "", physics: str | None = PHYSICS) -> str:
    settings = "" if physics is None else f"<physics>{physics}</physics>"
    return skel(f'<world name="w">{settings}{inner}</world>')


def skeleton(inner: str, name: str = "s") -> str:
    return f'<skeleton name="{name}">{inner}</skeleton>'


def body(inner: str = "", name: str = "b") -> str:
    return f'<body name="{name}">{inner}</body>'


def joint(
    inner: str = "",
    kind: str = "free",
    name: str = "j",
    parent: str = "world",
    child: str = "b",
    attributes: str = "",
) -> str:
    return (
        f'<joint type="{kind}" name="{name}"{attributes}><parent>{parent}</parent><child>{child}</child>{inner}</joint>'
    )


def one_body(inner: str = "", joint_inner: str = "", kind: str = "free", attributes: str = "") -> str:
    """A world with one skeleton of one body on one joint."""
    return world(skeleton(body(inner) + joint(joint_inner, kind, attributes=attributes)))


def one_shape(geometry: str, kind: str = "collision_shape", beside: str = "") -> str:
    """A world with one body, of explicit inertia, with one shape."""
    return one_body(f"{INERTIA}<{kind}><geometry>{geometry}</geometry>{beside}</{kind}>")
