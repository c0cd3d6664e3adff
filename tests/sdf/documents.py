"""Documents with all kinds of frames, nesting and includes; Drake reads the same ones in `tests.external`."""

from __future__ import annotations

from tests.sdf.support import link

_MASS = "<inertial><mass>1</mass></inertial>"


def _sdf(inside: str, version: str = "1.11") -> str:
    return f'<sdf version="{version}">{inside}</sdf>'


def _joint(name: str, parent: str, child: str, inside: str = "", kind: str = "revolute") -> str:
    axis = "" if "<axis>" in inside or kind == "fixed" else "<axis><xyz>0 0 1</xyz></axis>"
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{inside}{axis}</joint>'


CHILD = _sdf(
    '<model name="child"><pose>9 9 9 0 0 0</pose>'
    + link("base", "<pose>0 0 1 0 0 0</pose>")
    + link("tip", '<pose relative_to="base">0 0 1 0 0 0.5</pose>')
    + '<frame name="grip" attached_to="tip"><pose>0 1 0 0.3 0 0</pose></frame>'
    + _joint("turn", "base", "tip")
    + "</model>"
)
"""Written as child.sdf in the folder of each of the others."""

DOCUMENTS: dict[str, str] = {
    "links relative to links": _sdf(
        '<model name="m"><pose>1 2 3 0.1 0.2 0.3</pose>'
        + link("a", '<pose relative_to="b">1 0 0 0 0 0.7</pose>')
        + link("b", '<pose relative_to="f">0 1 0 0.4 0 0</pose>')
        + '<frame name="f"><pose>0 0 1 0 0.2 0</pose></frame>'
        + _joint("j", "a", "b", "<pose>0 0 0.5 0.1 0 0</pose><axis><xyz>0 1 0</xyz></axis>")
        + "</model>"
    ),
    "a chain of attached frames": _sdf(
        '<model name="m">'
        + link("a", "<pose>1 0 0 0 0 0</pose>")
        + link("b", '<pose relative_to="g">0 0 1 0 0 0</pose>')
        + '<frame name="g" attached_to="f"><pose>0 2 0 0 0 1</pose></frame>'
        + '<frame name="f" attached_to="a"><pose>0 0 3 1 0 0</pose></frame>'
        + _joint("j", "g", "b", '<pose relative_to="f">1 0 0 0 0 0</pose>')
        + "</model>"
    ),
    "axes expressed elsewhere": _sdf(
        '<model name="m">'
        + link("a", "<pose>0 0 0 0.5 0 0</pose>")
        + link("b", "<pose>0 1 0 0 0.5 0</pose>")
        + link("c", "<pose>0 2 0 0 0 0.5</pose>")
        + _joint("j", "a", "b", '<axis><xyz expressed_in="__model__">1 0 0</xyz></axis>')
        + _joint("k", "b", "c", '<pose>0 0 1 1 0 0</pose><axis><xyz expressed_in="a">0 1 0</xyz></axis>')
        + "</model>"
    ),
    "frames as ends of joints": _sdf(
        '<model name="m">'
        + link("a")
        + link("b", "<pose>0 0 2 0 0 0.3</pose>")
        + '<frame name="fa" attached_to="a"><pose>0 0 1 0.2 0 0</pose></frame>'
        + '<frame name="fb" attached_to="b"><pose>0 0 -1 0 0.2 0</pose></frame>'
        + _joint("j", "fa", "fb", "<axis><xyz>1 0 0</xyz></axis>")
        + "</model>"
    ),
    "degrees and quaternions": _sdf(
        '<model name="m">'
        + link("a", '<pose degrees="true">1 2 3 90 30 -45</pose>')
        + link("b", '<pose rotation_format="quat_xyzw">0 0 1 0.5 0.5 0.5 0.5</pose>')
        + _joint("j", "a", "b")
        + "</model>"
    ),
    "a turned inertial": _sdf(
        '<model name="m"><link name="a"><pose>1 0 0 0 0 0.4</pose><inertial><mass>2</mass><pose>0.1 0.2 0.3 0.4 0.5 0.6</pose>'
        "<inertia><ixx>0.1</ixx><iyy>0.12</iyy><izz>0.15</izz><ixy>0.01</ixy><ixz>0.02</ixz><iyz>0.005</iyz></inertia>"
        "</inertial></link></model>"
    ),
    "models nested twice": _sdf(
        '<model name="m"><pose>0 0 1 0 0 0.2</pose>'
        + link("a")
        + '<model name="n"><pose relative_to="a">1 0 0 0.3 0 0</pose>'
        + link("b", "<pose>0 1 0 0 0 0</pose>")
        + '<model name="o"><pose>0 0 2 0 0.4 0</pose>'
        + link("c")
        + "</model>"
        + _joint("inner", "b", "o::c")
        + "</model>"
        + _joint("outer", "a", "n::b", "<axis><xyz>0 1 0</xyz></axis>")
        + "</model>"
    ),
    "a pose relative to a nested link": _sdf(
        '<model name="m">'
        + link("a", '<pose relative_to="n::b">0 0 1 0 0 0</pose>')
        + '<model name="n"><pose>1 0 0 0 0 0.5</pose>'
        + link("b", "<pose>0 1 0 0.5 0 0</pose>")
        + "</model>"
        + _joint("j", "n::b", "a")
        + "</model>"
    ),
    "a placement frame": _sdf(
        '<world name="w"><model name="m" placement_frame="f"><pose>1 2 3 0 0 1</pose>'
        + link("a", "<pose>0 0 1 0.2 0 0</pose>")
        + '<frame name="f" attached_to="a"><pose>0 1 0 0 0.3 0</pose></frame></model></world>'
    ),
    "models relative to frames of the world": _sdf(
        '<world name="w"><frame name="f"><pose>1 1 1 0 0 0.5</pose></frame>'
        '<model name="m"><pose relative_to="f">1 0 0 0 0 0</pose>'
        + link("a")
        + '</model><model name="n"><pose relative_to="m">0 0 1 0.5 0 0</pose>'
        + link("a")
        + "</model></world>"
    ),
    "screws of both spellings": _sdf(
        '<model name="m">'
        + link("a")
        + link("b")
        + link("c")
        + _joint("new", "a", "b", "<screw_thread_pitch>0.3</screw_thread_pitch>", kind="screw")
        + _joint("old", "b", "c", "<thread_pitch>-7</thread_pitch>", kind="screw")
        + "</model>"
    ),
    "a joint to the world": _sdf(
        '<world name="w"><model name="m"><pose>0 0 1 0.5 0 0</pose>'
        + link("a", "<pose>0 1 0 0 0 0</pose>")
        + _joint("j", "world", "a", "<pose>0 0 1 0 0.3 0</pose><axis><xyz>1 0 0</xyz></axis>")
        + "</model></world>"
    ),
    "an include": _sdf(
        '<world name="w"><include><uri>child.sdf</uri></include>'
        '<include><uri>child.sdf</uri><name>second</name><pose>1 0 0 0 0 1</pose></include>'
        '<include><uri>child.sdf</uri><name>third</name><pose relative_to="second">1 0 0 0 0 1</pose>'
        "<placement_frame>grip</placement_frame></include></world>"
    ),
    "an include in a model": _sdf(
        '<model name="m">'
        + link("a", "<pose>0 0 1 0 0 0</pose>")
        + '<include><uri>child.sdf</uri><name>n</name><pose relative_to="a">0 1 0 0 0 0.5</pose></include>'
        + _joint("j", "a", "n::base", '<axis><xyz expressed_in="n::grip">0 0 1</xyz></axis>')
        + "</model>"
    ),
    "a merged include": _sdf(
        '<model name="m">'
        + link("a", "<pose>0 0 1 0 0 0</pose>")
        + '<include merge="true"><uri>child.sdf</uri><pose relative_to="a">0 1 0 0 0 0.5</pose></include>'
        + _joint("j", "a", "base", '<pose relative_to="tip">0 0 0 0 0 0</pose>')
        + "</model>"
    ),
    "axes of the model in 1.6": _sdf(
        '<model name="m">'
        + link("a")
        + link("b", "<pose>0 1 0 0.5 0 0</pose>")
        + _joint(
            "j", "a", "b",
            "<axis><xyz>0 0 1</xyz><use_parent_model_frame>true</use_parent_model_frame></axis>",
        )
        + "</model>",
        "1.6",
    ),
}  # fmt: skip
