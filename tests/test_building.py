"""Scenes built in Python: every function accepts them, and they have the values that a person expects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import exoskel
from exoskel import Box, ExoskelError, Model, Pose, Scene, Sphere, World

WALKER = "dart://sample/skel/walker.skel"


def pendulum() -> World:
    world = World(name="lab")
    model = world.add_model("pendulum")
    model.add_body("bob", joint="revolute", axes=((0, 1, 0),), mass=2.0, shapes=[Sphere(0.1)], pose=Pose((0, 0, 1)))
    return world


def sources() -> dict[str, Any]:
    built, loaded = pendulum(), exoskel.load(WALKER)
    return {
        "built scene": Scene(worlds=[built]),
        "built world": built,
        "built model": built.models[0],
        "loaded scene": loaded,
        "loaded world": loaded.world,
        "loaded model": loaded.world.model("walker"),
    }


@pytest.mark.parametrize("kind", sources())
class TestEveryFunctionTakesScenesWorldsAndModels:
    def test_save(self, kind: str, tmp_path: Path) -> None:
        source = sources()[kind]
        for extension in ("skel", "xode", "sdf", "xml"):
            exoskel.save(source, tmp_path / f"saved.{extension}")
            assert (
                exoskel.load(tmp_path / f"saved.{extension}").world.dof_count
                == exoskel.Simulation(source).positions.size
            )

    @pytest.mark.parametrize("extension", ["skel", "xode", "sdf", "urdf", "xml", "glb"])
    def test_convert(self, kind: str, extension: str, tmp_path: Path) -> None:
        source = sources()[kind]
        report = exoskel.convert(
            source, tmp_path / f"out.{extension}", model="walker" if "loaded" in kind and extension == "urdf" else None
        )
        assert report.certificate.passed and report.saved and report.nodes

    def test_check_summarize_diff(self, kind: str) -> None:
        source = sources()[kind]
        assert exoskel.check(source) == []
        assert exoskel.summarize(source)["totals"]["worlds"] == 1
        assert exoskel.diff(source, sources()[kind]) == []

    def test_simulate(self, kind: str) -> None:
        source = sources()[kind]
        assert len(exoskel.run(source, 0.05)) == 6
        assert exoskel.rollout(source, worlds=2, steps=3).positions.shape[0] == 2
        assert exoskel.preflight(source) is not None

    def test_show_and_render(self, kind: str, tmp_path: Path) -> None:
        source = sources()[kind]
        exoskel.render(source, tmp_path / "a.png", renderer="software", size=(64, 48))
        exoskel.export(source, tmp_path / "a.html")
        handle = exoskel.show(source, port=0, browser=False)
        handle.close()
        handle = exoskel.show(exoskel.run(source, 0.02), port=0, browser=False)
        handle.close()

    def test_merge(self, kind: str) -> None:
        assert len(exoskel.merge(sources()[kind], pendulum()).world.models) >= 2


@pytest.mark.parametrize(
    "use", [exoskel.check, exoskel.summarize, exoskel.run, exoskel.rollout, exoskel.Simulation, exoskel.merge]
)
def test_other_types_are_refused_with_what_to_do(use: Any) -> None:
    with pytest.raises(ExoskelError, match=r"expected a Scene, World or Model, not 'a\.skel'; use exoskel\.load"):
        use("a.skel")


def test_saving_without_a_file_needs_a_path() -> None:
    with pytest.raises(ExoskelError, match="pass the path"):
        exoskel.save(pendulum())


def test_a_scene_without_a_document_is_converted_with_fates(tmp_path: Path) -> None:
    report = exoskel.convert(pendulum(), tmp_path / "pendulum.sdf")
    assert (report.input, report.formats) == ("<scene>", ("skel", "sdf"))
    assert report.fates["exact"] > 10 and not report.losses


def test_several_worlds_without_a_document_are_converted(tmp_path: Path) -> None:
    second = pendulum()
    second.name = "other"
    scene = Scene(worlds=[pendulum(), second])
    report = exoskel.convert(scene, tmp_path / "two.xode")
    assert report.certificate.passed and len(exoskel.load(tmp_path / "two.xode").worlds) == 2
    assert exoskel.convert(scene, tmp_path / "one.sdf", world="other").certificate.passed


def test_converting_does_not_edit_the_scene() -> None:
    world = pendulum()
    before = exoskel.summarize(world)
    exoskel.convert(world, to="mjcf")
    assert exoskel.summarize(world) == before


def test_a_model_has_the_default_world() -> None:
    model = Model(name="ball")
    model.add_body("ball", mass=1.0, shapes=[Box((1, 1, 1))])
    simulation = exoskel.Simulation(model)
    assert simulation.world.gravity == (0.0, 0.0, -9.81) and simulation.world.models == [model]
