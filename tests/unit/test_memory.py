"""Long recordings: what is held beside the result stays small beside it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

import musculo
from musculo import Markers
from musculo.demo import arm
from musculo.io import text
from musculo.muscle.path_loads import path_wrenches
from musculo.muscle.paths import geometry

FRAMES = 30_000


def peak_of(call: Callable[[], object]) -> tuple[object, int]:
    """A result, and the most memory that it took on the way, the result included [bytes]."""
    tracemalloc.start()
    try:
        result = call()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def poses(frames: int) -> np.ndarray:
    t = np.linspace(0.0, 40.0, frames)
    return np.column_stack([0.4 * np.sin(t), 1.0 + 0.8 * np.cos(1.3 * t)])


@pytest.mark.parametrize("wrapping", ["geodesic", "opensim"])
def test_geometry_of_many_frames_holds_little_but_its_arrays(wrapping):
    """Twice the frames take as much more as the arrays of the result are larger; a tenth is for checks of numbers."""
    model, q = arm(), poses(2 * FRAMES)
    musculo.muscle_geometry(model, q[:8], wrapping=wrapping)  # compiles
    own, peak = [], []
    for frames in (FRAMES, 2 * FRAMES):
        g, most = peak_of(lambda n=frames: musculo.muscle_geometry(model, q[:n], wrapping=wrapping))
        own.append(sum(array.nbytes for array in (g.length, g.moment_arm, g.status, g.penalty)))
        peak.append(most)
    assert np.diff(peak)[0] < 1.1 * np.diff(own)[0]
    assert g.path_points.position.nbytes > own[1]  # which would come on top


@pytest.mark.parametrize("function", [musculo.path_geometry, musculo.path_wrenches])
@pytest.mark.parametrize("wrapping", ["geodesic", "opensim"])
def test_points_that_are_made_when_asked_for_are_the_same(monkeypatch, function, wrapping):
    """And so are penalties, which need no points."""
    model, q = arm(), poses(2500)
    kept = function(model, q, q, wrapping=wrapping)
    assert kept._points is not None
    for module in (geometry, path_wrenches):
        monkeypatch.setattr(module, "KEPT_POINTS", 100)
    made = function(model, q, q, wrapping=wrapping)
    assert made._points is None
    assert made.has_penalty
    for name in ("length", "speed", "moment_arm", "status", "penalty"):
        assert np.array_equal(getattr(made, name), getattr(kept, name)), name
    for name in ("count", "wrap", "penalty"):
        assert np.array_equal(getattr(made.path_points, name), getattr(kept.path_points, name)), name
    for frame in (0, 1777, 2499):
        points, touched = kept.path_points.of(model.muscle_names[0], frame)
        again = made.path_points.of(model.muscle_names[0], frame)
        assert np.array_equal(again[0], points)
        assert again[1] == touched


def test_a_large_trc_takes_little_more_than_its_text_and_its_array(tmp_path):
    rng = np.random.default_rng(2)
    position = rng.normal(size=(4000, 20, 3)).round(4)
    position[7, 3] = np.nan
    markers = Markers(0.01 * np.arange(4000), [f"m{k}" for k in range(20)], position)
    musculo.write_trc(markers, tmp_path / "long.trc")
    size = (tmp_path / "long.trc").stat().st_size
    read, peak = peak_of(lambda: musculo.read_trc(tmp_path / "long.trc"))
    assert np.array_equal(read.position, position, equal_nan=True)
    # the file, the array twice, and a part of the lines as numbers
    assert peak < size + 2.2 * position.nbytes + 4_000_000
    assert peak < 4 * size


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_lines_do_not_depend_on_the_parts_that_are_read(tmp_path, monkeypatch, end, encoding):
    written = ["müde", "", "a\tb", *(f"{k}\tö{k}" for k in range(50)), "", "last"]
    (tmp_path / "x.txt").write_bytes(end.join(written).encode(encoding))
    whole = text.read_lines(tmp_path / "x.txt", "a file")
    assert whole == written
    for part in (1, 2, 3, 7, 64):
        monkeypatch.setattr(text, "_PART", part)
        assert text.read_lines(tmp_path / "x.txt", "a file") == written
