"""Models and results show themselves in a notebook: well-formed, escaped, with their numbers."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from lxml import etree

import musculo
from musculo.demo import arm, arm_flexion
from musculo.report import Finding, Report, Section, Severity

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
    effort = musculo.static_optimization(model, motion.q, motion.u, motion.udot, reserves=1.0)
    assert "every frame" in shown(effort)
    assert model.muscle_names[0] in shown(effort)
    assert "N" in shown(musculo.joint_loads(model, motion.q, motion.u, motion.udot))
    for result in (effort, musculo.joint_loads(model, motion.q, motion.u, motion.udot)):
        assert f"<td style='text-align:left'>{len(motion)} frames</td>" in shown(result)  # without a time of their own
    paths = musculo.muscle_geometry(model, motion.q[0])
    assert "<td style='text-align:left'>1 frame</td>" in shown(paths)
    assert f"{paths.length[0]:.4g}" in shown(paths)
    at = musculo.kinematics(model, motion.q).markers()
    markers = musculo.Markers(motion.time, model.marker_names, at)
    assert "every marker" in shown(markers)
    assert "InverseKinematics(" in shown(musculo.inverse_kinematics(model, markers))


def test_motions_show_their_coordinates_and_poses_their_bodies(motion):
    model = arm()
    text = shown(motion)
    assert all(name in text for name in model.coordinate_names)
    assert f"{motion.time[0]:g} to {motion.time[-1]:g} s" in text
    assert "q1" in shown(dataclasses.replace(motion, coordinate_names=()))
    poses = musculo.kinematics(model, motion.q, motion.u)
    text, height = shown(poses), poses.position(model.body_names[-1])[:, 1]
    assert f"{height.min():.4g} … {height.max():.4g} m" in text
    assert "velocities" in text
    assert "accelerations" not in text
    assert "1 frame<" in shown(musculo.kinematics(model, motion.q[0]))


def test_muscles_in_equilibrium_show_their_pull(motion):
    model = arm()
    paths = musculo.muscle_geometry(model, motion.q, motion.u)
    found = musculo.muscle_equilibrium(model, paths.length, paths.speed, 0.3)
    text = shown(found)
    assert f"{found.tendon_force[:, 0].max():.4g} N" in text
    assert "every muscle and frame" in text


def test_a_report_shows_title_and_checks():
    checks = (Finding(EVIL, Severity.WRONG, "Markers", "Look at the labels."), Finding("70 kg", title="Mass"))
    text = shown(Report("A walk", checks, (Section("Joint angles", ()),)))
    assert EVIL not in text
    assert all(part in text for part in ("A walk", "BAD: ", "Look at the labels.", "70 kg", "Joint angles"))


def heights(values):
    """What of the plot a curve takes up [px], by its column."""
    text = shown(musculo.Table(np.arange(float(len(values))), ("a",), np.reshape(values, (-1, 1))))
    at = [float(y) for y in re.findall(r"[ML][0-9.]+ ([0-9.]+)", text)]
    return max(at) - min(at)


@pytest.mark.parametrize("size", [0.0, 1.0, 1e-3, -700.0])
def test_rounding_is_drawn_flat_and_change_is_not(size):
    noise = np.random.default_rng(0).uniform(-1.0, 1.0, 50)
    assert heights(size + 1e-14 * max(abs(size), 1.0) * noise) < 0.2
    assert heights(size + 1e-3 * max(abs(size), 1e-3) * noise) > 20.0
