"""One example document for every message of the XODE reader."""

from __future__ import annotations

from tests.support.messages import Case
from tests.support.xode import (
    ANCHOR,
    BOX,
    SPHERE,
    TURN,
    at,
    axis,
    body,
    geom,
    hinge,
    joint,
    mass,
    mass_shape,
    matrix,
    position,
    scene,
    transform,
    trimesh,
    two,
    world,
    xode,
)

SPEC = {"dialect": "spec"}
PYODE = {"dialect": "pyode"}
STRICT = {"strict": True}


def placed(inner: str, attributes: str = "") -> Case:
    return Case(scene(body(transform(inner, attributes))), SPEC)


def weighed(inner: str) -> Case:
    return Case(scene(body(mass(inner))), SPEC)


def shaped(shape: str) -> Case:
    return Case(scene(geom(shape)), SPEC)


def jointed(kind: str) -> Case:
    return Case(two(kind), SPEC)


def struct(
    inertia: str = 'm00="1" m01="0" m02="0" m10="0" m11="1" m12="0" m20="0" m21="0" m22="1"', centre: str = "0"
) -> str:
    return f'<mass_struct total="2"><centerGravity x="{centre}" y="0" z="0"/><imatrix {inertia}/></mass_struct>'


COMMENT = "<!--odeenvironment parameters\n<passpairs>\n{}\n<end>\n-->"

_DOCUMENT: dict[str, Case] = {
    "X101": Case("<xode>\n  <world>\n</xode>"),
    "X101.limit": Case(scene("<group>" * 30 + "</group>" * 30), {"limits_depth": 20}),
    "X101.kind": Case(b"\x1f\x8b\x08\x00rest", {"format": "xode"}),
    "X102": Case("<scene/>", {"format": "xode"}),
    "X102.format": Case("<skel/>", {"format": "xode"}),
    "X103": Case(xode(world("<space/>"), "")),
    "X104": Case(xode(world("<space/>"), ' version="2"')),
    "X105.entity": Case('<!DOCTYPE xode [\n<!ENTITY x "0">\n]>\n' + scene("")),
    "X105.doctype": Case("<!DOCTYPE xode>\n" + scene("")),
    "X106": Case(scene("").replace("<xode", '<xode xmlns="urn:old"')),
    "X107": Case(xode("")),
    "X201": Case(xode(world(body() + "<space/>"))),
    "X202": Case(scene("<bodie/>")),
    "X202.inside": Case(scene(body() + joint("<lmotor/>", first="b", second=""))),
    "X202.prefixed": Case(scene("<my:note/>").replace("<xode", '<xode xmlns:my="urn:my"')),
    "X203": Case(xode("<world/>")),
    "X203.shape": shaped(""),
    "X203.type": Case(scene(body() + joint("", first="b", second=""))),
    "X203.rotation": placed("<rotation/>"),
    "X203.few": shaped(trimesh(2, [(1, 2, 2)])),
    "X204": Case(scene(body(at(0, 0, 1) + at(0, 0, 2)))),
    "X204.mass": Case(scene(body(mass(mass_shape()) + mass(mass_shape())))),
    "X204.replaced": weighed(mass_shape() + mass_shape()),
    "X204.again": weighed(mass_shape() + '<adjust total="2"/><adjust total="3"/>'),
    "X204.shape": shaped(SPHERE + BOX),
    "X204.type": jointed("<fixed/>" + hinge()),
    "X205": weighed('<adjust total="2"/>' + mass_shape()),
    "X206": Case(scene(body(attributes=' nam="x"'))),
    "X206.prefixed": Case(""),
    "X207": Case(scene("remember" + body())),
    "X208": Case(scene(body() + geom(name="b"))),
    "X209": Case(scene(body(name=""))),
    "X210": weighed(mass_shape() + '<ext ename="x"/>'),
    "X301": placed('<position x="1" y="2"/>'),
    "X302": placed('<position x="1,5" y="0" z="0"/>'),
    "X303": placed('<position x="nan" y="0" z="0"/>'),
    "X303.overflow": Case(
        scene(
            body('<angularVel x="0" y="0" z="1e300"/>', "a")
            + body(at(1e200, 0, 0))
            + joint('<slider><axis x="0" y="1" z="0"/></slider>')
        ),
        SPEC,
    ),
    "X304": shaped(trimesh(3, [(1, 2, 3)]).replace('ia="1"', 'ia="one"')),
    "X304.float": shaped(trimesh(3, [(1, 2, 3)]).replace('ia="1"', 'ia="1.0"')),
    "X305": Case(scene(body(attributes=' enabled="unsure"'))),
    "X305.spelling": Case(scene(body(attributes=' enabled="TRUE"'))),
    "X306": shaped('<sphere radius="0"/>'),
    "X307": placed('<rotation><euler x="1" y="0" z="0" aformat="grad"/></rotation>'),
    "X307.gravity": Case(scene(body(attributes=' gravitymode="2"'))),
    "X401": Case(scene(body(name="arm") + joint("<fixed/>", first="amr", second=""))),
    "X402": Case(scene(body() + geom() + joint("<fixed/>", first="g", second="b"))),
    "X403": Case(scene(body() + "\n" + body() + joint("<fixed/>", first="b", second=""))),
    "X404.same": Case(scene(body() + joint("<fixed/>", first="b", second="b"))),
    "X404.environment": Case(scene(joint("<fixed/>", first="", second=""))),
    "X405": Case(
        xode(
            world("<space>" + body(name="a") + joint("<fixed/>") + "</space>", "left")
            + world("<space>" + body() + "</space>", "right")
        )
    ),
    "X405.joint": Case(
        xode(
            world("<space>" + body(name="a") + "</space>", "left")
            + world("<space>" + joint("<fixed/>", second="") + "</space>", "right")
        )
    ),
}

_TRANSFORMS: dict[str, Case] = {
    "X501": placed(matrix() + position(1, 0, 0)),
    "X502": placed(matrix(m03=1, m30=1)),
    "X502.corner": placed(matrix(m33=0)),
    "X503": placed(matrix(m01=0.5)),
    "X504": placed(matrix(m30=1)),
    "X505": placed('<rotation><quaternion x="0" y="0" z="0" w="1"/><euler x="0" y="0" z="0"/></rotation>'),
    "X506": placed('<quaternion x="0" y="0" z="0" w="1"/>'),
    "X507": placed('<rotation><quaternion x="0" y="0" z="0" w="0"/></rotation>'),
    "X507.angle": placed('<rotation><axisangle x="0" y="0" z="0" angle="0"/></rotation>'),
    "X508": placed('<rotation><quaternion x="0" y="0" z="0" w="2"/></rotation>'),
    "X509": placed("", ' scale="2"'),
    "X509.element": placed('<scale scale="2"/>'),
    "X510": placed('<scale x="1" y="2" z="3"/>'),
    "X511": placed(matrix().replace("matrix4f", "matrix")),
    "X512": Case(scene(body(at(1, 0, 0) + geom(before=transform(position(2, 0, 0), ' absolute="true"')))), SPEC),
    "X513": placed('<scale scale="2"/>', ' scale="3"'),
    "X513.element": placed('<scale scale="2" x="3" y="3" z="3"/>'),
    "X514": placed(matrix(m00=-1)),
    "X515": Case(scene("<group>" + transform(TURN) + body(at(1, 0, 0)) + "</group>"), PYODE),
    "X516": Case(scene(body(name="a") + body() + joint(at(0, 0, 1) + "<fixed/>")), SPEC),
    "X517": Case(scene(body(transform('<rotation><euler x="1" y="0" z="0"/></rotation>')))),
}

_BODIES: dict[str, Case] = {
    "X601": weighed(struct() + mass_shape()),
    "X602": weighed(mass_shape(attributes="")),
    "X603": weighed(mass_shape(attributes=' density="1" total="2"')),
    "X604": Case(scene(body(geom() + mass('<adjust total="2"/>'))), SPEC),
    "X605": weighed(mass_shape('<sphere radius="1e-150"/>')),
    "X605.moment": weighed(mass_shape('<sphere radius="1e200"/>', ' total="1"')),
    "X606": weighed(struct('m00="1" m01="0.1" m02="0" m10="0.2" m11="1" m12="0" m20="0" m21="0" m22="1"')),
    "X607": weighed(struct('m00="-1" m01="0" m02="0" m10="0" m11="1" m12="0" m20="0" m21="0" m22="1"')),
    "X607.triangle": weighed(struct('m00="9" m01="0" m02="0" m10="0" m11="1" m12="0" m20="0" m21="0" m22="1"')),
    "X608": weighed(mass_shape() + at(1, 0, 0)),
    "X609": weighed(mass_shape('<cone radius="1" length="1"/>')),
    "X610": weighed(""),
    "X611": weighed(mass_shape() + transform(TURN, ' absolute="true"')),
    "X701": shaped(trimesh(4, [(0, 1, 4)])),
    "X702": shaped(trimesh(4, [(1, 2, 3)])),
    "X703": shaped(trimesh(3, [(1, 2, 3), (1, 1, 2)])),
    "X704": shaped('<plane a="0" b="0" c="0" d="1"/>'),
    "X705": shaped('<plane a="0" b="10" c="0" d="-5"/>'),
    "X706": Case(scene(body(geom('<plane a="0" b="0" c="1" d="0"/>'))), SPEC),
    "X707": Case(scene(geom('<plane a="0" b="0" c="1" d="0"/>', before=at(0, 0, 5))), SPEC),
    "X707.ignored": Case(scene(geom('<plane a="0" b="0" c="1" d="0"/>', before=at(0, 0, 5))), PYODE),
    "X708": shaped('<cone radius="1" length="1"/>'),
    "X709.capsule": shaped('<capsule radius="1" length="1"/>'),
    "X709.indices": shaped(trimesh(3, [(1, 2, 3)], "indices")),
}

_JOINTS: dict[str, Case] = {
    "X801": jointed(f"<hinge>{ANCHOR}</hinge>"),
    "X801.amotor": jointed(f"<amotor>{axis()}</amotor>"),
    "X802": jointed(f"<hinge>{ANCHOR}{axis(z=0)}</hinge>"),
    "X803": jointed(f"<fixed>{ANCHOR}</fixed>"),
    "X803.amotor": jointed(f"<amotor>{ANCHOR}{axis(x=1)}{axis(y=1)}{axis()}</amotor>"),
    "X804": jointed("<ball/>"),
    "X805": Case(
        scene(body(name="a") + body(at(5, 0, 0) + joint('<ball><anchor x="0" y="0" z="1"/></ball>', second=""))), SPEC
    ),
    "X806": Case(scene("<group>" + transform(TURN) + body() + joint(hinge(), first="b", second="") + "</group>"), SPEC),
    "X806.relative": jointed(hinge('absolute="false"')),
    "X807": jointed(hinge('TestCFM="1"')),
    "X808": jointed(hinge('LowStop="-1" LoStop="-2"')),
    "X809": jointed(hinge('LowStop="1" HiStop="-1"')),
    "X809.infinite": jointed(hinge('LowStop="inf"')),
    "X810": jointed(hinge('FMax="-1"')),
    "X810.kept": Case(two(hinge('StopERP="8"')), PYODE),
    "X811": jointed(hinge('SuspensionERP="0.5"')),
    "X811.stop": jointed(f"""<hinge2>{ANCHOR}{axis()}{axis('HiStop="1"', x=1, z=0)}</hinge2>"""),
    "X812": jointed(f"<hinge2>{ANCHOR}{axis()}{axis()}</hinge2>"),
    "X812.universal": jointed(f"<universal>{ANCHOR}{axis()}{axis(x=1)}</universal>"),
    "X813": jointed(hinge('HiStop="4"')),
    "X901": Case(scene(body(transform('<rotation><euler x="1" y="0" z="0"/></rotation>')))),
    "X902": Case(scene("<ext/>")),
    "X903": Case(scene('<ext ename="a" build="7"/>')),
    "X903.conflict": Case(scene('<ext ename="a" name="b"/>')),
    "X904": Case(scene('<ext ename="a">1</ext><ext ename="a">2</ext>'), STRICT),
    "X905": Case(scene(body()) + COMMENT.format("__import__('os')")),
    "X910.stale": Case(scene(body('<ext ename="exoskel"><carry field="gravity" was="00000000">false</carry></ext>'))),
    "X910.broken": Case(scene(body('<ext ename="exoskel"><carry field="gravity" was="0">fa</carry></ext>'))),
}

CASES: dict[str, Case] = {**_DOCUMENT, **_TRANSFORMS, **_BODIES, **_JOINTS}
del CASES["X206.prefixed"]

RAISED_ELSEWHERE = {
    "X206.prefixed": "silent by its severity: schema attributes are preserved",
    "X612": "a conversion that is refused",
    "X921": "a loss of the writer",
    "X922": "a loss of the writer",
}
