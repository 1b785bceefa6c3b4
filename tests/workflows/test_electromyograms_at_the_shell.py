"""`--emg` of `musculo so` and `walk`: what pages show, what activations stay near; and the metabolic power of both."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

import musculo
from musculo.analyses.measured_activations import measured_activations
from musculo.cli.exit_codes import BAD_INPUT, WRONG_USAGE
from musculo.cli.main import app
from musculo.demo import ARM_FILE, ARM_FLEXION_FILE, arm, arm_flexion
from musculo.errors import InvalidInput
from musculo.io import write_table
from musculo.muscle import metabolic_rate
from musculo.opensim_tools.analyze_tool import static_optimization_tool
from musculo.report.read_folder import read_folder
from musculo.results import Table

STEM = ARM_FLEXION_FILE.stem
# The level at which a brachialis is held that least effort would use less.
HIGH = 0.6


def shell(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        if code == 0:
            raise result.exception
        return str(result.exception)
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture(scope="module")
def signals(tmp_path_factory):
    """Envelopes in millivolts, in a folder with a space in its name: of the brachialis, and of nobody knows what."""
    time = np.linspace(-0.1, 1.2, 1301)
    folder = tmp_path_factory.mktemp("some é signals")
    table = Table(time, ("brachialis", "IM EMG 7"), np.stack([HIGH * 2.5 + 0.0 * time, 0.125 + 0.0 * time], axis=1))
    write_table(table, folder / "emg.csv")
    return folder / "emg.csv"


def so(tmp_path, *more, code=0):
    words = ("so", ARM_FILE, ARM_FLEXION_FILE, "--reserve", 5, "-o", tmp_path / "out", "--time", "0:1")
    printed = shell(*words, *more, code=code)
    if code:
        return printed
    return musculo.read_storage(tmp_path / "out" / f"{STEM}_StaticOptimization_activation.sto")


def test_activations_stay_near_a_signal(signals, tmp_path):
    free = so(tmp_path / "a", "--no-report")["brachialis"]
    shown = so(tmp_path / "b", "--emg", signals, "--no-report")["brachialis"]
    assert_allclose(shown, free, atol=1e-12)
    flags = ("--emg", signals, "--emg-max", "brachialis=2.5", "--follow-emg")
    near = [so(tmp_path / w, *flags, w)["brachialis"] for w in ("1", "100")]
    apart = [np.abs(one - HIGH).mean() for one in (free, *near)]
    assert apart[0] > 2.0 * apart[1] > 4.0 * apart[2]
    trial = read_folder(tmp_path / "100" / "out")
    (found,) = measured_activations(trial)
    assert (found.channel.name, found.channel.muscles) == ("brachialis", ("brachialis",))
    assert any("stays near the electromyograms of brachialis" in note for r in trial.records for note in r["notes"])


def test_the_same_as_the_function(signals, tmp_path):
    flags = ("--emg", signals, "--emg-channel", "IM EMG 7=triceps_long", "--emg-max", 2.5, "--follow-emg", 3)
    found = so(tmp_path, *flags, "--no-report")
    motion = musculo.motion_of(arm(), arm_flexion()).between(0.0, 1.0)
    near = {"brachialis": HIGH, "triceps_long": 0.05}
    expected = musculo.static_optimization(
        arm(), motion.q, motion.u, motion.udot, reserves=5.0, targets=near, weights=dict.fromkeys(near, 3.0)
    )
    for k, name in enumerate(arm().muscle_names):
        assert_allclose(found[name], expected.activation[:, k], atol=1e-6)
    rates = metabolic_rate(arm(), motion.q, motion.u, expected)
    table = musculo.read_storage(tmp_path / "out" / f"{STEM}_StaticOptimization_metabolic_power.sto")
    assert table.names == (*arm().muscle_names, "basal", "body")
    assert_allclose(table["body"], rates.body, rtol=1e-5)
    assert_allclose(table["triceps_long"], rates.rate[:, 0], rtol=1e-4, atol=1e-4)
    # a channel is shown under its muscle by whoever opens the folder later
    assert {"brachialis", "triceps_long"} <= set(read_folder(tmp_path / "out").emg.names)
    assert "Metabolic power" in [s.title for s in musculo.report.report_of_folder(tmp_path / "out").sections]


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        (("--follow-emg", 2), BAD_INPUT, "'brachialis' is not normalized, its envelope reaches 1.5"),
        (("--follow-emg", 0), WRONG_USAGE, "give a weight above zero"),
        (("--follow-emg", 1, "--power", 3), WRONG_USAGE, "goes with --power 2"),
        (("--follow-emg", 1, "--like-opensim"), WRONG_USAGE, "knows no"),
        (("--emg-max", "brachialis=-1"), WRONG_USAGE, "above zero"),
        (("--emg-max", "brachialis=a"), WRONG_USAGE, "give a number"),
        (("--emg-side", "up"), WRONG_USAGE, "give one of r, l"),
        (("--emg-channel", "EMG8=brachialis"), BAD_INPUT, "no channel 'EMG8'"),
        (("--emg-channel", "IM EMG 7=brachial"), BAD_INPUT, "did you mean 'brachialis'"),
    ],
)
def test_what_is_wrong_is_said(signals, tmp_path, flags, code, words):
    assert words in " ".join(so(tmp_path, "--emg", signals, *flags, "--no-report", code=code).split())


def test_forces_do_not_depend_on_their_cost(tmp_path, monkeypatch):
    def refused(*_, **__):
        raise InvalidInput("biceps: no fiber")

    monkeypatch.setattr(static_optimization_tool, "metabolic_rate", refused)
    assert len(so(tmp_path, "--no-report"))
    assert not list((tmp_path / "out").glob("*metabolic*"))
    notes = [note for record in read_folder(tmp_path / "out").records for note in record["notes"]]
    assert any("the metabolic power is not known: biceps: no fiber" in note for note in notes)


def test_flags_without_signals_are_refused(tmp_path):
    assert "need electromyograms; give --emg" in so(tmp_path, "--follow-emg", 2, code=WRONG_USAGE)
    assert "no file" in so(tmp_path, "--emg", tmp_path / "none.sto", code=BAD_INPUT)


def test_a_whole_trial_takes_them(signals, tmp_path):
    model, table = arm(), arm_flexion().between(0.0, 0.5)
    at = musculo.kinematics(model, table.coordinates(model)).markers(model.marker_names)
    musculo.write_trc(musculo.Markers(table.time, model.marker_names, at), tmp_path / "flexion.trc")
    words = ("walk", ARM_FILE, tmp_path / "flexion.trc", "-o", tmp_path / "out", "--lowpass", 0, "--no-report")
    shell(*words, "--emg", signals, "--emg-max", "2.5", "--follow-emg", 50)
    found = musculo.read_storage(tmp_path / "out" / "flexion_ik_StaticOptimization_activation.sto")
    assert np.abs(found["brachialis"] - HIGH).mean() < 0.1
    assert read_folder(tmp_path / "out").emg is not None
    said = shell(*words, "--emg", signals, "--follow-emg", 50, "--steps", "ik", code=WRONG_USAGE)
    assert "add so to --steps" in said
    assert "no file" in shell(*words, "--emg", tmp_path / "none.csv", code=BAD_INPUT)
