"""Pages of the documentation as something to run: their blocks, in order, and the output that they show.

A `python` block runs, and so does every `musculo ...` line of a `sh` block; all blocks of a page share their names and
a folder that holds `musculo-demo`, what `musculo demo` leaves, and a recording `walk.c3d`. A `text` block right after
shows what was printed; `...` in it stands for anything. `<!-- not run: why -->` before a block says why it is not run.

    python tests/support/doc_pages.py docs/first_hour.md     # put what is printed now into a page's text blocks
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# Where the terminal of the pages ends.
COLUMNS = "100"

_FENCE = re.compile(
    r"^(?:<!-- not run: (?P<why>[^\n]+) -->\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```\n", flags=re.M | re.S
)
_NUMBER = re.compile(r"(?<![\w.])([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?!\w)")


@dataclass(frozen=True)
class Block:
    """Part of a page in a fence; `shown` is the output after it, None where none is shown."""

    kind: str
    text: str
    line: int
    why_not: str = ""
    shown: str | None = None


def pages() -> list[Path]:
    """All pages, but those that a build left behind."""
    return sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)


def spans_of(page: Path) -> list[str]:
    """Pieces of code inside sentences and tables."""
    text = re.sub(r"^(`{3,}).*?^\1$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", text)]


def blocks_of(page: Path) -> list[Block]:
    """What a page holds in fences; the outputs are parts of what printed them."""
    text = page.read_text(encoding="utf-8")
    found: list[Block] = []
    end = -1
    for fence in _FENCE.finditer(text):
        line = text.count("\n", 0, fence.start("text"))
        if fence["kind"] == "text" and found and text[end : fence.start()].strip() == "":
            last = found[-1]
            found[-1] = Block(last.kind, last.text, last.line, last.why_not, fence["text"])
        elif fence["kind"] in ("python", "sh"):
            found.append(Block(fence["kind"], fence["text"], line, fence["why"] or ""))
        end = fence.end() if fence["kind"] in ("python", "sh") else -1
    return found


def run_block(block: Block, page: str, names: dict) -> str:
    """What the block prints; it runs in the working directory."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        if block.kind == "python":
            # Line numbers of the page, so that a traceback says where.
            exec(compile("\n" * block.line + block.text, page, "exec"), names)
        else:
            for line in block.text.splitlines():
                if line.startswith("musculo "):
                    _run_command(line)
    return out.getvalue()


def _run_command(line: str) -> None:
    from musculo.cli.main import main

    before, words = sys.argv, shlex.split(line, comments=True)
    sys.argv = words
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise AssertionError(f"{line}: ended with {ended.code}") from None
    finally:
        sys.argv = before


def differs(shown: str, printed: str) -> str:
    """Why the output of a page is not what was printed; empty where it is.

    Words and layout are the same; numbers are, to one unit of the last digit shown, for the last digit may be rounded
    otherwise on another machine. Trailing blanks do not count.
    """
    wanted, got = _lines(shown), _lines(printed)
    pattern, numbers = "", []
    for piece in _split(wanted):
        if piece == "...":
            pattern += r"[\s\S]*?"
        elif _NUMBER.fullmatch(piece):
            # Blanks before a number are its alignment.
            pattern += r" *([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
            numbers.append(piece)
        else:
            pattern += re.sub(r"(\\ )+", " *", re.escape(piece))
    match = re.fullmatch(pattern, got)
    if match is None:
        return f"the page shows\n{wanted}\nand this was printed\n{got}"
    for shown_number, number in zip(numbers, match.groups(), strict=True):
        if abs(float(shown_number) - float(number)) > 1.01 * _last_digit(shown_number):
            return f"the page shows {shown_number}, and {number} was printed, in\n{got}"
    return ""


def _split(text: str) -> list[str]:
    pieces: list[str] = []
    # Lines of nothing but `...` may stand for no line at all.
    for k, part in enumerate(re.split(r"\A\.\.\.\n|\n?\.\.\.", text)):
        pieces += (["..."] if k else []) + [piece for piece in _NUMBER.split(part) if piece]
    return pieces


def _lines(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def _last_digit(number: str) -> float:
    mantissa, _, exponent = number.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - decimals)


def make_files(folder: Path) -> None:
    """`musculo-demo` and `walk.c3d` in a folder."""
    from musculo.demo.chain import arm_chain

    demo = folder / "musculo-demo"
    demo.mkdir()
    arm_chain().write(demo)
    (folder / "walk.c3d").write_bytes(_steps())


def _steps() -> bytes:
    """A C3D file with two markers and two plates, one stepped on after the other; z is up."""
    import numpy as np

    from support.c3d_files import C3DMaker, plate_group

    frames, samples = 100, 5
    corners = np.array([[600, 0, 0], [0, 0, 0], [0, 400, 0], [600, 400, 0]], dtype=float)
    time = np.linspace(0.0, 1.0, frames * samples)
    analog = np.zeros((len(time), 12))
    # What plates of type 2 measure: the force of the subject on them, with z down.
    analog[:, 2] = -700.0 * np.clip(np.sin(2 * np.pi * time), 0.0, None)
    analog[:, 8] = -700.0 * np.clip(np.sin(2 * np.pi * time - np.pi), 0.0, None)
    channels = np.arange(1, 13).reshape(2, 6)
    plates = plate_group([2, 2], [corners, corners + np.array([650.0, 0.0, 0.0])], [[0, 0, -40]] * 2, channels)
    made = C3DMaker(np.full((frames, 2, 3), 100.0), ["RHEE", "LHEE"], analog=analog, extra={"FORCE_PLATFORM": plates})
    made.analog_labels = [f"{what}{plate}" for plate in (1, 2) for what in ("Fx", "Fy", "Fz", "Mx", "My", "Mz")]
    made.analog_units = ["N", "N", "N", "Nmm", "Nmm", "Nmm"] * 2
    return made.bytes()


def rewrite(page: Path) -> None:
    """Put what is printed now into the text blocks of a page; those with `...` stay."""
    names: dict = {"__name__": "__page__"}
    text = page.read_text(encoding="utf-8")
    for block in blocks_of(page):
        if block.why_not:
            continue
        printed = run_block(block, str(page), names)
        if block.shown is not None and "..." not in block.shown:
            old = f"{block.text}```\n\n```text\n{block.shown}```"
            assert text.count(old) == 1, f"{page}: the block at line {block.line} is there twice"
            text = text.replace(old, f"{block.text}```\n\n```text\n{_lines(printed)}\n```")
        elif block.shown is not None and (why := differs(block.shown, printed)):
            print(why)
        elif block.shown is None and printed:
            print(f"{page}:{block.line} prints and shows nothing:\n{printed}")
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    import tempfile

    os.environ["COLUMNS"] = COLUMNS
    sys.path.insert(0, str(ROOT / "tests"))
    wanted = [Path(name).resolve() for name in sys.argv[1:]]
    for page in wanted:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            make_files(Path(folder))
            rewrite(page)
