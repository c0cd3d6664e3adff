"""The whole pipeline on one document: load, format, fix, edit, save, convert to every format, and run some steps.

Errors of the library are allowed, any other exception is a finding.  A saved or converted document has to be read
again as what was written.
"""

from __future__ import annotations

import random
import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

from lxml import etree

from tests.fuzz import embedded_values, seeds
from tests.fuzz.mutate import NUMBERS, learn_vocabulary, mutate_document

if TYPE_CHECKING:
    from exoskel.scene.world import Scene

LARGEST = 6000
STEPS = 3
CONTROLS = (0.0, 1.0, -0.5, 1e308, 5e-324, -1e150)
GENERATED = 0.4
"""The share of documents that are generated, not changed."""
_EMBEDDED = re.compile(
    rb"<(exoskel:)?(carry|add|stand-in|models)\b[^<>]*?(/>|>[^<]*</(exoskel:)?(carry|add|stand-in|models)>)"
)
_TOKEN = re.compile(rb'"[^"]*"|-?\d+\.?\d*(?:[eE][-+]?\d+)?|true|false|null')
_WAS = re.compile(rb'was="[0-9a-f]*"')
_ODD = (
    b"null", b"true", b"[]", b"{}", b'"a"', b'"b"', b'"world"', b'"inf"', b"[0, 0, 0]", b"[[0, 0, 0]]", b'"weld"', b'"free"',
    b'"universal"', b'"box"', b'"trimesh"', b'{"type": "sphere", "radius": 0}', b'{"joint": "j"}',
)  # fmt: skip


def embedded_documents() -> Iterator[bytes]:
    """Documents with embedded data: small scenes written in the formats that embed, and the found invalid ones."""
    return iter(_embedded_documents())


@cache
def _embedded_documents() -> tuple[bytes, ...]:
    return tuple(_create_embedded_documents())


def _create_embedded_documents() -> Iterator[bytes]:
    from exoskel.formats.load import load
    from exoskel.formats.write import write
    from tests.support.places import TESTS
    from tests.test_validation import add, body, carry, document, joint

    yield from (path.read_bytes() for path in sorted((TESTS / "hostile" / "embedded").iterdir()))
    sphere = '{"geometry":{"type":"sphere","radius":1},"color":[1,0,0,1]}'
    mesh = '{"geometry":{"type":"trimesh","vertices":[[0,0,0],[1,0,0],[0,1,0]],"triangles":[[0,1,2]]},"name":"t"}'
    drives = '[{"low_stop":"-inf","high_stop":1.0,"max_force":2.0}]'
    loop = '{"name":"l","kind":"ball","child":"b","loop":true}'
    text = document(
        body("a", add("collisions", sphere) + add("visuals", mesh) + add("markers", '{"name":"m"}')),
        body("b", add("joints", loop)),
        joint("j", "world", "a", carry("drives", drives, ())),
        joint("k", "a", "b", carry("mimic", '{"joint":"j","multiplier":2.0}', None)),
        world=carry("erp", "0.2", None) + carry("self_collision", "true", False),
    )
    yield text.encode()
    yield from _mjcf_documents()
    for scene in map(_driven_scene, ("skel", "xode")):
        yield from (
            data for to in ("skel", "xode") if (data := _attempt(lambda to=to, scene=scene: write(scene, to).data))
        )  # type: ignore[misc]
    for name, to in product(("skel", "xode"), ("skel", "xode")):
        for source in seeds.SOURCES[name]():
            if zlib.crc32(source) % 16 == 0:  # a sample
                scene = load(source, format=name)
                data = _attempt(lambda scene=scene, to=to: write(scene, to).data)  # type: ignore[misc]
                if data is not None and b"exoskel" in data and len(data) < LARGEST // 2:
                    yield data


def _mjcf_documents() -> Iterator[bytes]:
    """MJCF documents with actuators and keyframes."""
    yield from (source for source in seeds.SOURCES["mjcf"]() if b"<actuator" in source and len(source) < LARGEST // 2)


def _driven_scene(format: str) -> Scene:
    """A scene with actuators of every kind, with their controls in a keyframe, and with a tendon, sensors and constraints."""
    from exoskel.formats.load import load
    from exoskel.scene.body import Marker
    from exoskel.scene.item import qualified_name
    from tests.fuzz.embedded_values import SKEL, XODE

    text = re.sub("@[WMBSJ]", "", SKEL if format == "skel" else XODE)
    scene = load(text.encode(), format=format)
    joint = next(one for model in scene.world.models for one in model.joints if one.name == "k")
    scene.world.add_actuator("motor", joint, gear=2.0, control_range=(-1, 1), control=0.5)
    scene.world.add_actuator("servo", joint, kind="position", gain=10.0, damping=0.5, force_range=(-3, 3))
    scene.world.add_actuator("speed", joint, kind="velocity", gain=2.0)
    scene.world.add_actuator("general", joint, kind="general", gain=2.0, bias=(1, -2, -0.5))
    scene.world.add_keyframe("start", time=0.5)
    model = next(one for one in scene.world.models if joint in one.joints)
    path = qualified_name(model.name, joint.name)
    scene.world.add_tendon("pull", joints={path: 0.5}, stiffness=3.0, limits=(-2.0, 2.0))
    scene.world.add_actuator("winch", tendon="pull", gear=2.0)
    joint.child.markers.append(Marker("imu", (0.0, 0.1, 0.0)))
    scene.world.add_sensor("angle", "jointpos", path, cutoff=1.0)
    scene.world.add_sensor("length", "tendonpos", "pull")
    scene.world.add_sensor("force", "actuatorfrc", "winch")
    scene.world.add_sensor("rate", "gyro", qualified_name(model.name, joint.child.name, "imu"), noise=0.1)
    scene.world.add_equality("tie", "connect", qualified_name(model.name, joint.child.name), anchor=(0.0, 0.1, 0.0))
    scene.world.add_equality("square", "joint", path, polynomial=(0.5, 0.0, 1.0, 0.0, 0.0), active=False)
    scene.world.add_equality("length", "tendon", "pull")
    return scene


def _attempt(action: Callable[[], bytes]) -> bytes | None:
    from exoskel.diagnostics import ExoskelError

    try:
        return action()
    except ExoskelError:
        return None


# --- mutations --------------------------------------------------------------------------------------------


def mutate_embedded(data: bytes, rng: random.Random, other: bytes) -> bytes:
    """Change, move, duplicate or import an element with embedded data, or change the rest of the document."""
    if rng.random() < GENERATED:
        return _with_fingerprints(embedded_values.generate(rng))
    found = list(_EMBEDDED.finditer(data))
    if not found or rng.random() < 0.2:
        if b"<mujoco" in data:
            return mutate_document(data, rng, learn_vocabulary("", _mjcf_documents), other, LARGEST)
        vocabulary = "xode" if b"<xode" in data else "skel"
        return mutate_document(data, rng, learn_vocabulary(vocabulary, seeds.SOURCES[vocabulary]), other, LARGEST)
    one = rng.choice(found)
    chance = rng.random()
    if chance < 0.5:
        return _refresh(_replace(data, one, _change(one[0], rng)), rng)
    if chance < 0.6:
        return _replace(data, one, b"")
    sources = list(_EMBEDDED.finditer(other)) if chance < 0.8 else found
    piece = rng.choice(sources or found)[0].replace(b"<exoskel:", b"<").replace(b"</exoskel:", b"</")
    if b"<exoskel:" in data:
        piece = piece.replace(b"</", b"</exoskel:").replace(b"<", b"<exoskel:", 1)
    place = rng.choice(found)
    return _refresh(data[: place.end()] + piece + data[place.end() :], rng)[:LARGEST]


def _replace(data: bytes, match: re.Match[bytes], piece: bytes) -> bytes:
    return data[: match.start()] + piece + data[match.end() :]


def _change(element: bytes, rng: random.Random) -> bytes:
    """Change one token in the attributes or in the JSON of an element."""
    tokens = list(_TOKEN.finditer(element))
    if not tokens:
        return element
    one = rng.choice(tokens)
    inside = one.start() > element.index(b">")
    choices = [*NUMBERS, *_ODD] if inside else [b'"%b"' % word for word in _WORDS]
    return _replace(element, one, rng.choice(choices))


_WORDS = (
    b"name", b"pose", b"inertia", b"parent", b"child", b"loop", b"kind", b"axes", b"dofs", b"mimic", b"geometry", b"static",
    b"time_step", b"gravity", b"soft", b"state", b"visuals", b"collisions", b"markers", b"joints", b"0", b"1", b"-1", b"joint",
)  # fmt: skip


def _refresh(data: bytes, rng: random.Random) -> bytes:
    """Mostly update the fingerprints, so that changed fields are not outdated."""
    return _with_fingerprints(data) if rng.random() < 0.8 else data


def _with_fingerprints(data: bytes) -> bytes:
    """The document with the fingerprints of what its elements state themselves; unchanged if it cannot be read."""
    from exoskel.formats import registry
    from exoskel.formats.interface import ReadOptions
    from exoskel.scene.json_codec import field_value, fingerprint
    from exoskel.source.document import Document
    from exoskel.source.embedded_data import EmbeddedReader
    from exoskel.source.embedded_format import RejectedElements, embedded_elements
    from exoskel.source.file_lookup import Location, SearchPaths
    from exoskel.source.limits import DEFAULT_LIMITS
    from exoskel.source.meshes import MeshFinder

    try:
        root = etree.fromstring(data)
    except etree.XMLSyntaxError:
        return data
    format = registry.detect(data, "document")
    document = Document(data, "document")
    native = format.reader()(document, ReadOptions(apply_embedded_data=False))
    if format.embedding is None or not native.worlds:
        return data
    finder = MeshFinder(Location(), SearchPaths(), DEFAULT_LIMITS)
    reader = EmbeddedReader(native, lambda *_, **__: None, "", finder, RejectedElements())
    was = iter(_fingerprints(reader, embedded_elements(root), field_value, fingerprint))
    return _WAS.sub(lambda old: b'was="%b"' % (next(was, "") or old[0][5:-1].decode()).encode(), data)


def _fingerprints(reader: Any, elements: Iterable[Any], field_value: Any, fingerprint: Any) -> Iterator[str]:
    """The fingerprint for each element that has one; empty where it is not known."""
    for element in elements:
        if not element.fingerprint:
            continue
        item = reader.items.get(element.owner)
        if element.is_of_parent_joint:
            item = reader.parent_joints.get(id(item))
        try:
            yield fingerprint(field_value(item, element.field))
        except (AttributeError, TypeError, ValueError):
            yield ""


# --- runs --------------------------------------------------------------------------------------------------


@cache
def _targets() -> tuple[str, ...]:
    from exoskel.formats import registry

    return tuple(format.name for format in registry.FORMATS)


def run_reader(data: bytes) -> bool:
    """Load a document and check the scene: what is read is valid, whatever is embedded."""
    from exoskel.formats.load import load
    from exoskel.scene.validation import check

    warnings.simplefilter("ignore")  # NumPy warns about overflow
    scene = load(data)
    found = [d.message for d in check(scene) if d.severity == "error" and "finite" not in d.message]
    assert not found, found
    return bool(scene.worlds)


def run_pipeline(data: bytes) -> bool:
    """Do with a document what users do; the choices follow from its bytes."""
    from exoskel.diagnostics import ExoskelError
    from exoskel.formats.load import load

    warnings.simplefilter("ignore")
    scene = load(data)
    if not scene.worlds:
        return False
    rng = random.Random(zlib.crc32(data))
    actions = [_save, _format, _fix, _simulate, _roll_out, _edit, *(_converter(to) for to in _targets())]
    for action in rng.sample(actions, 4):
        try:
            action(scene if action is not _edit else load(data), rng)
        except ExoskelError as refusal:
            assert str(refusal)
    return True


def _save(scene: Scene, rng: random.Random) -> None:
    from exoskel.formats.save import saved_bytes

    document = scene.documents[0]
    assert saved_bytes(scene, scene.source_info.format) == document.data  # type: ignore[attr-defined]


def _format(scene: Scene, rng: random.Random) -> None:
    from exoskel.formats import registry
    from exoskel.formats.formatter import format_file
    from exoskel.formats.load import load

    format = registry.by_name(scene.source_info.format)
    if format.has_vocabulary:
        document: Any = scene.documents[0]
        assert format_file(document, format, lambda data: load(data, format=format.name))


def _fix(scene: Scene, rng: random.Random) -> None:
    from exoskel.formats.fixer import apply_fixes
    from exoskel.formats.load import load

    apply_fixes(scene, lambda data: load(data, format=scene.source_info.format))


def _simulate(scene: Scene, rng: random.Random) -> None:
    from exoskel.simulate.simulation import Simulation

    world = scene.worlds[0]
    simulation = Simulation(world)
    if simulation.controls:
        simulation.controls = dict.fromkeys(simulation.controls, rng.choice(CONTROLS))
    simulation.step(STEPS)
    if world.keyframes:
        world.apply_keyframe(rng.choice(world.keyframes))
        Simulation(world).step(STEPS)


def _roll_out(scene: Scene, rng: random.Random) -> None:
    from exoskel.simulate.batch.rollout import rollout

    world = scene.worlds[0]
    names = [one.name for one in world.actuators]
    rollout(world, 2, STEPS, controls={name: rng.choice(CONTROLS) for name in names}, warn=False, record="all")


def _edit(scene: Scene, rng: random.Random) -> None:
    """Make an edit, valid or not, and save."""
    from exoskel.formats.save import saved_bytes

    models = scene.worlds[0].models
    bodies = [body for model in models for body in model.bodies]
    edits: list[Callable[[], object]] = [lambda: setattr(scene.worlds[0], "gravity", (0.0, -1.0, 0.0))]
    if bodies:
        one = rng.choice(bodies)
        model = rng.choice(models)
        edits += [
            lambda: setattr(one, "mass", rng.choice((2.5, 0.0, -1.0, 1e308, float("nan")))),
            lambda: setattr(one, "name", rng.choice(("renamed", "é", "", "a", "\ufffe"))),
            lambda: setattr(one, "com", (0.1, 0.0, 0.0)),
            lambda: model.bodies.pop() if model.bodies else None,
            lambda: model.joints.pop() if model.joints else None,
            lambda: model.joints and setattr(rng.choice(model.joints), "name", "renamed"),
            lambda: (
                scene.worlds[0].actuators
                and scene.worlds[0].actuators.pop(rng.randrange(len(scene.worlds[0].actuators)))
            ),
            lambda: scene.worlds[0].actuators.extend(scene.worlds[0].actuators[:1]),
            lambda: scene.worlds[0].tendons and scene.worlds[0].tendons.pop(),
            lambda: scene.worlds[0].sensors.extend(scene.worlds[0].sensors[:1]),
            lambda: scene.worlds[0].add_sensor("time", "clock"),
            lambda: scene.worlds[0].equalities.extend(scene.worlds[0].equalities[:1]),
            lambda: scene.worlds[0].equalities and scene.worlds[0].equalities.pop(),
            lambda: setattr(model, "name", "renamed"),
            lambda: (
                scene.worlds[0].add_actuator("new", rng.choice(model.joints), control=0.5) if model.joints else None
            ),
            lambda: model.add_body("new"),
            lambda: model.bodies.append(one),
            model.joints.reverse,
            one.visuals.clear,
            lambda: scene.worlds[0].models.append(model),
            lambda: setattr(scene.worlds[0], "time_step", rng.choice((0.0, 1e-308, 0.5))),
            lambda: model.remove(one, subtree=True) if any(one is own for own in model.bodies) else None,
        ]
    rng.choice(edits)()
    followed = [lambda: saved_bytes(scene, scene.source_info.format), lambda: _simulate(scene, rng)]
    rng.choice([*followed, lambda: _converter(rng.choice(_targets()))(scene, rng)])()


@cache
def _converter(to: str) -> Callable[[Scene, random.Random], None]:
    def convert_to(scene: Scene, rng: random.Random) -> None:
        from exoskel.conversion.driver import convert

        convert(scene, None, to=to)

    return convert_to
