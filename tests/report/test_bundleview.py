"""What ``opgen inspect`` prints is what a file holds."""

from __future__ import annotations

import io

from rich.console import Console

from opgen.report.bundleview import show_answer


def test_a_text_of_a_device_is_no_markup() -> None:
    console = Console(file=io.StringIO(), width=90)
    error = "E39999 at :x: [bold]aicore[/] :warning:"
    asked = {"id": "pad:+1:", "status": 161002, "run_status": None, "time": None}
    show_answer(console, {**asked, "error": error, "tensors": []})
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert shown.splitlines() == ["pad:+1:  first phase 161002, second phase -", error]
