"""Reads and writes scenes in a process with the locale of its environment, and prints JSON to compare locales.

Programs with windows and plots set the locale for all of C, where 0.5 may be spelled 0,5.
"""

from __future__ import annotations

import hashlib
import json
import locale
import sys
from pathlib import Path
from typing import Any

import exoskel
from exoskel.cli.main import main
from exoskel.engines.registry import ENGINES
from exoskel.formats.write import write

FORMATS = ("skel", "xode", "urdf", "sdf", "mjcf")
SCENES = ("dart://sample/skel/robot_arm.skel", "dart://sample/skel/double_pendulum.skel")


def work(folder: Path) -> dict[str, Any]:
    """Everything that reads or writes numbers: readers, writers, engines, tables, and the command line."""
    found: dict[str, Any] = {}
    for source in SCENES:
        scene = exoskel.load(source)
        del scene.world.models[:-1]  # URDF has one model
        for format in FORMATS:
            data = write(scene, format, folder=folder).data
            again = exoskel.load(data, format=format, base=folder)
            found[f"{source} as {format}"] = hashlib.sha256(data).hexdigest()
            found[f"{source} from {format}"] = [again.world.mass, *(d.key for d in again.diagnostics)]
    for name in ("mujoco", "dart", "ode"):
        if ENGINES[name].version is not None:
            motion = exoskel.run(exoskel.load(SCENES[1]), 0.1, engine=name)
            found[f"run on {name}"] = motion.positions.tolist()
    motion.save(folder / "motion.csv")
    found["table"] = (folder / "motion.csv").read_text().splitlines()[1]
    (folder / "scene.skel").write_bytes(exoskel.load(SCENES[0]).documents[0].data)
    file, out = str(folder / "scene.skel"), folder / "scene.xode"
    for arguments in (["check", file], ["fmt", "--numbers", file], ["convert", file, str(out)]):
        found[arguments[0]] = main(arguments)
    found["laid out"] = (folder / "scene.skel").read_text()
    found["converted"] = out.read_text()
    return found


if __name__ == "__main__":
    locale.setlocale(locale.LC_ALL, "")
    folder = Path(sys.argv[1])
    result = {"point": locale.localeconv()["decimal_point"], **work(folder)}
    (folder / "result.json").write_text(json.dumps(result))
