"""OpenSim's own tools on set-up files, in a process of their own."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from support.opensim_server import in_opensim


def run_opensim(*setups: Path) -> None:
    """Let OpenSim run the set-ups, one after the other, each from its folder."""
    in_opensim(run, "off", *map(str, setups), folder=setups[0].parent)


def run(level: str, *setups: str) -> None:
    """In the other process; `level` is how much OpenSim tells."""
    import opensim

    opensim.Logger.setLevelString(level)
    for setup in setups:
        path = Path(setup).absolute()
        os.chdir(path.parent)
        root = ElementTree.parse(path).getroot()
        tool = root[0].tag if root.tag == "OpenSimDocument" else root.tag
        if not getattr(opensim, tool)(path.name).run():
            raise RuntimeError(f"{path}: OpenSim's tool failed")
