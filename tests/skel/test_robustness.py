"""Section 18, items 95 to 103: no document crashes or hangs the reader, and no error is lost."""

from __future__ import annotations

import gzip
import os
import random
import re
import time
from pathlib import Path

import pytest

import exoskel
from exoskel.diagnostics import Severity
from exoskel.formats.skel.vocabulary import SKEL
from exoskel.source.vocabulary import Vocabulary
from tests.skel.test_shapes import mesh_document
from tests.support.checklist import item
from tests.support.findings import Reads, load_text
from tests.support.geometry import TETRA
from tests.support.places import EXAMPLES, example_files
from tests.support.xml import body, joint, one_body, skeleton, world


def mutations(text: str, rng: random.Random, vocabulary: Vocabulary = SKEL) -> str:
    """One random change: an element removed, a token replaced, the text cut, two pieces swapped."""
    kind = rng.randrange(6)
    tags = list(re.finditer(r"<[^>]+>", text))
    if not tags:
        return text
    if kind == 0:
        tag = rng.choice(tags)
        return text[: tag.start()] + text[tag.end() :]
    if kind == 1:
        words = list(re.finditer(r"[\w.+-]+", text))
        word = rng.choice(words)
        replacement = rng.choice(["", "nan", "-1", "1e400", "x", "0 0", "&amp;", "world", "\u202e", "é", "9" * 400])
        return text[: word.start()] + replacement + text[word.end() :]
    if kind == 2:
        return text[: rng.randrange(len(text))]
    if kind == 3:
        names = [element.name for _, element in vocabulary.rows()]
        tag = rng.choice(tags)
        return text[: tag.start()] + f"<{rng.choice(names)}/>" + text[tag.start() :]
    if kind == 4:
        elements = list(re.finditer(r"<(\w+)>[^<]*</\1>", text))
        if elements:
            element = rng.choice(elements)
            return text[: element.start()] + element[0] * rng.randrange(3) + text[element.end() :]
    at = rng.randrange(len(text))
    return text[:at] + chr(rng.randrange(1, 0x2FF)) + text[at:]


@item(95)
@pytest.mark.parametrize("file", example_files(), ids=lambda path: path.stem)
@pytest.mark.parametrize("semantics", ["written", "dart"])
def test_mutated_documents_never_raise_or_hang(file: Path, semantics: str) -> None:
    rng = random.Random(f"{file.name} {semantics}")
    original = file.read_text()
    for _ in range(150):
        text = original
        for _ in range(rng.randrange(1, 4)):
            text = mutations(text, rng) or text
        begin = time.monotonic()
        scene = load_text(text, semantics=semantics, base=EXAMPLES)
        for finding in scene.diagnostics:
            assert str(finding) and finding.excerpt is not None
        exoskel.summarize(scene)
        assert time.monotonic() - begin < 1.0 + len(text) / 100_000


@item(95)
@pytest.mark.parametrize(
    "data",
    [
        b"<",
        b"<skel",
        b"<skel>",
        b"<skel></skel",
        b"\x00\x01\x02",
        b"\xff\xfe",
        b"\xfe\xff\x00<",
        "<skel/>".encode("utf-16"),
        b'<?xml version="1.0" encoding="nonsense"?><skel/>',
        b'<?xml version="1.0" encoding="shift_jis"?><skel name="\x81"/>',
        b"<skel version='1.0'><world>\xe9</world></skel>",
        b"<a>" * 300 + b"</a>" * 300,
        b"<skel>" + b"<!--" * 1000 + b"</skel>",
        b"<!DOCTYPE",
        b"<!DOCTYPE skel [",
        b"<?xml?>",
        b"]]>",
        b"<skel>&undefined;</skel>",
        b'<!DOCTYPE skel SYSTEM "x.dtd"><skel version="1.0"><world><physics><gravity>&g;</gravity></physics></world></skel>',
        b"<skel xmlns='a' xmlns:b='b'><b:world/></skel>",
        b'<skel version="1.0"><world name="' + b"n" * 100_000 + b'"/></skel>',
    ],
    ids=range(21),
)
def test_odd_bytes_never_raise(data: bytes) -> None:
    scene = exoskel.load(data)
    assert scene.diagnostics
    for finding in scene.diagnostics:
        assert str(finding)
        assert finding.as_dict()["code"].startswith("SK")


@item(95)
def test_lone_surrogates_in_text_never_raise() -> None:
    scene = exoskel.load("<skel version='1.0'><world name='\ud800'/></skel>")
    assert scene.diagnostics


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (gzip.compress(b"<skel/>", mtime=0), "gzip"),
        (b"PK\x03\x04rest", "zip"),
        (b"<!DOCTYPE html><html><body>404</body></html>", "web page"),
        (b"<html><head/></html>", "web page"),
        (b"\x1cBqPZ7xYlRSW6V4\x084.1.17\x00\x00\x80\x3f\x00\x01", "Spine"),
        (b'{"asset": {"version": "2.0"}}', "JSON"),
        (b"hello world", "plain text"),
        (bytes(range(256)), "binary"),
    ],
)
def test_files_of_another_kind_are_named(reads: Reads, data: bytes, says: str) -> None:
    finding = reads(data).expect("SK001.kind", "error", says=says)
    assert finding.code == "SK001"


@item(97, 103)
def test_strict_turns_warnings_into_errors_and_refuses() -> None:
    document = one_body("<transformation>1 2 3</transformation>").encode()
    assert exoskel.load(document).world.models
    with pytest.raises(exoskel.LoadError) as caught:
        exoskel.load(document, strict=True)
    assert [d.severity for d in caught.value.diagnostics] == ["error"]
    assert "SK024" in str(caught.value)


@item(97)
def test_strict_accepts_a_clean_document() -> None:
    assert exoskel.load(one_body().encode(), strict=True).world.models


@item(97)
def test_example_nine_loads_leniently_after_its_limit_is_corrected() -> None:
    text = (EXAMPLES / "09_legacy.skel").read_text()
    corrected = text.replace("<lower>1</lower><upper>-1</upper>", "<lower>-1</lower><upper>1</upper>")
    assert {d.code for d in load_text(text).diagnostics if d.severity == "error"} == {"SK082"}
    assert not [d for d in load_text(corrected).diagnostics if d.severity == "error"]


@item(103)
def test_errors_do_not_remove_other_parts_of_the_scene(reads: Reads) -> None:
    good = skeleton(body() + joint(), "good")
    bad = skeleton(body("<inertia><mass>heavy</mass></inertia>") + joint(kind="hinge"), "bad")
    read = reads(world(bad + good))
    read.expect_all("SK022", "SK070", "SK074", "SK055")
    assert [(m.name, len(m.bodies)) for m in read.world.models] == [("bad", 1), ("good", 1)]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """`inside/` is the document's folder; it contains a mesh and a link to the outside, and another mesh is next to it."""
    inside = tmp_path / "inside"
    (inside / "deep").mkdir(parents=True)
    for place in ("inside/ok.obj", "inside/deep/ok.obj", "outside.obj"):
        (tmp_path / place).write_text(TETRA)
    os.symlink(tmp_path / "outside.obj", inside / "link.obj")
    os.symlink(tmp_path, inside / "up")
    return inside


@item(99)
@pytest.mark.parametrize(
    "name", ["../outside.obj", "{tree}/../outside.obj", "link.obj", "up/outside.obj", "file://{tree}/../outside.obj"]
)
def test_confined_references_stay_inside(reads: Reads, tree: Path, name: str) -> None:
    document = mesh_document(name.format(tree=tree))
    free = reads(document, base=tree)
    free.ignore("SK064.absolute")
    assert free.body().visuals[0].geometry.path is not None
    confined = reads(document, base=tree, confine=True)
    confined.ignore("SK064.absolute")
    confined.expect("SK064.outside", "error")
    assert confined.body().visuals[0].geometry.path is None


@item(99)
@pytest.mark.parametrize("semantics", ["written", "dart"])
@pytest.mark.parametrize(
    "name", ["../{}.obj", "{tree}/../{}.obj", "up/{}.obj", "file://{tree}/../{}.obj", "package://p/../{}.obj"]
)
def test_confinement_does_not_reveal_files_outside(tree: Path, name: str, semantics: str) -> None:
    def findings(file: str) -> list[tuple[str, str]]:
        document = mesh_document(name.format(file, tree=tree))
        paths = {"p": tree.parent / "p"}
        read = load_text(document, base=tree, confine=True, semantics=semantics, package_path=paths)
        return [(finding.key, finding.severity) for finding in read.diagnostics]

    assert findings("outside") == findings("missing")
    if not name.startswith("package"):
        assert ("SK064.outside", "error") in findings("missing")


@item(99)
@pytest.mark.parametrize("name", ["ok.obj", "deep/ok.obj", "deep/../ok.obj"])
def test_confinement_allows_what_is_inside(reads: Reads, tree: Path, name: str) -> None:
    assert reads(mesh_document(name), base=tree, confine=True).body().visuals[0].geometry.path is not None


@item(100)
def test_meshes_are_found_from_any_form_of_a_document_location(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tree / "scene.skel"
    file.write_text(mesh_document("deep/ok.obj"))
    monkeypatch.chdir(tree.parent)
    sources = [file, str(file), "inside/scene.skel", "./inside/scene.skel", file.as_uri(), f"file://localhost{file}"]
    for source in sources:
        scene = exoskel.load(source)
        assert not scene.diagnostics
        assert scene.world.models[0].bodies[0].visuals[0].geometry.path == str(tree / "deep" / "ok.obj")


@item(100)
def test_documents_named_by_sample_uri(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "skel").mkdir()
    (tmp_path / "obj").mkdir()
    (tmp_path / "obj" / "foot.obj").write_text(TETRA)
    (tmp_path / "skel" / "mine.skel").write_text(mesh_document("../obj/foot.obj"))
    monkeypatch.setenv("DART_DATA_PATH", str(tmp_path))
    scene = exoskel.load("dart://sample/skel/mine.skel")
    assert not scene.diagnostics
    assert scene.world.models[0].bodies[0].visuals[0].geometry.path == str(tmp_path / "obj" / "foot.obj")


@item(100)
@pytest.mark.parametrize(
    "source",
    ["no/such.skel", "dart://sample/skel/none.skel", "http://example.org/x.skel", "file://elsewhere/x.skel", "."],
)
def test_sources_that_cannot_be_opened(source: str) -> None:
    with pytest.raises(exoskel.SourceError, match=re.escape(source.split("/")[-1])):
        exoskel.load(source)


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        (exoskel.Limits(bytes=100), "limit is 100"),
        (exoskel.Limits(elements=5), "limit is 5"),
        (exoskel.Limits(depth=3), "limit of 3"),
    ],
)
def test_limits_are_named(reads: Reads, limits: exoskel.Limits, says: str) -> None:
    read = reads(one_body(), limits=limits)
    read.expect("SK001.limit", "error", says=says)
    assert read.scene.worlds == []


def test_depth_limit_counts_unknown_elements_too(reads: Reads) -> None:
    deep = one_body("<a>" * 197 + "</a>" * 197)
    reads(deep).expect_all("SK001.limit", "SK010")
    allowed = reads(deep, limits=exoskel.Limits(depth=300))
    allowed.expect("SK010")
    assert allowed.world.models


def test_a_file_over_the_size_limit_is_not_read_completely(tmp_path: Path) -> None:
    file = tmp_path / "big.skel"
    file.write_bytes(b"<skel>" + b" " * 10_000 + b"</skel>")
    scene = exoskel.load(file, limits=exoskel.Limits(bytes=1000))
    assert [d.key for d in scene.diagnostics] == ["SK001.limit"]


def test_terminal_controls_never_reach_a_message(reads: Reads) -> None:
    read = reads(world(skeleton(body(name="a\u202eb\u009b2J") + joint(child="x\u009b31m"))))
    for finding in (read.expect("SK071.child"), read.expect("SK074")):
        assert not re.search("[\x00-\x1f\x7f-\x9f\u202e]", finding.message + finding.excerpt.replace("\n", ""))


def test_a_file_with_the_early_root_is_read(tmp_path: Path) -> None:
    text = one_body().replace("skel>", "dart>").replace("<skel ", "<dart ")
    for name in ("early.skel", "early.xml"):
        file = tmp_path / name
        file.write_text(text)
        scene = exoskel.load(file)
        assert [d.key for d in scene.diagnostics if d.severity is not Severity.INFO] == ["SK003.early"]
        assert [body.name for body in scene.worlds[0].bodies()] == ["b"]
    refused = exoskel.load(tmp_path / "early.skel", semantics="dart")
    assert not refused.worlds and [d.key for d in refused.diagnostics] == ["SK003.format"]
