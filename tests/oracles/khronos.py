"""The validator of the Khronos Group, the authority on glTF: `npm install gltf-validator` in a folder, and
`EXOSKEL_GLTF_VALIDATOR=that-folder`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

FOLDER = os.environ.get("EXOSKEL_GLTF_VALIDATOR", "")
_SCRIPT = """
const validator = require('gltf-validator'), fs = require('fs'), path = require('path');
const folder = path.dirname(process.argv[1]);
const externalResourceFunction = (uri) =>
  fs.promises.readFile(path.resolve(folder, decodeURIComponent(uri))).then((data) => new Uint8Array(data));
validator.validateBytes(new Uint8Array(fs.readFileSync(process.argv[1])), {maxIssues: 20, externalResourceFunction})
  .then(report => console.log(JSON.stringify(report)));
"""


def available() -> bool:
    return bool(FOLDER) and shutil.which("node") is not None and (Path(FOLDER) / "node_modules").is_dir()


def report(file: Path) -> dict[str, Any]:
    """The report of the validator on a file."""
    done = subprocess.run(
        ["node", "-e", _SCRIPT, str(file)], cwd=FOLDER, capture_output=True, text=True, check=True, timeout=60
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found
