"""Documents of less than 1 MB that need very much time or memory to read or to convert."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from io import BytesIO

Make = Callable[[], str | bytes]

MEGA = 2**20


# --- chains, and many of everything -------------------------------------------------------------------


def skel_chain(count: int) -> str:
    joint = (
        "<body name='b{0}'/><joint type='revolute' name='j{0}'><parent>b{1}</parent><child>b{0}</child>"
        "<axis><xyz>0 0 1</xyz></axis></joint>"
    )
    bodies = "".join(joint.format(number, number - 1) for number in range(1, count))
    return f"<skel version='1.0'><world name='w'><skeleton name='s'><body name='b0'/>{bodies}</skeleton></world></skel>"


def skel_skeletons(count: int) -> str:
    models = "".join(f"<skeleton name='s{number}'><body name='b'/></skeleton>" for number in range(count))
    return f"<skel version='1.0'><world name='w'>{models}</world></skel>"


def xode_chain(count: int) -> str:
    joint = "<joint name='j{0}'><link1 body='b{0}'/><link2 body='b{1}'/><hinge><anchor x='0' y='0' z='0'/><axis x='0' y='0' z='1'/></hinge></joint>"
    bodies = "".join(f"<body name='b{number}'/>" for number in range(count))
    joints = "".join(joint.format(number, number + 1) for number in range(count - 1))
    return f"<xode><world name='w'><space>{bodies}{joints}</space></world></xode>"


def urdf_chain(count: int, kind: str = "continuous") -> str:
    links = "".join(f"<link name='l{number}'/>" for number in range(count))
    joint = "<joint name='j{0}' type='{2}'><parent link='l{1}'/><child link='l{0}'/></joint>"
    joints = "".join(joint.format(number, number - 1, kind) for number in range(1, count))
    return f"<robot name='r'>{links}{joints}</robot>"


def sdf_chain(count: int) -> str:
    links = "".join(f"<link name='l{number}'/>" for number in range(count))
    joint = "<joint name='j{0}' type='revolute'><parent>l{1}</parent><child>l{0}</child><axis><xyz>0 0 1</xyz></axis></joint>"
    joints = "".join(joint.format(number, number - 1) for number in range(1, count))
    return f"<sdf version='1.9'><model name='m'>{links}{joints}</model></sdf>"


# --- macros -------------------------------------------------------------------------------------------


def xacro(content: str) -> str:
    return f"<robot name='r' xmlns:xacro='http://www.ros.org/wiki/xacro'>{content}<link name='l'/></robot>"


def doubled_macros(levels: int, content: str = "<link name='x'/>") -> str:
    """Each macro calls the one before twice."""
    made = f"<xacro:macro name='m0' params=''>{content}</xacro:macro>"
    for level in range(1, levels + 1):
        made += f"<xacro:macro name='m{level}' params=''>" + f"<xacro:m{level - 1}/>" * 2 + "</xacro:macro>"
    return xacro(f"{made}<xacro:m{levels}/>")


def doubled_properties(levels: int) -> str:
    made = "<xacro:property name='p0' value='aaaaaaaaaa'/>"
    for level in range(1, levels + 1):
        made += f"<xacro:property name='p{level}' value='${{p{level - 1}}}${{p{level - 1}}}'/>"
    return xacro(f"{made}<link name='${{p{levels}}}'/>")


def doubled_blocks(levels: int) -> str:
    made = "".join(
        f"<xacro:macro name='m{level}' params='*b'>"
        + (
            f"<xacro:m{level - 1}><g><xacro:insert_block name='b'/><xacro:insert_block name='b'/></g></xacro:m{level - 1}>"
            if level
            else "<xacro:insert_block name='b'/>"
        )
        + "</xacro:macro>"
        for level in range(levels + 1)
    )
    return xacro(f"{made}<xacro:m{levels}><link name='x'/></xacro:m{levels}>")


# --- archives -----------------------------------------------------------------------------------------


def archive(files: dict[str, bytes], stored: bool = False) -> bytes:
    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED) as file:
        for name, content in files.items():
            file.writestr(name, content)
    return made.getvalue()


# --- the table ----------------------------------------------------------------------------------------


def mjcf(bodies: str, before: str = "", after: str = "") -> str:
    return f"<mujoco>{before}<worldbody>{bodies}</worldbody>{after}</mujoco>"


FREE = "<body><joint type='free'/><geom size='.1'/></body>"

BOMBS: dict[str, tuple[str, Make]] = {
    "a chain of 6000 bodies": ("skel", lambda: skel_chain(6000)),
    "a chain of 5000 bodies in XODE": ("xode", lambda: xode_chain(5000)),
    "a chain of 8000 links": ("urdf", lambda: urdf_chain(8000)),
    "a chain of 8000 fixed links": ("urdf", lambda: urdf_chain(8000, "fixed")),
    "a chain of 5000 links in SDF": ("sdf", lambda: sdf_chain(5000)),
    "10000 skeletons": ("skel", lambda: skel_skeletons(10_000)),
    "12000 free bodies": ("mjcf", lambda: mjcf(FREE * 12_000)),
    "replicas of replicas": ("mjcf", lambda: mjcf("<replicate count='90'>" * 3 + "<geom size='1'/>" + "</replicate>" * 3)),
    "a cable of 900 bodies": ("mjcf", lambda: mjcf("<composite type='cable' count='900 1 1' curve='s' size='1'><joint kind='main'/><geom type='capsule' size='.1'/></composite>")),
    "40 cables of 80 bodies": ("mjcf", lambda: mjcf("".join(f"<composite type='cable' prefix='c{n}' count='80 1 1' curve='s' size='1'><joint kind='main'/><geom type='capsule' size='.1'/></composite>" for n in range(40)))),
    "2000 tendons": ("mjcf", lambda: mjcf("".join(f"<body><joint name='j{n}'/><geom size='1'/></body>" for n in range(1000)), after="<tendon>" + "".join("<fixed>" + "".join(f"<joint joint='j{(n * 7 + m) % 1000}' coef='1'/>" for m in range(8)) + "</fixed>" for n in range(2000)) + "</tendon>")),
    "5000 excluded pairs": ("mjcf", lambda: mjcf("".join(f"<body name='b{n}'><geom size='1'/></body>" for n in range(200)), after="<contact>" + "".join(f"<exclude body1='b{n % 200}' body2='b{(n // 200 + n) % 200}'/>" for n in range(200, 5200)) + "</contact>")),
    "doubled macros": ("xacro", lambda: doubled_macros(30)),
    "doubled macros of nothing": ("xacro", lambda: doubled_macros(40, "")),
    "a macro that calls itself": ("xacro", lambda: xacro("<xacro:macro name='m' params=''><xacro:m/></xacro:macro><xacro:m/>")),
    "doubled properties": ("xacro", lambda: doubled_properties(40)),
    "doubled blocks": ("xacro", lambda: doubled_blocks(26)),
    "a large power": ("xacro", lambda: xacro("<link name='${9**9**9}'/>")),
    "a long repetition": ("xacro", lambda: xacro("<link name='${\"a\"*10000000000}'/>")),
    "a shifted number": ("xacro", lambda: xacro("<link name='${1 &lt;&lt; 99999999999}'/>")),
    "a long list": ("xacro", lambda: xacro("<link name='${len([0]*99999999999)}'/>")),
    "nested comprehensions": ("xacro", lambda: xacro("<link name='${sum([1 for a in range(99999) for b in range(99999)])}'/>")),
    "nested parentheses": ("xacro", lambda: xacro(f"<link name='${{{'(' * 50_000 + ')' * 50_000}}}'/>")),
    "a long sum": ("xacro", lambda: xacro(f"<link name='${{{'1+' * 200_000}1}}'/>")),
    "60000 properties": ("xacro", lambda: xacro("".join(f"<xacro:property name='p{n}' value='{n}'/>" for n in range(18_000)))),
    "nested conditions": ("xacro", lambda: xacro("<xacro:if value='1'>" * 190 + "<link name='k'/>" + "</xacro:if>" * 190)),
    "30000 calls": ("xacro", lambda: xacro("<xacro:macro name='m' params='a'><link name='${a}'/></xacro:macro>" + "".join(f"<xacro:m a='{n}'/>" for n in range(30_000)))),
    "a loop of properties": ("xacro", lambda: xacro("<xacro:property name='a' value='${b}'/><xacro:property name='b' value='${a}'/><link name='${a}'/>")),
}  # fmt: skip
