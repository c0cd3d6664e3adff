"""The time that MuJoCo's compiler gets for a document, and the estimate of what it needs."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel
from exoskel.diagnostics import Collector
from exoskel.formats.interface import ReadOptions
from exoskel.formats.load import open_document
from exoskel.formats.mjcf.codes import CATALOGUE
from exoskel.formats.mjcf.reader import compiler
from exoskel.formats.mjcf.reader.compiler import CompilerTimeError, Workload, allowed_seconds, compile_document
from exoskel.formats.mjcf.reader.preprocessor import prepare
from exoskel.formats.write import UnreadableOutputError
from exoskel.source.limits import Limits
from tests.mjcf.support import imported

FREE = '<body><freejoint/><geom size="0.1"/></body>'
JOINT = '<body><joint type="free"/><geom size="0.1"/></body>'
BALL = '<body><joint type="ball"/><geom size="0.1"/></body>'
PLAIN = '<body><joint/><geom size="0.1"/></body>'
CLASS = '<body><joint class="c"/><geom size="0.1"/></body>'


def document(bodies: str, before: str = "") -> str:
    return f"<mujoco>{before}<worldbody>{bodies}</worldbody></mujoco>"


def workload(text: str, folder: Path | None = None) -> Workload:
    if folder is None:
        opened = open_document(text.encode())
    else:
        (folder / "main.xml").write_text(text)
        opened = open_document(folder / "main.xml")
    options = ReadOptions()
    return prepare(opened, opened.parse(options.limits), options, Collector(CATALOGUE, opened)).work


@pytest.mark.parametrize(
    "text",
    [
        document(FREE * 50),
        document(JOINT * 50),
        document(f'<replicate count="50">{FREE}</replicate>'),
        document(f'<replicate count="5"><replicate count="10">{JOINT}</replicate></replicate>'),
        document(f"<frame>{JOINT * 50}</frame>"),
        document('<body><frame><joint type="free"/></frame><geom size="1"/></body>' * 50),
        document(PLAIN * 50, '<default><joint type="free"/></default>'),
        document(PLAIN * 50, '<default class="main"><joint type="free"/></default>'),
        document(CLASS * 50, '<default><default class="c"><joint type="free"/></default></default>'),
        document(
            CLASS * 50, '<default><default class="a"><joint type="free"/><default class="c"/></default></default>'
        ),
        document(
            PLAIN.replace("<body>", '<body childclass="c">') * 50,
            '<default><default class="c"><joint type="free"/></default></default>',
        ),
        document(
            f'<frame childclass="c">{PLAIN * 50}</frame>',
            '<default><default class="c"><joint type="free"/></default></default>',
        ),
    ],
)
def test_the_coordinates_of_free_bodies_are_counted_however_they_are_stated(text: str) -> None:
    found = workload(text)
    model = imported(text).compiled
    assert model is not None
    assert (found.bodies, found.dofs) == (50, 300) == (model.model.nbody - 1, model.model.nv)


def test_the_coordinates_of_included_bodies_are_counted(tmp_path: Path) -> None:
    (tmp_path / "part.xml").write_text(f"<mujoco><worldbody>{JOINT * 50}</worldbody></mujoco>")
    assert workload('<mujoco><include file="part.xml"/></mujoco>', tmp_path).dofs == 300


def test_the_entries_of_the_mass_matrix_are_counted() -> None:
    text = document("<body><joint/><joint axis='1 0 0'/><geom size='1'/>" * 20 + "</body>" * 20)
    found, model = workload(text), imported(text).compiled
    assert model is not None
    assert found.entries == model.model.nM


def test_a_longer_file_gets_more_time() -> None:
    assert allowed_seconds(len(document(FREE * 3000)), 7.0) == 7.0
    assert allowed_seconds(2_000_000, 7.0) == 28.0


def test_three_thousand_free_bodies_are_compiled_and_four_thousand_are_not() -> None:
    assert workload(document(FREE * 3000)).seconds < 7.0 < workload(document(FREE * 4000)).seconds


STAR = f"<body>{BALL * 6500}</body>"


@pytest.mark.parametrize("bodies", [STAR, STAR + FREE * 500, f'<replicate count="5000">{JOINT}</replicate>'])
def test_a_document_that_needs_more_time_than_allowed_is_refused_before_it_is_compiled(
    bodies: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_compile", "_compile_in_child"):
        monkeypatch.setattr(compiler, name, lambda *_: pytest.fail("compiled"))
    (found,) = exoskel.load(document(bodies).encode()).diagnostics
    assert found.key == "MJ106.limit" and found.message.endswith("more than 7 s")


def test_many_independent_bodies_are_compiled_although_the_whole_would_take_too_long() -> None:
    found = exoskel.load(document(FREE * 4000).encode())
    assert not found.diagnostics
    assert sum(len(model.bodies) for model in found.world.models) == 4000


def test_a_small_document_that_takes_long_is_compiled_in_a_child_process(monkeypatch: pytest.MonkeyPatch) -> None:
    chains = ("<body><joint/><geom size='1'/>" * 190 + "</body>" * 190) * 6
    assert workload(document(chains)).elements < compiler.MAX_COST_IN_PROCESS
    monkeypatch.setattr(compiler, "_compile_in_child", lambda _: pytest.fail("in a child process"))
    with pytest.raises(pytest.fail.Exception, match="in a child process"):
        exoskel.load(document(chains).encode())


def test_a_higher_limit_allows_more(monkeypatch: pytest.MonkeyPatch) -> None:
    work = workload(document(FREE * 4000))
    with pytest.raises(CompilerTimeError, match="7 s"):
        compile_document("", {}, work, 7.0)
    given = []
    monkeypatch.setattr(compiler, "_compile_in_child", lambda request: [given.append(request)])
    compile_document("", {}, work, 60.0)
    assert given[0].seconds == 60.0


def test_a_scene_that_takes_too_long_to_compile_is_not_written_as_mjcf(tmp_path: Path) -> None:
    joint = '<joint type="ball" name="{0}"><parent>hub</parent><child>{0}</child></joint>'
    star = "".join(f'<body name="{number}"/>{joint.format(number)}' for number in range(2500))
    source = tmp_path / "many.skel"
    source.write_text(
        f'<skel version="1.0"><world name="w"><skeleton name="s"><body name="hub"/>{star}</skeleton></world></skel>'
    )
    with pytest.raises(UnreadableOutputError, match=r"it needs more than 1 s; .* --max-seconds"):
        exoskel.convert(source, tmp_path / "many.xml", limits=Limits(seconds=1.0))
    assert not (tmp_path / "many.xml").exists()


def test_the_limit_for_reading_a_file_holds_for_reading_its_conversion_back(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []
    monkeypatch.setattr(compiler, "allowed_seconds", lambda _size, seconds: given.append(seconds) or 1e9)
    exoskel.convert("dart://sample/skel/double_pendulum.skel", to="mjcf", limits=Limits(seconds=123.0))
    assert set(given) == {123.0}
