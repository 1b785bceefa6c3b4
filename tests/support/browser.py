"""A headless Chromium for tests of pages: the system's own, without a network, whose complaints are kept."""

from __future__ import annotations

import os
import shutil
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# WebGL without a graphics card; no sandbox, because CI runs as root in a container.
FLAGS = [
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    "--no-sandbox",
]
PATIENCE = 120_000  # [ms] software rendering on a busy machine


def chromium() -> str:
    """The browser's path; skips the test, with the reason, where there is none."""
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed; pip install '.[test]'")
    for name in (os.environ.get("MUSCULO_CHROMIUM", ""), *NAMES):
        found = shutil.which(name) if name else None
        if found:
            return found
    pytest.skip(f"no browser ({', '.join(NAMES)}) on the PATH; install Debian's chromium, or set MUSCULO_CHROMIUM")


@contextmanager
def browser() -> Iterator[Any]:
    """A browser without windows."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield started
        finally:
            started.close()


class Page:
    """A page of a file, opened with the network off; `complaints` are its errors and what it tried to fetch."""

    def __init__(self, browser: Any, file: Path, width: int = 640, height: int = 480, **context: Any) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": height}, offline=True, **context)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.complaints: list[str] = []
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda r: None if r.url.startswith(("file:", "data:", "blob:")) else self._asked(r.url))
        self.page.goto(file.absolute().as_uri())
        # Keys pressed before the viewer is mounted reach nobody.
        self.page.evaluate("async () => { await window.musculoViewer; }")

    def _asked(self, url: str) -> None:
        self.complaints.append(f"asked for {url}")

    def viewer(self, code: str, argument: Any = None) -> Any:
        """Run code with the mounted viewer as `v` and `x` as the argument; draws before and after."""
        return self.page.evaluate(f"async (x) => {{ const v = await window.musculoViewer; {code} }}", argument)

    def colours(self, x: float, y: float, reach: int = 2) -> np.ndarray:
        """Colours (n, 3) around a pixel of the screen."""
        side = 2 * reach + 1
        clip = {"x": round(x) - reach, "y": round(y) - reach, "width": side, "height": side}
        return png(self.page.screenshot(clip=clip)).reshape(-1, 3)

    def close(self) -> None:
        self.context.close()


def png(content: bytes) -> np.ndarray:
    """Pixels (rows, columns, 3) of an 8-bit PNG without interlacing, as browsers write screenshots."""
    at, data, width, height, channels = 8, b"", 0, 0, 3
    while at < len(content):
        length, kind = struct.unpack(">I4s", content[at : at + 8])
        chunk = content[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", chunk[:10])
            assert depth == 8
            assert chunk[12] == 0
            channels = {2: 3, 6: 4}[colour]
        elif kind == b"IDAT":
            data += chunk
        at += 12 + length
    lines = np.frombuffer(zlib.decompress(data), dtype=np.uint8).reshape(height, 1 + width * channels)
    done = np.zeros((height + 1, width + 1, channels), dtype=int)  # with a black row above and column to the left
    for row in range(height):
        kind, raw = lines[row, 0], lines[row, 1:].reshape(width, channels).astype(int)
        for column in range(width):
            left, above, corner = done[row + 1, column], done[row, column + 1], done[row, column]
            guess = (0, left, above, (left + above) // 2, _paeth(left, above, corner))[kind]
            done[row + 1, column + 1] = (raw[column] + guess) % 256
    return done[1:, 1:, :3]


def _paeth(left: np.ndarray, above: np.ndarray, corner: np.ndarray) -> np.ndarray:
    estimate = left + above - corner
    a, b, c = (np.abs(estimate - x) for x in (left, above, corner))
    return np.where((a <= b) & (a <= c), left, np.where(b <= c, above, corner))
