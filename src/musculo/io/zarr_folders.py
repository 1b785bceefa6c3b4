"""Labeled results in Zarr folders, which programs on several machines read by parts; needs zarr."""

from __future__ import annotations

import os
import secrets
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from musculo.errors import InvalidFile, InvalidInput
from musculo.io.netcdf import dataset_of
from musculo.io.text import PathLike, checked_path
from musculo.results.markers import Markers
from musculo.results.table import Table

if TYPE_CHECKING:
    import xarray

_KIND = "a Zarr folder (.zarr)"
# What a Zarr folder begins with, in layouts 2 and 3.
_MARKS = (".zgroup", ".zmetadata", "zarr.json")


def write_zarr(data: xarray.Dataset | xarray.DataArray | Table | Markers, path: PathLike) -> None:
    """Write labeled results with labels, units and provenance; the folder appears complete or not at all.

    It has layout 2 of Zarr, which readers of other languages know. A Zarr folder of this name is replaced, and nothing
    else is.

    Raises:
        InvalidInput: zarr is not installed.
        InvalidFile: the folder cannot be written, or something that is no Zarr folder has its name.
    """
    where = checked_path(path, _KIND)
    needs_zarr(where)
    dataset = dataset_of(data, "write_zarr")
    target = Path(os.path.realpath(where))
    if not target.parent.is_dir():
        raise InvalidFile(f"{where} cannot be written: there is no folder {target.parent}; make it first")
    if target.exists() and not _is_zarr(target):
        raise InvalidFile(f"{where} is there already and is no Zarr folder; choose another name, or move it away")
    remove_parts(target)
    part, before = (target.with_name(f".{target.name}.{secrets.token_hex(8)}.{end}") for end in ("part", "before"))
    try:
        dataset.to_zarr(part, mode="w-", zarr_format=2, consolidated=True)
        if target.exists():  # a folder cannot take the place of another in one step
            os.rename(target, before)
        os.rename(part, target)
    except OSError as error:
        if before.exists() and not target.exists():
            os.rename(before, target)
        said = error.strerror or str(error)
        raise InvalidFile(f"{where} cannot be written ({said}); check the disk and permissions") from None
    finally:
        for one in (part, before):
            shutil.rmtree(one, ignore_errors=True)


def read_zarr(path: PathLike) -> xarray.Dataset:
    """Read labeled results into memory."""
    where = checked_path(path, _KIND)
    needs_zarr(where)
    import xarray

    if not _is_zarr(Path(where)):
        raise InvalidFile(f"{where} is not {_KIND}" if Path(where).exists() else f"there is no {where}; give {_KIND}")
    try:
        with xarray.open_zarr(where, chunks=None) as found:
            return found.load()
    except Exception as error:  # what zarr raises on damaged folders has many names
        raise InvalidFile(
            f"{where}: cannot be read as Zarr ({type(error).__name__}: {error}); is it damaged?"
        ) from None


def needs_zarr(where: str) -> None:
    """Raise what to install, if zarr is not there."""
    try:
        there = find_spec("zarr") is not None
    except ValueError:  # a module that is switched off
        there = False
    if not there:
        raise InvalidInput(f'{where}: Zarr needs zarr, which is not installed: pip install "musculo[zarr]"')


def remove_parts(target: Path) -> None:
    """Put away what a killed process left beside a folder that it was writing; the one before it counts if it is all
    there is."""
    for one in target.parent.glob(f".{target.name}.*.before"):
        if not target.exists():
            os.rename(one, target)
    for end in ("part", "before"):
        for one in target.parent.glob(f".{target.name}.*.{end}"):
            shutil.rmtree(one, ignore_errors=True)


def _is_zarr(folder: Path) -> bool:
    return folder.is_dir() and any((folder / mark).is_file() for mark in _MARKS)
