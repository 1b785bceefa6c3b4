"""Labeled results in NetCDF files (classic format with 64-bit offsets: scipy writes it, everything reads it)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from musculo.errors import InvalidFile, InvalidInput
from musculo.io.text import PathLike, checked_path, read_bytes, write_beside
from musculo.results.markers import Markers
from musculo.results.table import Table

if TYPE_CHECKING:
    import xarray

_KIND = "a NetCDF file (.nc)"


def dataset_of(data: xarray.Dataset | xarray.DataArray | Table | Markers, function: str) -> xarray.Dataset:
    """What a function writes as one dataset, whatever labeled result it was given."""
    import xarray

    if isinstance(data, Table | Markers):
        data = data.to_xarray()
    if isinstance(data, xarray.DataArray):
        return data.to_dataset(name=str(data.name or "value"), promote_attrs=True)
    if isinstance(data, xarray.Dataset):
        return data
    raise InvalidInput(f"{function}(data, path) needs a labeled result, not {type(data).__name__}")


def write_netcdf(data: xarray.Dataset | xarray.DataArray | Table | Markers, path: PathLike) -> None:
    """Write labeled results with labels, units and provenance; the file appears complete or not at all."""
    dataset = dataset_of(data, "write_netcdf")
    where = checked_path(path, _KIND)

    def write(part: str) -> None:
        try:
            dataset.to_netcdf(part, engine="scipy", format="NETCDF3_64BIT")
        except OSError:
            raise
        except Exception as error:
            raise InvalidInput(f"{where}: these results cannot be written as NetCDF ({error})") from error

    write_beside(path, write)


def read_netcdf(path: PathLike) -> xarray.Dataset:
    """Read labeled results into memory."""
    import io

    import xarray

    content = read_bytes(path, _KIND)
    where = checked_path(path, _KIND)
    if not content.startswith((b"CDF\x01", b"CDF\x02")):
        raise InvalidFile(f"{where}: does not begin like {_KIND} in classic format; newer ones open with xarray itself")
    try:
        dataset = xarray.load_dataset(io.BytesIO(content), engine="scipy")
    except Exception as error:
        # scipy's reader raises whatever its parsing runs into.
        raise InvalidFile(
            f"{where}: cannot be read as NetCDF ({type(error).__name__}: {error}); is it damaged?"
        ) from None
    return dataset
