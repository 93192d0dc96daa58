"""What is wrong with a kernel is said of its file, in one line, wherever it is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opgen.golden
from opgen.generation import kernels
from opgen.generation.computing import compute
from opgen.golden import kernel
from opgen.model import FileError
from opgen.suite.batch import Batch
from tests.support import suites

POOL = "avg_pool2d_backward"
RIGHT = kernel(POOL).golden
SHAPE = r"\(1, \d+, \d+, \d+, \d+\)"


def batch() -> Batch:
    """A batch of one case, of rank 4."""
    return next(
        one
        for one in suites.suite(POOL, "smoke").batches
        if len(one.tensors["self"].shape) == 4 and len(one.ids) == 1
    )


def golden(change: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    return {"both": None, "golden": lambda *arguments: change(RIGHT(*arguments))}


WRONG = [  # what the kernel has instead, the message
    (
        {"depth": lambda *_: 2.5},
        "depth: returned 2.5 for 'gradInput'; expected a whole number from 1",
    ),
    ({"depth": lambda *_: None}, "depth: returned None for 'gradInput'"),
    ({"depth": lambda *_: 0}, "depth: returned 0 for 'gradInput'"),
    ({"depth": lambda names, *_: names["kD"]}, "depth: raised KeyError: 'kD'"),
    (
        golden(lambda found: {"out": found["gradInput"]}),
        "golden: returned 'out'; expected 'gradInput'",
    ),
    (golden(lambda found: {}), "golden: returned nothing; expected 'gradInput'"),
    (golden(lambda found: None), "golden: returned NoneType; expected 'gradInput'"),
    (
        golden(lambda found: {"gradInput": 3}),
        f"golden: returned int for 'gradInput'; expected float64 {SHAPE}",
    ),
    (
        golden(lambda found: {"gradInput": found["gradInput"].astype(np.float32)}),
        f"golden: returned float32 {SHAPE} for 'gradInput'; exp",
    ),
    (
        golden(lambda found: {"gradInput": found["gradInput"][..., :-1]}),
        f"golden: returned float64 {SHAPE} for 'gradInput'; expec",
    ),
    (golden(lambda found: found["Win"]), "golden or magnitude: raised KeyError: 'Win'"),
    (
        {"both": None, "magnitude": lambda *_: {}},
        "magnitude: returned nothing; expected 'gradInput'",
    ),
    ({"both": lambda *_: 1 / 0}, "golden or magnitude: raised ZeroDivisionError: division by zero"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG, ids=[message[:40] for _, message in WRONG])
def test_what_a_kernel_does_wrong_is_said_of_its_file(
    changes: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in changes.items():
        monkeypatch.setattr(kernel(POOL), name, value)
    with pytest.raises(
        FileError, match=rf"^opgen/golden/{POOL}.py: {message}.* \(case {batch().ids[0]}\)$"
    ):
        compute([batch()], 0)


def test_a_sum_of_nothing_has_no_roundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel(POOL), "depth", lambda *_: 0)
    empty = {
        **batch().tensors,
        "gradOutput": replace(batch().tensors["gradOutput"], shape=(0, 3, 2, 2)),
    }
    assert kernels.depths(replace(batch(), tensors=empty)) == {"gradInput": 0}


def test_the_line_of_the_kernel_is_named() -> None:
    right = suites.suite("group_norm_backward", "smoke").batches[0]
    wrong = replace(right, names={k: v for k, v in right.names.items() if k != "HxW"})
    place = "opgen/golden/group_norm_backward.py:[0-9]+"
    with pytest.raises(
        FileError, match=f"^{place}: depth: raised KeyError: 'HxW'; the spec names C, N, "
    ):
        compute([wrong], 0)


def test_too_little_memory_is_no_fault_of_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    def greedy(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(kernel(POOL), "both", greedy)
    with pytest.raises(MemoryError):
        compute([batch()], 0)


BODY = "def golden(t, n, w): ...\ndef magnitude(t, n, w): ...\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, ": is missing: an operator needs a kernel with golden, magnitude, depth"),
        ("def golden(:\n", ":1: is not Python: "),
        ("import numpy\nimport nothing_of_this_name\n", ": No module named 'nothing_of_this_name'"),
        ("\n\nvalue = {}['a']\n", ":3: cannot be imported: KeyError: 'a'"),
        (BODY, ": depth: is missing: a kernel has this function"),
        (BODY + "depth = 3\n", ": depth: is missing: a kernel has this function"),
    ],
)
def test_a_kernel_that_cannot_be_used_is_refused(
    text: str | None, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opgen.golden, "__path__", [*opgen.golden.__path__, str(tmp_path)])
    op = f"{tmp_path.name}_backward"
    if text is not None:
        (tmp_path / f"{op}.py").write_text(text, encoding="utf-8")
    with pytest.raises(FileError) as caught:
        kernels.whole(op)
    assert str(caught.value).startswith(f"opgen/golden/{op}.py{message}")
