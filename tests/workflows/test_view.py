"""`musculo view`: files in, one page out."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path
from urllib.parse import unquote, urlparse

from musculo import Table, demo, read_storage, write_storage
from musculo.demo import ARM_FILE, ARM_FLEXION_FILE
from musculo.dynamics.poses import kinematics
from musculo.io import write_trc
from musculo.results.markers import Markers


def test_view_writes_a_page_of_all_that_it_is_given(shell, tmp_path):
    model, motion = demo.arm(), read_storage(ARM_FLEXION_FILE)
    active, trc, page = tmp_path / "a.sto", tmp_path / "m.trc", tmp_path / "arm.html"
    write_storage(Table([0.0, 1.0], model.muscle_names, [[0.1] * 6, [0.9] * 6]), active)
    positions = kinematics(model, motion.coordinates(model)).markers()
    write_trc(Markers(motion.time, model.marker_names, positions), trc)
    status, out, err = shell(
        "view", ARM_FILE, ARM_FLEXION_FILE, "--activation", active, "--markers", trc, "-o", page, "--no-open"
    )
    assert (status, err) == (0, "")
    assert out == f"wrote {page}\n"
    text = page.read_text(encoding="utf-8")
    assert '"activation":{' in text
    assert '"measured":{' in text


def test_view_opens_a_page_of_the_temporary_folder(shell, monkeypatch):
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) or True)
    status, out, _ = shell("view", ARM_FILE)
    assert status == 0
    (url,) = opened
    file = Path(unquote(urlparse(url).path))
    assert out == f"wrote {file}\n"
    assert file.name == "arm.html"
    file.unlink()
    file.parent.rmdir()


def test_view_says_what_is_wrong(shell, tmp_path):
    status, _, err = shell("view", ARM_FILE, "--geometry", tmp_path / "none", "--no-open")
    assert status == 1
    assert "no folder" in err
    status, _, err = shell("view", ARM_FILE, tmp_path / "none.mot", "--no-open")
    assert status == 1
    assert "no file" in err


def test_view_is_quiet_or_speaks_json(shell, tmp_path):
    page = tmp_path / "arm.html"
    assert shell("view", ARM_FILE, "-o", page, "--no-open", "--quiet") == (0, "", "")
    assert page.is_file()
    status, out, err = shell("view", ARM_FILE, "-o", page, "--no-open", "--json")
    assert (status, err) == (0, "")
    assert json.loads(out) == {"page": str(page), "model": "arm", "notes": []}
