"""Large scenes for benchmarks."""

from __future__ import annotations

_HEAD = """<?xml version="1.0"?>
<skel version="1.0">
  <world name="bench">
    <physics>
      <time_step>0.001</time_step>
      <gravity>0 -9.81 0</gravity>
      <collision_detector>dart</collision_detector>
    </physics>
"""
_TAIL = "  </world>\n</skel>\n"

_BODY = """      <body name="{name}">
        <transformation>{pose}</transformation>
        <inertia>
          <mass>{mass}</mass>
          <offset>0 0 0</offset>
        </inertia>
        <visualization_shape>
          <transformation>0 0 0 0 0 0</transformation>
          <geometry>
            <box>
              <size>0.1 0.1 0.1</size>
            </box>
          </geometry>
          <color>0.8 0.3 0.3</color>
        </visualization_shape>
        <collision_shape>
          <transformation>0 0 0 0 0 0</transformation>
          <geometry>
            <box>
              <size>0.1 0.1 0.1</size>
            </box>
          </geometry>
        </collision_shape>
      </body>
"""


_FREE = """      <joint type="free" name="root">
        <parent>world</parent>
        <child>box</child>
      </joint>
"""


def free_boxes(count: int) -> bytes:
    """`count` skeletons of one box each, all poses and masses different."""
    parts = [_HEAD]
    for i in range(count):
        x, y, z = i % 100 * 0.31, i // 10_000 * 0.37 + 1.0, i // 100 % 100 * 0.29
        body = _BODY.format(name="box", pose=f"{x!r} {y!r} {z!r} 0 {i * 0.001!r} 0", mass=repr(1 + i * 1e-6))
        parts.append(f'    <skeleton name="box {i}">\n{body}{_FREE}    </skeleton>\n')
    parts.append(_TAIL)
    return "".join(parts).encode()


def chain(count: int) -> bytes:
    """One skeleton, a chain of `count` bodies on hinges."""
    bodies, joints = [], []
    for i in range(count):
        bodies.append(_BODY.format(name=f"link {i}", pose=f"0 {-0.2 * i!r} 0 0 0 0", mass="1"))
        parent = "world" if i == 0 else f"link {i - 1}"
        joints.append(
            f'      <joint type="revolute" name="hinge {i}">\n        <parent>{parent}</parent>\n'
            f"        <child>link {i}</child>\n        <transformation>0 0.1 0 0 0 0</transformation>\n"
            "        <axis>\n          <xyz>1 0 0</xyz>\n        </axis>\n      </joint>\n"
        )
    inner = "".join(bodies) + "".join(joints)
    return f'{_HEAD}    <skeleton name="chain">\n{inner}    </skeleton>\n{_TAIL}'.encode()


_LINK = """      <body name="link {i}">
        <transformation>{x} {y} 1 0 0 0</transformation>
        <inertia>
          <mass>1.5</mass>
          <offset>0.1 0 0</offset>
          <moment_of_inertia>
            <ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz><ixy>0.01</ixy><ixz>0</ixz><iyz>0</iyz>
          </moment_of_inertia>
        </inertia>
        <visualization_shape><geometry><box><size>0.1 0.2 0.3</size></box></geometry></visualization_shape>
        <collision_shape><geometry><box><size>0.1 0.2 0.3</size></box></geometry></collision_shape>
      </body>
"""
_HINGE = """      <joint type="revolute" name="hinge {i}">
        <parent>{parent}</parent>
        <child>link {i}</child>
        <axis>
          <xyz>0 0 1</xyz>
          <limit><lower>-1</lower><upper>1</upper></limit>
          <dynamics><damping>0.1</damping></dynamics>
        </axis>
      </joint>
"""


def chains(count: int, length: int) -> bytes:
    """Skeletons, each a chain of links with moments of their own, on hinges with limits and damping."""
    parts = [_HEAD]
    for chain in range(count):
        numbers = range(chain * length, (chain + 1) * length)
        parts.append(f'    <skeleton name="chain {chain}">\n')
        parts += [_LINK.format(i=i, x=i - numbers[0], y=chain) for i in numbers]
        parts += [_HINGE.format(i=i, parent=f"link {i - 1}" if i > numbers[0] else "world") for i in numbers]
        parts.append("    </skeleton>\n")
    parts.append(_TAIL)
    return "".join(parts).encode()


_XODE_BODY = """      <body name="body {i}">
        <transform>
          <position x="{x!r}" y="{y!r}" z="{z!r}"/>
        </transform>
        <geom name="geom {i}">
          <box sizex="0.1" sizey="0.2" sizez="0.3"/>
        </geom>
        <mass>
          <mass_shape density="{density!r}">
            <box sizex="0.1" sizey="0.2" sizez="0.3"/>
          </mass_shape>
        </mass>
      </body>
"""


def xode_bodies(count: int) -> bytes:
    """`count` boxes, every second one hinged to the one before, in what PyODE reads too."""
    parts = ['<?xml version="1.0" encoding="UTF-8"?>\n<xode version="1.0r22">\n  <world>\n    <space>\n']
    for i in range(count):
        x, y, z = i % 100 * 0.31, i // 10_000 * 0.37 + 1.0, i // 100 % 100 * 0.29
        parts.append(_XODE_BODY.format(i=i, x=x, y=y, z=z, density=1000 + i * 1e-3))
        if i % 2:
            parts.append(
                f'      <joint name="joint {i}">\n        <link1 body="body {i - 1}"/>\n'
                f'        <link2 body="body {i}"/>\n'
                f'        <hinge>\n          <anchor x="{x!r}" y="{y!r}" z="{z!r}" absolute="true"/>\n'
                '          <axis x="0" y="0" z="1"/>\n        </hinge>\n      </joint>\n'
            )
    parts.append("    </space>\n  </world>\n</xode>\n")
    return "".join(parts).encode()
