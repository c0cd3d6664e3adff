"""What a scene does not contain of included SDF files is written to SDF again, in each model that includes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

import exoskel
from exoskel.fates import Fate
from tests.sdf.support import link

DRONE = f"""<sdf version="1.9"><model name="drone">
  <!-- a comment -->
  {
    link(
        "base",
        '''<sensor name="scan" type="gpu_lidar"><topic>scan</topic><lidar><scan><horizontal><samples>640</samples>
           </horizontal></scan></lidar></sensor>
           <sensor name="rgb" type="camera"><update_rate>30</update_rate><camera/></sensor>
           <light name="odd" type="laser"/>
           <visual name="v"><geometry><box><size>1 1 1</size></box></geometry><cast_shadows>false</cast_shadows>
             <material><ambient>0.1 0.2 0.3 1</ambient><diffuse>1 0.5 0.25 1</diffuse>
               <script><uri>materials/scripts</uri><name>Drone/Body</name></script></material></visual>''',
    )
}
  {link("rotor")}
  <joint name="spin" type="revolute"><parent>base</parent><child>rotor</child><axis><xyz>0 0 1</xyz></axis>
    <sensor name="wrench" type="wireless_receiver"/></joint>
  <plugin filename="motor" name="Motor"><jointName>spin</jointName><joint_name>spin</joint_name>
    <link_name>rotor</link_name></plugin>
</model></sdf>"""
INCLUDE = "<include><uri>model://{}</uri><name>{}</name><pose>{} 0 0 0 0 0</pose></include>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    add_model(tmp_path, "drone", DRONE)
    return tmp_path


def add_model(folder: Path, name: str, text: str) -> None:
    place = folder / "models" / name
    place.mkdir(parents=True)
    (place / "model.sdf").write_text(text)


def convert(folder: Path, inside: str, target: str = "out.sdf") -> tuple[exoskel.Report, etree._Element]:
    source, out = folder / "in.sdf", folder / target
    source.write_text(f'<sdf version="1.9"><world name="w">{inside}</world></sdf>')
    out.parent.mkdir(parents=True, exist_ok=True)
    report = exoskel.convert(source, out)
    assert report.certificate.passed
    return report, etree.fromstring(out.read_bytes())


def losses(report: exoskel.Report) -> set[str]:
    return {
        one.path.rpartition("/model")[2].removeprefix("model")
        for one in report.items
        if one.loss and "comment" not in one.path
    }


def texts(root: etree._Element, path: str) -> list[str]:
    return [(one.text or "").strip() for one in root.iterfind(path)]


def names(root: etree._Element, path: str) -> list[str | None]:
    return [one.get("name") for one in root.iterfind(path)]


@pytest.mark.parametrize("count", [1, 3])
def test_each_model_gets_the_elements_of_its_file(folder: Path, count: int) -> None:
    report, root = convert(folder, "".join(INCLUDE.format("drone", f"d{n}", n) for n in range(count)))
    assert [model.get("name") for model in root.iter("model")] == [f"d{n}" for n in range(count)]
    for model in root.iter("model"):
        assert texts(model, "plugin/joint_name") == ["spin"]
        assert texts(model, "link[@name='base']/sensor[@name='scan']/topic") == ["scan"]
        assert names(model, "link[@name='base']/light") == ["odd"]
        assert names(model, "joint/sensor") == ["wrench"]
        visual = "link[@name='base']/visual"
        assert texts(model, f"{visual}/cast_shadows") == ["false"]
        assert texts(model, f"{visual}/material/ambient") == ["0.1 0.2 0.3 1"]
        assert texts(model, f"{visual}/material/script/uri") == ["models/drone/materials/scripts"]
    assert losses(report) == set()


def test_paths_are_relative_to_the_folder_of_the_output(folder: Path) -> None:
    _, root = convert(folder, INCLUDE.format("drone", "d", 0), "deep/er/out.sdf")
    assert texts(root, ".//script/uri") == ["../../models/drone/materials/scripts"]


def test_references_follow_the_names_of_nested_models(folder: Path) -> None:
    inner = "".join(INCLUDE.format("drone", name, n) for n, name in enumerate(("left", "right")))
    plugin = "<plugin filename='f' name='Fleet'><joint_name>right::spin</joint_name></plugin>"
    add_model(folder, "fleet", f'<sdf version="1.9"><model name="fleet">{link("hub")}{inner}{plugin}</model></sdf>')
    report, root = convert(folder, INCLUDE.format("fleet", "a", 0) + INCLUDE.format("fleet", "b", 5))
    for model in root.iter("model"):
        assert names(model, "link/sensor[@type='gpu_lidar']") == ["scan", "scan"]
        assert texts(model, "plugin[@name='Fleet']/joint_name") == ["right__spin"]
        found = texts(model, "plugin[@name='Motor']/jointName")  # a scene has no models in models
        assert found == ["left__spin", "right__spin"]
    assert losses(report) == set()
    assert {one.fate for one in report.items if one.path.endswith("plugin[Motor]")} == {Fate.LOWERED}


def test_references_in_links_of_nested_models_follow_names(folder: Path) -> None:
    sensor = '<sensor name="s" type="custom"><link_name>arm</link_name></sensor>'
    add_model(folder, "arm", f'<sdf version="1.9"><model name="arm">{link("arm", sensor)}</model></sdf>')
    inner = INCLUDE.format("arm", "one", 0) + INCLUDE.format("arm", "two", 1)
    _, root = convert(folder, f'<model name="m">{inner}</model>')
    assert texts(root, ".//sensor/link_name") == ["one__arm", "two__arm"]
    assert names(root, ".//sensor/..") == ["one__arm", "two__arm"]


def test_a_model_of_the_document_refers_to_included_joints(folder: Path) -> None:
    plugin = "<plugin filename='f' name='P'><joint_name>d::spin</joint_name></plugin>"
    _, root = convert(folder, f'<model name="m">{INCLUDE.format("drone", "d", 0)}{plugin}</model>')
    assert texts(root, ".//plugin[@name='P']/joint_name") == ["d__spin"]


def test_merged_files_with_the_same_names_are_not_confused(folder: Path) -> None:
    inside = f'{link("a", SENSOR)}<plugin filename="f" name="P"><link_name>a</link_name></plugin>'
    add_model(folder, "part", f'<sdf version="1.9"><model name="part">{inside}</model></sdf>')
    merged = '<include merge="true"><uri>model://part</uri><pose>{} 0 0 0 0 0</pose></include>'
    report, root = convert(folder, f'<model name="m">{merged.format(0)}{merged.format(1)}</model>')
    assert texts(root, ".//sensor/link_name") == []
    assert {"[part]/link[a]/sensor[s]", "[part]/plugin[P]"} <= losses(report)


SENSOR = '<sensor name="s" type="custom"><link_name>a</link_name></sensor>'


def test_frames_of_included_sensors_follow_names(folder: Path) -> None:
    sensor = '<sensor name="s" type="custom"><pose relative_to="{}"/></sensor>'
    inside = f'<frame name="f"/>{link("a", sensor.format("f") + sensor.format("b"))}{link("b")}'
    add_model(folder, "part", f'<sdf version="1.9"><model name="part">{inside}</model></sdf>')
    report, root = convert(folder, f'<model name="m">{INCLUDE.format("part", "p", 0)}</model>')
    assert [one.get("relative_to") for one in root.iterfind(".//sensor/pose")] == ["p__f", "p__b"]
    assert losses(report) == set()


def test_an_element_that_only_some_models_keep_is_reported(folder: Path) -> None:
    inside = f"{link('a')}{link('b', SENSOR)}"
    add_model(folder, "part", f'<sdf version="1.9"><model name="part">{inside}</model></sdf>')
    source = folder / "in.sdf"
    source.write_text(
        f'<sdf version="1.9"><world name="w">{INCLUDE.format("part", "p", 0)}{INCLUDE.format("part", "q", 1)}</world></sdf>'
    )
    scene = exoskel.load(source)
    model = scene.world.models[1]
    model.bodies = [one for one in model.bodies if one.name == "b"]
    model.joints = [one for one in model.joints if one.child.name == "b"]
    report = exoskel.convert(scene, folder / "out.sdf", to="sdf")
    root = etree.parse(folder / "out.sdf").getroot()
    assert len(root.findall(".//sensor")) == 1
    found = next(one for one in report.items if one.path.endswith("sensor[s]"))
    assert found.loss and "in part" in found.why


def test_renamed_links_and_edited_materials_are_followed(folder: Path) -> None:
    source = folder / "in.sdf"
    source.write_text(f'<sdf version="1.9"><world name="w">{INCLUDE.format("drone", "d", 0)}</world></sdf>')
    scene = exoskel.load(source)
    scene.world.models[0].body("rotor").name = "blade"
    exoskel.convert(scene, folder / "out.sdf", to="sdf")
    assert texts(etree.parse(folder / "out.sdf").getroot(), ".//plugin/link_name") == ["blade"]


def test_other_formats_report_them_as_dropped(folder: Path) -> None:
    source = folder / "in.sdf"
    source.write_text(f'<sdf version="1.9"><world name="w">{INCLUDE.format("drone", "d", 0)}</world></sdf>')
    report = exoskel.convert(source, folder / "out.xml", to="mjcf")
    assert "[drone]/plugin[Motor]" in losses(report)


def sensors(noise: str = "") -> str:
    gaussian = "<noise type='gaussian'><stddev>0.1</stddev></noise>"
    gyro = f"<imu><angular_velocity>{''.join(f'<{a}>{gaussian}</{a}>' for a in 'xyz')}</angular_velocity></imu>"
    return f"""<sensor name="imu" type="imu"><update_rate>200</update_rate><topic>imu</topic>{gyro}</sensor>
      <sensor name="eye" type="camera"><update_rate>30</update_rate><camera><horizontal_fov>1.2</horizontal_fov>
        <image><width>64</width><height>48</height></image></camera></sensor>
      <light name="lamp" type="point"><attenuation><range>7</range></attenuation></light>
      <visual name="v"><geometry><sphere><radius>1</radius></sphere></geometry><material><pbr><metal>
        <roughness>0.3</roughness><normal_map>n.png</normal_map></metal></pbr></material></visual>
      <collision name="c"><geometry><sphere><radius>1</radius></sphere></geometry><max_contacts>7</max_contacts>
      </collision>{noise}"""


def robot(folder: Path, *included: str) -> exoskel.Scene:
    if not (folder / "models" / "robot").exists():
        add_model(folder, "robot", f'<sdf version="1.9"><model name="robot">{link("a", sensors())}</model></sdf>')
    source = folder / "in.sdf"
    includes = "".join(INCLUDE.format("robot", name, n) for n, name in enumerate(included))
    source.write_text(f'<sdf version="1.9"><world name="w">{includes}</world></sdf>')
    return exoskel.load(source)


def test_sensors_and_materials_of_the_scene_keep_their_other_settings(folder: Path) -> None:
    report = exoskel.convert(robot(folder, "r", "s"), folder / "out.sdf", to="sdf")
    assert report.certificate.passed
    root = etree.parse(folder / "out.sdf").getroot()
    for model in root.iter("model"):
        assert texts(model, ".//update_rate") == ["200", "30"]
        assert names(model, "link/sensor") == ["imu", "eye"]
        assert (names(model, "link/light"), texts(model, ".//light//range")) == (["lamp"], ["7"])
        assert texts(model, ".//normal_map") == ["models/robot/n.png"]
        assert (texts(model, ".//roughness"), texts(model, ".//max_contacts")) == (["0.3"], ["7"])
    assert losses(report) == set()
    again = exoskel.load(folder / "out.sdf").world
    assert [one.name for one in again.sensors] == [one.name for one in robot(folder, "r", "s").world.sensors]


def test_edited_sensors_and_materials_are_written_as_they_are_in_the_scene(folder: Path) -> None:
    scene = robot(folder, "r", "s")
    first, second = scene.world.models
    first.bodies[0].markers[0].offset = (0.0, 0.0, 5.0)
    second.bodies[0].visuals[0].material = None
    scene.world.cameras[0] = exoskel.SceneCamera(scene.world.cameras[0].name, body="r/a", field_of_view=10.0)
    report = exoskel.convert(scene, folder / "out.sdf", to="sdf")
    root = etree.parse(folder / "out.sdf").getroot()
    assert sorted(texts(root, ".//update_rate")) == ["200", "200", "30", "30"]
    assert texts(root, ".//normal_map") == []
    assert texts(root, ".//sensor[@type='imu']/pose") == ["0 0 5 0 0 0", "0 0 0 0 0 0"]
    assert texts(root, ".//roughness") == ["0.3"]
    assert not {"[robot]/link[a]/sensor[imu]/update_rate", "[robot]/link[a]/sensor[eye]/update_rate"} & losses(report)


def test_each_file_of_a_folder_has_the_elements_of_its_models(folder: Path) -> None:
    report = exoskel.convert(robot(folder, "r", "s"), folder / "out", to="sdf", split=True)
    for name in ("r", "s"):
        root = etree.parse(folder / "out" / f"{name}.sdf").getroot()
        assert texts(root, ".//update_rate") == ["200", "30"]
        assert texts(root, ".//normal_map") == ["../models/robot/n.png"]
    assert losses(report) == {"world[w]/@name"}


def test_a_file_that_is_also_nested_reports_what_only_one_model_keeps(folder: Path) -> None:
    inside = f"{link('a')}<allow_auto_disable>false</allow_auto_disable>"
    add_model(folder, "part", f'<sdf version="1.9"><model name="part">{inside}</model></sdf>')
    nested = INCLUDE.format("part", "inner", 0)
    report, root = convert(folder, f'{INCLUDE.format("part", "d", 0)}<model name="m">{nested}</model>')
    assert names(root, ".//allow_auto_disable/..") == ["d"]
    found = next(one for one in report.items if one.path.endswith("allow_auto_disable"))
    assert found.loss and "in part" in found.why


def test_lost_sensors_of_included_files_are_reported(folder: Path) -> None:
    report = exoskel.convert(robot(folder, "r"), folder / "out.urdf", to="urdf")
    assert "[robot]/link[a]/sensor[imu]" in losses(report)
    assert next(one for one in report.items if one.path.endswith("sensor[eye]")).fate is Fate.DROPPED


def test_parameters_of_plugins_in_nested_models_follow_names(folder: Path) -> None:
    plugin = '<plugin filename="f" name="P"><left_joint>j</left_joint><bodyName>b</bodyName><topic>j</topic></plugin>'
    joint = '<joint name="j" type="fixed"><parent>a</parent><child>b</child></joint>'
    sensor = f"<sensor name='s' type='custom'>{plugin}</sensor>"
    inside = link("a", sensor) + link("b") + joint
    add_model(folder, "part", f'<sdf version="1.9"><model name="part">{inside}</model></sdf>')
    _, root = convert(folder, f'<model name="m">{INCLUDE.format("part", "p", 0)}</model>')
    found = [texts(root, f".//plugin/{tag}") for tag in ("left_joint", "bodyName", "topic")]
    assert found == [["p__j"], ["p__b"], ["j"]]


def test_settings_of_nested_models_are_reported(folder: Path) -> None:
    inside = f"{link('a')}<allow_auto_disable>false</allow_auto_disable>"
    add_model(folder, "part", f'<sdf version="1.9"><model name="part">{inside}</model></sdf>')
    report, root = convert(folder, f'<model name="m">{INCLUDE.format("part", "p", 0)}</model>')
    assert texts(root, ".//allow_auto_disable") == []
    assert losses(report) == {"[part]/allow_auto_disable"}


def test_an_edited_sensor_of_a_merged_scene_is_not_replaced(folder: Path) -> None:
    scene = exoskel.merge(robot(folder, "r"), robot(folder, "s"))
    scene.world.model("s").bodies[0].markers[0].offset = (0.0, 0.0, 5.0)
    report = exoskel.convert(scene, folder / "out.sdf", to="sdf")
    root = etree.parse(folder / "out.sdf").getroot()
    assert texts(root, ".//model[@name='r']//update_rate") == ["200", "30"]
    assert texts(root, ".//model[@name='s']//sensor[@type='imu']/pose") == ["0 0 5 0 0 0"]
    assert len(root.findall(".//light")) == 2
    assert "[robot]/link[a]/sensor[imu]/update_rate" in losses(report)


@pytest.mark.parametrize("is_included", [True, False])
def test_sensors_that_were_aligned_to_the_world_are_not_copied_into_a_rotated_world(
    folder: Path, is_included: bool
) -> None:
    robot(folder, "r")
    if not is_included:
        (folder / "in.sdf").write_bytes((folder / "models" / "robot" / "model.sdf").read_bytes())
    report = exoskel.convert(folder / "in.sdf", folder / "out.sdf", to="sdf", up="y")
    assert report.certificate.passed
    root = etree.parse(folder / "out.sdf").getroot()
    assert texts(root, ".//update_rate") == ["200", "30"]  # which has the same meaning
    assert texts(root, ".//sensor[@type='imu']/imu/orientation_reference_frame/localization") == ["CUSTOM"]


INCLUDE_WITH_PLUGIN = """<include><!-- why --><uri>model://drone</uri><name>{0}</name>
  <plugin filename="f" name="Extra{0}"><joint_name>spin</joint_name></plugin></include>"""


def test_plugins_of_an_include_are_those_of_its_model(folder: Path) -> None:
    report, root = convert(folder, "".join(map(INCLUDE_WITH_PLUGIN.format, "ab")))
    for name in "ab":
        model = f".//model[@name='{name}']"
        assert names(root, f"{model}/plugin") == [f"Extra{name}", "Motor"]
        assert texts(root, f"{model}/plugin/joint_name") == ["spin", "spin"]
    assert losses(report) == set()
    assert {one.fate for one in report.items if one.path.endswith("plugin[Extraa]")} == {Fate.KEPT}


def test_each_file_has_the_plugins_of_its_include(folder: Path) -> None:
    source = folder / "in.sdf"
    includes = "".join(map(INCLUDE_WITH_PLUGIN.format, "ab"))
    source.write_text(f'<sdf version="1.9"><world name="w">{includes}</world></sdf>')
    report = exoskel.convert(source, folder / "out", to="sdf", split=True)
    for name in "ab":
        root = etree.parse(folder / "out" / f"{name}.sdf").getroot()
        assert names(root, "model/plugin") == [f"Extra{name}", "Motor"]
    assert losses(report) == {"world[w]/@name"}


@pytest.mark.parametrize("to", ["sdf", "mjcf"])
def test_an_included_file_without_links_is_not_lost_silently(folder: Path, to: str) -> None:
    plugin = '<plugin filename="f" name="P"/>'
    add_model(folder, "tool", f'<sdf version="1.9"><model name="tool">{plugin}</model></sdf>')
    source = folder / "in.sdf"
    include = "<include><uri>model://tool</uri></include>"
    source.write_text(f'<sdf version="1.9"><model name="m">{link("a")}{include}</model></sdf>')
    report = exoskel.convert(source, folder / f"out.{to}", to=to)
    (found,) = [one for one in report.items if one.path.endswith("plugin[P]")]
    assert found.fate is (Fate.APPROXIMATED if to == "sdf" else Fate.DROPPED) and found.loss
    assert (plugin in (folder / f"out.{to}").read_text()) is (to == "sdf")


# --- namespaces and comments ------------------------------------------------------------------------------

PREFIXED = """<sdf version="1.9" xmlns:gz="http://example.com/gz"><model name="box"><link name="l"/>
  <plugin filename="a" name="A"><gz:topic gz:kind="x">t</gz:topic><link_name>l</link_name></plugin></model></sdf>"""


@pytest.mark.parametrize("is_nested", [False, True])
def test_plugins_with_namespaces_are_copied(tmp_path: Path, is_nested: bool) -> None:
    add_model(tmp_path, "box", PREFIXED)
    include = INCLUDE.format("box", "b", 1)
    report, root = convert(tmp_path, f'<model name="m">{link("own")}{include}</model>' if is_nested else include)
    (plugin,) = root.iter("plugin")
    (topic,) = plugin.iterfind("{http://example.com/gz}topic")
    assert (topic.text, topic.get("{http://example.com/gz}kind")) == ("t", "x")
    assert texts(root, ".//plugin/link_name") == ["b__l" if is_nested else "l"]
    assert losses(report) == set()


def test_plugins_with_namespaces_of_the_document_are_copied(tmp_path: Path) -> None:
    plugin = '<plugin filename="a" name="A"><gz:topic xmlns:gz="http://example.com/gz">t</gz:topic></plugin>'
    _, root = convert(tmp_path, f'<model name="m">{link("own")}{plugin}</model>')
    assert texts(root, ".//plugin/{http://example.com/gz}topic") == ["t"]


def test_a_namespace_without_a_prefix_is_written_again(tmp_path: Path) -> None:
    plugin = '<plugin filename="a" name="A"><topic xmlns="http://example.com/gz"><of a="b"/>t</topic></plugin>'
    report, root = convert(tmp_path, f'<model name="m">{link("own")}{plugin}</model>')
    (topic,) = root.iterfind(".//plugin/{http://example.com/gz}topic")
    (inner,) = topic
    assert (inner.tag, inner.get("a"), inner.tail) == ("{http://example.com/gz}of", "b", "t")
    assert losses(report) == set()


def comments_before(root: etree._Element, path: str) -> list[str]:
    """The comments before an element, the nearest one first."""
    found = root.find(path)
    assert found is not None
    return [str(one.text).strip() for one in found.itersiblings(etree.Comment, preceding=True)]


def test_comments_at_includes_stay_at_what_they_include(folder: Path) -> None:
    first, second = (INCLUDE.format("drone", name, 1) for name in ("d1", "d2"))
    inside = second.replace("<uri>", "<!-- second --><uri>")
    _, root = convert(folder, f"<!-- first -->{first}{inside}")
    assert comments_before(root, "world/model[@name='d1']") == ["first"]
    assert comments_before(root, "world/model[@name='d2']")[:1] == ["second"]


def test_comments_at_nested_includes_stay_at_their_links(folder: Path) -> None:
    include = INCLUDE.format("drone", "d", 1).replace("<uri>", "<!-- nested --><uri>")
    _, root = convert(folder, f'<model name="m">{link("own")}{include}</model>')
    assert comments_before(root, "world/model/link[@name='d__base']") == ["a comment", "nested"]


COMMENTED = f"""<!-- licence -->
<sdf version="1.9"><!-- the model -->
  <model name="lamp"><!-- before the foot -->
    {link("foot")}
    <!-- before the head -->
    {link("head")}
    <joint name="neck" type="revolute"><!-- inside the joint --><parent>foot</parent><child>head</child>
      <axis><xyz>0 0 1</xyz></axis></joint>
    <plugin filename="a" name="A"><!-- inside the plugin --></plugin>
    <!-- last in the model -->
  </model><!-- after the model -->
</sdf>
<!-- end of file -->"""
AT_MODEL = ["the model", "licence"]


@pytest.fixture
def commented(tmp_path: Path) -> Path:
    add_model(tmp_path, "lamp", COMMENTED)
    return tmp_path


def comments_in(root: etree._Element, path: str) -> list[str]:
    found = root.find(path)
    assert found is not None
    return [str(one.text).strip() for one in found.iter(etree.Comment)]


def comment_fates(report: exoskel.Report) -> list[Fate]:
    return [one.fate for one in report.items if one.path.startswith("comment")]


def test_comments_of_included_files_are_in_each_model_that_includes_them(commented: Path) -> None:
    report, root = convert(commented, "".join(INCLUDE.format("lamp", name, 1) for name in ("a", "b")))
    for name in ("a", "b"):
        model = f"world/model[@name='{name}']"
        assert comments_before(root, model)[:2] == AT_MODEL
        assert comments_before(root, f"{model}/link[@name='foot']")[:1] == ["before the foot"]
        assert comments_before(root, f"{model}/link[@name='head']")[:1] == ["before the head"]
        assert comments_in(root, f"{model}/plugin") == ["inside the plugin"]
        assert comments_in(root, model).count("last in the model") == 1
        assert comments_in(root, model).count("inside the joint") == 1
    assert comment_fates(report) == [Fate.KEPT] * 9


def test_comments_of_a_file_that_a_model_includes_are_at_its_links(commented: Path) -> None:
    report, root = convert(commented, f'<model name="m">{link("own")}{INCLUDE.format("lamp", "l", 1)}</model>')
    assert comments_before(root, "world/model/link[@name='l__head']")[:1] == ["before the head"]
    assert comments_before(root, "world/model/link[@name='l__foot']")[:3] == ["before the foot", *AT_MODEL]
    assert comment_fates(report) == [Fate.KEPT] * 9


@pytest.mark.parametrize("to", ["skel", "xode", "mjcf", "urdf"])
def test_other_formats_get_comments_of_included_files(commented: Path, to: str) -> None:
    source = commented / "in.sdf"
    source.write_text(f'<sdf version="1.9"><world name="w">{INCLUDE.format("lamp", "a", 1)}</world></sdf>')
    report = exoskel.convert(source, commented / f"out.{to}", to=to)
    text = (commented / f"out.{to}").read_text()
    for comment in (*AT_MODEL, "before the foot", "before the head", "last in the model", "end of file"):
        assert text.count(f"<!-- {comment} -->") == 1
    assert comment_fates(report) == [Fate.KEPT] * 9


def test_a_part_has_only_comments_of_its_own_models(commented: Path) -> None:
    add_model(commented, "other", '<sdf version="1.9"><!-- other --><model name="o"><link name="l"/></model></sdf>')
    source = commented / "in.sdf"
    inside = INCLUDE.format("lamp", "a", 1) + INCLUDE.format("other", "o", 1)
    source.write_text(f'<sdf version="1.9"><world name="w">{inside}</world></sdf>')
    exoskel.convert(source, commented / "out.sdf", model="a")
    text = (commented / "out.sdf").read_text()
    assert "before the head" in text and "other" not in text
