"""Takes the pictures in docs/pictures (`make pictures`); needs Chromium, its driver and dartpy."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import exoskel
from exoskel.formats.load import load
from exoskel.samples import samples
from exoskel.view.viewer import Viewer
from tests.view.browser import Browser

OUT = Path(__file__).resolve().parent.parent / "docs" / "pictures"
SIZE = (1280, 760)


def sample(name: str) -> str:
    return next(one.uri for one in samples() if one.name == name)


@contextmanager
def show(browser: Browser, read: Callable[[], Any], **options: Any) -> Iterator[Viewer]:
    viewer = Viewer(read, port=0, **options)
    viewer.start()
    try:
        browser.open(viewer.page.url)
        yield viewer
    finally:
        viewer.close()


def save_screenshot(browser: Browser, name: str) -> None:
    browser.settle()
    browser.driver.save_screenshot(str(OUT / f"{name}.png"))


def take_viewer(browser: Browser) -> None:
    with show(browser, lambda: load(sample("walker"))):
        save_screenshot(browser, "viewer")
    with show(browser, lambda: load(sample("robot_arm")), dark=True) as viewer:
        viewer.submit(lambda: viewer.select(8))
        browser.press("Scene")
        browser.wait(lambda: "mass" in browser.text("exoskel-inspector"))
        save_screenshot(browser, "viewer_dark")


def take_broken_file(browser: Browser) -> None:
    text = next(one.path for one in samples() if one.name == "walker").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "walker.skel"
        file.write_text(text, encoding="utf-8")
        with show(browser, lambda: load(file)):
            file.write_text(text.replace("</inertia>", "</inert>", 1), encoding="utf-8")
            browser.wait(lambda: browser.text("exoskel-errors"))
            save_screenshot(browser, "broken_file")


def take_ghost(browser: Browser) -> None:
    with show(browser, lambda: load(sample("falling_boxes")), comparison=("dart", None)) as viewer:
        viewer.submit(viewer.toggle)
        browser.wait(lambda: viewer.player.time > 0.85)
        viewer.submit(viewer.toggle)
        browser.press("Compare")
        browser.wait(lambda: "largest distance" in browser.text("exoskel-distance"))
        save_screenshot(browser, "ghost")


def main() -> None:
    exoskel.render(load(sample("ferris_wheel")), OUT / "ferris_wheel.png", size=SIZE)
    browser = Browser()
    try:
        size = {"width": SIZE[0], "height": SIZE[1], "deviceScaleFactor": 1, "mobile": False}
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        for take in (take_viewer, take_broken_file, take_ghost):
            take(browser)
    finally:
        browser.close()


if __name__ == "__main__":
    main()
