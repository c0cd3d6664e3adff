"""No document crashes or hangs the reader, and no error is lost."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import exoskel
from exoskel.formats.xode.vocabulary import XODE
from exoskel.source.limits import MAX_DEPTH
from tests.skel.test_robustness import mutations
from tests.support.findings import Read
from tests.support.places import TESTS
from tests.support.xode import body, hinge, joint, mass, scene, world, xode

EXAMPLES = sorted((TESTS / "xode" / "examples").glob("*.xode"))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("dialect", ["spec", "pyode", "auto"])
def test_mutated_documents_never_raise_or_hang(file: Path, dialect: str) -> None:
    rng = random.Random(f"{file.name} {dialect}")
    original = file.read_text(encoding="latin-1")
    for _ in range(100):
        text = original
        for _ in range(rng.randrange(1, 4)):
            text = mutations(text, rng, XODE) or text
        begin = time.monotonic()
        loaded = exoskel.load(text.encode("utf-8", "surrogatepass"), format="xode", dialect=dialect)
        for finding in loaded.diagnostics:
            assert str(finding) and finding.excerpt is not None
        exoskel.summarize(loaded)
        assert time.monotonic() - begin < 1.0 + len(text) / 100_000


@pytest.mark.parametrize(
    "document",
    [
        "<xode/>",
        "<xode version=''><world/></xode>",
        "<xode version='1.0'><world><space><body><mass><mass/></mass></body></space></world></xode>",
        "<xode version='1.0'><world><space><geom><trimesh/></geom></space></world></xode>",
        "<xode version='1.0'><world><space><joint/></space></world></xode>",
        "<xode version='1.0'><world><space><body><transform><matrix4f/></transform></body></space></world></xode>",
        "<xode version='1.0'><world><ext><gravity/></ext><space/></world></xode>",
        "<xode version='1.0'><world><ext><gravity x='a' y='1' z='1'/><CFM/></ext><space/></world></xode>",
    ],
)
def test_incomplete_documents_load_with_diagnostics(document: str) -> None:
    loaded = exoskel.load(document)
    assert loaded.diagnostics
    exoskel.summarize(loaded)


def test_errors_do_not_remove_other_parts_of_the_scene() -> None:
    inner = body(mass("<mass_shape/>"), "a") + body(name="b") + joint(hinge('FMax="x"')) + joint("<gear/>", "k")
    read = Read(exoskel.load(scene(inner), dialect="spec"))
    read.expect_all("X602", "X302", "X202").assert_clean()
    (model,) = read.world.models
    assert [j.name for j in model.joints] == ["a_root", "j"]
    assert model.body("a").mass == 1.0


def test_nesting_has_a_limit() -> None:
    deep = scene("<group>" * 197 + "</group>" * 197)
    assert not exoskel.load(deep).diagnostics
    read = Read(exoskel.load(scene("<group>" * 198 + "</group>" * 198)))
    read.expect("X101.limit", "error")
    assert read.scene.worlds == []


def test_deep_nesting_that_a_caller_allows_never_raises() -> None:
    deepest = exoskel.Limits(depth=MAX_DEPTH)
    deep = scene("<group>" * (MAX_DEPTH - 3) + "</group>" * (MAX_DEPTH - 3))
    assert not exoskel.load(deep, limits=deepest).diagnostics
    deeper = scene("<group>" * 5000 + "</group>" * 5000)
    assert [d.code for d in exoskel.load(deeper, limits=deepest).diagnostics] == ["X101"]


def test_files_of_another_kind_are_named() -> None:
    for data, says in (
        (b"PK\x03\x04", "zip"),
        (b"hello", "plain text"),
        (b"dofs {\n}", "DART 1 and 2"),
        (b"", "empty"),
    ):
        (finding,) = exoskel.load(data, format="xode").diagnostics
        assert finding.code == "X101" and says in finding.message


def test_schema_attributes_are_preserved_silently() -> None:
    document = scene(body()).replace(
        "<xode",
        '<xode xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="http://gone/xode.xsd"',
    )
    Read(exoskel.load(document)).assert_clean()


def test_xode_in_a_file_named_skel_is_recognised() -> None:
    assert exoskel.load(scene(body()), name="wrong.skel").source_info.format == "xode"


def _many_moving(count: int) -> str:
    return scene("".join(body('<linearVel x="1" y="0" z="0"/>', f"b{i}") for i in range(count)))


def _many_worlds(count: int) -> str:
    return xode("".join(world(f"<space>{body(name=f'b{i}')}</space>", f"w{i}") for i in range(count)))


def _many_transforms(count: int) -> str:
    return scene(body("<transform/>" * count))


@pytest.mark.parametrize("many", [_many_moving, _many_worlds, _many_transforms])
def test_reading_time_is_linear_in_the_number_of_elements(many: Callable[[int], str]) -> None:
    def seconds(count: int) -> float:
        document = many(count)
        begin = time.perf_counter()
        exoskel.load(document, dialect="spec")
        return time.perf_counter() - begin

    seconds(10)
    few = min(seconds(500) for _ in range(3))
    assert seconds(4000) < 3 * 8 * few + 0.2, "eight times as many take about eight times as long, not sixty-four"


def test_repeated_elements_name_the_line_of_the_first() -> None:
    again = '<body name="b">\n<transform/>\n<geom><sphere radius="1"/></geom>\n<transform/>\n<transform/></body>'
    read = Read(exoskel.load(scene(again)))
    for line in (4, 5):
        read.expect("X204", "warning", line=line, says="line 2")
    read.assert_clean()
