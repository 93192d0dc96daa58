"""What a suite takes, held against what it took; how many large cases are computed at a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import pytest

from opgen.calls.jsonl import NamedCall
from opgen.generation import computing, rows
from opgen.generation.engine import layout, together
from opgen.generation.resources import (
    SCRATCH,
    fitting,
    memory_of,
    needs,
    side_by_side,
)
from opgen.model import Call, FileError, TensorDesc
from opgen.suite.batch import Batch
from opgen.suite.budget import WORKED
from opgen.suite.selection import Request
from tests.support.suites import SLOW, of_calls

STATUS = Path("/proc/self/status")


def pad(size: int) -> Call:
    inside = TensorDesc((4, 4, size, size), "FLOAT", "ND")
    outside = TensorDesc((4, 4, size + 2, size + 2), "FLOAT", "ND")
    args = {"gradOutput": outside, "self": inside, "padding": (1, 1, 1, 1), "gradInput": inside}
    return Call("aclnnReflectionPad2dBackward", "ascend910b", args)


def chunks(*sizes: int) -> list[list[Batch]]:
    suite = of_calls([NamedCall(str(size), pad(size), {}) for size in sizes])
    return [[batch] for batch in suite.batches]


def grown(compute: Callable[[list[Batch]], object], *batches: Batch) -> int:
    """Bytes by which a new process grows that computes batches one after the other: one that has
    freed memory before takes that again.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        return processes.submit(_grown, compute, batches).result()


def _grown(compute: Callable[[list[Batch]], object], batches: Sequence[Batch]) -> int:
    before = _peak()
    for batch in batches:
        compute([batch])
    return _peak() - before


def _peak() -> int:
    """The most bytes that this process had in memory; ``getrusage`` counts its parent's, too."""
    [kilobytes] = re.findall(
        r"^VmHWM:\s+(\d+) kB", STATUS.read_text(encoding="ascii"), re.MULTILINE
    )
    return 1024 * int(kilobytes)


@pytest.mark.skipif(not STATUS.exists(), reason="there is no /proc here")
@pytest.mark.parametrize("recipe", ["grid", "normal"])
def test_a_case_takes_no_more_memory_than_is_said(recipe: str) -> None:
    [batch] = of_calls([NamedCall("one", pad(300), {})], recipe=recipe).batches
    assert batch.elements * 4 < grown(partial(computing.compute, seed=0), batch) < memory_of(batch)


@pytest.mark.skipif(not STATUS.exists(), reason="there is no /proc here")
@pytest.mark.parametrize(
    ("layers", "seeded"),
    [
        ((f"unet3d.b{32 if SLOW else 8}.head", "mobilenet_v3_large.b32.bneck2.project"), True),
        (("resnet50.b32.layer1.1.conv1",), False),
    ],
)
def test_large_layers_one_after_the_other_take_256_mib_beside_what_the_file_holds(
    layers: tuple[str, ...], seeded: bool
) -> None:
    batches = Request(plan="models", patterns=layers).suite().batches
    inputs = [batch.tensors[name] for batch in batches for name in batch.inputs]
    held = 0 if seeded else 2 * sum(desc.storage_elements for desc in inputs)
    compute = partial(rows.compute, seed=0, samples=1024, seeded=seeded)
    most = 8 * max(batch.elements for batch in batches)
    assert len(batches) == len(layers)
    assert 0 < grown(compute, *batches) - held < 256 << 20 < most


def test_the_bytes_are_those_of_the_layout_and_the_memory_that_of_the_largest() -> None:
    suite = of_calls([NamedCall(str(size), pad(size), {}) for size in (3, 30)])
    said = needs(suite)
    assert said.bytes == layout(suite).bytes
    assert said.memory == max(map(memory_of, suite.batches)) > SCRATCH and said.seconds > 0


def test_a_case_has_data_that_takes_as_much_memory_as_there_is() -> None:
    suite = of_calls([NamedCall("one", pad(300), {})])
    least = suite.batches[0].elements * WORKED
    assert fitting(suite, "calls.jsonl", room=least).batches == suite.batches
    with pytest.raises(FileError, match=r"one: it takes [0-9.]+ MB of memory, and there are"):
        fitting(suite, "calls.jsonl", room=least - 1)
    over = fitting(suite, "calls.jsonl", skip=True, room=least - 1)
    assert ([case.phase for case in over.cases], over.batches) == ([1], [])
    assert list(over.without_data) == ["one"] and layout(over).data_bytes == 0


@pytest.mark.parametrize(
    ("large", "found"),
    [(1, [(4, [0, 1, 2])]), (2, [(2, [0, 2]), (4, [1])]), (9, [(1, [0, 2]), (4, [1])])],
)
def test_workers_share_the_memory(large: int, found: Sequence[tuple[int, list[int]]]) -> None:
    [large_case], [small_case] = chunks(1500), chunks(3)
    some = [large_case, small_case, large_case]
    room = memory_of(some[0][0]) * 4 // large
    assert list(side_by_side(some, 4, room)) == found


def test_small_cases_are_computed_by_all() -> None:
    suite = of_calls([NamedCall(str(size), pad(size), {}) for size in range(3, 9)])
    assert [number for number, _ in side_by_side(list(together(suite.batches, 2)), 2)] == [2]
