"""Electromyograms as activations to stay near: whose they are, in which unit, and at which times."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import Table
from musculo.analyses.emg_targets import assigned_channels, emg_targets
from musculo.errors import InvalidInput, UnknownName

TIME = np.linspace(0.0, 1.0, 1001)
MOTION = np.linspace(0.2, 0.8, 61)
BURST = np.exp(-(((TIME - 0.5) / 0.1) ** 2))


class Named:
    """All that channels need of a model."""

    muscle_names = ("soleus_r", "soleus_l", "vasti_r", "vasti_l", "tib_ant_r")


def signals(**columns) -> Table:
    return Table(TIME, tuple(columns), np.stack(list(columns.values()), axis=1))


def test_an_envelope_is_over_a_maximal_contraction():
    found = emg_targets(signals(soleus_r=0.4 * BURST, Fz=TIME), Named(), MOTION)
    assert list(found) == ["soleus_r"]
    assert_allclose(found["soleus_r"], np.interp(MOTION, TIME, 0.4 * BURST), atol=1e-12)
    for largest in ({"soleus_r": 2.0, "": 9.0}, {"": 2.0}):
        found = emg_targets(signals(soleus_r=0.4 * BURST), Named(), MOTION, largest=largest)
        assert_allclose(found["soleus_r"].max(), 0.2, rtol=1e-3)
    # more than a maximal contraction counts as one
    assert emg_targets(signals(soleus_r=BURST), Named(), MOTION, largest={"": 0.5})["soleus_r"].max() == 1.0


def test_raw_signals_become_envelopes_in_their_unit():
    raw = 3.0 * BURST * np.random.default_rng(0).standard_normal(len(TIME))
    with pytest.raises(InvalidInput, match="'soleus_r' is not normalized"):
        emg_targets(signals(soleus_r=raw), Named(), MOTION)
    whole = emg_targets(signals(soleus_r=raw), Named(), MOTION, largest={"": 10.0})["soleus_r"]
    half = emg_targets(signals(soleus_r=raw), Named(), MOTION, largest={"": 20.0})["soleus_r"]
    assert_allclose(whole, 2.0 * half)
    assert abs(MOTION[whole.argmax()] - 0.5) < 0.05


def test_channels_of_one_muscle_are_averaged():
    found = emg_targets(signals(R_VL=BURST, R_VM=0.5 * BURST), Named(), MOTION)
    assert_allclose(found["vasti_r"], 0.75 * np.interp(MOTION, TIME, BURST), atol=1e-12)


def test_a_side_or_a_muscle_is_said_where_names_do_not_tell():
    table = signals(soleus=BURST, EMG1=0.5 * BURST)
    with pytest.raises(InvalidInput, match="'soleus' does not tell whether it is of soleus_r or soleus_l"):
        emg_targets(table, Named(), MOTION)
    assert list(emg_targets(table, Named(), MOTION, side="l")) == ["soleus_l"]
    found = emg_targets(table, Named(), MOTION, [("EMG1", "tib_ant_r"), ("EMG1", "vasti_l")], "r")
    assert {name: round(one.max(), 6) for name, one in found.items()} == {
        "soleus_r": 1.0,
        "tib_ant_r": 0.5,
        "vasti_l": 0.5,
    }
    named = assigned_channels(table, Named(), [("EMG1", "tib_ant_r")], "r")
    assert named.names == ("soleus_r", "tib_ant_r")
    assert_allclose(named["tib_ant_r"], 0.5 * BURST)
    assert assigned_channels(table, Named()) is table


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({"channels": [("EMG3", "soleus_r")]}, UnknownName, "no channel 'EMG3'"),
        ({"channels": [("EMG1", "solus_r")]}, UnknownName, "did you mean 'soleus_r'"),
        ({"largest": {"EMG2": 1.0}}, UnknownName, "no channel 'EMG2'"),
        ({}, InvalidInput, r"no channel of .* is called after a muscle .* EMG1"),
        ({"channels": [("EMG1", "soleus_r")], "largest": {"": -1.0}}, InvalidInput, "above zero"),
    ],
)
def test_what_does_not_fit_is_said(given, kind, words):
    with pytest.raises(kind, match=words):
        emg_targets(signals(EMG1=BURST), Named(), MOTION, **given)


def test_a_motion_that_lasts_longer_is_refused():
    with pytest.raises(InvalidInput, match=r"known from 0 to 1 s and the motion lasts from 0\.2 to 1\.3 s"):
        emg_targets(signals(soleus_r=BURST), Named(), np.linspace(0.2, 1.3, 50))
    found = emg_targets(signals(soleus_r=BURST), Named(), np.linspace(0.2, 1.01, 50))  # within a frame
    assert found["soleus_r"][-1] == BURST[-1]
