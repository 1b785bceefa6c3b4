"""Small documents through OpenSim and through musculo: what either makes of them, and by how much they differ."""

from __future__ import annotations

import numpy as np

import musculo
from musculo.errors import MusculoError
from support.opensim_process import ask

# Both are recursions in float64 over a few bodies: rounding only.
ROUNDING = 1e-12
POSES = 3


def both(contents, folder) -> list:
    """[(our model or our error, OpenSim's mechanics or {"error": text})] for documents given as text or bytes."""
    files = []
    for k, content in enumerate(contents):
        files.append(folder / f"document_{k}.osim")
        files[-1].write_bytes(content if isinstance(content, bytes) else content.encode())
    theirs = ask("opensim_documents", [["mechanics", str(file), POSES] for file in files], folder)
    return list(zip(map(ours, files), theirs, strict=True))


def ours(file):
    """The model, or the error that says why there is none."""
    try:
        return musculo.read_osim(file, opensim_rounding=True)
    except MusculoError as error:
        return error


def largest_difference(model, theirs, names=None) -> float:
    """Over poses, mass matrices, path lengths and markers; `names` has our names of paths, else their last word."""
    names = names or {}

    def our(path):
        return names.get(path, path.rsplit("/", 1)[-1])

    coordinates = [our(path) for path in theirs["coordinates"]]
    assert sorted(coordinates) == sorted(model.coordinate_names)
    order = [coordinates.index(name) for name in model.coordinate_names]
    q = np.array(theirs["q"]).reshape(POSES, -1)[:, order]
    motion = musculo.kinematics(model, q)
    assert sorted(map(our, theirs["bodies"])) == sorted(model.body_names)
    found = [0.0]
    for path, X in theirs["bodies"].items():
        pose, X = motion.pose(our(path)), np.array(X)
        found += [np.abs(pose.R - X[:, :, :3]).max(), np.abs(pose.p - X[:, :, 3]).max()]
    if len(order):
        M = np.array(theirs["M"])[:, order][:, :, order]
        found.append(np.abs(musculo.mass_matrix(model, q) - M).max())
    if theirs["lengths"]:
        paths = musculo.path_geometry(model, q, like="opensim")
        assert sorted(map(our, theirs["lengths"])) == sorted(paths.names)
        for path, length in theirs["lengths"].items():
            found.append(np.abs(paths.length[:, paths.names.index(our(path))] - length).max())
    assert sorted(map(our, theirs["markers"])) == sorted(model.marker_names)
    for path, place in theirs["markers"].items():
        found.append(np.abs(motion.markers([our(path)])[:, 0] - place).max())
    return max(found)
