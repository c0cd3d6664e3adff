"""Extreme numbers in every numeric field of the formats, one at a time, through the whole pipeline.

The fields are those of the vocabularies, as far as the seeds have them, and all others in which a seed has a number.
An input is a document with one number replaced.
"""

from __future__ import annotations

import argparse
import random
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from lxml import etree

import exoskel
from exoskel.source.vocabulary import ValueType
from tests.fuzz import seeds
from tests.fuzz.mutate import EXAMPLES

NUMBERS = (
    "0", "-0", "-1", "5e-324", "1e-308", "1e-150", "1e95", "1e150", "1e308", "1.8e308", "nan", "inf", "-inf", "2147483648",
    "9223372036854775808", "1e400", "-1e308",
)  # fmt: skip
STEPS = 3
VOCABULARIES = ("skel", "xode", "urdf", "sdf")
"""Formats with a table of their elements; MuJoCo's own schema is that of MJCF."""
CONVERTED = (
    "skel/double_pendulum.skel", "skel/pendulum.skel", "skel/robot_arm.skel", "skel/geometry_zoo.skel",
    "skel/springs.skel", "skel/actuators.skel", "skel/cart_pole.skel", "xode/four_bar.xode", "xode/hinge2_car.xode",
)  # fmt: skip
_TRIED = 5
"""The number of documents that a field is put into, until one is read without errors."""
_NUMERIC = re.compile(r"\s*[-+]?\.?\d\S*(?:\s+[-+]?\.?\d\S*)*\s*")
_TOKEN = re.compile(r"\S+")
_DISTINCT = 3
"""The number of values of a field that are changed: vectors have equal components."""


class Place(NamedTuple):
    """A number in a document: its format, parent, element, attribute (empty for text) and position."""

    format: str
    parent: str
    element: str
    attribute: str
    position: int


@cache
def places(format: str) -> dict[Place, bytes]:
    """All numeric fields of a format, each with the smallest seed without errors that has it."""
    found: dict[Place, bytes] = {}
    for seed in sorted(_documents(format), key=len):
        _add_places(found, format, seed)
    for seed in complete_documents(format):
        _add_places(found, format, seed)
    for seed in _completions(format, {(place.element, place.attribute) for place in found}, [*found.values()]):
        _add_places(found, format, seed)
    return found


def _add_places(found: dict[Place, bytes], format: str, document: bytes) -> None:
    new = [place for place, _, _, _ in _numbers(format, document) if place not in found]
    if new and _is_sound(document, format):
        found.update(dict.fromkeys(new, document))


def _documents(format: str) -> Iterator[bytes]:
    """The seeds of a format, and what small samples become in it."""
    from exoskel.formats.write import write
    from tests.support.places import SAMPLES

    yield from seeds.SOURCES[format]()
    for name in CONVERTED:
        scene = exoskel.load(SAMPLES / name)
        with suppress(exoskel.ExoskelError):  # URDF has one model
            yield write(scene, format).data


_FIELDS = """<sdf version="1.11"><world name="w">
<physics name="p" type="ode" default="1"><max_step_size>0.001</max_step_size></physics>
<model name="m"><pose degrees="1">0 0 1 0 0 0</pose><frame name="f"><pose degrees="1">0 0 0 0 0 30</pose></frame>
<link name="a"><pose degrees="1">0 0 0 0 0 10</pose><kinematic>1</kinematic><enable_wind>1</enable_wind>
<velocity_decay><linear>0.5</linear><angular>0.5</angular></velocity_decay>
<inertial auto="1"><density>0.5</density></inertial>
<collision name="c"><density>0.5</density><pose degrees="1">0 0 0 0 0 20</pose>
<geometry><box><size>1 1 1</size></box></geometry><surface><contact><collide_bitmask>1</collide_bitmask></contact>
<bounce><restitution_coefficient>0.5</restitution_coefficient></bounce></surface></collision>
<visual name="v"><pose degrees="1">0 0 0 0 0 20</pose><transparency>0.5</transparency>
<geometry><box><size>1 1 1</size></box></geometry></visual></link>
<link name="b"><inertial><pose degrees="1">0 0 0 0 0 5</pose><mass>2</mass></inertial>
<collision name="d"><geometry><polyline><point>0 0</point><point>1 0</point><point>0 1</point><height>0.5</height></polyline>
</geometry></collision></link>
<joint name="j" type="universal"><parent>a</parent><child>b</child><pose degrees="1">0 0 0 0 0 15</pose>
<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>
<physics><ode><fudge_factor>0.5</fudge_factor><bounce>0.5</bounce></ode></physics></joint>
</model></world></sdf>"""
_OLD_FIELDS = """<sdf version="1.6"><world name="w"><model name="m"><link name="a"/><link name="b"/><link name="c"/>
<joint name="j" type="universal"><parent>a</parent><child>b</child>
<axis><xyz>1 0 0</xyz><use_parent_model_frame>1</use_parent_model_frame></axis>
<axis2><xyz>0 1 0</xyz><use_parent_model_frame>1</use_parent_model_frame></axis2></joint>
<joint name="g" type="gearbox"><gearbox_ratio>0.5</gearbox_ratio><gearbox_reference_body>a</gearbox_reference_body>
<parent>b</parent><child>c</child><axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 0 1</xyz></axis2></joint>
</model></world></sdf>"""
_SOFT = """<sdf version="1.6"><world name="w"><model name="m"><link name="a"><soft_shape><total_mass>0.5</total_mass>
<pose degrees="1">0 0 0 0 0 0</pose><geometry>{}</geometry><kv>0.5</kv><ke>0.5</ke><damp>0.5</damp></soft_shape></link>
</model></world></sdf>"""
_SOFT_GEOMETRIES = (
    "<sphere><radius>0.5</radius><num_slices>6</num_slices><num_stacks>6</num_stacks></sphere>",
    "<box><size>1 1 1</size><frags>3 3 3</frags></box>",
    "<ellipsoid><size>1 1 1</size><num_slices>6</num_slices><num_stacks>6</num_stacks></ellipsoid>",
    "<cylinder><radius>0.5</radius><height>0.5</height><num_slices>6</num_slices><num_stacks>3</num_stacks>"
    "<num_rings>2</num_rings></cylinder>",
)
_INCLUDE = """<sdf version="1.10"><world name="w"><model name="m"><link name="z"/><include merge="1"><uri>{}</uri>
<pose degrees="1">0 0 1 0 0 0</pose></include></model></world></sdf>"""


def complete_documents(format: str) -> Iterator[bytes]:
    """Documents with fields that are valid only beside others, which `_completions` does not add."""
    if format == "sdf":
        included = Path(__file__).parent / "referenced_files" / "model"
        soft = (_SOFT.format(one) for one in _SOFT_GEOMETRIES)
        for text in (_FIELDS, _OLD_FIELDS, *soft, _INCLUDE.format(included.as_uri())):
            yield text.encode()


def _completions(format: str, known: set[tuple[str, str]], documents: list[bytes]) -> Iterator[bytes]:
    """Documents with the numeric fields of the vocabulary that no other document has."""
    if format not in VOCABULARIES:
        return
    for path, name, attribute, value in numeric_fields(format):
        if (name, attribute) not in known:
            yield from islice(_with_field(path.split("/"), attribute, value, documents), _TRIED)


def numeric_fields(format: str) -> Iterator[tuple[str, str, str, str]]:
    """The fields of a vocabulary that have numbers: path, element, attribute (empty for text) and a valid value."""
    vocabulary = getattr(import_module(f"exoskel.formats.{format}.vocabulary"), format.upper())
    for path, row in vocabulary.rows():
        fields = {name: attribute.kind for name, attribute in row.attributes.items()} | {"": row.kind}
        for attribute, kind in fields.items():
            if value := _example(kind):
                yield path, row.name, attribute, value


def _example(kind: ValueType | None) -> str:
    """A number that is valid for a kind of value; empty if it is not a numeric kind."""
    if kind is None or kind.value("word") is not None:
        return ""
    return next((text for text in EXAMPLES if _NUMERIC.fullmatch(text) and kind.value(text) is not None), "")


def _with_field(path: list[str], attribute: str, value: str, documents: list[bytes]) -> Iterator[bytes]:
    """Documents in which one element gets a field; it is created where the element around it exists."""
    for document in dict.fromkeys(documents):
        root = _parse(document)
        if root is None or root.tag != path[0]:
            continue
        around, depth = root, 1
        while depth < len(path) and (inner := around.find(path[depth])) is not None:
            around, depth = inner, depth + 1
        for name in path[depth:]:
            around = etree.SubElement(around, name)
        if attribute:
            around.set(attribute, value)
        else:
            around.text = value
        yield etree.tostring(root)


def _numbers(format: str, document: bytes) -> Iterator[tuple[Place, etree._Element, str, re.Match[str]]]:
    root = _parse(document)
    for element in root.iter(etree.Element) if root is not None else ():
        parent = element.getparent()
        values = {"": element.text or "", **{str(name): str(value) for name, value in element.attrib.items()}}
        for attribute, text in values.items():
            if not _NUMERIC.fullmatch(text):
                continue
            for position, token in enumerate(_TOKEN.finditer(text)):
                if position < _DISTINCT:
                    above = "" if parent is None else str(parent.tag)
                    yield Place(format, above, str(element.tag), attribute, position), element, text, token


def _parse(document: bytes) -> etree._Element | None:
    try:
        return etree.fromstring(document, etree.XMLParser(resolve_entities=False))
    except (etree.XMLSyntaxError, ValueError):
        return None


@cache
def _is_sound(document: bytes, format: str) -> bool:
    from exoskel.diagnostics import has_errors
    from exoskel.formats.load import load

    scene = load(document, format=format)
    return bool(scene.worlds) and not has_errors(scene.diagnostics)


def with_number(document: bytes, place: Place, number: str) -> bytes:
    """The document with one number replaced."""
    for found, element, text, token in _numbers(place.format, document):
        if found == place:
            changed = text[: token.start()] + number + text[token.end() :]
            if place.attribute:
                element.set(place.attribute, changed)
            else:
                element.text = changed
            return etree.tostring(element.getroottree())
    raise LookupError(place)


def documents() -> Iterator[bytes]:
    """One small document of each format."""
    for format in seeds.SOURCES:
        yield min(places(format).values(), key=len)


def mutate(_data: bytes, rng: random.Random, _other: bytes) -> bytes:
    """A document with one extreme number, anywhere."""
    known = places(rng.choice([*seeds.SOURCES]))
    place = rng.choice([*known])
    return with_number(known[place], place, rng.choice(NUMBERS))


# --- the pipeline -------------------------------------------------------------------------------------


def run(data: bytes) -> bool:
    """Load, convert to every format, simulate and draw a document: what is read is converted with a certificate."""
    from exoskel.formats.load import load

    warnings.simplefilter("ignore")  # NumPy warns about overflow
    scene = load(data)
    assert all(str(found) for found in scene.diagnostics)
    if not scene.worlds:
        return False
    for action in actions():
        action(data)
    return True


@cache
def actions() -> tuple[Callable[[bytes], None], ...]:
    from exoskel.formats import registry

    return (*(_converter(format.name) for format in registry.FORMATS), _simulate, _draw)


def _converter(to: str) -> Callable[[bytes], None]:
    def convert_to(data: bytes) -> None:
        from exoskel.conversion.driver import convert
        from exoskel.diagnostics import ExoskelError

        try:
            report = convert(data, None, to=to)
        except ExoskelError as refusal:
            assert str(refusal)
        else:
            failed = [check for check in report.certificate.checks if not check.passed]
            assert not failed, (to, failed)

    return convert_to


def _simulate(data: bytes) -> None:
    from exoskel.diagnostics import ExoskelError
    from exoskel.formats.load import load
    from exoskel.simulate.simulation import Simulation

    try:
        Simulation(load(data).worlds[0]).step(STEPS)
    except ExoskelError as refusal:
        assert str(refusal)


def _draw(data: bytes) -> None:
    from exoskel.diagnostics import ExoskelError
    from exoskel.formats.load import load
    from exoskel.view.render import render

    try:
        render(load(data), _picture(), size=(32, 24), renderer="software")
    except ExoskelError as refusal:
        assert str(refusal)


@cache
def _picture() -> str:
    import tempfile

    return f"{tempfile.mkdtemp(prefix='exoskel_fuzz_')}/picture.png"


# --- all numbers in all fields ------------------------------------------------------------------------


def cases(formats: Iterable[str] = tuple(seeds.SOURCES)) -> Iterator[tuple[Place, str, bytes]]:
    """Every number in every field of some formats, each with its document."""
    for format in formats:
        for place, document in places(format).items():
            for number in NUMBERS:
                yield place, number, with_number(document, place, number)


def main() -> None:
    """Try all cases, those of one format, or `--part K/N` of them, and print the counts; failures are printed as they occur."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.extreme_numbers")
    parser.add_argument("--part", default="0/1", help="which part of the cases, such as 3/10")
    parser.add_argument("--format", nargs="*", choices=[*seeds.SOURCES], default=[*seeds.SOURCES], help="which formats")
    chosen = parser.parse_args()
    part, parts = map(int, chosen.part.split("/"))
    counts = {"executions": 0, "accepted": 0, "found": 0}
    begin = time.process_time()
    for place, number, document in islice(cases(chosen.format), part, None, parts):
        counts["executions"] += 1
        try:
            counts["accepted"] += run(document)
        except Exception as error:
            counts["found"] += 1
            print(place, number, repr(error)[:300], flush=True)
    print({**counts, "minutes": round((time.process_time() - begin) / 60, 1)})


if __name__ == "__main__":
    main()
