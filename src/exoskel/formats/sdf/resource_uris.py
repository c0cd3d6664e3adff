"""References to files as Gazebo resolves them: models on a server that it has downloaded, and relative file URIs."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

from exoskel.source.file_lookup import uri_scheme

REMOTE = frozenset({"http", "https", "fuel"})
_MODEL = re.compile(r"/[0-9.]+/([^/]+)/models/([^/]+)(?:/(tip|[0-9]+))?(?:/files)?(?:/(.*))?")
"""The path of a model on a server: the version of its interface, owner, name, version and file."""
_FOLDERS = (("GZ_FUEL_CACHE_PATH", "~/.gz/fuel"), ("IGN_FUEL_CACHE_PATH", "~/.ignition/fuel"))
"""Where Gazebo keeps what it has downloaded: a variable, and the folder if it is not set."""
_FILE = "file://"


def is_remote(uri: str) -> bool:
    return uri_scheme(uri).lower() in REMOTE


def local_reference(uri: str, *, confine: bool) -> str:
    """A reference to the same file without a network, and without a scheme before a relative path."""
    text = uri.strip()
    if is_remote(text):
        found = None if confine else _downloaded(text)
        return uri if found is None else os.fspath(found)
    is_relative = text.startswith(_FILE) and not text.startswith((f"{_FILE}/", f"{_FILE}localhost/"))
    return text.removeprefix(_FILE) if is_relative else uri


def _downloaded(uri: str) -> Path | None:
    """The folder or file that Gazebo has downloaded from a URI; None if it has not."""
    server, slash, path = uri.partition("://")[2].partition("/")
    found = _MODEL.fullmatch(f"{slash}{path}".rstrip("/"))
    if found is None:
        return None
    owner, name, version, file = (unquote(part or "") for part in found.groups())
    parts = (server, owner, name, *file.split("/"))
    if any(part == ".." or "\0" in part for part in parts):
        return None
    for variable, home in _FOLDERS:
        folder = Path(os.environ.get(variable) or os.path.expanduser(home))
        model = folder / server.lower() / owner.lower() / "models" / name.lower()
        chosen = _version(model, version)
        if chosen is not None and (chosen / file).exists():
            return chosen / file
    return None


def _version(model: Path, version: str) -> Path | None:
    """The folder of a version of a model, or of its newest one."""
    try:
        known = sorted((int(one.name), one) for one in model.iterdir() if one.name.isdecimal())
    except OSError:
        return None
    chosen = [folder for number, folder in known if version in ("", "tip", str(number))]
    return chosen[-1] if chosen else None
