"""What failures share: every fact is true of the calls that it is said of, and luck is what
combinatorics says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import comb
from pathlib import Path

import numpy as np
import pytest

import opgen
from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.comparison.case_facts import FEW_VALUES, facts
from opgen.comparison.traits import log_chance, shared_traits
from opgen.model import Verdict
from opgen.spec.catalog import catalog
from tests.support import device_sample as sample


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bundle]:
    image = sample.tensor([2, 3, 6, 5], "FLOAT", "NCHW")
    view = {**image, "strides": [90, 30, 1, 6], "offset": 4, "storage_shape": [184]}
    more = {
        "pool-view": sample.pool(self=view),
        "pool-null": sample.pool(self=None),
        "pool-one": sample.pool(kernelSize=[3]),
        "norm-null": sample.norm(
            gamma=None, outputMask=[True, False, False], gradGammaOut=None, gradBetaOut=None
        ),
        "norm-unmasked": sample.norm(outputMask=[True, False, True], gradGammaOut=None),
        "conv-transposed": sample.convolution(transposed=True),
        **{f"pad-{n}": sample.pad(padding=(n % 4, n % 3, 0, 1)) for n in range(9)},
        **{
            f"pool-divisor{n}": sample.pool(divisorOverride=n)
            for n in (-3, -1, 1, 2, 7, 64, 65, 255)
        },
    }
    path = sample.write(tmp_path_factory.mktemp("facts") / "suite.h5", {**sample.CALLS, **more})
    with opgen.open(path) as opened:
        yield opened


def numbers(name: str, value: int) -> set[str]:
    """What is said of a number, but for its very value."""
    said = {
        f"{name} >= {least}"
        for least in (1, 2, 4, 5, 8, 9, 16, 17, 64, 65, 256, 257, 1024, 1025)
        if value >= least
    }
    said |= {
        f"{name} no multiple of {block}"
        for block in (8, 16, 32)
        if value not in range(-block * 99, block * 99, block)
    }
    plain = (("< 0", value < 0), ("odd", value % 2 == 1))
    return said | {f"{name} {word}" for word, holds in plain if holds}


def said_of(case: CaseView) -> set[str]:
    """The facts of a case, read from its plain call one by one: those of its arguments, not those
    of derived names.
    """
    call = case.call
    enums = {
        name: p.enum
        for name, p in catalog().by_page[case.op, case.product].parameters.items()
        if p.enum
    }
    tensors = {name: arg for name, arg in call["args"].items() if isinstance(arg, dict)}
    found = {call["product"], next(arg["dtype"] for arg in tensors.values())}
    found |= {f"{b.rule} broken" for b in case.expect.breaks}
    found |= {
        f"{name} {value}"
        for name, value in (("compute", case.compute), ("recipe", case.recipe))
        if value
    }
    if case.expect.bucket in ("stated", "unsupported_product"):
        found.add("to be refused as the page states")
    for name, arg in call["args"].items():
        if arg is None:
            found.add(f"{name} null")
        elif isinstance(arg, dict):
            found |= {
                f"{name} {arg['dtype']}",
                f"{name} format {arg['format']}",
                f"{name}.rank = {len(arg['shape'])}",
            }
            found |= {f"{name} strided"} if arg.get("strides") is not None else set()
            found |= {f"{name} with offset"} if arg.get("offset") else set()
        elif isinstance(arg, list):
            found.add(f"len({name}) = {len(arg)}")
            found |= {f"{name}[{i}]" for i, item in enumerate(arg) if item is True}
        elif isinstance(arg, bool):
            found.add(name if arg else f"not {name}")
        elif name in enums:
            found.add(f"{name} {enums[name][arg]}")
        else:
            found |= {f"{name} = {arg}"} | numbers(name, arg)
    return found


def as_told(said_of_each: list[set[str]]) -> list[set[str]]:
    """The same with the least value that any call has, in place of one that is less."""
    exact = [re.fullmatch(r"(.+) = (-?\d+)", label) for said in said_of_each for label in said]

    def told(label: str) -> str:
        name, _, least = label.partition(" >= ")
        tried = [int(each[2]) for each in exact if each and each[1] == name]
        return f"{name} >= {min(v for v in tried if v >= int(least))}" if least else label

    return [{told(label) for label in said} for said in said_of_each]


def derived(case: CaseView) -> set[str]:
    """The same of a few names that a page derives: extents and items."""
    args, found = case.call["args"], set()
    if case.op == "aclnnAvgPool2dBackward":
        for name, letters in (
            ("kernelSize", ("kH", "kW")),
            ("stride", ("sH", "sW")),
            ("padding", ("padH", "padW")),
        ):
            if args[name] and len(args[name]) < 3:
                items = dict(zip(letters, (args[name][0], args[name][-1]), strict=True))
                found |= {f"{letter} = {value}" for letter, value in items.items()}.union(
                    *(numbers(*item) for item in items.items())
                )
    if case.op == "aclnnReflectionPad2dBackward":
        items = dict(
            zip(("padLeft", "padRight", "padTop", "padBottom"), args["padding"], strict=True)
        )
        found = {f"{letter} = {value}" for letter, value in items.items()}.union(
            *(numbers(*item) for item in items.items())
        )
    return found


@pytest.mark.parametrize("op", sorted({call["op"] for call in sample.CALLS.values()}))
def test_every_fact_is_true_of_the_calls_that_it_is_said_of_and_of_no_other(
    bundle: Bundle, op: str
) -> None:
    rows = [row for row in range(len(bundle)) if bundle[row].op == op]
    labels, matrix = facts(bundle, rows)
    assert matrix.shape == (len(labels), len(rows)) and len(set(labels)) == len(labels)
    expected = as_told([said_of(bundle[row]) | derived(bundle[row]) for row in rows])
    every: set[str] = set().union(*expected)
    for label in every - set(labels):  # what is true of every number is not said
        name = label.removesuffix(" >= 1")
        assert all(
            (label in said) == any(other.startswith(f"{name} = ") for other in said)
            for said in expected
        ), label
    of_arguments = {label for label in labels if argument(label) in bundle[rows[0]].call["args"]}
    for label in sorted((of_arguments | every) & set(labels)):
        assert [label in said for said in expected] == matrix[labels.index(label)].tolist(), label


def argument(label: str) -> str:
    """What a fact speaks of: ``len(padding) = 2`` of padding."""
    return re.split(r"[ .\[)]", label.removeprefix("not ").removeprefix("len("))[0]


@pytest.mark.parametrize("kinds", [FEW_VALUES, FEW_VALUES + 1])
def test_each_value_is_a_fact_where_there_are_few(tmp_path: Path, kinds: int) -> None:
    calls = {f"pool-{n}": sample.pool(divisorOverride=n) for n in range(kinds)}
    with opgen.open(sample.write(tmp_path / "s.h5", calls)) as bundle:
        labels, _ = facts(bundle, range(kinds))
    assert [f"divisorOverride = {n}" in labels for n in range(kinds)] == [
        kinds <= FEW_VALUES
    ] * kinds


def test_luck_is_counted_exactly() -> None:
    """So many failures or more among the rows of a fact, of all ways to choose the failures."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        rows = int(rng.integers(2, 60))
        mine, failed = rng.random(rows) < rng.random(), rng.random(rows) < rng.random()
        having, bad, both = int(mine.sum()), int(failed.sum()), int((mine & failed).sum())
        ways = sum(
            comb(having, n) * comb(rows - having, bad - n)
            for n in range(both, min(having, bad) + 1)
        )
        assert np.isclose(np.exp(log_chance(mine, failed)), ways / comb(rows, bad), rtol=1e-9)


@pytest.mark.parametrize(("passes", "said"), [(2, True), (1, False)])
def test_where_nearly_all_fail_the_rest_tells_nothing(
    tmp_path: Path, passes: int, said: bool
) -> None:
    dtypes = ["FLOAT"] * 12 + ["DOUBLE"] * passes
    calls = {f"{n}": sample.pad(dtype, (n % 3, n % 4, 1, 1)) for n, dtype in enumerate(dtypes)}
    with opgen.open(sample.write(tmp_path / "s.h5", calls)) as bundle:
        verdicts = {}
        for row, case in enumerate(bundle):
            metrics = {"op": case.op, "outputs": {"gradInput": {"beyond": int(row < 12)}}}
            verdicts[row] = Verdict(case.id, "failed" if row < 12 else "passed", "", metrics)
        found = [one for one in shared_traits(bundle, verdicts) if one.what.endswith("gradInput")]
    assert [(one.failures, one.of_failures, bool(one.text)) for one in found][:1] == [
        (12, 12, said)
    ]
