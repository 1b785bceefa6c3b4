"""OpenSim's own tools on set-up files, in a process of their own:

python opensim_run.py [--log] SETUP.xml ...
"""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def run_opensim(*setups: Path) -> None:
    """Let OpenSim run the set-ups, one after the other, each from its folder."""
    command = [sys.executable, __file__, *map(str, setups)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=setups[0].parent)
    assert done.returncode == 0, done.stderr[-2000:]


def main(setups: list[str]) -> None:
    import opensim

    told = setups[:1] == ["--log"]
    opensim.Logger.setLevelString("info" if told else "off")
    for setup in setups[told:]:
        path = Path(setup).absolute()
        os.chdir(path.parent)
        root = ElementTree.parse(path).getroot()
        tool = root[0].tag if root.tag == "OpenSimDocument" else root.tag
        if not getattr(opensim, tool)(path.name).run():
            sys.exit(f"{path}: OpenSim's tool failed")
    # OpenSim may crash while it takes itself apart.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
