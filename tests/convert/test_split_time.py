"""One file per model takes time proportional to the models, also with elements that a scene does not contain."""

from __future__ import annotations

import sys
from pathlib import Path

import exoskel

MODEL = """<model name="m{0}"><frame name="mount" attached_to="l"><pose>0 0 1 0 0 0</pose></frame>
<link name="l"><inertial><mass>1</mass></inertial>
<sensor name="s" type="navsat"><pose relative_to="mount"/><update_rate>1</update_rate></sensor>
<visual name="v"><geometry><sphere><radius>1</radius></sphere></geometry><cast_shadows>false</cast_shadows></visual>
</link><plugin filename="f" name="p"><link_name>l</link_name></plugin><!-- comment --></model>"""


def calls_of_split(models: int, folder: Path) -> int:
    """The number of function calls that a conversion takes, and of the elements of files that it parses."""
    text = "".join(MODEL.format(number) for number in range(models))
    (folder / f"{models}.sdf").write_text(f'<sdf version="1.9"><world name="w">{text}</world></sdf>')
    count = 0

    def count_calls(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(count_calls)
    try:
        report = exoskel.convert(folder / f"{models}.sdf", folder / str(models), to="sdf", split=True)
    finally:
        sys.setprofile(None)
    assert report.certificate.passed and len(list((folder / str(models)).iterdir())) == models
    lost = {item.path for item in report.losses}
    assert lost == {"world[w]/@name"}, "what is carried is not reported as dropped"
    return count


def test_the_calls_grow_with_the_models(tmp_path: Path) -> None:
    calls_of_split(2, tmp_path)  # imports
    few, many, most = (calls_of_split(number, tmp_path) for number in (10, 50, 90))
    assert (most - many) / (many - few) < 1.02, "the same 40 models more"
