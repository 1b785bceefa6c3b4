"""The library that draws a report's plots is compressed once, and a damaged copy of it is no copy."""

from __future__ import annotations

import base64
import gzip

import pytest
from plotly.offline import get_plotlyjs

from musculo.report import report_page as page


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "folder_of", lambda name: tmp_path / name)
    return tmp_path / "report"


def test_it_is_kept_and_read_again(folder, monkeypatch):
    first = page._plots_library()
    assert gzip.decompress(base64.b64decode(first)).decode() == get_plotlyjs()
    monkeypatch.setattr(page, "_zipped", lambda _: pytest.fail("it is compressed again"))
    assert page._plots_library() == first


@pytest.mark.parametrize(
    "damage", [lambda text: text[: len(text) // 2], lambda text: text.replace("A", "B"), lambda _: "é"]
)
def test_a_damaged_copy_is_made_again(folder, damage):
    first = page._plots_library()
    (file,) = folder.iterdir()
    file.write_text(damage(file.read_text(encoding="utf-8")), encoding="utf-8")
    assert page._plots_library() == first
    assert page._kept(file) == first


def test_where_nothing_can_be_written_the_page_is_the_same(tmp_path, folder):
    folder.write_text("a file where the folder would be", encoding="utf-8")
    assert gzip.decompress(base64.b64decode(page._plots_library())).decode() == get_plotlyjs()
