"""The models and motions that ship with the package, and a first run without any data of one's own.

import musculo.demo
model, flexion = musculo.demo.arm(), musculo.demo.arm_flexion()     # an arm, and its elbow flexing by 90 degrees
chain = musculo.demo.arm_chain()                                # markers in; angles, moments, muscles, loads out
"""

from __future__ import annotations

from musculo.window import window as _window

__all__, __getattr__ = _window("musculo.demo")


def __dir__() -> list[str]:
    return sorted(__all__)
