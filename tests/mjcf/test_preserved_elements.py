"""Elements that a scene does not contain survive from MJCF to MJCF."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from lxml import etree
from PIL import Image

import exoskel
from exoskel.fates import Fate
from exoskel.formats.write import write
from tests.support.edits import edited

ARM = """<mujoco model="arm">
  <option wind="1 0 0" density="1.2"/>
  <visual><headlight ambient=".4 .4 .4"/></visual>
  <statistic extent="2" center="0 0 1"/>
  <custom><numeric name="gain" data="1 2"/><tuple name="pair"><element objtype="body" objname="hand"/></tuple></custom>
  <default>
    <tendon damping="0.5"/>
    <default class="pull"><general gainprm="3" ctrlrange="-1 1"/></default>
  </default>
  <asset>
    <texture name="grid" type="2d" builtin="checker" rgb1=".1 .2 .3" rgb2=".2 .3 .4" width="30" height="30"/>
    <material name="grid" texture="grid" texrepeat="5 5" reflectance=".2"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 .1" material="grid"/>
    <body name="upper" pos="0 0 1">
      <joint name="shoulder" axis="0 1 0" damping=".1" range="-100 100"/>
      <geom name="ug" type="capsule" fromto="0 0 0 .5 0 0" size=".05"/>
      <site name="mid" pos=".25 0 .1"/>
      <body name="fore" pos=".5 0 0">
        <joint name="elbow" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 .4 0 0" size=".04"/>
        <site name="tip" pos=".4 0 0"/>
        <body name="hand" pos=".4 0 0">
          <joint name="slide" type="slide" axis="1 0 0"/>
          <geom name="hg" size=".05"/>
        </body>
      </body>
    </body>
    <body name="ball" pos="1 1 1"><freejoint/><geom name="bg" size=".1"/></body>
  </worldbody>
  <contact><pair geom1="bg" geom2="hg" friction="1 1 .01 .001 .001"/></contact>
  <tendon>
    <fixed name="couple"><joint joint="shoulder" coef="1"/><joint joint="elbow" coef="-.5"/></fixed>
    <spatial name="rope" stiffness="10" range="0 1"><site site="mid"/><site site="tip"/></spatial>
  </tendon>
  <equality><tendon tendon1="couple" polycoef="0.1 1 0 0 0"/></equality>
  <actuator>
    <general class="pull" name="t" tendon="couple" biastype="affine" biasprm="0 -1 0"/>
    <muscle name="mus" tendon="rope" lengthrange=".4 .7"/>
  </actuator>
  <sensor>
    <jointpos name="jp" joint="elbow"/><tendonpos name="tp" tendon="rope"/><framepos objtype="site" objname="tip"/>
    <actuatorfrc actuator="t"/><subtreecom body="upper"/><framelinvel objtype="body" objname="hand"/>
  </sensor>
</mujoco>"""


def _states(model: mujoco.MjModel) -> list[np.ndarray]:
    """Sensor data, tendon lengths, and forces of tendons and actuators at random states."""
    rng, data, found = np.random.default_rng(0), mujoco.MjData(model), []
    for _ in range(5):
        data.qpos = model.qpos0
        data.qpos[:3], data.qvel[:3] = rng.uniform(-0.5, 0.5, (2, 3))
        data.ctrl[:] = rng.uniform(-2.0, 2.0, model.nu)
        data.act[:] = rng.uniform(0.0, 1.0, model.na)
        mujoco.mj_forward(model, data)
        forces = [data.qfrc_actuator, data.qfrc_spring, data.qfrc_damper, data.qfrc_fluid]
        found += [np.concatenate([data.sensordata, data.ten_length, data.actuator_force, *forces])]
    return found


def _convert(tmp_path: Path, text: str, **options: object) -> tuple[exoskel.Report, mujoco.MjModel, mujoco.MjModel]:
    source, target = tmp_path / "in.xml", tmp_path / "out.xml"
    source.write_text(text)
    report = exoskel.convert(edited(source), target, **options)
    return report, mujoco.MjModel.from_xml_path(str(source)), mujoco.MjModel.from_xml_path(str(target))


def test_tendons_actuators_and_sensors_are_the_same_in_mujoco(tmp_path: Path) -> None:
    report, before, after = _convert(tmp_path, ARM)
    assert report.certificate.passed
    for name in ("nu", "ntendon", "nsensor", "neq", "npair", "nmat", "nnumeric", "ntuple"):
        assert getattr(after, name) == getattr(before, name), name
    np.testing.assert_allclose(_states(after), _states(before), rtol=1e-9, atol=1e-9)
    for name in ("actuator_ctrlrange", "actuator_ctrllimited", "tendon_range", "tendon_limited", "tendon_damping"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
    for name in ("pair_friction", "mat_texrepeat", "mat_reflectance", "eq_data", "eq_active0"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
    assert after.geom("floor").matid == before.geom("floor").matid
    assert after.opt.density == 1.2
    assert after.stat.extent == 2.0


def test_preserved_elements_are_kept_in_the_report(tmp_path: Path) -> None:
    report, _, _ = _convert(tmp_path, ARM)
    fates = {item.path: item.fate for item in report.items if not item.attribute}
    for tag in ("visual[1]", "statistic[1]", "contact[1]/pair[1]"):
        assert fates[f"/mujoco/{tag}"] is Fate.KEPT, tag
    lost = [item.path for item in report.items if item.loss and not item.path.endswith("/@name")]
    assert lost == []


def test_writing_again_gives_the_same_bytes(tmp_path: Path) -> None:
    text = ARM.replace('type="plane"', 'type="box"')
    exoskel.convert(edited(_write(tmp_path, text)), tmp_path / "one.xml")
    first = write(exoskel.load(tmp_path / "one.xml"), "mjcf", folder=tmp_path).data
    (tmp_path / "two.xml").write_bytes(first)
    assert b'class="exoskel_main"' in first
    assert write(exoskel.load(tmp_path / "two.xml"), "mjcf", folder=tmp_path).data == first


def _write(folder: Path, text: str) -> Path:
    path = folder / "in.xml"
    path.write_text(text)
    return path


def test_elements_that_refer_to_removed_parts_are_omitted(tmp_path: Path) -> None:
    scene = exoskel.load(_write(tmp_path, ARM))
    scene.world.remove("upper/hand")
    scene.world.rename("upper/elbow", "elbow2")
    exoskel.save(scene, tmp_path / "out.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))
    assert model.npair == 0
    assert model.ntuple == 0
    assert model.nsensor == 5
    assert model.ntendon == 2
    assert model.joint("elbow2").id in model.wrap_objid[:2]


def test_actuators_of_tendons_that_are_not_written_are_omitted(tmp_path: Path) -> None:
    """A tendon whose site has another name is lost, and its actuator with it."""
    text = ARM.replace('<tendonpos name="tp" tendon="rope"/><framepos objtype="site" objname="tip"/>', "")
    scene = edited(_write(tmp_path, text))
    next(one for body in scene.world.bodies() for one in body.markers if one.name == "tip").name = "end"
    report = exoskel.convert(scene, tmp_path / "out.xml", to="mjcf")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))
    assert [model.actuator(i).name for i in range(model.nu)] == ["t"]
    assert next(item for item in report.items if item.path.endswith("muscle[@name='mus']")).loss


def test_constraints_of_tendons_do_not_depend_on_the_reference_position(tmp_path: Path) -> None:
    """Joints are at zero in the reference pose, so that the length of a fixed tendon may be another one."""
    text = ARM.replace('name="elbow"', 'name="elbow" ref="10"')
    report, before, after = _convert(tmp_path, text)
    assert (after.ntendon, after.neq) == (before.ntendon, before.neq)
    kept = [item for item in report.items if item.path.endswith("equality[1]/tendon[1]")]
    assert kept[0].fate is Fate.EXACT
    residuals = []
    for model in (before, after):
        data = mujoco.MjData(model)
        data.qpos[:] = model.qpos0 + 0.1 * np.arange(1, model.nq + 1)
        mujoco.mj_forward(model, data)
        residuals.append(data.efc_pos[data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY.value].tolist())
    assert residuals[0] and residuals[1] == pytest.approx(residuals[0])


@pytest.mark.parametrize("meshes", ["reference", "copy", "absolute"])
def test_texture_files_are_found_from_the_new_document(tmp_path: Path, meshes: str) -> None:
    (tmp_path / "textures").mkdir()
    Image.new("RGB", (4, 4), (255, 0, 0)).save(tmp_path / "textures" / "red.png")
    text = ARM.replace("<option", '<compiler texturedir="textures"/><option').replace(
        'builtin="checker" rgb1=".1 .2 .3" rgb2=".2 .3 .4" width="30" height="30"', 'file="red.png"'
    )
    (tmp_path / "out").mkdir()
    exoskel.convert(edited(_write(tmp_path, text)), tmp_path / "out" / "arm.xml", meshes=meshes)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "arm.xml"))
    assert model.tex("grid").width == 4


def test_other_formats_get_none_of_them(tmp_path: Path) -> None:
    source = _write(tmp_path, ARM)
    exoskel.convert(source, tmp_path / "arm.skel")
    exoskel.convert(tmp_path / "arm.skel", tmp_path / "back.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "back.xml"))
    assert (model.ntendon, model.nsensor, model.npair) == (2, 6, 0)  # a scene has tendons and sensors


def test_mujoco_objects_have_them(tmp_path: Path) -> None:
    found = exoskel.to_mujoco(exoskel.load(_write(tmp_path, ARM)))
    assert (found.model.ntendon, found.model.nsensor, found.model.nmat) == (2, 6, 1)


def test_sites_keep_their_materials(tmp_path: Path) -> None:
    text = """<mujoco><asset><material name="red" rgba="1 0 0 1" shininess="0.9"/></asset><worldbody><body><joint/>
    <geom size=".1"/><site name="s" material="red"/><site name="t"/></body></worldbody></mujoco>"""
    report, before, after = _convert(tmp_path, text)
    assert [model.mat(model.site("s").matid[0]).name for model in (before, after)] == ["red", "red"]
    assert after.site("t").matid[0] == -1
    assert after.site("s").rgba.tolist() == before.site("s").rgba.tolist()
    found = [item for item in report.items if item.path.endswith("site[@name='s']/@material")]
    assert [item.fate for item in found] == [Fate.KEPT]


@pytest.mark.parametrize("written", ['data="a &amp; &lt;b&gt;"', "<![CDATA[a & <b>]]>"], ids=["attribute", "content"])
def test_texts_that_mujoco_saves_as_content_are_preserved(written: str) -> None:
    """MuJoCo 4 saves texts with special characters as the content of the element."""
    text = f'<text name="t" {written}/>' if written.startswith("data") else f'<text name="t">{written}</text>'
    document = f'<mujoco><worldbody><body><geom size="1"/></body></worldbody><custom>{text}</custom></mujoco>'
    report = exoskel.convert(edited(document), None, to="mjcf")
    assert not report.losses
    model = mujoco.MjModel.from_xml_string(report.data.decode())
    assert bytes(model.text_data).split(b"\0")[0] == b"a & <b>"


def test_a_specification_with_a_text_comes_back() -> None:
    document = '<mujoco><worldbody><body><geom size="1"/></body></worldbody><custom><text name="t" data="a &amp; b"/></custom></mujoco>'
    made = exoskel.to_mujoco(exoskel.from_mujoco(mujoco.MjSpec.from_string(document)))
    assert b"a & b" in bytes(made.model.text_data)


def test_a_material_of_a_default_class_does_not_apply_to_fixed_tendons() -> None:
    text = """<mujoco><default><tendon material="m" width="0.1"/></default><asset><material name="m"/></asset>
      <worldbody><site name="s"/><body name="b" pos="1 0 0"><joint name="j"/><geom size=".1"/><site name="t"/></body>
      </worldbody><tendon><fixed name="f"><joint joint="j" coef="1"/></fixed>
      <spatial name="y"><site site="s"/><site site="t"/></spatial></tendon></mujoco>"""
    made = mujoco.MjModel.from_xml_string(exoskel.convert(edited(text), None, to="mjcf").data.decode())
    assert made.mat(int(made.tendon_matid[made.tendon("y").id])).name == "m"
    assert made.tendon_width[made.tendon("y").id] == pytest.approx(0.1)


def test_geoms_of_an_included_file_never_get_the_material_of_another(tmp_path: Path) -> None:
    """All of them have the place of the element that includes the file."""
    (tmp_path / "robot.xml").write_text("""<mujoco>
<asset><texture name="t" type="2d" builtin="flat" width="8" height="8"/><material name="plain" rgba="1 0 0 1"/>
 <material name="painted" texture="t"/></asset>
<worldbody><body name="a"><freejoint/><geom size="0.1" material="plain"/><geom name="own" size="0.2" material="painted"/>
 <site name="s"/><body name="b"><joint name="j"/><geom size="0.3" material="painted"/><geom size="0.4"/></body></body>
</worldbody></mujoco>""")
    (tmp_path / "scene.xml").write_text('<mujoco><include file="robot.xml"/></mujoco>')
    scene = exoskel.load(tmp_path / "scene.xml")
    scene.world.add_model("extra").add_body("x", joint="free", mass=1.0, shapes=[exoskel.Box((0.1, 0.1, 0.1))])
    root = etree.fromstring(exoskel.convert(scene, None, to="mjcf").data)
    found = {one.get("size"): one.get("material") for one in root.iter("geom", "site")}
    assert found["0.2"] == "painted"
    assert found["0.1"] in (None, "plain")
    assert found["0.4"] is None
    assert {one.get("material") for one in root.iter("site")} == {None}
