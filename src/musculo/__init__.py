"""musculo: how bodies move, and which muscles move them.

    import musculo
    model = musculo.read_osim("arm26.osim")
    tau = musculo.inverse_dynamics(model, q, u, udot)

Arrays `q, u, udot` hold all coordinates of the file in its order, shape (frames, n) or (n,); SI units and radians.

What everyday work needs is here; the rest is in

    musculo.model    what a subject is made of: joints, constraints, paths, wrap surfaces; scaling and placing
    musculo.muscle   parts of muscles: curves, activation, generalized forces of paths
    musculo.io       files
    musculo.signals  filters, splines, gait events
    musculo.simulation  events, projection onto constraints
    musculo.trajectory  optimal motions
    musculo.absolute  absolute coordinates: constraints, drivers, multipliers
    musculo.study    many subjects and trials
    musculo.results  what functions return, with their statuses
    musculo.opensim  OpenSim's tools and their set-up files
    musculo.errors   what is raised
    musculo.demo     the models and motions that ship with the package
    musculo.viewer, musculo.report  pages
"""

from __future__ import annotations

from musculo.questions import answer as _answer
from musculo.window import shown as _shown
from musculo.window import window as _window

__version__ = "0.1.0"


def _where_else(name: str) -> str:
    """Where a name is that is not here."""
    folders = (
        "model",
        "muscle",
        "io",
        "signals",
        "simulation",
        "trajectory",
        "study",
        "absolute",
        "results",
        "opensim",
    )
    for folder in folders:
        if name in _shown(f"musculo.{folder}"):
            return f"; it is musculo.{folder}.{name}"
    for module, names in _ELSEWHERE.items():
        if name in names:
            return f"; it is {module}.{name}"
    return ""


_ELSEWHERE = {
    "musculo.errors": ("InvalidFile", "InvalidInput", "InvalidModel", "SingularSystem", "UnknownName", "Unsupported"),
    "musculo.viewer": ("Scene",),
}

# Public names stand once, in the stub; they are imported on first use, so that `musculo --help` need not wait.
_names, __getattr__ = _window("musculo", _where_else)
__all__ = sorted([*_names, "__version__"])


# Which coordinates of a closed loop can be independent is mechanics: a model asks the embedding.
_answer("independent coordinates", lambda model: __getattr__("embedding_of")(model).coordinate_names)


def __dir__() -> list[str]:
    return sorted({"__version__", *_shown("musculo"), *_names})
