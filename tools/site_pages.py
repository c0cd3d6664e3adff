"""Pages of the site that are not files of `docs`: the start page, the gallery, and the project's own pages.

MkDocs calls these functions (`hooks` in mkdocs.yml).  A sample of the gallery is a picture, and a page that plays its
motion without a server.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import exoskel
from exoskel.samples import samples

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

PROJECT = Path(__file__).resolve().parent.parent
GALLERY = (
    "skel/trebuchet.skel",
    "skel/robot_arm.skel",
    "skel/soft_bodies.skel",
    "skel/walker.skel",
    "xode/ragdoll.xode",
    "xode/hinge2_car.xode",
)
"""Samples that move in an interesting way."""
DURATION = 4.0
"""Seconds of motion."""
OWN_PAGES = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md", "security.md": "SECURITY.md"}
_LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that do not exist in `docs`."""
    from mkdocs.structure.files import File

    pages = {"index.md": _moved("README.md"), **{page: _moved(source) for page, source in OWN_PAGES.items()}}
    for name, content in pages.items():
        files.append(File.generated(config, name, content=content))
    for name, data in _gallery().items():
        files.append(File.generated(config, name, content=data))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replace links to files that are not part of the site by their names."""
    folder = Path(page.file.src_uri).parent

    def replaced(match: re.Match[str]) -> str:
        label, target = match[1], match[2].partition("#")[0]
        path = os.path.normpath(folder / target)
        return f"{label} (`{path.removeprefix('../')}` in the repository)" if path.startswith("..") else match[0]

    return re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", replaced, markdown)


def _moved(source: str) -> str:
    """A page of the project's folder, with its links as seen from `docs`."""

    def moved(match: re.Match[str]) -> str:
        target = match[0]
        if target.startswith(("http:", "https:", "#")):
            return target
        if target in OWN_PAGES.values():
            return next(page for page, one in OWN_PAGES.items() if one == target)
        return target.removeprefix("docs/") if target.startswith("docs/") else f"../{target}"

    return _LINK.sub(moved, (PROJECT / source).read_text(encoding="utf-8"))


def _gallery() -> dict[str, str | bytes]:
    """The page of the gallery, its pictures, and the pages that play the motions; cached in `build/gallery`."""
    cache = PROJECT / "build" / "gallery"
    cache.mkdir(parents=True, exist_ok=True)
    made: dict[str, str | bytes] = {}
    titles = {one.uri.removeprefix("dart://sample/"): one.title for one in samples()}
    parts = ["# Gallery\n\nClick on a picture to play the motion. Each page is one file that works without a server.\n"]
    for sample, text in ((one, titles[one]) for one in GALLERY):
        name = sample.partition("/")[2].replace(".", "_")
        uri, picture, page = f"dart://sample/{sample}", cache / f"{name}.png", cache / f"{name}.html"
        if not page.exists():
            scene = exoskel.load(uri)
            exoskel.render(scene, picture, size=(640, 400))
            exoskel.export(scene, page, motion=exoskel.run(scene, DURATION, every=1 / 30))
        made[f"gallery/{name}.png"], made[f"gallery/{name}.html"] = picture.read_bytes(), page.read_bytes()
        parts += [
            f"## {sample}\n\n{text}\n",
            f'<a href="gallery/{name}.html"><img src="gallery/{name}.png" alt="{text}"></a>\n',
            f"```sh\nexoskel view {uri}\n```\n",
        ]
    made["gallery.md"] = "\n".join(parts)
    return made
