"""The cameras and lights of a scene as elements of MJCF."""

from __future__ import annotations

from exoskel.formats.mjcf.tree import MjcfElement, Value
from exoskel.scene.cameras_and_keyframes import SceneCamera, SceneLight, as_perspective
from exoskel.scene.item import qualified_name
from exoskel.scene.world import World


def camera_element(camera: SceneCamera, *, has_projection: bool) -> MjcfElement:
    """A camera; without `has_projection`, an orthographic one has a perspective."""
    if camera.orthographic and not has_projection:
        camera = as_perspective(camera)
    given: dict[str, Value] = {"name": camera.name} if camera.name else {}
    given |= {"pos": camera.pose.position, "quat": camera.pose.quaternion, "fovy": camera.field_of_view}
    if camera.orthographic:
        given["projection"] = "orthographic"
    if camera.resolution != (1, 1):
        given["resolution"] = camera.resolution
    return MjcfElement("camera", given | _tracking(camera))


def light_element(light: SceneLight) -> MjcfElement:
    """A light, with what differs from MuJoCo's defaults."""
    default, given = SceneLight(), dict[str, Value]({"name": light.name} if light.name else {})
    if light.kind == "directional":
        given["directional"] = True  # all versions of MuJoCo know it
    elif light.kind != default.kind:
        given["type"] = light.kind
    given |= {"pos": light.position, "dir": light.direction}
    for attribute, field in _LIGHT_ATTRIBUTES.items():
        if getattr(light, field) != getattr(default, field):
            given[attribute] = getattr(light, field)
    return MjcfElement("light", given | _tracking(light))


_LIGHT_ATTRIBUTES = {
    **{name: name for name in ("active", "diffuse", "ambient", "specular", "attenuation", "cutoff", "exponent")},
    "castshadow": "casts_shadows",
}


def _tracking(view: SceneCamera | SceneLight) -> dict[str, Value]:
    """How a camera or light follows bodies."""
    given: dict[str, Value] = {} if view.mode == "fixed" else {"mode": view.mode}
    target = view.target or ("world" if view.mode.startswith("target") else "")
    return given | ({"target": target} if target else {})


def view_key(view: SceneCamera | SceneLight) -> str:
    """The name of a camera or light, or what its element states if it has none."""
    if view.name:
        return view.name
    return element_key(
        camera_element(view, has_projection=True) if isinstance(view, SceneCamera) else light_element(view)
    )


def element_key(element: MjcfElement) -> str:
    """The key of a camera or light by its element."""
    given = element.attributes
    return str(given["name"]) if "name" in given else " ".join(f"{name}={value}" for name, value in given.items())


def view_elements(world: World, *, has_projections: bool) -> dict[str, list[MjcfElement]]:
    """The cameras and lights by the path of their body."""
    bodies = {"", *(qualified_name(model.name, body.name) for model in world.models for body in model.bodies)}
    found: dict[str, list[MjcfElement]] = {}
    views: list[SceneCamera | SceneLight] = [*world.cameras, *world.lights]
    for view in views:
        if view.body in bodies and view.target in bodies:
            if isinstance(view, SceneCamera):
                made = camera_element(view, has_projection=has_projections)
            else:
                made = light_element(view)
            found.setdefault(view.body, []).append(made)
    return found
