"""A scene inside a page: numbers to half a 16-bit step, safe to embed, and nothing taken from a network."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from pathlib import Path

import numpy as np
import pytest

from musculo import demo, view
from musculo.viewer import Scene
from musculo.viewer import scene as pages
from musculo.viewer.scene_arrays import floats, integers, steps
from support.page_arrays import unpacked


# --- arrays ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("per", ["all", "last"])
def test_steps_keep_numbers_to_half_a_step(per):
    rng = np.random.default_rng(1)
    values = np.cumsum(rng.normal(size=(40, 3, 2)), axis=0) * [1.0, 1e-3]
    values[5, 1] = np.nan
    packed = steps(values, per)
    back = unpacked(packed)
    np.testing.assert_array_equal(np.isnan(back), np.isnan(values))
    assert np.nanmax(np.abs(back - values) / np.array(packed["scale"])) <= 0.5 + 1e-9


def test_arrays_without_extent():
    for values in (np.zeros((0, 3)), np.full((2, 3), np.nan), np.full((2, 3), 7.0), np.zeros((4, 0, 3))):
        np.testing.assert_array_equal(unpacked(steps(values)), values)


@pytest.mark.parametrize("most", [10, 70_000, (1 << 32) - 1])
def test_integers_and_floats_are_exact(most):
    values = np.random.default_rng(2).integers(0, most, size=(30, 3), endpoint=True)
    np.testing.assert_array_equal(unpacked(integers(values)), values)
    numbers = np.linspace(0, 1, 7, dtype=np.float32)
    np.testing.assert_array_equal(unpacked(floats(numbers)), numbers)
    with pytest.raises(ValueError, match="without a sign"):
        integers([-1])


# --- the page -------------------------------------------------------------------------------------------------------
def test_names_cannot_leave_their_script_element():
    name = "</script><script>alert(1)</script><!-- & \u2028"
    scene = view(demo.arm().replace(name=name))
    text = scene.json()
    assert not re.search("[<>&]", text)
    assert json.loads(text)["title"] == name
    whole = scene.html()
    assert whole.count("</script>") == pages.PAGE.read_text(encoding="utf-8").count("</script>")


def test_a_frame_for_other_pages():
    scene = view(demo.arm().replace(name='"><b>'))
    frame = scene.iframe(300)
    inside = re.fullmatch(r'<iframe title="[^"]*" sandbox="allow-scripts" [^>]*srcdoc="([^"]*)"></iframe>', frame)
    assert html.unescape(inside[1]) == scene.html()
    assert scene._repr_html_() == scene.iframe()
    assert scene.notebook(300)._repr_html_() == frame


def test_writing_the_page(tmp_path):
    scene = view(demo.arm(), path=tmp_path / "arm.html")
    assert isinstance(scene, Scene)
    assert (tmp_path / "arm.html").read_text(encoding="utf-8").strip() == scene.html().strip()


def test_the_shipped_page_allows_its_own_script_only_and_nothing_from_a_network():
    text = pages.PAGE.read_text(encoding="utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)[1]
    script = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(script) == 1
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert "default-src 'none'" in policy
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", text)
    assert len(text) < 800_000


def test_the_shipped_page_is_built_from_its_sources():
    """Change `viewer/web` and the page must be built again: npm ci && npm run build in that folder."""
    web = Path(pages.__file__).parent / "web"
    files = sorted([*(f"src/{p.name}" for p in (web / "src").iterdir()), "build.mjs", "package-lock.json"])
    digest = hashlib.sha256()
    for name in files:
        digest.update(name.encode() + b"\0" + (web / name).read_bytes())
    stated = re.search(r'name="musculo-sources" content="(\w+)"', pages.PAGE.read_text(encoding="utf-8"))[1]
    assert stated == digest.hexdigest()
