"""External loads that a file switches off, by the word of its version or that of another: live OpenSim beside us."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import read_external_loads, read_storage
from musculo.opensim import run_setup
from support.tool_setups import inverse_dynamics
from support.unusual_setups import SETUP, run_both

pytest.importorskip("opensim")

# Half a unit of the eighth decimal on either side.
PRINTED = 2e-8
ID = inverse_dynamics("<external_loads_file>loads.xml</external_loads_file><time_range>0 0.1</time_range>")
DATA = "push\nversion=1\nnRows=2\nnColumns=4\nendheader\ntime\tfx\tfy\tfz\n0\t0\t10\t5\n1\t0\t20\t5\n"


def loads(version: str, flags: str) -> str:
    content = (
        f'<ExternalLoads name="l"><objects><ExternalForce name="push">{flags}<applied_to_body>forearm</applied_to_body>'
        "<force_identifier>f</force_identifier></ExternalForce></objects><datafile>push.mot</datafile></ExternalLoads>"
    )
    return f'<OpenSimDocument Version="{version}">{content}</OpenSimDocument>'


OLD, NEW = "<isDisabled>true</isDisabled>", "<appliesForce>false</appliesForce>"


@pytest.mark.parametrize(
    ("version", "flags", "acts"),
    [
        ("40000", "", True),
        ("40000", NEW, False),
        ("40000", OLD, True),
        ("30509", OLD, True),
        ("30508", OLD, False),
        ("20302", OLD, False),
        ("40000", "<appliesForce>true</appliesForce>" + OLD, True),
        ("40000", NEW + "<isDisabled>false</isDisabled>", False),
    ],
    ids=["on", "off", "old word", "first without it", "last with it", "2.3", "both, on", "both, off"],
)
def test_a_load_that_is_switched_off(tmp_path, version, flags, acts):
    files = {SETUP: ID, "loads.xml": loads(version, flags), "push.mot": DATA}
    both = run_both(tmp_path, files)
    theirs, ours = both.tables("results/id.sto")
    assert_allclose(ours, theirs, rtol=0, atol=PRINTED)
    plain = both.ours / "plain.xml"
    plain.write_text(inverse_dynamics("<time_range>0 0.1</time_range>"))
    free = read_storage(run_setup(plain, output=tmp_path / "free", compare=False).files[0]).values
    assert (np.abs(ours[:, 1:] - free).max() > 0.1) == acts
    odd = acts and OLD in flags
    assert ("OpenSim does not look at: it acts, as it does there (--exact" in both.told) == odd
    # exactly, and in Python, what is said to be off is off
    exact = run_setup(both.ours / SETUP, like=None, output=tmp_path / "exact")
    off = np.abs(read_storage(exact.files[0]).values - free).max() < 1e-3
    assert off == (OLD in flags or NEW in flags)
    read = read_external_loads(both.ours / "loads.xml")
    assert read.forces[0].applies != off
    assert any("switched off by <isDisabled>" in note for note in read.notes) == odd
