"""A real browser for tests: Debian's Chromium, driven by Playwright. Where there is none, its tests are left out."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-default-apps",
]  # fmt: skip


@contextmanager
def chromium() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def looking(browser: Any, address: str, **context: Any) -> Iterator[Any]:
    """A page of its own, with what it asked for and what went wrong in it: `asked` and `wrong`."""
    own = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **context})
    page = own.new_page()
    page.asked, page.wrong = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("console", lambda said: page.wrong.append(said.text) if said.type == "error" else None)
    page.goto(address)
    try:
        yield page
    finally:
        own.close()
