"""musculo: how bodies move, and which muscles move them.

    import musculo
    model = musculo.read_osim("arm26.osim")
    tau = musculo.inverse_dynamics(model, q, u, udot)

Arrays `q, u, udot` hold all coordinates of the file in its order, shape (frames, n) or (n,); SI units and radians.
"""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"

# Public names stand once, in the stub that type checkers and editors read: `from module import name as name`. They are
# imported on first use, so that `musculo --help` need not wait.
with open(f"{__path__[0]}/__init__.pyi", encoding="utf-8") as _stub:
    _imports = [line.split() for line in _stub if line.startswith("from ")]
_MODULE_OF = {name: module for _, module, _, name, _, _ in _imports}

__all__ = sorted([*_MODULE_OF, "__version__"])


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'musculo' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
