"""A real browser that looks at the pages: Debian's Chromium, driven by Playwright."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headway.errors import HeadwayError

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-default-apps",
)  # fmt: skip


@contextmanager
def page_at(address: str) -> Iterator[Any]:
    """A page of a laptop's size."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise HeadwayError("no Chromium found: install it (Debian's package is chromium) and put it on PATH")
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        raise HeadwayError("playwright is missing: pip install 'headway[dev]' brings it") from None
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        try:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(address)
            yield page
        finally:
            browser.close()
