"""Runs the commands of the pictures, in one folder and in this order, and draws what they show."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from contextlib import chdir
from pathlib import Path

from click.testing import CliRunner
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from opgen.cli import main as opgen
from tests.support.browser import BROWSER, BROWSERS, browse, framed, with_script

HERE = Path(__file__).parent
FIGURES = HERE / "figures.json"
"""What the pictures show, as the commands printed it when they were made."""

FOUR = "avg_pool2d_backward convolution_backward group_norm_backward reflection_pad2d_backward"
SUITE = "opgen generate avg_pool2d_backward group_norm_backward -o suite.h5"
INSPECT = "opgen inspect suite.h5 'avg_pool2d_backward.910b.invalid.pad_height.*'"
BROKEN = "opgen run suite.h5 --backend mutant:channel_block_lost -o broken.h5"
DIFF = "opgen diff suite.h5 broken.h5"
TERMINALS = {"inspect": INSPECT, "diff": DIFF}
"""Picture -> the command that it shows."""

SILENT = {
    "inspect": (f"{SUITE} --quiet",),
    "diff": (f"{BROKEN} --quiet",),
    "report": (f"{DIFF} --html report.html --quiet",),
    "coverage": (f"opgen coverage {FOUR} --plan standard --html coverage.html",),
}
"""Picture -> what comes before it."""

PAGES = {
    "report": ("report.html", 1000, 1560),
    "report-dark": ("report.html", 1000, 1560),
    "report-tablet": ("report.html", 700, 1560),
    "report-tablet-dark": ("report.html", 700, 1560),
    "report-phone": ("report.html", 390, 1560),
    "report-phone-dark": ("report.html", 390, 1560),
    "coverage": ("coverage.html", 960, 820),
    "coverage-phone-dark": ("coverage.html", 390, 820),
}
"""Picture -> page, and the part of it that is shown: width and height."""
OPEN = 'document.querySelector(".case")?.click();'
"""What a reader does first: look behind the first case."""

THEME = TerminalTheme(
    (250, 250, 250),
    (34, 34, 34),
    [
        (34, 34, 34),
        (179, 38, 30),
        (46, 125, 50),
        (168, 101, 0),
        (30, 80, 170),
        (130, 50, 140),
        (0, 110, 120),
        (110, 115, 125),
    ],
)


def shown(command: str, folder: Path, codes: tuple[int, ...] = (0, 1)) -> str:
    """What a command writes, messages and all, in colour."""
    words = [sys.executable, "-m", *shlex.split(command)]
    colours = {
        "FORCE_COLOR": "1",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "PYTHONUNBUFFERED": "1",
    }
    environment = {
        name: value for name, value in os.environ.items() if name != "NO_COLOR"
    } | colours
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    if done.returncode not in codes:
        raise SystemExit(f"{command}: exit {done.returncode}\n{done.stdout}")
    return done.stdout


def run(command: str, folder: Path) -> None:
    """Run a command of which nothing is shown here, where its calls may be known already."""
    with chdir(folder):
        done = CliRunner().invoke(opgen, shlex.split(command)[1:], prog_name="opgen")
    if done.exit_code not in (0, 1):
        raise SystemExit(f"{command}: exit {done.exit_code}\n{done.output}")


def svg(name: str, command: str, output: str) -> str:
    """A terminal with a command and its output. Its fonts are the reader's own: nothing is
    fetched.
    """
    text = Text.assemble(("$ ", "dim"), (command, "bold"), "\n", Text.from_ansi(output.rstrip()))
    width = max(len(line.rstrip()) for line in text.plain.splitlines())
    console = Console(
        record=True,
        width=width + 1,
        file=open(os.devnull, "w"),  # noqa: SIM115
        force_terminal=True,
        color_system="truecolor",
    )
    console.print(text, soft_wrap=True)
    drawn = console.export_svg(title="", theme=THEME, unique_id=name)
    drawn = re.sub(r"@font-face \{.*?\}\n", "", drawn, flags=re.DOTALL)
    drawn = drawn.replace("Fira Code, monospace", "'DejaVu Sans Mono', Menlo, Consolas, monospace")
    return re.sub(r"[ \t]+$", "", drawn, flags=re.MULTILINE)


def png(page: Path, picture: Path, width: int, height: int) -> None:
    """The top of a page as a picture with few colours, so that it stays small."""
    from PIL import Image

    framing = page.with_name("framed.html")
    whole = with_script(page.read_text(encoding="utf-8"), OPEN)
    framing.write_text(framed(whole, width, height), encoding="utf-8")
    shot = page.with_name(picture.name)
    scheme = 0 if picture.stem.endswith("dark") else 1
    browse(
        framing,
        f"--blink-settings=preferredColorScheme={scheme}",
        f"--window-size={max(width, 500)},{height}",
        f"--screenshot={shot}",
    )
    with Image.open(shot) as taken:
        top = taken.convert("RGB").crop((0, 0, width, height))
        few = top.quantize(256, Image.Quantize.MAXCOVERAGE, dither=0)
        few.save(picture, optimize=True)


def figures(folder: Path) -> dict[str, str]:
    """What the pictures show, in words: picture -> the text of its terminal, or the figures of its
    page. Runs every command of the gallery in a folder.
    """
    texts = {}
    for picture in dict.fromkeys((*SILENT, *TERMINALS)):
        for command in SILENT.get(picture, ()):
            run(command, folder)
        if picture in TERMINALS:
            text = Text.from_ansi(shown(TERMINALS[picture], folder)).plain
            texts[picture] = text.rstrip("\n")  # which not every release of rich keeps
    for picture, (page, _, _) in PAGES.items():
        if "-" in picture:  # it shows what another one shows
            continue
        words = re.sub(
            r"<(style|script)\b.*?</\1>|<[^>]+>", " ", (folder / page).read_text("utf-8")
        )
        counts = re.findall(r"\b\d+ (?:cases?|failed|passed|inconclusive|calls)\b", words)
        texts[picture] = "\n".join(dict.fromkeys(counts))
    return texts


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.gallery", description="Write the pictures of the README anew."
    )
    parser.add_argument("pictures", nargs="*", help="only these")
    wanted = set(parser.parse_args().pictures) or {*TERMINALS, *PAGES}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        FIGURES.write_text(json.dumps(figures(folder), indent=1) + "\n", encoding="utf-8")
        for picture, command in TERMINALS.items():
            if picture in wanted:
                drawn = svg(picture, command, shown(command, folder))
                (HERE / f"{picture}.svg").write_text(drawn, encoding="utf-8")
        for picture, (page, width, height) in PAGES.items():
            if picture in wanted and BROWSER:
                png(folder / page, HERE / f"{picture}.png", width, height)
            elif picture in wanted:
                print(
                    f"{picture}.png: not made, there is no {', '.join(BROWSERS)}", file=sys.stderr
                )
    for path in sorted((*HERE.glob("*.svg"), *HERE.glob("*.png"))):
        print(f"{path.name}  {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
