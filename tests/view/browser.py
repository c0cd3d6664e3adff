"""A real browser without a window, for looking at pages as people do."""

from __future__ import annotations

import base64
import io
import shutil
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 900, 640
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
MISSING = "Chromium and its driver are not installed (Debian: apt-get install chromium chromium-driver)"
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    f"--window-size={WIDTH},{HEIGHT}",
)
# viser warns of rendering without a GPU, which is meant here; all else that it has to say is left alone.
_UNNOTICED = """
const ask = WebGL2RenderingContext.prototype.getExtension;
WebGL2RenderingContext.prototype.getExtension = function (name) {
  return name === "WEBGL_debug_renderer_info" ? null : ask.call(this, name);
};
"""
_CANVAS = """
const all = [...document.querySelectorAll("canvas")];
all.sort((a, b) => b.width * b.height - a.width * a.height);
const canvas = all[0];
"""
Pixels = NDArray[np.uint8]


class Browser:
    """One page at a time."""

    def __init__(self) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM or ""
        for flag in _FLAGS:
            options.add_argument(flag)
        self.driver = webdriver.Chrome(service=Service(DRIVER), options=options)
        # Without a GPU, on a machine that does other things too, a picture takes its time.
        self.driver.set_script_timeout(300)
        self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _UNNOTICED})

    def open(self, url: str) -> None:
        """Load a page, and wait until its picture stands: it fades in, slowly without a GPU."""
        self.driver.get(url)
        self.wait(lambda: self.nodes() and self.script(_CANVAS + "return canvas && canvas.width > 300"), 120)
        self.settle()

    def script(self, text: str, *arguments: Any) -> Any:
        return self.driver.execute_script(text, *arguments)

    def wait(self, holds: Callable[[], Any], seconds: float = 90.0) -> Any:
        """Wait until something holds; an assertion fails if it never does."""
        end = time.monotonic() + seconds
        while not (found := holds()):
            assert time.monotonic() < end, "what was waited for did not happen"
            time.sleep(0.1)
        return found

    def settle(self, seconds: float = 120.0) -> Pixels:
        """Wait until two pictures in a row are the same."""
        end = time.monotonic() + seconds
        before = self.pixels()
        while time.monotonic() < end:
            time.sleep(0.7)
            now = self.pixels()
            if now.shape == before.shape and np.abs(now.astype(int) - before).max() <= 2 and np.ptp(now) > 0:
                return now
            before = now
        raise AssertionError("the picture never stood still")

    def pixels(self) -> Pixels:
        """The picture, `(height, width, 3)`, as it is seen: over white, with the page's own fading."""
        from PIL import Image

        found = self.script(
            _CANVAS
            + "if (!canvas || canvas.width < 2) return null;"
            + "return [canvas.toDataURL('image/png'), Number(canvas.style.opacity || 1)]"
        )
        if found is None:
            return np.zeros((1, 1, 3), dtype=np.uint8)
        data, opacity = found
        image = Image.open(io.BytesIO(base64.b64decode(data.split(",")[1]))).convert("RGBA")
        seen = np.asarray(image, dtype=float)
        alpha = seen[..., 3:] / 255.0 * float(opacity)
        return np.round(seen[..., :3] * alpha + 255.0 * (1.0 - alpha)).astype(np.uint8)

    def screenshot(self) -> Pixels:
        """The whole page, background and panels included."""
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(self.driver.get_screenshot_as_png())).convert("RGB"))

    def nodes(self) -> dict[str, Any]:
        """The names of what stands in the scene."""
        return self.script("return window.__viserSceneTree ? Object.keys(window.__viserSceneTree.getState()) : null")  # type: ignore[no-any-return]

    def place(self, node: str, copy: int = 0) -> list[float]:
        """Where the page has one copy of a batched mesh."""
        return self.script(  # type: ignore[no-any-return]
            "const node = window.__viserSceneTree.getState()[arguments[0]];"
            "return node ? [...node.message.props.batched_positions].slice(3 * arguments[1], 3 * arguments[1] + 3) : null",
            node,
            copy,
        )

    def text(self, id: str) -> str:
        """What an element of the panel says, or nothing if it is not there."""
        return str(self.script("return document.getElementById(arguments[0])?.innerText ?? ''", id))

    def press(self, label: str) -> None:
        """Click on the button or tab that is called so."""
        from selenium.webdriver.common.action_chains import ActionChains

        found = self.wait(
            lambda: self.script(
                "return [...document.querySelectorAll('button, label, [role=tab]')]"
                ".find(one => one.innerText.trim() === arguments[0] && one.offsetParent)",
                label,
            )
        )
        ActionChains(self.driver).move_to_element(found).click().perform()

    def canvas(self) -> Any:
        return self.script(_CANVAS + "return canvas")

    def close(self) -> None:
        self.driver.quit()
