"""Result files in the layout of OpenSim's tools: header, columns, widths and digits as OpenSim writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from musculo.errors import InvalidInput
from musculo.io.text import PathLike, write_text

PRECISION = 8  # digits after the point that OpenSim's tools write by default
_ROWS = 512  # rows made into text at once


def write_result(
    path: PathLike,
    title: str,
    time: NDArray[np.float64],
    names: Sequence[str],
    values: NDArray[np.float64],
    *,
    description: str = "",
    degrees: bool = False,
    precision: int = PRECISION,
) -> None:
    """Write a table as OpenSim's `Storage` prints one: version 1, numbers `%{8 + p}.{p}f` between tabs.

    Unlike `write_storage`, which keeps every digit, this rounds as OpenSim does, so that files can be compared.

    Args:
        path: the file.
        title: its first line.
        time: (frames,) [s].
        names: of the columns.
        values: (frames, columns).
        description: further lines of the header, as they stand; each ends with a line break.
        degrees: what `inDegrees` says.
        precision: digits after the point.
    """
    if values.shape != (len(time), len(names)):
        raise InvalidInput(f"{path}: values {values.shape} do not fit {len(time)} frames and {len(names)} columns")
    if not 0 <= precision <= 40:
        raise InvalidInput(f"{path}: an output precision of {precision} digits is impossible; give 0 to 40")
    header = (
        f"{title}\nversion=1\nnRows={len(time)}\nnColumns={1 + len(names)}\n"
        f"inDegrees={'yes' if degrees else 'no'}\n{description}endheader"
    )
    write_text(path, [header, "\t".join(("time", *names)), *_rows(time, values, precision)])


def _rows(time: NDArray[np.float64], values: NDArray[np.float64], precision: int) -> Iterable[str]:
    line = "\t".join([f"%{8 + precision}.{precision}f"] * (1 + values.shape[1]))
    table = np.column_stack((time, values))
    for start in range(0, len(table), _ROWS):
        part = table[start : start + _ROWS]
        yield "\n".join([line] * len(part)) % tuple(part.ravel().tolist())


def write_table(
    path: PathLike,
    title: str,
    time: NDArray[np.float64],
    names: Sequence[str],
    values: NDArray[np.float64],
    degrees: bool | None = None,
) -> None:
    """Write a table as OpenSim's `STOFileAdapter` prints one: version 3, sixteen digits; its IMU tool does.

    Args:
        path: the file.
        title: its name, in the header.
        time: (frames,) [s].
        names: of the columns.
        values: (frames, columns).
        degrees: what `inDegrees` says; None omits it.
    """
    header = [] if degrees is None else [f"inDegrees={'yes' if degrees else 'no'}"]
    header += [f"name={title}", "DataType=double", "version=3", "OpenSimVersion=4.6", "endheader"]
    table = np.column_stack((time, values))
    line = "\t".join(["%.16g"] * table.shape[1])
    write_text(path, [*header, "\t".join(("time", *names)), *(line % tuple(row) for row in table.tolist())])


def write_controls(
    path: PathLike,
    time: NDArray[np.float64],
    names: Sequence[str],
    values: NDArray[np.float64],
    *,
    title: str = "Control Set",
    limits: Sequence[tuple[float, float]] = (),
    stepped: Sequence[bool] = (),
) -> None:
    """Write controls as the `<ControlSet>` that OpenSim's tools leave: linear between the frames, or in steps.

    Args: limits, stepped: of each control; between 0.02 and 1 and linear, as of static optimization, if left out.
    """
    lines = ['<?xml version="1.0" encoding="UTF-8" ?>', '<OpenSimDocument Version="40600">']
    lines += [f'\t<ControlSet name="{_escaped(title)}">', "\t\t<objects>"]
    node = "\t" * 5
    for k, name in enumerate(names):
        pairs = np.column_stack((time, values[:, k])).ravel().tolist()
        one = (
            f"{node}<ControlLinearNode>\n{node}\t<t>%.17g</t>\n{node}\t<value>%.17g</value>\n{node}</ControlLinearNode>"
        )
        least, most = limits[k] if limits else (0.02, 1.0)
        options = _options(least, most, bool(stepped) and stepped[k])
        lines += [f'\t\t\t<ControlLinear name="{_escaped(name)}">', *options, "\t\t\t\t<x_nodes>"]
        lines += [("\n".join([one] * len(time))) % tuple(pairs), "\t\t\t\t</x_nodes>", *_LIMITS]
        lines += ["\t\t\t</ControlLinear>"]
    lines += ["\t\t</objects>", "\t\t<groups />", "\t</ControlSet>", "</OpenSimDocument>"]
    write_text(path, lines)


def _options(least: float, most: float, steps: bool) -> list[str]:
    pairs = (
        ("is_model_control", "true"),
        ("extrapolate", "true"),
        ("default_min", f"{least:.17g}"),
        ("default_max", f"{most:.17g}"),
        ("filter_on", "false"),
        ("use_steps", str(steps).lower()),
    )
    return [f"\t\t\t\t<{key}>{value}</{key}>" for key, value in pairs]


_LIMITS = ("\t\t\t\t<min_nodes />", "\t\t\t\t<max_nodes />", "\t\t\t\t<kp>100</kp>", "\t\t\t\t<kv>20</kv>")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
