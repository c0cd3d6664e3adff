"""Small scenes with colours that are easy to distinguish in an image."""

from __future__ import annotations

RED, GREEN, BLUE = "0.9 0.1 0.1", "0.1 0.7 0.1", "0.1 0.2 0.9"


def box(name: str, place: str, color: str, size: str = "0.5 0.5 0.5", joint: str = "") -> str:
    return f"""
    <body name="{name}">
      <transformation>{place} 0 0 0</transformation>
      <inertia><mass>1</mass></inertia>
      <visualization_shape>
        <transformation>0 0 0 0 0 0</transformation><color>{color}</color>
        <geometry><box><size>{size}</size></box></geometry>
      </visualization_shape>
      <collision_shape>
        <transformation>0 0 0 0 0 0</transformation>
        <geometry><box><size>{size}</size></box></geometry>
      </collision_shape>
    </body>"""


def world(*skeletons: str, gravity: str = "0 0 -9.81") -> str:
    return f"""<?xml version="1.0"?>
<skel version="1.0">
  <world name="world">
    <physics><time_step>0.001</time_step><gravity>{gravity}</gravity></physics>
    {"".join(skeletons)}
  </world>
</skel>
"""


def falling(name: str, place: str, color: str, size: str = "0.5 0.5 0.5") -> str:
    return f"""<skeleton name="{name}">{box(name, place, color, size)}
    <joint type="free" name="{name}_joint"><parent>world</parent><child>{name}</child></joint></skeleton>"""


def sliding(name: str, place: str, color: str, limits: str = "-0.5 0.5") -> str:
    low, high = limits.split()
    return f"""<skeleton name="{name}">{box(name, place, color)}
    <joint type="prismatic" name="{name}_joint"><parent>world</parent><child>{name}</child>
      <axis><xyz>0 1 0</xyz><limit><lower>{low}</lower><upper>{high}</upper></limit></axis></joint></skeleton>"""


def pinned(name: str, place: str, color: str) -> str:
    return f"""<skeleton name="{name}">{box(name, place, color)}
    <joint type="weld" name="{name}_joint"><parent>world</parent><child>{name}</child></joint></skeleton>"""
