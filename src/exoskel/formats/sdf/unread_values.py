"""Checks the values of elements that the vocabulary does not read, such as those of lights, sensors and solvers."""

from __future__ import annotations

from exoskel.formats.sdf.context import SdfContext
from exoskel.formats.sdf.values import BOOLEAN, COLOR, LIMIT, PAIR, REAL, VECTOR
from exoskel.source.vocabulary import ValueType

_NOISE: dict[str, ValueType] = dict.fromkeys(
    (
        *("mean", "stddev", "bias_mean", "bias_stddev", "precision"),
        *("dynamic_bias_stddev", "dynamic_bias_correlation_time"),
    ),
    REAL,
)
_RAYS: dict[str, ValueType] = dict.fromkeys(("samples", "resolution", "min_angle", "max_angle"), LIMIT)
_KINDS: dict[str, dict[str, ValueType]] = {
    "world": {"magnetic_field": VECTOR},
    "wind": {"linear_velocity": VECTOR},
    "scene": {"ambient": COLOR, "background": COLOR, "shadows": BOOLEAN, "grid": BOOLEAN},
    "physics": dict.fromkeys(("real_time_factor", "real_time_update_rate", "max_contacts"), REAL),
    "solver": dict.fromkeys(("iters", "precon_iters", "sor", "min_step_size"), REAL),
    "constraints": {"contact_max_correcting_vel": LIMIT, "contact_surface_layer": LIMIT},
    "model": {"allow_auto_disable": BOOLEAN},
    "visual": {"cast_shadows": BOOLEAN, "laser_retro": REAL},
    "collision": {"laser_retro": REAL, "max_contacts": REAL},
    "material": {"ambient": COLOR, "specular": COLOR, "emissive": COLOR, "shininess": REAL, "lighting": BOOLEAN},
    "limit": {"stiffness": REAL, "dissipation": REAL},
    "light": {
        **dict.fromkeys(("diffuse", "specular"), COLOR),
        **dict.fromkeys(("cast_shadows", "light_on", "visualize"), BOOLEAN),
        "intensity": REAL,
        "direction": VECTOR,
    },
    "attenuation": {"range": LIMIT, **dict.fromkeys(("constant", "linear", "quadratic"), REAL)},
    "spot": dict.fromkeys(("inner_angle", "outer_angle", "falloff"), REAL),
    "sensor": {"update_rate": REAL, "always_on": BOOLEAN, "visualize": BOOLEAN},
    "noise": _NOISE,
    "camera": {"horizontal_fov": REAL},
    "image": {"width": REAL, "height": REAL},
    "clip": {"near": REAL, "far": LIMIT},
    "horizontal": _RAYS,
    "vertical": _RAYS,
    "range": dict.fromkeys(("min", "max", "resolution"), LIMIT),
    "script": {"delay_start": REAL, "loop": BOOLEAN, "auto_start": BOOLEAN},
    "spherical_coordinates": dict.fromkeys(("latitude_deg", "longitude_deg", "elevation", "heading_deg"), REAL),
    "grid": {"cell_count": REAL},
    "map_point": {"size": PAIR},
}
"""The types of values, by the names of the elements and of those around them."""
_NAMES = frozenset(name for rows in _KINDS.values() for name in rows)
_TEXTS_OF_PROGRAMS = frozenset({"plugin"})


def check_unread_values(source: SdfContext) -> None:
    """Report values that are invalid for other readers, and were not reported yet."""
    reported: set[int] | None = None
    for number, element in enumerate(source.elements):
        if element.tag not in _NAMES or len(element) or element.getparent() is None:
            continue
        kind = _KINDS.get(element.getparent().tag, {}).get(element.tag)
        text = element.text or ""
        if kind is None or not text.strip() or kind.value(text) is not None:
            continue
        if any(one.tag in _TEXTS_OF_PROGRAMS or ":" in str(one.tag) for one in element.iterancestors()):
            continue
        if reported is None:
            reported = _reported(source)
        if number not in reported:
            for finding in kind.examine(text, literal=False).findings[:1]:
                source.report(finding.key, number, token=finding.token, name=element.tag, **finding.details)


def _reported(source: SdfContext) -> set[int]:
    """The elements that errors are about."""
    return {source.document.element(one.place) for one in source.collector.diagnostics if one.place.node >= 0}
