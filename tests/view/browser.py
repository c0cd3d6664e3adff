"""A headless browser for tests of the page."""

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
# Hide viser's warning about rendering without a GPU; other notifications stay visible.
_HIDE_GPU_WARNING = """
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
# Holds back the events of a click that do not hit an element.
_GUARD = """
const element = arguments[0], kinds = ["pointerdown", "mousedown", "pointerup", "mouseup", "click"];
let is_hit = false;
const check = event => {
  if (!element.contains(event.target)) { event.stopImmediatePropagation(); event.preventDefault(); }
  else if (event.type === "click") end();
  is_hit ||= event.type === "click" && element.contains(event.target);
};
const end = () => { for (const kind of kinds) window.removeEventListener(kind, check, true); return is_hit; };
for (const kind of kinds) window.addEventListener(kind, check, true);
window.exoskelGuard = {end};
"""
Pixels = NDArray[np.uint8]


class Browser:
    """A browser that shows one page at a time."""

    def __init__(self) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM or ""
        for flag in _FLAGS:
            options.add_argument(flag)
        self.driver = webdriver.Chrome(service=Service(DRIVER), options=options)
        # Rendering is slow without a GPU on a busy machine.
        self.driver.set_script_timeout(300)
        self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _HIDE_GPU_WARNING})

    def open(self, url: str) -> None:
        """Load a page and wait until its image is stable: it fades in, slowly without a GPU."""
        self.driver.get(url)
        self.wait(lambda: self.nodes() and self.script(_CANVAS + "return canvas && canvas.width > 300"), 120)
        self.settle()

    def script(self, text: str, *arguments: Any) -> Any:
        return self.driver.execute_script(text, *arguments)

    def wait(self, holds: Callable[[], Any], seconds: float = 90.0) -> Any:
        """Wait until a condition is true; fail after a timeout."""
        end = time.monotonic() + seconds
        while not (found := holds()):
            assert time.monotonic() < end, "what was waited for did not happen"
            time.sleep(0.1)
        return found

    def settle(self, seconds: float = 120.0) -> Pixels:
        """Wait until two images in a row are equal."""
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
        """The image, `(height, width, 3)`, as it is visible: over white, with the page's fading."""
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
        """A screenshot of the whole page with background and panels."""
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(self.driver.get_screenshot_as_png())).convert("RGB"))

    def nodes(self) -> dict[str, Any]:
        """The names of the scene nodes."""
        return self.script("return window.__viserSceneTree ? Object.keys(window.__viserSceneTree.getState()) : null")  # type: ignore[no-any-return]

    def place(self, node: str, copy: int = 0) -> list[float]:
        """The position of one instance of a batched mesh on the page."""
        return self.script(  # type: ignore[no-any-return]
            "const node = window.__viserSceneTree.getState()[arguments[0]];"
            "return node ? [...node.message.props.batched_positions].slice(3 * arguments[1], 3 * arguments[1] + 3) : null",
            node,
            copy,
        )

    def text(self, id: str) -> str:
        """The text of an element of the panel, or an empty string if it does not exist."""
        return str(self.script("return document.getElementById(arguments[0])?.innerText ?? ''", id))

    def press(self, label: str) -> None:
        """Click the button or tab with this label."""
        found = self.wait(
            lambda: self.script(
                "return [...document.querySelectorAll('button, label, [role=tab]')]"
                ".find(one => one.innerText.trim() === arguments[0] && one.offsetParent)",
                label,
            )
        )
        self.click(found)

    def click(self, element: Any) -> None:
        """Click an element until it has received a click.

        On a busy machine the page may move the element between the look at its place and the click.  A click that would
        hit something else is held back and repeated.
        """
        from selenium.webdriver.common.action_chains import ActionChains

        def is_clicked() -> bool:
            self.script(_GUARD, element)
            ActionChains(self.driver).move_to_element(element).click().perform()
            return bool(self.script("return window.exoskelGuard.end()"))

        self.wait(is_clicked)

    def click_canvas(self, x: int, y: int) -> None:
        """Click the scene at a pixel, from the top left of the window."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            event = {
                "type": kind,
                "x": x,
                "y": y,
                "button": "none" if kind == "mouseMoved" else "left",
                "clickCount": 1,
            }
            self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", event)
            time.sleep(0.1)

    def canvas(self) -> Any:
        return self.script(_CANVAS + "return canvas")

    def close(self) -> None:
        self.driver.quit()
