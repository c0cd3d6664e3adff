"""Details of the page that a new user notices, in a real browser."""

from __future__ import annotations

import pytest

pytest.importorskip("viser", reason="viser is not installed")
pytest.importorskip("selenium", reason="selenium is not installed")

from tests.view.browser import Browser
from tests.view.conftest import Show
from tests.view.documents import RED, falling, world

BOX = world(falling("box", "0 0 1", RED))


def test_the_tab_and_the_panel_show_the_name_of_the_file(browser: Browser, show: Show) -> None:
    viewer, _ = show(BOX, "my box.skel")
    browser.open(viewer.page.url)
    browser.wait(lambda: browser.driver.title == "my box.skel – exoskel")
    assert "my box.skel" in str(browser.script("return document.body.innerText"))
