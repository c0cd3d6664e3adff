"""`exoskel convert`: its output, files and exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import exoskel
from exoskel.conversion.report import group_losses
from tests.cli.conftest import Command

SCENE = """<?xml version="1.0"?>
<skel version="1.0">
  <world name="lab">
    <physics><time_step>0.001</time_step><gravity>0 0 -9.81</gravity></physics>
    <!-- An arm. -->
    <skeleton name="arm">
      <body name="upper">
        <inertia><mass>2</mass></inertia>
        <visualization_shape><geometry><box><size>1 1 1</size></box></geometry></visualization_shape>
        <collision_shape><geometry><box><size>1 1 1</size></box></geometry></collision_shape>
        {extra}
      </body>
      <joint type="revolute" name="shoulder">
        <parent>world</parent><child>upper</child>
        <axis><xyz>0 0 1</xyz><dynamics><damping>0.5</damping></dynamics></axis>
      </joint>
    </skeleton>
  </world>
</skel>
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "arm.skel"
    path.write_text(SCENE.format(extra=""))
    return path


@pytest.fixture
def lossy(tmp_path: Path) -> Path:
    path = tmp_path / "lossy.skel"
    path.write_text(SCENE.format(extra="<glow>3</glow>"))
    return path


def test_convert_prints_fates_and_the_certificate(
    file: Path, exoskel_command: Command, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    done = exoskel_command("convert", "arm.skel", "arm.xode")
    assert done.code == 0
    # Rounding errors differ between machines.
    shown = "\n".join(line[:60].rstrip() + ("  ok" if line.endswith("ok") else "") for line in done.out.splitlines())
    assert shown == snapshot
    assert (file.parent / "arm.xode").exists()


def test_convert_prints_lowered_joints(
    file: Path, exoskel_command: Command, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    file.write_text(SCENE.format(extra="").replace('type="revolute"', 'type="euler"'))
    hinted = exoskel_command("convert", "arm.skel", "arm.xode")
    assert hinted.code == 0 and "hint: 1 joint is not supported by XODE (euler); use --lower (lower=True)" in hinted.out
    done = exoskel_command("convert", "arm.skel", "arm.xode", "--lower")
    assert done.code == 0 and "hint" not in done.out
    lines = done.out.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("certificate"))
    # Rounding errors differ between machines.
    own = [line[:60].rstrip() + line[-4:] for line in lines if line.startswith("before ")]
    assert "\n".join([*(line.rstrip() for line in lines[:first]), *own]) == snapshot
    assert "without embedded data: joints" in done.out
    assert "arm.skel:5: kept comment[2]" in exoskel_command("convert", "arm.skel", "a.xode", "--lower", "--all").out


def test_json_has_the_stable_shape(file: Path, exoskel_command: Command) -> None:
    output = file.parent / "arm.xode"
    done = exoskel_command("convert", str(file), str(output), "--json")
    report = json.loads(done.out)
    assert report.keys() == {
        "input",
        "output",
        "formats",
        "nodes",
        "fates",
        "refusals",
        "losses",
        "not_selected",
        "items",
        "certificate",
        "hints",
        "diagnostics",
    }
    assert report["formats"] == ["skel", "xode"] and report["output"] == str(output)
    assert report["fates"].keys() == {"exact", "lowered", "approximated", "kept", "dropped"}
    assert report["nodes"] == len(report["items"]) == sum(report["fates"].values())
    assert all(item.keys() == {"line", "path", "fate", "why", "loss", "file"} for item in report["items"])
    assert report["losses"] == sum(item["loss"] for item in report["items"])
    assert report["not_selected"] == {"worlds": [], "models": []}
    assert report["certificate"]["passed"] is True
    assert all(c.keys() == {"name", "max_error", "tolerance", "passed"} for c in report["certificate"]["checks"])


def test_losses_are_reported_with_line_and_reason(lossy: Path, exoskel_command: Command) -> None:
    done = exoskel_command("convert", str(lossy), str(lossy.with_suffix(".xode")))
    assert done.code == 0
    assert "lossy.skel:11: dropped skeleton[arm]/body[upper]/glow: unknown element <glow>" in done.out


def test_strict_writes_nothing_on_a_loss(lossy: Path, file: Path, exoskel_command: Command) -> None:
    output = lossy.with_suffix(".xode")
    done = exoskel_command("convert", str(lossy), str(output), "--strict")
    assert done.code == 1 and not output.exists()
    assert "nothing was written" in done.err and "would be lost" in done.err
    assert exoskel_command("convert", str(file), str(output), "--strict").code == 0
    assert output.exists()


def test_every_node_can_be_listed(file: Path, exoskel_command: Command) -> None:
    done = exoskel_command("convert", str(file), str(file.with_suffix(".xode")), "--all")
    assert "arm.skel:5: kept comment[2]" in done.out
    assert "joint[shoulder]/axis/dynamics/damping" in done.out


def test_for_pyode_refuses_masses_that_pyode_cannot_represent(
    file: Path, tmp_path: Path, exoskel_command: Command
) -> None:
    output = tmp_path / "plain.xode"
    assert exoskel_command("convert", str(file), str(output), "--for", "pyode").code == 0
    assert b"<ext" not in output.read_bytes() and b"quaternion" not in output.read_bytes()
    moved = tmp_path / "moved.skel"
    moved.write_text(SCENE.format(extra="").replace("<mass>2</mass>", "<mass>2</mass><offset>1 0 0</offset>"))
    refused = exoskel_command("convert", str(moved), str(tmp_path / "no.xode"), "--for", "pyode")
    assert refused.code == 1 and "X612" in refused.err and not (tmp_path / "no.xode").exists()
    assert (
        exoskel_command("convert", str(moved), str(tmp_path / "no.xode"), "--for", "pyode", "--approximate").code == 0
    )


def test_one_of_several_worlds_must_be_chosen(tmp_path: Path, exoskel_command: Command) -> None:
    space = "<space><body name='{}'/></space>"
    worlds = "".join(f"<world name='{n}'>{space.format(n + 'body')}</world>" for n in ("left", "right"))
    file = tmp_path / "two.xode"
    file.write_text(f'<xode version="1.0r22">{worlds}</xode>')
    for out in (["one.skel"], ["models", "--to", "sdf", "--split"], ["models", "--to", "urdf"]):
        done = exoskel_command("convert", str(file), str(tmp_path / out[0]), *out[1:])
        assert done.code == 2 and "choose one of 'left', 'right' with --world" in done.err
    assert exoskel_command("convert", str(file), str(tmp_path / "one.skel"), "--world", "right").code == 0
    assert exoskel.load(tmp_path / "one.skel").world.name == "right"
    assert "unknown world 'up'" in exoskel_command("convert", str(file), str(tmp_path / "x.skel"), "--world", "up").err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("missing.skel", "out.xode"), "missing.skel"),
        (("arm.skel", "out.unknown"), "unknown extension '.unknown'; use one of .skel, .xode"),
        (("arm.skel", "out.xode", "--to", "step"), "unknown format 'step'"),
        (("arm.skel", "no/such/folder/out.xode"), "no/such/folder"),
        (("arm.skel", "out.xml", "--split"), "but MJCF files contain a world; use --to urdf or sdf"),
        (
            ("arm.skel", "out/", "--split"),
            "the output 'out/' is a folder, which states no format; use --to urdf or sdf",
        ),
        (("arm.skel", "out", "--split"), "the output 'out' is a folder, which states no format; use --to urdf or sdf"),
        (("arm.skel", "out/"), "the output 'out/' is a folder, which states no format; use --to FORMAT"),
        (("arm.skel", "out"), "cannot write 'out': no extension"),
    ],
)
def test_invalid_arguments_are_reported(
    arguments: tuple[str, ...], message: str, file: Path, exoskel_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    done = exoskel_command("convert", *arguments)
    assert done.code == 2 and message in done.err and "Traceback" not in done.err


def test_an_unknown_target_is_reported(file: Path) -> None:
    with pytest.raises(exoskel.ExoskelError, match="unknown target 'foo'; choose one of portable, pyode"):
        exoskel.convert(file, None, to="sdf", target="foo")  # type: ignore[arg-type]


def test_an_empty_document_is_not_converted(tmp_path: Path, exoskel_command: Command) -> None:
    (tmp_path / "bad.skel").write_text("<skel")
    done = exoskel_command("convert", str(tmp_path / "bad.skel"), str(tmp_path / "bad.xode"))
    assert done.code == 1 and "SK001" in done.err and not (tmp_path / "bad.xode").exists()


# --- diagnostics of the input -----------------------------------------------------------------------------

HEAVY = """<mujoco>{}<worldbody><body name="a"><joint name="r" damping="1 2"/><geom size=".2"/></body></worldbody>
</mujoco>"""


def test_convert_reports_the_diagnostics_of_the_input(tmp_path: Path, exoskel_command: Command) -> None:
    file = tmp_path / "a.xml"
    file.write_text(HEAVY.format('<visual><map znear="1"/></visual>'))
    done = exoskel_command("convert", str(file), str(tmp_path / "a.skel"))
    assert "a.xml:1:" in done.err and "warning[MJ303]: damping of joint 'r' is not linear" in done.err
    assert "a.xml: 1 warning, 1 note (use `exoskel check` to list all)" in done.err
    refused = exoskel_command("convert", str(file), str(tmp_path / "b.skel"), "--strict")
    assert refused.code == 1 and "MJ303" in refused.err and not (tmp_path / "b.skel").exists()


def test_json_has_the_diagnostics_in_the_shape_of_check(tmp_path: Path, exoskel_command: Command) -> None:
    file = tmp_path / "a.xml"
    file.write_text(HEAVY.format(""))
    checked = json.loads(exoskel_command("check", str(file), "--json").out)
    done = json.loads(exoskel_command("convert", str(file), str(tmp_path / "a.skel"), "--json").out)
    assert [diagnostic["code"] for diagnostic in checked] == ["MJ303"]
    assert done["diagnostics"] == checked


def test_models_that_were_not_selected_are_named_in_one_line(tmp_path: Path, exoskel_command: Command) -> None:
    sample = "dart://sample/skel/robot_arm.skel"
    done = exoskel_command("convert", sample, str(tmp_path / "arm.urdf"), "--model", "arm")
    others = [model.name for model in exoskel.load(sample).world.models if model.name != "arm"]
    lines = [line for line in done.out.splitlines() if "not selected" in line]
    assert done.code == 0 and len(lines) == 1
    assert lines[0].startswith(f"{len(others)} models not selected: {', '.join(others)} (")
    done = exoskel_command("convert", sample, str(tmp_path / "arm.urdf"), "--model", "arm", "--json")
    assert json.loads(done.out)["not_selected"] == {"worlds": [], "models": others}


def test_a_world_that_was_not_selected_is_named(tmp_path: Path, exoskel_command: Command) -> None:
    file = tmp_path / "two.xode"
    worlds = "".join(f'<world name="{name}"><space><body name="b"/></space></world>' for name in ("first", "second"))
    file.write_text(f'<xode version="1.0r22">{worlds}</xode>')
    done = exoskel_command("convert", str(file), str(tmp_path / "one.xml"), "--world", "first")
    assert "1 world not selected: second (5 nodes)" in done.out.splitlines()


COUNTED = [
    ("skel/robot_arm.skel", "urdf", "arm"),
    ("skel/domino.skel", "urdf", "domino_01"),
    ("skel/actuators.skel", "mjcf", None),
    ("xode/extensions.xode", "mjcf", None),
    ("xode/ragdoll.xode", "sdf", None),
    ("skel/soft_bodies.skel", "gltf", None),
    ("xode/pyode_dialect.xode", "usd", None),
]


@pytest.mark.parametrize(("sample", "to", "model"), COUNTED)
def test_the_counts_of_listed_nodes_add_up(
    sample: str, to: str, model: str | None, tmp_path: Path, exoskel_command: Command
) -> None:
    """Every dropped or approximated node is listed, inside of a listed one, or counted in one of the last lines."""
    name = f"dart://sample/{sample}"
    chosen = ("--model", model) if model else ()
    done = exoskel_command("convert", name, str(tmp_path / f"out.{to}"), "--to", to, *chosen)
    report = exoskel.convert(name, tmp_path / f"out.{to}", to=to, model=model)
    fates = report.fates["dropped"] + report.fates["approximated"]
    text = done.out[: done.out.index("certificate ")]
    listed = re.findall(r":\d+: (?:dropped|approximated) ", text)
    counted = re.findall(r"\(with (\d+) nodes? inside\)|and (\d+) more nodes? lost|\((\d+) nodes?\)", text)
    quiet = re.findall(r"not listed: (\d+) nodes? without effect", text)
    assert len(listed) + sum(int(number) for row in counted for number in row if number) + sum(map(int, quiet)) == fates
    groups = group_losses(report.losses)
    assert sum(group.count for group in groups) == len(report.losses) == report.as_dict()["losses"]
    html = [int(number) for number in re.findall(r"<td[^>]*>(\d+)</td></tr>", report._repr_html_())]
    assert sum(html) == report.nodes + fates


REFUSED = """<skel version="1.0"><world name="w"><skeleton name="s">{}
<body name="a"><inertia><mass>1</mass></inertia></body><body name="b"><inertia><mass>1</mass></inertia></body>
<joint type="ball" name="i"><parent>world</parent><child>a</child></joint>
<joint type="free" name="j"><parent>a</parent><child>b</child></joint></skeleton></world></skel>"""
OTHERS = """<body name="o{0}"><inertia><mass>1</mass></inertia></body><joint type="revolute" name="p{0}"><parent>world</parent>
<child>o{0}</child><axis><xyz>0 1 0</xyz><limit><lower>-{0}</lower><upper>1</upper></limit></axis></joint>"""


@pytest.mark.parametrize(("target", "code"), [("dart", "MJ511"), ("newton", "MJ513"), ("mujoco3", "")])
def test_what_the_reader_refuses_comes_first(target: str, code: str, tmp_path: Path, exoskel_command: Command) -> None:
    (tmp_path / "a.skel").write_text(REFUSED.format("".join(OTHERS.format(number) for number in range(1, 30))))
    done = exoskel_command("convert", str(tmp_path / "a.skel"), str(tmp_path / "a.xml"), "--for", target)
    report = json.loads(
        exoskel_command("convert", str(tmp_path / "a.skel"), str(tmp_path / "b.xml"), "--for", target, "--json").out
    )
    assert [why[-6:-1] for why in report["refusals"]] == [code] * bool(code)
    refused = [line for line in done.out.splitlines() if "refuses the file" in line]
    assert [line.startswith("refused: ") for line in refused] == [True, False] * bool(code)
    losses = [line for line in done.out.splitlines() if re.search(r":\d+: (dropped|approximated) ", line)]
    assert any("refuses the file" in line for line in losses[:1]) == bool(code)
    strict = exoskel_command("convert", str(tmp_path / "a.skel"), str(tmp_path / "c.xml"), "--for", target, "--strict")
    assert strict.code == bool(code) and ("refuses the file" in strict.err) == bool(code)


def test_a_folder_says_which_files_the_reader_refuses(tmp_path: Path, exoskel_command: Command) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.skel").write_text(REFUSED.format(""))
    options = ("--to", "mjcf", "--for", "dart", "--report", str(tmp_path / "r.md"))
    rows = json.loads(exoskel_command("convert", str(tmp_path / "in"), str(tmp_path / "out"), *options, "--json").out)
    assert "refuses the file" in rows[0]["problem"] and rows[0]["causes"][0]["harm"] == 0
    assert "### Refused by the reader: " in (tmp_path / "r.md").read_text()


def test_losses_are_grouped_by_cause_and_the_worst_come_first() -> None:
    report = exoskel.convert("dart://sample/skel/robot_arm.skel", None, to="urdf", model="arm")
    groups = group_losses(report.losses)
    assert groups[-1].unselected and not any(group.unselected for group in groups[:-1])
    assert [group.harm for group in groups] == sorted(group.harm for group in groups)
    assert len({(group.fate, group.why, group.affects_motion) for group in groups}) == len(groups)
