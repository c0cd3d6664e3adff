"""Small valid XODE documents for tests."""

from __future__ import annotations

SPHERE = '<sphere radius="0.5"/>'
BOX = '<box sizex="1" sizey="2" sizez="3"/>'
TURN = '<rotation><axisangle x="0" y="0" z="1" angle="90" aformat="degrees"/></rotation>'


def xode(inner: str, attributes: str = ' version="1.0r22"') -> str:
    return f"<xode{attributes}>{inner}</xode>"


def world(inner: str, name: str = "w") -> str:
    return f'<world name="{name}">{inner}</world>'


def scene(inner: str) -> str:
    """A document with one world with one space."""
    return xode(world(f'<space name="s">{inner}</space>'))


def body(inner: str = "", name: str = "b", attributes: str = "") -> str:
    return f'<body name="{name}"{attributes}>{inner}</body>'


def geom(shape: str = SPHERE, name: str = "g", before: str = "") -> str:
    return f'<geom name="{name}">{before}{shape}</geom>'


def transform(inner: str, attributes: str = "") -> str:
    return f"<transform{attributes}>{inner}</transform>"


def position(x: float, y: float, z: float) -> str:
    return f'<position x="{x}" y="{y}" z="{z}"/>'


def at(x: float, y: float, z: float) -> str:
    return transform(position(x, y, z))


def mass(inner: str) -> str:
    return f"<mass>{inner}</mass>"


def mass_shape(shape: str = SPHERE, attributes: str = ' density="1"') -> str:
    return f"<mass_shape{attributes}>{shape}</mass_shape>"


def joint(kind: str, name: str = "j", first: str = "a", second: str = "b") -> str:
    links = (f'<link1 body="{first}"/>' if first else "") + (f'<link2 body="{second}"/>' if second else "")
    return f'<joint name="{name}">{links}{kind}</joint>'


def two(kind: str, at_b: str = "") -> str:
    """Two bodies connected by one joint."""
    return scene(body(name="a") + body(at_b, "b") + joint(kind))


ANCHOR = '<anchor x="1" y="0" z="0" absolute="true"/>'


def axis(parameters: str = "", x: float = 0, y: float = 0, z: float = 1) -> str:
    return f'<axis x="{x}" y="{y}" z="{z}" {parameters}/>'


def hinge(parameters: str = "") -> str:
    return f"<hinge>{ANCHOR}{axis(parameters)}</hinge>"


def matrix(**entries: float) -> str:
    """The identity except for some entries."""
    values = {f"m{r}{c}": float(r == c) for r in range(4) for c in range(4)} | entries
    return "<matrix4f " + " ".join(f'{name}="{value}"' for name, value in values.items()) + "/>"


def trimesh(vertices: int, triangles: list[tuple[int, int, int]], tag: str = "triangles") -> str:
    """Some vertices on a parabola and triangles among them."""
    points = "".join(f'<v x="{i}" y="{i * i}" z="{i % 3}"/>' for i in range(vertices))
    corners = "".join(f'<t ia="{a}" ib="{b}" ic="{c}"/>' for a, b, c in triangles)
    return f"<trimesh><vertices>{points}</vertices><{tag}>{corners}</{tag}></trimesh>"
