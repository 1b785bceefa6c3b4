"""Readers of damaged files return or raise a `MusculoError`; `tests/fuzz/parsers.py` does the same for hours.

MUSCULO_FUZZ_SECONDS sets the time for all readers together; CI gives a minute.
"""

from __future__ import annotations

import os

import pytest

from fuzz import parsers
from musculo.errors import InvalidFile

SECONDS = float(os.environ.get("MUSCULO_FUZZ_SECONDS", "20"))
READERS = (
    "storage",
    "mot",
    "trc",
    "orientations",
    "c3d",
    "external_loads",
    "netcdf",
    "force_set",
    "setup",
    "osim",
    "vtp",
    "obj",
    "stl",
)
# Models can be damaged in the most places: after ten thousand files they still end in new ways, the others after a
# thousand hardly do.
SHARES = {**dict.fromkeys(READERS, 1.0), "osim": 6.0}


@pytest.mark.parametrize("name", READERS)
def test_damaged_files_end_in_a_musculo_error(name, tmp_path):
    outcomes, failures = parsers.fuzz(name, SECONDS * SHARES[name] / sum(SHARES.values()), tmp_path)
    assert not failures, "\n".join(trace for _, trace, _ in failures)
    # Neither all sound nor all hopeless: the damage reaches what is behind the first checks.
    assert outcomes["read"] > 0
    assert outcomes[InvalidFile.__name__] > 0


@pytest.mark.parametrize("name", READERS)
def test_the_seeds_themselves_are_read(name, tmp_path):
    reader = parsers.readers(tmp_path)[name]
    for extra, content in reader.extra.items():
        (tmp_path / extra).write_bytes(content)
    for seed in reader.seeds:
        file = tmp_path / f"seed{reader.suffix}"
        file.write_bytes(seed)
        assert reader.read(file) is not None


def test_every_reader_of_files_is_damaged(tmp_path):
    assert set(parsers.readers(tmp_path)) == set(READERS)
