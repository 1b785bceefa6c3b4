"""A seeded handful of random edits through OpenSim and musculo; `tests/fuzz/edits.py` makes thousands of them.

Every edit of a valid model or set-up is equal within tolerance, refused by both, or explained by a note or an error of
ours. Nothing differs in silence.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("opensim")

from fuzz import edits
from musculo.demo import ARM_FILE, MODEL_FILE
from support import edited_models, edited_setups
from support.recorded_data import NO_DATA, recorded

# Edits of these classes once differed without a word.
ONCE_SILENT = {
    "leg.osim": (1429,),  # a function without coefficients
    "arm.osim": (1323, 5310, 20472),  # controls below the least activation; a wrap under another tag
}
SMALL = recorded("small_models/*.osim", "tug_of_war/*.osim")


def _silent(rows) -> list[str]:
    rows = list(rows)
    assert rows
    return [f"{file.name} {seed}: {edit}: {verdict}" for file, seed, edit, verdict in rows if verdict.silent]


@pytest.mark.parametrize("file", [ARM_FILE, MODEL_FILE], ids=lambda file: Path(file).name)
def test_no_edit_of_a_model_differs_in_silence(file):
    assert _silent(edits.models(range(900, 930), [Path(file)])) == []
    for seed in ONCE_SILENT[Path(file).name]:
        assert _silent(edits.models(range(seed, seed + 1), [Path(file)])) == []


@pytest.mark.skipif(not SMALL, reason=NO_DATA)
def test_no_edit_of_a_recorded_model_differs_in_silence():
    assert _silent(edits.models(range(40), SMALL)) == []


@pytest.mark.parametrize("name", edited_setups.SETUPS)
def test_no_edit_of_a_setup_differs_in_silence(name):
    assert _silent(edits.setups(range(8), [name])) == []


@pytest.mark.parametrize("seed", [200073, 700461], ids=["no iterations", "a power of 20"])
def test_where_opensim_stops_short_is_told(seed):
    assert _silent(edits.setups(range(seed, seed + 1), ["so"])) == []


def test_a_difference_is_seen(tmp_path):
    """The judge itself: a file that differs, and says nothing of it, is found out."""
    server = edits.the_server("edited_models", edits.PATIENCE)
    known, expected = edits.before_edits(server, Path(ARM_FILE))
    answer = server.ask("facts", str(ARM_FILE), 1)
    other = tmp_path / "arm.osim"
    text = Path(ARM_FILE).read_text()
    other.write_text(text.replace("<mass>", "<mass>1", 1))
    assert edited_models.judge(Path(ARM_FILE), known, answer, expected).kind == "equal"
    assert edited_models.judge(other, known, answer, expected).kind == "SILENT: differs"
