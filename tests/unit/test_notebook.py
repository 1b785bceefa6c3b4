"""Models and results show themselves in a notebook: well-formed, escaped, with their numbers."""

from __future__ import annotations

import numpy as np
import pytest
from lxml import etree

import musculo
from musculo.demo import arm, arm_flexion

EVIL = "<script>alert(1)</script>"


def shown(value):
    """The HTML, which must be well-formed."""
    text = value._repr_html_()
    etree.fromstring(text)
    return text


@pytest.fixture(scope="module")
def motion():
    return musculo.motion_of(arm(), arm_flexion())


def test_a_model_tells_its_facts():
    text = shown(arm())
    assert "6: " in text
    assert arm().coordinate_names[1] in text


def test_names_are_escaped():
    model = arm()
    assert EVIL not in shown(model.replace(name=EVIL))
    table = musculo.Table([0.0, 1.0], (EVIL,), [[1.0], [2.0]], units=(EVIL,), name=EVIL)
    assert EVIL not in shown(table)


def test_a_table_draws_its_columns():
    table = musculo.Table(np.arange(3.0), ("a", "b"), [[1.0, 5.0], [np.nan, 5.0], [3.0, 5.0]])
    text = shown(table)
    assert text.count("<path") == 2
    assert "1 … 3" in text
    assert text.count("M") == 3  # the gap breaks the line of a


def test_many_columns_are_counted():
    names = tuple(f"c{k}" for k in range(30))
    text = shown(musculo.Table(np.arange(4.0), names, np.random.default_rng(0).normal(size=(4, 30))))
    assert "and 18 more columns" in text


def test_empty_and_missing_values():
    assert "no values" in shown(musculo.Table(np.arange(2.0), ("a",), [[np.nan], [np.nan]]))
    shown(musculo.Table([0.5], ("a",), [[1.0]]))


def test_results_show_themselves(motion):
    model = arm()
    effort = musculo.static_optimisation(model, motion.q, motion.u, motion.udot, reserves=1.0)
    assert "every frame" in shown(effort)
    assert model.muscle_names[0] in shown(effort)
    assert "N" in shown(musculo.joint_loads(model, motion.q, motion.u, motion.udot))
    paths = musculo.muscle_geometry(model, motion.q[0])
    assert f"{paths.length[0]:.4g}" in shown(paths)
    at = musculo.kinematics(model, motion.q).markers()
    markers = musculo.Markers(motion.time, model.marker_names, at)
    assert "every marker" in shown(markers)
    assert "InverseKinematics(" in shown(musculo.inverse_kinematics(model, markers))
