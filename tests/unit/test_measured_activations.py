"""Electromyograms beside activations: names of channels, envelopes at their times, agreement with a side."""

from __future__ import annotations

import numpy as np
import pytest

from musculo import Table
from musculo.analyses.measured_activations import measured_activations
from musculo.analyses.muscle_channels import muscle_channels
from musculo.io import read_electromyograms, write_table
from musculo.report import Panel
from musculo.report.electromyograms import with_electromyograms
from musculo.report.page_parts import Curve
from musculo.results.trial import Trial

MUSCLES = (
    *("soleus_r", "soleus_l", "tib_ant_r", "tib_ant_l", "glut_med1_r", "glut_med2_r", "glut_med1_l"),
    *("med_gas_r", "lat_gas_r", "rect_fem_r", "rect_fem_l", "vasti_r", "bifemlh_r", "semiten_r"),
)
TIME = np.linspace(0.0, 2.0, 201)


class Named:
    """All that channels need of a model."""

    muscle_names = MUSCLES


@pytest.mark.parametrize(
    ("name", "side", "muscles"),
    [
        ("soleus_l", "l", "soleus_l"),
        ("TA", "", "tib_ant_r tib_ant_l"),
        ("R TA", "r", "tib_ant_r"),
        ("EMG.LTA", "l", "tib_ant_l"),
        ("Voltage.R_RF", "r", "rect_fem_r"),
        ("RF", "", "rect_fem_r rect_fem_l"),  # not the right side of something
        ("Left Rectus femoris", "l", "rect_fem_l"),
        ("GMED_R", "r", "glut_med1_r glut_med2_r"),
        ("gastrocnemius", "r", "med_gas_r lat_gas_r"),  # the model has a right one only
        ("VMO 3", "r", "vasti_r"),
        ("MHAMS", "r", "semiten_r"),
    ],
)
def test_channels_name_muscles(name, side, muscles):
    (found,) = muscle_channels((name,), Named())
    assert (found.name, found.side) == (name, side)
    assert found.muscles == tuple(muscles.split())


def test_other_channels_are_left_out():
    assert muscle_channels(("Fz1", "Mx2", "Sync", "", "Synchron"), Named()) == ()


@pytest.fixture
def trial(tmp_path):
    """The right one is active at first and the left one later; the signal is that of the left, 50 ms ahead."""
    bursts = [np.exp(-(((TIME - at) / 0.15) ** 2)) for at in (0.6, 1.4)]
    known = Trial(tmp_path, model=Named())
    known.activations = Table(TIME, ("soleus_r", "soleus_l"), np.stack([0.4 * bursts[0], 0.8 * bursts[1]], axis=1))
    return known


def signal(raw):
    time = np.arange(-0.5, 2.5, 0.0005)
    burst = np.exp(-(((time - 1.35) / 0.15) ** 2))
    noise = np.random.default_rng(1).standard_normal(len(time)) if raw else 1.0
    return Table(time, ("SOL", "Fz1"), np.stack([3.0 * burst * noise, time], axis=1))


@pytest.mark.parametrize(("raw", "late", "least"), [(False, 0.003, 0.999), (True, 0.03, 0.95)])
def test_envelopes_tell_the_side(trial, raw, late, least):
    trial.emg = signal(raw)
    (found,) = measured_activations(trial)
    assert found.raw is raw
    assert found.envelope.shape == TIME.shape
    assert found.envelope.max() == 1.0
    assert abs(TIME[found.envelope.argmax()] - 1.35) < 0.1
    left, right = found.agreement["l"], found.agreement["r"]
    assert left.correlation > least
    assert abs(left.delay - 0.05) < late
    assert right.correlation < 0.2


def test_areas_are_as_high_as_their_muscle(trial):
    trial.emg = signal(False)
    curves = tuple(Curve(name, TIME, trial.activations[name], name[-1]) for name in ("soleus_r", "soleus_l"))
    panels = (Panel("soleus", "", curves), Panel("tib ant", "", (Curve("tib_ant_r", TIME, TIME, "r"),)))
    shown, (table,), text = with_electromyograms(panels, measured_activations(trial))
    area = shown[0].curves[0]
    assert area.measured
    assert area.side == ""
    assert abs(area.values.max() - 0.8) < 1e-12
    assert shown[1] == panels[1]
    assert table.rows[0][:2] == ("SOL", "soleus_r, soleus_l")
    assert "without a side" in text
    assert "raw" not in text
    assert with_electromyograms(panels, ()) == (panels, (), "")


def test_a_measurement_that_ends_early_is_told_as_far_as_it_goes(trial):
    trial.emg = signal(False).between(-0.1, 1.5)
    (found,) = measured_activations(trial)
    assert np.isnan(found.envelope[TIME > 1.5]).all()
    assert np.isfinite(found.envelope[TIME < 1.49]).all()


def test_files(tmp_path, trial):
    path = tmp_path / "emg.csv"
    write_table(signal(False), path)
    assert read_electromyograms(path).names == ("SOL", "Fz1")
