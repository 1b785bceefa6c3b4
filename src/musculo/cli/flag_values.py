"""Values of flags from their texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from musculo.cli.exit_codes import WrongUsage
from musculo.io.file_axes import AXES
from musculo.io.text import read_lines

Span = tuple[float, float]


def span_of(text: str) -> Span:
    """`0.5:1.2` as two times [s]; either may be omitted."""
    if not text:
        return -math.inf, math.inf
    first, colon, last = text.partition(":")
    try:
        span = float(first) if first.strip() else -math.inf, float(last) if last.strip() else math.inf
    except ValueError:
        span = math.nan, math.nan
    if not colon or not span[0] <= span[1]:
        raise WrongUsage(f"--time {text} is not a span of time; write it as START:END in seconds, for instance 0.5:1.2")
    return span


def pairs_of(option: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    """`name=value` texts, apart."""
    pairs = []
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals or not name.strip():
            raise WrongUsage(f"{option} {text}: write it as NAME=VALUE")
        pairs.append((name.strip(), value.strip()))
    return pairs


def renames_of(option: str, texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """`RASI=R.ASIS` texts, or names of files with a pair a line, apart; a `#` begins a remark."""
    pairs: list[tuple[str, str]] = []
    for text in texts:
        if "=" in text:
            pairs += pairs_of(option, [text])
            continue
        if not Path(text).is_file():
            raise WrongUsage(f"{option} {text}: write it as RECORDED=MODEL, or name a file; there is no file {text}")
        lines = (line.partition("#")[0].strip() for line in read_lines(text, "pairs of marker names"))
        pairs += pairs_of(option, [line.replace(",", "=", 1) if "=" not in line else line for line in lines if line])
    return tuple(pairs)


def numbers_of(option: str, text: str, count: int) -> tuple[float, ...]:
    """`1.1,1,0.9`, or one number for all of them."""
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if len(values) not in (1, count) or not all(math.isfinite(v) for v in values):
        wanted = f"1 or {count} numbers, with commas between" if count > 1 else "a number"
        raise WrongUsage(f"{option} {text}: give {wanted}")
    return values * count if len(values) == 1 else values


def weights_of(texts: Sequence[str], leaves_out: str = "") -> list[tuple[str, float]]:
    """Weights by name; zero ignores what is weighed, a `leaves_out`, or is refused where there is no such thing."""
    found = []
    for name, text in pairs_of("--weight", texts):
        (weight,) = numbers_of(f"--weight {name}=", text, 1)
        if weight < 0.0 or (weight == 0.0 and not leaves_out):
            zero = f", or 0 to ignore the {leaves_out}" if leaves_out else ""
            raise WrongUsage(f"--weight {name}={text}: give a number above zero{zero}")
        found.append((name, weight))
    return found


def check_axis(option: str, text: str) -> None:
    """`-z`, `+x` or `Y`."""
    check_word(option, text.lower().removeprefix("+"), [axis for axis in AXES if not axis.startswith("+")])


def check_word(option: str, word: str, known: Sequence[str]) -> None:
    if word not in known:
        raise WrongUsage(f"{option} {word}: give one of {', '.join(known)}")


def check_page(output: Path | None) -> None:
    """Refuse a page under the name of a model or a table: of a folder of results, no flag says which files it reads."""
    if output is not None and output.suffix.lower() != ".html":
        raise WrongUsage(f"the page {output} would be no .html file; give it a name that ends in .html")
