"""What FORMAT.md says of a bundle: its columns and their types, and its functions in C."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

import opgen
from opgen.bundle.format.dtypes import ROLES
from opgen.bundle.format.schema import BUNDLE, RESULTS, Column
from opgen.numerics.fill import drawn_again
from opgen.numerics.maxima import first_largest
from opgen.numerics.signs import DRAWS, signs

MANUAL = (Path(opgen.__file__).parent / "bundle" / "FORMAT.md").read_text(encoding="utf-8")
in_c = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


def values(function: str, main: str, folder: Path) -> np.ndarray:
    """What a program prints, numbers, that calls a function of the manual."""
    blocks = re.findall(r"```c\n(.*?)```", MANUAL, re.DOTALL)
    (code,) = [block for block in blocks if f"double {function}(" in block]
    program = f"#include <stdio.h>\n{code}\nint main(void) {{ {main} return 0; }}\n"
    (folder / "call.c").write_text(program, encoding="utf-8")
    subprocess.run(
        ["cc", "-std=gnu11", "-Wall", "-Werror", "-o", "call", "call.c", "-lm"],
        check=True,
        cwd=folder,
    )
    shown = subprocess.run([folder / "call"], check=True, capture_output=True, text=True).stdout
    return np.array(shown.split(), dtype=np.float64)


@in_c
def test_the_function_of_the_manual_draws_the_same(tmp_path: Path) -> None:
    seeds = [
        (2**64 - 5, -8, 8, -3),
        (1, 0, 7, 0),
        (7, -7, 0, 4),
        (99, 3, 3, 1),
        (12345678901234567890, -(2**31) + 1, 2**31, -40),
    ]
    calls = "".join(
        f'for (int k = 0; k < 999; k++) printf("%.17g\\n", drawn({start}ULL, k, {low}LL, {high}LL,'
        f" {exponent}));"
        for start, low, high, exponent in seeds
    )
    found = values("drawn", calls, tmp_path)
    wanted = [drawn_again(start, tuple(steps), 999, "DOUBLE") for start, *steps in seeds]
    assert np.array_equal(found, np.concatenate(wanted)) and len({*found.tolist()}) > 900


@in_c
def test_the_function_of_the_manual_finds_the_same_maxima(tmp_path: Path) -> None:
    plane = np.random.default_rng(0).integers(-2, 3, (5, 6)).astype(np.float64)
    plane[2, 1:4] = np.nan, np.inf, -np.inf
    rows, columns = np.array([[-1, 1, 2], [0, 2, 4]]), np.array([[0, 2, -1], [1, 3, 5], [3, 5, -1]])

    def listed(name: str, kind: str, values: np.ndarray) -> str:
        texts = [str(value).upper() for value in values.reshape(-1).tolist()]
        items = ", ".join(text.replace("INF", "INFINITY") for text in texts)
        return f"static const {kind} {name}[] = {{{items}}};"

    calls = (
        listed("p", "double", plane)
        + listed("r", "long long", rows)
        + listed("c", "long long", columns)
        + "for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++)"
        ' printf("%g\\n", largest(p, 6, r, c, 2, 3, 3, 3, i, j));'
    )
    wanted = first_largest(plane, rows, columns, np.int64)
    assert np.array_equal(values("largest", calls, tmp_path), wanted.reshape(-1))
    assert len({*wanted.reshape(-1).tolist()}) > 4


@in_c
def test_the_signs_of_the_manual_give_the_sums_of_a_bundle(tmp_path: Path) -> None:
    """Every element is multiplied and added by itself, of the golden of a bundle that holds all."""
    axes, extent = 4, 64
    loop = (
        f"for (int a = 0; a < {axes}; a++) for (int d = 0; d < {DRAWS}; d++)"
        f' for (int i = 0; i < {extent}; i++) printf("%g\\n", sign(a, i, d));'
    )
    sign = values("sign", loop, tmp_path).reshape(axes, DRAWS, extent)
    assert all(map(np.array_equal, sign, signs([extent] * axes)))
    whole, some = tmp_path / "whole.h5", tmp_path / "some.h5"
    asked = {"products": ["ascend910b"], "workers": 1}
    operators = ["reflection_pad1d_backward", "avg_pool2d_backward"]
    opgen.generate(operators, output=whole, **asked)  # type: ignore[arg-type]
    opgen.generate(operators, output=some, golden="sampled:8", **asked)  # type: ignore[arg-type]
    seen = 0
    with opgen.open(whole) as goldens, opgen.open(some) as bundle:
        for case in goldens:
            rows = [row for row in bundle[case.id].tensor_rows if row.role == ROLES["sums"]]
            for row in rows:
                golden = np.asarray(case.golden[bundle.names[row.name]])
                stored = bundle.tensor(row)
                limits = stored[DRAWS:]
                if not np.isfinite(limits).all() or max(golden.shape) > extent:
                    continue
                total = np.zeros(DRAWS)
                for at in np.ndindex(golden.shape):
                    total += golden[at] * np.prod([sign[a, :, i] for a, i in enumerate(at)], axis=0)
                rounded = 1e-7 * np.abs(golden).sum()  # some goldens are kept in FLOAT
                assert np.abs(total - stored[:DRAWS]).max() <= rounded, case.id
                assert np.abs(total).max() > 0 or not golden.any()
                seen += 1
    assert seen > 5


def type_of(column: Column) -> str:
    if column.words is not None:
        return "enum"
    return column.kind.lstrip("<|").replace("S*", "S")


@pytest.mark.parametrize(
    ("table", "columns", "left"),
    [
        ("cases", BUNDLE["cases"], set()),
        ("tensors", BUNDLE["tensors"], set()),
        ("results", RESULTS["results"], set()),
        (
            "tensors",
            RESULTS["tensors"],
            {"name", "dtype", "shape", "elements", "position", "digest"},
        ),
    ],
    ids=["cases", "tensors", "results", "tensors of results"],
)
def test_the_columns_of_the_manual_are_those_of_a_file(
    table: str, columns: Mapping[str, Column], left: set[str]
) -> None:
    """``left``: those that the manual gives no type, as they are those of a bundle."""
    of_results = columns in (RESULTS["results"], RESULTS["tensors"])
    part = MANUAL[MANUAL.index("## A results file") :] if of_results else MANUAL
    rows = part[part.index(f"`/{table}` has a row per ") :].partition("|---|")[2].splitlines()[1:]
    cells = [row.split(" | ") for row in rows[: [*map(bool, rows), False].index(False)]]
    told = {
        name: kind
        for names, kinds, *_ in cells
        for name, kind in zip(
            re.findall(r"`(\w+)`", names),
            chain(re.findall(r"`(\w+)`", kinds), [""] * len(left)),
            strict=False,
        )
    }
    assert told == {
        name: "" if name in left else type_of(column) for name, column in columns.items()
    }
