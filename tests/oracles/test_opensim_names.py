"""What the page for users of OpenSim calls OpenSim's is there in OpenSim."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "from_opensim.md"
# In OpenSim, but not in its wheel on PyPI, which is built without the reader of C3D files.
NOT_IN_THE_WHEEL = {"C3DFileAdapter"}
# Methods of objects; the page writes them with a variable before the dot.
OWNERS = {
    "model": "Model",
    "body": "Body",
    "marker": "Marker",
    "muscle": "Muscle",
    "matter": "SimbodyMatterSubsystem",
}
_LOOK = """
import json, sys, opensim
wanted = json.load(sys.stdin)
print(json.dumps([[owner, name] for owner, name in wanted
                  if not hasattr(opensim if owner is None else getattr(opensim, owner), name)]))
"""


def test_their_calls_exist():
    if find_spec("opensim") is None:
        pytest.skip("opensim is not installed; pip install '.[oracles]' adds it")
    rows = [line.strip("|").split(" | ")[0] for line in PAGE.read_text(encoding="utf-8").splitlines()]
    theirs = " ".join(span for row in rows for span in re.findall(r"`([^`]+)`", row))
    wanted = [[None, name] for name in re.findall(r"\bosim\.(\w+)", theirs) if name not in NOT_IN_THE_WHEEL]
    wanted += [[OWNERS[owner], name] for owner, name in re.findall(rf"\b({'|'.join(OWNERS)})\.(\w+)\(", theirs)]
    assert len(wanted) > 30
    # In a process of its own: OpenSim changes how numbers are printed in the one it is loaded into.
    told = subprocess.run(
        [sys.executable, "-c", _LOOK], input=json.dumps(wanted), capture_output=True, text=True, check=True
    )
    assert json.loads(told.stdout.splitlines()[-1]) == []
