"""The pictures of the README show what the commands print now."""

from __future__ import annotations

import json
from pathlib import Path

from tests.gallery.__main__ import BROKEN, FIGURES, SUITE, TERMINALS, figures


def test_the_pictures_show_commands_of_the_readme() -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    for command in (SUITE, BROKEN, *TERMINALS.values()):
        assert f"$ {command}" in readme


def test_the_pictures_show_what_the_commands_print(tmp_path: Path) -> None:
    made = json.loads(FIGURES.read_text(encoding="utf-8"))
    now = figures(tmp_path)
    assert all(made.values()), "each picture has figures"
    assert made == now, "python -m tests.gallery draws the pictures anew"
