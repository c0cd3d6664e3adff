"""The validator of the Khronos Group, the authority on glTF, if `make validator` has installed it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tests.support.places import PROJECT

FOLDER = PROJECT / ".venv" / "gltf-validator"
_SCRIPT = """
const validator = require('gltf-validator'), fs = require('fs'), path = require('path');
const folder = path.dirname(process.argv[1]);
const externalResourceFunction = (uri) =>
  fs.promises.readFile(path.resolve(folder, decodeURIComponent(uri))).then((data) => new Uint8Array(data));
validator.validateBytes(new Uint8Array(fs.readFileSync(process.argv[1])), {maxIssues: 20, externalResourceFunction})
  .then(report => console.log(JSON.stringify(report)));
"""


def available() -> bool:
    return shutil.which("node") is not None and (FOLDER / "node_modules").is_dir()


def report(file: Path) -> dict[str, Any]:
    """The report of the validator on a file."""
    done = subprocess.run(
        ["node", "-e", _SCRIPT, str(file)], cwd=FOLDER, capture_output=True, text=True, check=True, timeout=60
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found
