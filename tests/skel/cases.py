"""One example document for every message of the SKEL reader."""

from __future__ import annotations

from tests.support.messages import Case
from tests.support.xml import BOX, INERTIA, MOMENT, PHYSICS, body, joint, one_body, one_shape, skel, skeleton, world

DROP = skeleton(body() + joint())
AXIS = "<axis><xyz>1 0 0</xyz>{}</axis>"
SOFT_BOX = "<soft_shape><total_mass>1</total_mass><geometry><box><size>1 1 1</size>{}</box></geometry></soft_shape>"
SOFT_BALL = (
    "<soft_shape><total_mass>1</total_mass>{}<geometry><sphere><radius>1</radius><num_slices>8</num_slices>"
    "<num_stacks>4</num_stacks></sphere></geometry></soft_shape>"
)


def physics(inner: str) -> str:
    return world("\n" + DROP, physics=inner)


def hinge(inner: str) -> str:
    return one_body(joint_inner=AXIS.format(inner), kind="revolute")


def mass(inner: str, shape: str = "") -> str:
    return one_body(f"<inertia>{inner}</inertia>{shape}")


def visual(geometry: str, beside: str = "") -> str:
    return one_shape(geometry, "visualization_shape", beside)


def mesh(name: str, where: str = "visualization_shape") -> str:
    return one_shape(f"<mesh><file_name>{name}</file_name><scale>1 1 1</scale></mesh>", where)


def moment(entries: str) -> str:
    return mass(f"<mass>1</mass><moment_of_inertia>{entries}</moment_of_inertia>")


def chain(*ends: tuple[str, str, str]) -> str:
    names = sorted({child for _, _, child in ends} | {parent for _, parent, _ in ends if parent != "world"})
    bodies = "".join(body(name=name) for name in names)
    joints = "".join(joint("", "ball", name, parent, child) for name, parent, child in ends)
    return world(skeleton(bodies + joints))


PLANAR_AXES = "<translation_axis1><xyz>{}</xyz></translation_axis1><translation_axis2><xyz>{}</xyz></translation_axis2>"

_DOCUMENT: dict[str, Case] = {
    "SK001": Case("<skel>\n  <world>\n</skel>"),
    "SK001.limit": Case(one_body("<a>" * 30 + "</a>" * 30), {"limits_depth": 20}),
    "SK001.kind": Case(b"\x1f\x8b\x08\x00rest"),
    "SK002": Case(b"dofs {\n}\nnode pelvis {\n}\n"),
    "SK003": Case("<scene/>"),
    "SK003.early": Case(one_body().replace("skel>", "dart>").replace("<skel ", "<dart ")),
    "SK003.format": Case("<robot name='r'/>", {"format": "skel"}),
    "SK004": Case('<skel version="1.0"/>'),
    "SK005.world": Case(skel(f'<world name="a"><physics>{PHYSICS}</physics>{DROP}</world>\n<world name="b"/>')),
    "SK005.taken": Case(skel(f'<world name="w"><physics>{PHYSICS}</physics></world>\n{DROP}')),
    "SK005.kept": Case(skel(f'<world name="w"><physics>{PHYSICS}</physics>{DROP}</world>\n{DROP}')),
    "SK005.several": Case(skel(DROP + skeleton(body() + joint(), "t"))),
    "SK006.absent": Case(world(DROP).replace(' version="1.0"', "")),
    "SK006.other": Case(world(DROP).replace("1.0", "3.1", 1)),
    "SK007.entity": Case('<!DOCTYPE skel [\n  <!ENTITY x "0">\n]>\n' + world(DROP)),
    "SK007.doctype": Case("<!DOCTYPE skel>\n" + world(DROP)),
    "SK008": Case(('<?xml version="1.0" encoding="ISO-8859-1"?>' + one_body()).encode("latin-1")),
    "SK009": Case(skel(DROP)),
    "SK010": Case(one_body("<masss>1</masss>")),
    "SK010.prefixed": Case(one_body("<my:note/>").replace("<skel", '<skel xmlns:my="urn:my"', 1)),
    "SK011": Case(one_body().replace("<joint", '<joint nam="x"')),
    "SK011.prefixed": Case(one_body().replace("<skel", '<skel xmlns:my="urn:my" my:by="me"', 1)),
    "SK012": Case(one_body("<gravity>1</gravity>\n<gravity>0</gravity>")),
    "SK013.axis_dynamics": Case(one_body(joint_inner=AXIS.format("<limit/>"))),
    "SK013.axis": Case(one_body(joint_inner=AXIS.format(""))),
    "SK013.axis_xyz": Case(one_body(joint_inner="<axis_order>xyz</axis_order>" + AXIS.format(""), kind="euler")),
    "SK013.axis_order": Case(one_body(joint_inner="<axis_order>zyx</axis_order>", kind="ball")),
    "SK013.plane": Case(one_body(joint_inner='<plane type="xy"/>', kind="ball")),
    "SK013.pitch": Case(hinge("<pitch>0.1</pitch>")),
    "SK013.weld": Case(one_body(joint_inner="<init_pos>1</init_pos>", kind="weld")),
    "SK013.color": Case(one_shape("<box><size>1 1 1</size></box>", beside="<color>1 0 0</color>")),
    "SK013.collidable": Case(visual("<box><size>1 1 1</size></box>", "<collidable>0</collidable>")),
    "SK013.geometry_color": Case(visual("<box><size>1 1 1</size></box><color>1 0 0</color>")),
    "SK013.tessellation": Case(visual("<ellipsoid><size>1 1 1</size><num_slices>8</num_slices></ellipsoid>")),
    "SK013.self_collide": Case(one_body("<self_collide>1</self_collide>")),
    "SK013.alpha": Case(visual("<box><size>1 1 1</size></box>", "<alpha>0.5</alpha>")),
    "SK013.contact": Case(one_body("<friction>0.8</friction>")),
    "SK013.thread_pitch": Case(hinge("<thread_pitch>1</thread_pitch>")),
    "SK013.dof_limit": Case(one_body(joint_inner='<dof local_index="0"><position><lower>-1</lower></position></dof>')),
    "SK013.soft_marker": Case(one_body(SOFT_BOX.format("<frags>3 3 3</frags>") + '<marker name="tip"/>')),
    "SK013.soft_transformation": Case(one_body(SOFT_BALL.format("<transformation>1 0 0 0 0 0</transformation>"))),
    "SK014": Case(world(skeleton("remember this" + body() + joint()))),
    "SK014.split": Case(physics("<gravity>0 0 <!-- down --> -9.81</gravity>")),
}

_VALUES: dict[str, Case] = {
    "SK020": Case(visual("<sphere/>")),
    "SK020.size": Case(visual("<box/>")),
    "SK020.radius": Case(visual("<cylinder><height>2</height></cylinder>")),
    "SK020.height": Case(visual("<cylinder><radius>2</radius></cylinder>")),
    "SK020.scale": Case(visual("<mesh><file_name>http://x/y.obj</file_name></mesh>")),
    "SK021": Case(physics("<gravity> </gravity>")),
    "SK022": Case(physics("<time_step>fast</time_step><gravity>0 0 0</gravity>")),
    "SK023": Case(physics("<time_step>0.005s</time_step><gravity>0 0 0</gravity>")),
    "SK023.count": Case(one_body(SOFT_BALL.format("").replace(">8<", ">-8<"))),
    "SK024": Case(physics("<gravity>0 -9.81</gravity>")),
    "SK024.translation": Case(one_body("<transformation>1 2 3</transformation>")),
    "SK025": Case(physics("<gravity>0, -9.81, 0</gravity>")),
    "SK026": Case(physics("<gravity>0 nan 0</gravity>")),
    "SK026.overflow": Case(physics("<gravity>0 1e999 0</gravity>")),
    "SK027": Case(one_body("<gravity>off</gravity>")),
    "SK013.collidable_zero": Case(one_shape("<box><size>1 1 1</size></box>", beside="<collidable>0</collidable>")),
    "SK027.word": Case(one_shape("<box><size>1 1 1</size></box>", beside="<collidable>true</collidable>")),
    "SK027.number": Case(one_shape("<box><size>1 1 1</size></box>", beside="<collidable>2</collidable>")),
    "SK028.trimmed": Case(one_body().replace(">world<", "> world <")),
    "SK028.case": Case(one_body(joint_inner="<axis_order>ZYX</axis_order>", kind="euler")),
    "SK030": Case(physics("<time_step>0</time_step><gravity>0 0 0</gravity>")),
    "SK031": Case(physics("<time_step>0.01</time_step>")),
    "SK032": Case(physics(PHYSICS.replace(">dart<", ">bulet<"))),
    "SK033": Case(one_shape("<capsule><radius>1</radius><height>1</height></capsule>").replace(">dart<", ">fcl<")),
}

_BODIES: dict[str, Case] = {
    "SK040.missing": Case(world(skeleton(body() + "<body/>" + joint()))),
    "SK040.repeated": Case(world(skeleton(body() + body("<gravity>0</gravity>") + joint()))),
    "SK041.missing": Case(world(DROP.replace(' name="s"', ""))),
    "SK041.repeated": Case(world(DROP + "\n" + DROP)),
    "SK042": Case(world(skeleton(body(name="world") + joint(child="world")))),
    "SK043": Case(world(skeleton("<immobile>1</immobile>" + body() + joint()))),
    "SK043.contradiction": Case(world(skeleton("<mobile>1</mobile><immobile>1</immobile>" + body() + joint()))),
    "SK044.world": Case(world()),
    "SK044.skeleton": Case(world('<skeleton name="s"/>')),
    "SK050.missing": Case(mass(f"<moment_of_inertia>{MOMENT}</moment_of_inertia>")),
    "SK050.zero": Case(mass("<mass>0</mass>")),
    "SK050.negative": Case(mass(f"<mass>-2</mass><moment_of_inertia>{MOMENT}</moment_of_inertia>")),
    "SK050.soft": Case(one_body(SOFT_BOX.format("<frags>3 3 3</frags>").replace("<total_mass>1", "<total_mass>-1"))),
    "SK051.off_diagonal": Case(moment("<ixx>1</ixx><iyy>1</iyy><izz>1</izz>")),
    "SK051.refused": Case(moment("<ixx>1</ixx><iyy>1</iyy><izz>1</izz>"), {"semantics": "dart"}),
    "SK051.diagonal": Case(moment("<ixx>1</ixx><iyy>1</iyy><ixy>0</ixy><ixz>0</ixz><iyz>0</iyz>")),
    "SK052.indefinite": Case(moment(MOMENT.replace("<izz>1", "<izz>-1"))),
    "SK052.singular": Case(moment(MOMENT.replace(">1<", ">0.1<").replace(">0<", ">0.1<"))),
    "SK052.triangle": Case(moment(MOMENT.replace("<izz>1", "<izz>9"))),
    "SK053": Case(
        mass(
            f"<mass>1</mass><transformation>0 0 1 0 0 0</transformation><moment_of_inertia>{MOMENT}</moment_of_inertia>"
        )
    ),
    "SK053.both": Case(
        mass(
            f"<mass>1</mass><offset>0 0 0</offset><transformation>0 0 1 0 0 0</transformation><moment_of_inertia>{MOMENT}</moment_of_inertia>"
        )
    ),
    "SK054.centre": Case(mass("<mass>1</mass><offset>0 0 0.5</offset>", f"<collision_shape>{BOX}</collision_shape>")),
    "SK054.rule": Case(mass("<mass>1</mass><offset>0 0 0.5</offset>", f"<collision_shape>{BOX}</collision_shape>")),
    "SK055.no_shape": Case(mass("<mass>1</mass>")),
    "SK055.overflow": Case(
        mass(
            "<mass>1</mass>",
            "<visualization_shape>" + BOX.replace("0.1 0.2 0.3", "1 1e160 1") + "</visualization_shape>",
        )
    ),
    "SK055.plane": Case(
        mass(
            "<mass>1</mass>",
            "<visualization_shape><geometry><plane><normal>0 0 1</normal><offset>0</offset></plane></geometry></visualization_shape>",
        )
    ),
    "SK055.pyramid": Case(
        mass(
            "<mass>1</mass>",
            "<visualization_shape><geometry><pyramid><base_width>1</base_width><base_depth>1</base_depth><height>1</height></pyramid></geometry></visualization_shape>",
        )
    ),
}

_SHAPES: dict[str, Case] = {
    "SK060.none": Case(one_body(INERTIA + "<collision_shape/>")),
    "SK060.empty": Case(one_shape("")),
    "SK060.unknown": Case(one_shape("<heightmap/>")),
    "SK060.soft": Case(one_body("<soft_shape><total_mass>1</total_mass><geometry><cone/></geometry></soft_shape>")),
    "SK061": Case(visual("<box><size>1 1 1</size></box><sphere><radius>1</radius></sphere>")),
    "SK062.negative": Case(visual("<box><size>1 -0.21 1</size></box>")),
    "SK062.zero": Case(visual("<sphere><radius>0</radius></sphere>")),
    "SK062.scale": Case(visual("<mesh><file_name>http://x/y.obj</file_name><scale>1 0 1</scale></mesh>")),
    "SK063.visual": Case(mesh("none.obj"), {"base": "."}),
    "SK063.needed": Case(mesh("none.obj", "collision_shape"), {"base": "."}),
    "SK064.spaces": Case(mesh(" http://x/y.obj ")),
    "SK064.backslash": Case(mesh("m\\c.obj"), {"base": "."}),
    "SK064.percent": Case(mesh("a%20b.obj"), {"base": "{folder}"}),
    "SK064.fragment": Case(mesh("a#b.obj"), {"base": "{folder}"}),
    "SK064.absolute": Case(mesh("/nowhere/foot.obj"), {"base": "."}),
    "SK064.relative_file_uri": Case(mesh("file:a b.obj"), {"base": "{folder}"}),
    "SK064.foreign_file_uri": Case(mesh("file://m/c.obj")),
    "SK064.scheme": Case(mesh("package://robot/c.obj")),
    "SK064.no_base": Case(mesh("c.obj")),
    "SK064.outside": Case(mesh("../c.obj"), {"base": "{folder}/in", "confine": True}),
    "SK065.none": Case(visual("<plane><normal>0 0 1</normal></plane>")),
    "SK065.point": Case(visual("<plane><normal>0 0 1</normal><point>0 0 1</point></plane>")),
    "SK066": Case(visual("<plane><normal>0 0 0</normal><offset>0</offset></plane>")),
    "SK067.count": Case(visual("<box><size>1 1 1</size></box>", "<color>1 0</color>")),
    "SK067.range": Case(visual("<box><size>1 1 1</size></box>", "<color>255 0 0</color>")),
    "SK068.missing": Case(one_body(SOFT_BOX.format(""))),
    "SK068.low": Case(one_body(SOFT_BOX.format("<frags>1 2 3</frags>"))),
    "SK069": Case(visual("<cylinder><radius>1</radius><length>1</length></cylinder>")),
}

_JOINTS: dict[str, Case] = {
    "SK070.missing": Case(one_body().replace(' type="free"', "")),
    "SK070.unknown": Case(one_body(kind="revolut")),
    "SK071.parent": Case(world(skeleton(body() + joint(parent="bb")))),
    "SK071.child": Case(world(skeleton(body(name="arm") + joint(child="amr")))),
    "SK072": Case(chain(("i", "world", "a"), ("j", "world", "a"))),
    "SK073.cycle": Case(chain(("i", "b", "a"), ("j", "a", "b"))),
    "SK073.self": Case(chain(("i", "a", "a"))),
    "SK074.ignored": Case(one_body(kind="hing")),
    "SK074": Case(chain(("i", "a", "b"))),
    "SK075": Case(one_body().replace("<parent>world</parent>", "")),
    "SK076.unknown": Case(one_body(attributes=' actuator="pasive"')),
    "SK076.torque": Case(one_body(attributes=' actuator="torque"')),
    "SK077.missing": Case(one_body(kind="revolute")),
    "SK077.no_xyz": Case(one_body(joint_inner="<axis><xyz>1 0 0</xyz></axis><axis2/>", kind="universal")),
    "SK077.default": Case(one_body(joint_inner="<axis/>", kind="revolute")),
    "SK077.zero": Case(one_body(joint_inner="<axis><xyz>0 0 0</xyz></axis>", kind="revolute")),
    "SK077.length": Case(one_body(joint_inner="<axis><xyz>0 0 5</xyz></axis>", kind="revolute")),
    "SK078.missing": Case(one_body(kind="euler")),
    "SK078.unknown": Case(one_body(joint_inner="<axis_order>yzx</axis_order>", kind="euler")),
    "SK079.missing": Case(one_body(kind="planar")),
    "SK079.no_type": Case(one_body(joint_inner="<plane/>", kind="planar")),
    "SK079.unknown": Case(one_body(joint_inner='<plane type="xz"/>', kind="planar")),
    "SK079.axis": Case(
        one_body(
            joint_inner='<plane type="arbitrary"><translation_axis2><xyz>0 0 1</xyz></translation_axis2></plane>',
            kind="planar",
        )
    ),
    "SK079.parallel": Case(
        one_body(joint_inner=f'<plane type="arbitrary">{PLANAR_AXES.format("1 0 0", "2 0 0")}</plane>', kind="planar")
    ),
    "SK080": Case(one_body(joint_inner="<init_pos>1 2 3</init_pos>")),
    "SK081": Case(
        one_body(joint_inner=AXIS.format("<limit><upper>1</upper></limit>") + "<init_pos>2</init_pos>", kind="revolute")
    ),
    "SK082": Case(hinge("<limit><lower>1</lower><upper>-1</upper></limit>")),
    "SK083": Case(hinge("<dynamics><damping>-1</damping></dynamics>")),
    "SK084.missing": Case(one_body(joint_inner="<dof><damping>1</damping></dof>", kind="ball")),
    "SK084.range": Case(one_body(joint_inner='<dof local_index="-2"><damping>1</damping></dof>', kind="ball")),
    "SK085": Case(
        one_body(
            joint_inner=AXIS.format("<dynamics><damping>1</damping></dynamics>") + "<dof><damping>2</damping></dof>",
            kind="revolute",
        )
    ),
    "SK086": Case(one_body(joint_inner='<dof local_index="1"/><dof local_index="1"/>', kind="ball")),
    "SK087": Case(hinge("<damping>1</damping>")),
    "SK088.sprint": Case(hinge("<dynamics><sprint_stiffness>1</sprint_stiffness></dynamics>")),
    "SK088.stiffness": Case(hinge("<dynamics><stiffness>1</stiffness></dynamics>")),
    "SK088.spring_damping": Case(hinge("<dynamics><spring_damping>1</spring_damping></dynamics>")),
    "SK088.effort": Case(hinge("<limit><effort>1</effort></limit>")),
    "SK088.velocity": Case(hinge("<limit><velocity>1</velocity></limit>")),
    "SK089": Case(hinge("<limit><lower>-1</lower></limit>")),
    "SK089.servo": Case(
        hinge("<limit><lower>-1</lower></limit>").replace('type="revolute"', 'type="revolute" actuator="servo"')
    ),
    "SK090": Case(one_body(joint_inner=AXIS.format(""), kind="screw")),
    "SK091": Case(one_body("<transformation>0 0 0 0 0 1</transformation>", "<init_vel>0 0 0 1 0 0</init_vel>")),
    "SK092": Case(one_body(joint_inner='<dof local_index="0"><spring_stiffness>1</spring_stiffness></dof>')),
    "SK094": Case(
        one_body(joint_inner="<axis_order>xyz</axis_order><init_pos>0 1.5707963267948966 0</init_pos>", kind="euler")
    ),
}

CARRY = '<e:carry xmlns:e="urn:exoskel:carried" field="{}" was="{}">{}</e:carry>'

_CARRIED: dict[str, Case] = {
    "SK098.stale": Case(one_body(CARRY.format("gravity", "00000000", "false"))),
    "SK098.broken": Case(one_body(CARRY.format("gravity", "00000000", "{"))),
}

CASES: dict[str, Case] = {**_DOCUMENT, **_VALUES, **_BODIES, **_SHAPES, **_JOINTS, **_CARRIED}

RAISED_ELSEWHERE = {"SK093": "given by operations that know rigid bodies only, not by the reader"}
