"""Small documents with everything in them that an edit must not touch."""

from __future__ import annotations

SKEL = """\
<?xml version='1.0' ?>
<!-- A robot arm. Do not lose me. -->
<skel version="1.0">
  <world name = 'lab'>
    <physics>
      <time_step>0.0010</time_step> <!-- s -->
      <gravity>0 0 -9.810</gravity>
      <collision_detector>fcl_mesh</collision_detector>
    </physics>
    <skeleton name="arm">
      <body name="base">
        <transformation>0  0 0.50   0 0 0</transformation>
        <inertia>
          <mass> 5.00 </mass> <!-- kg, weighed -->
          <offset>0 0 .1</offset>
        </inertia>
        <visualization_shape>
          <transformation>0 0 0 0 0 0</transformation>
          <geometry><box><size>0.2 0.2 1.0</size></box></geometry>
          <color>0.8 .8 0.80</color>
        </visualization_shape>
        <collision_shape>
          <geometry>
            <box>
              <size>0.2 0.2 1.0</size>
            </box>
          </geometry>
        </collision_shape>
      </body>
      <body name="fore">
        <transformation>0 0 1.00 0 0 0</transformation>
        <inertia>
          <mass>2</mass>
          <moment_of_inertia>
            <ixx>0.10</ixx> <iyy>0.10</iyy> <izz>0.02</izz>
            <ixy>0</ixy> <ixz>0</ixz> <iyz>0</iyz>
          </moment_of_inertia>
        </inertia>
        <maker serial="7">ACME</maker>
        <marker name="tip"><offset>0 0 0.5</offset></marker>
      </body>
      <joint type="weld" name="mount">
        <parent>world</parent>
        <child>base</child>
      </joint>
      <joint  name="elbow"   type="revolute">
        <parent>base</parent>
        <child>fore</child>
        <transformation>0 0 -0.5 0 0 0</transformation>
        <axis>
          <xyz>0 1.0 0</xyz>
          <limit> <!-- rad -->
            <lower>-1.50</lower>
            <upper>1.50</upper>
          </limit>
          <dynamics>
            <damping>0.010</damping>
          </dynamics>
        </axis>
        <init_pos>0.250</init_pos>
      </joint>
    </skeleton>
    <skeleton name="table">
      <mobile>false</mobile>
      <body name="top"/>
    </skeleton>
  </world>
</skel>
"""

XODE = """\
<?xml version="1.0"?>
<!-- Two bodies and a hinge. -->
<xode version="1.0r22" name="pair">
\t<world name="lab">
\t\t<ext ename="notes">calibrated <b>twice</b></ext>
\t\t<space name="room">
\t\t\t<geom name="floor"><plane a="0" b="0" c="1" d="0"/></geom>
\t\t\t<group name="rig">
\t\t\t\t<transform>
\t\t\t\t\t<position x="1.0" y="0" z="0"/>
\t\t\t\t\t<rotation><axisangle x="0" y="0" z="1" angle="90" aformat="degrees"/></rotation>
\t\t\t\t</transform>
\t\t\t\t<body name="crate">
\t\t\t\t\t<transform><position x="2.0" y="0" z="1.50"/></transform>
\t\t\t\t\t<geom name="crate_box">
\t\t\t\t\t\t<box sizex="1.0" sizey="1.0" sizez="1.0"/>
\t\t\t\t\t\t<ext ename="colour">#aa0000</ext>
\t\t\t\t\t</geom>
\t\t\t\t\t<mass><mass_shape density="3.0"><box sizex="1.0" sizey="1.0" sizez="1.0"/></mass_shape></mass>
\t\t\t\t</body>
\t\t\t</group>
\t\t\t<body name="ball">
\t\t\t\t<transform>
\t\t\t\t\t<position x="1.0" y="2.0" z="3.50"/>
\t\t\t\t\t<rotation><euler x="0" y="0" z="30.0" aformat="degrees"/></rotation>
\t\t\t\t</transform>
\t\t\t\t<geom name="ball_geom"><sphere radius="0.50"/></geom>
\t\t\t\t<mass>
\t\t\t\t\t<mass_shape total="4.0"><sphere radius="0.50"/></mass_shape>
\t\t\t\t</mass>
\t\t\t</body>
\t\t\t<joint name="hinge">
\t\t\t\t<!-- the links are the wrong way round on purpose -->
\t\t\t\t<link1 body="crate"/>
\t\t\t\t<link2 body="ball"/>
\t\t\t\t<hinge>
\t\t\t\t\t<anchor x="1.0" y="2.0" z="2.50" absolute="true"/>
\t\t\t\t\t<axis x="0" y="0" z="2.0" LowStop="-0.50" HiStop="0.50" FMax="1e1"/>
\t\t\t\t</hinge>
\t\t\t</joint>
\t\t</space>
\t</world>
</xode>
"""
