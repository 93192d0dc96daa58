"""What all kernels have in common, those of operators that come later too: the calls are those of
their smoke suites.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from opgen.generation.filling import fill
from opgen.generation.kernels import depths
from opgen.golden import kernel
from opgen.spec.catalog import catalog
from opgen.suite.batch import Batch
from tests.golden import test_avg_pool2d_backward as pool
from tests.golden import test_avg_pool3d_backward as pool3d
from tests.golden import test_convolution_backward as conv
from tests.golden import test_group_norm_backward as norm
from tests.golden import test_reflection_pad2d_backward as reflection
from tests.support import suites
from tests.support.processors import working

OPERATORS = suites.computed()
every = pytest.mark.parametrize("op", OPERATORS)

DIGEST = """
import hashlib
import pickle
import sys
from pathlib import Path
import numpy as np
from opgen.golden import kernel
from tests.golden import test_avg_pool2d_backward as pool, test_convolution_backward as conv
from tests.golden import test_group_norm_backward as norm
random, digest = np.random.default_rng(0), hashlib.sha256()
for g in [*conv.geometries(0, 60, 6), *conv.larger()]:
    for array in conv.golden(g.tensors(random), g.names, conv.ALL).values():
        digest.update(array.tobytes())
for names in [*pool.geometries(0, 60), *pool.LARGE[:6]]:
    for scale in (5040.0, 1 / 3):
        shape = 2, 3, names["Hout"], names["Wout"]
        dy = np.ascontiguousarray(random.standard_normal(shape) * scale)
        digest.update(pool.run(names, dy).tobytes())
for names in norm.geometries(0, 60, 300):
    for array in norm.golden(norm.tensors(random, names), names, norm.ALL).values():
        digest.update(array.tobytes())
for op, tensors, names, wanted in pickle.loads(Path(sys.argv[1]).read_bytes()):
    for array in kernel(op).golden(tensors, names, wanted).values():
        digest.update(array.tobytes())
print(digest.hexdigest())
"""


@every
def test_kernels_are_found_by_the_name_of_their_spec(op: str) -> None:
    found = kernel(op)
    assert all(callable(getattr(found, name)) for name in ("golden", "magnitude", "depth"))


class Sample(NamedTuple):
    """A kernel with what it is called with: the inputs of two cases of one batch, as a suite draws
    them.
    """

    batch: Batch
    module: Any
    tensors: dict[str, np.ndarray | None]

    def golden(self, /, **changes: np.ndarray) -> dict[str, np.ndarray]:
        return self.module.golden({**self.tensors, **changes}, self.batch.names, self.batch.wanted)

    def cases(self) -> Iterator[dict[str, np.ndarray | None]]:
        """Each case alone, in memory as a batch of one is."""
        for i in range(len(self.batch.ids)):
            yield {
                name: None if value is None else value[i : i + 1].copy()
                for name, value in self.tensors.items()
            }


@cache
def samples(op: str) -> list[Sample]:
    """The batches of an operator's smoke suites on data of a grid, and of any data where the kernel
    adds in an order of its own: a sample of them, that has every recipe. Attributes of NaN, which
    make NaN of everything, are left out.
    """
    module = kernel(op)
    recipes = ["grid"] if hasattr(module, "PARTNERS") else ["grid", "normal", "wide_exponent"]
    whole = [
        batch
        for spec in catalog().specs
        if spec.op == op
        for batch in suites.suite(spec.name, "smoke").batches
        if batch.wanted and "nan" not in map(str, batch.names.values())
    ]
    some = [
        replace(
            batch,
            rows=batch.rows[[0, 0]],
            ids=(f"{batch.ids[0]}-one", f"{batch.ids[0]}-two"),
            recipe=recipe,
            given={},
        )
        for batch, recipe in suites.sampled(product(whole, recipes), 4, op)
    ]
    filled = fill(some, [max(depths(batch).values()) for batch in some], 0)
    return [Sample(batch, module, found.seen) for batch, found in zip(some, filled, strict=True)]


def parts(array: np.ndarray) -> np.ndarray:
    return np.abs(np.ascontiguousarray(array).view(np.float64))


def same(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(
        np.array_equal(array, other[name]) for name, array in one.items()
    )


@every
def test_outputs_are_those_of_the_call(op: str) -> None:
    for batch, module, tensors in samples(op):
        for found in (
            module.golden(tensors, batch.names, batch.wanted),
            module.magnitude(tensors, batch.names, batch.wanted),
        ):
            assert set(found) == set(batch.wanted)
            for name, array in found.items():
                desc = batch.tensors[name]
                assert array.shape == (2, *desc.shape), batch.ids
                assert array.dtype == (
                    np.complex128 if desc.dtype.startswith("COMPLEX") else np.float64
                ), batch.ids


@every
def test_an_output_that_nobody_wants_is_not_computed(op: str) -> None:
    for batch, module, tensors in samples(op):
        assert (
            module.golden(tensors, batch.names, ())
            == module.magnitude(tensors, batch.names, ())
            == {}
        )
        for name in batch.wanted:
            assert same(
                module.golden(tensors, batch.names, (name,)),
                {name: module.golden(tensors, batch.names, batch.wanted)[name]},
            )


@every
def test_magnitudes_are_no_smaller_than_goldens(op: str) -> None:
    """But for the last digits, where the two add in different orders."""
    seen = 0
    for sample in samples(op):
        sizes = sample.module.magnitude(sample.tensors, sample.batch.names, sample.batch.wanted)
        for name, array in sample.golden().items():
            least, size = parts(array), sizes[name].view(np.float64)
            assert (size * (1 + 2.0**-40) >= least).all(), (sample.batch.ids, name)
            seen += np.count_nonzero(least)
    assert seen > 100


ALSO_INCOMING = {"lstm_backward": ("dh", "dc")}
"""Gradients that come in beside the first."""


@every
def test_goldens_are_linear_in_the_gradient(op: str) -> None:
    """Twice the gradients that come in are twice the golden, to the last bit."""
    for sample in samples(op):
        incoming = (sample.batch.gradient, *ALSO_INCOMING.get(op, ()))
        assert sample.tensors[incoming[0]] is not None
        doubled = {
            name: 2 * array for name in incoming if (array := sample.tensors[name]) is not None
        }
        twice = {name: 2 * array for name, array in sample.golden().items()}
        assert same(sample.golden(**doubled), twice), sample.batch.ids


@every
def test_a_stack_is_its_cases(op: str) -> None:
    for sample in samples(op):
        alone = [
            sample.module.golden(case, sample.batch.names, sample.batch.wanted)
            for case in sample.cases()
        ]
        stacked = {
            name: np.concatenate([one[name] for one in alone]) for name in sample.batch.wanted
        }
        assert same(sample.golden(), stacked), sample.batch.ids


@every
def test_one_call_for_both_gives_the_same(op: str) -> None:
    for batch, module, tensors in samples(op):
        if hasattr(module, "both"):
            golden, magnitude = module.both(tensors, batch.names, batch.wanted)
            assert same(golden, module.golden(tensors, batch.names, batch.wanted)), batch.ids
            assert same(magnitude, module.magnitude(tensors, batch.names, batch.wanted)), batch.ids


TIMES = {
    "grid_sampler2d_backward": 16,
    "roi_align_v2_backward": 16,
    "upsample_bicubic2d_backward": 16,
}
"""How often one element of an input may come into one of an output, if more than once: taps beyond
a border fall on the element there, and samples of one part of a box on the same elements."""


@every
def test_depths_are_whole_and_no_longer_than_a_sum_of_all_there_is(op: str) -> None:
    """A depth that is too large makes bounds that nothing exceeds; a dozen roundings may come to
    the terms of a sum. Of nothing, any depth will do.
    """
    for batch, _, _ in samples(op):
        most = sum(prod(batch.tensors[name].shape) for name in batch.inputs) * TIMES.get(op, 1) + 12
        for name, depth in depths(batch).items():
            least = all(prod(desc.shape) for desc in batch.tensors.values())
            assert type(depth) is int and depth >= least and (depth <= most or not least), (
                batch.ids,
                name,
                depth,
            )


def changed(name: str, change: Callable[[Any], Any]) -> tuple[str, Callable[[Any], Any]]:
    """A function of a kernel whose outputs are changed."""
    return (
        name,
        lambda right: lambda *given: {out: change(array) for out, array in right(*given).items()},
    )


WRONG = [
    (test_outputs_are_those_of_the_call, changed("golden", lambda array: array.astype(np.float32))),
    (test_outputs_are_those_of_the_call, changed("magnitude", lambda array: array[0])),
    (
        test_an_output_that_nobody_wants_is_not_computed,
        ("golden", lambda right: lambda t, n, w: right(t, n, w or ("gradInput",))),
    ),
    (test_magnitudes_are_no_smaller_than_goldens, changed("magnitude", lambda array: array / 2)),
    (test_magnitudes_are_no_smaller_than_goldens, changed("golden", lambda array: array + 1)),
    (test_goldens_are_linear_in_the_gradient, changed("golden", lambda array: array + 2.0**-30)),
    (test_a_stack_is_its_cases, changed("golden", lambda array: array[::-1])),
    (
        test_one_call_for_both_gives_the_same,
        ("both", lambda right: lambda *given: right(*given)[::-1]),
    ),
    (
        test_depths_are_whole_and_no_longer_than_a_sum_of_all_there_is,
        ("depth", lambda right: lambda *given: 10 * right(*given) ** 2),
    ),
    (
        test_depths_are_whole_and_no_longer_than_a_sum_of_all_there_is,
        ("depth", lambda right: lambda *given: np.int64(right(*given))),
    ),
]


@pytest.mark.parametrize(
    ("test", "wrong"),
    WRONG,
    ids=[f"{test.__name__}-{name}-{i}" for i, (test, (name, _)) in enumerate(WRONG)],
)
def test_a_wrong_kernel_is_found_out(
    test: Callable[[str], None],
    wrong: tuple[str, Callable[[Any], Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    op, (name, change) = "avg_pool2d_backward", wrong
    samples(op)
    monkeypatch.setattr(kernel(op), name, change(getattr(kernel(op), name)))
    with pytest.raises(AssertionError):
        test(op)


def test_an_unknown_kernel_is_refused() -> None:
    with pytest.raises(ModuleNotFoundError, match="max_pool3d_backward"):
        kernel("max_pool3d_backward")


def calls(
    op: str,
) -> Iterator[tuple[dict[str, np.ndarray | None], dict[str, int], tuple[str, ...]]]:
    """Tensors of three cases, names and outputs; data off the grid where the kernel adds in an
    order of its own.
    """
    random = np.random.default_rng(1)
    if op == "convolution_backward":
        for g in conv.geometries(1, 60, 6):
            yield g.tensors(random, 3), g.names, conv.ALL
            yield g.tensors(random, 3), g.names, ("gradBias",)
    elif op == "group_norm_backward":
        for names in norm.geometries(1, 60, 40):
            yield norm.tensors(random, names, 3, bool(random.integers(2))), names, norm.ALL
    elif op == "avg_pool2d_backward":
        for names in pool.geometries(1, 100):
            yield (
                {"gradOutput": random.standard_normal((3, 2, names["Hout"], names["Wout"]))},
                names,
                ("gradInput",),
            )
    elif op == "avg_pool3d_backward":
        for names in pool3d.geometries(1, 40):
            yield (
                {"gradOutput": random.standard_normal((3, 2, *[names[a + "out"] for a in "DHW"]))},
                names,
                ("output",),
            )
    else:
        for names, h, w in reflection.geometries(1, 60):
            dy = reflection.values(
                random, (3, 2, *reflection.padded(names, h, w)), complex_=h % 2 == 0
            )
            yield {"gradOutput": dy}, names, ("gradInput",)


GEOMETRIES = [
    "convolution_backward",
    "avg_pool2d_backward",
    "group_norm_backward",
    "reflection_pad2d_backward",
    "avg_pool3d_backward",
]
"""Operators with data of their own below: larger ones, and some that are not finite."""


@pytest.mark.parametrize("op", GEOMETRIES)
def test_one_call_gives_golden_and_magnitude_bit_for_bit(op: str) -> None:
    module, random = kernel(op), np.random.default_rng(2)
    for i, (tensors, names, wanted) in enumerate(calls(op)):
        if i % 5 == 0:
            gradient = next(array for name, array in tensors.items() if name.startswith("gradOut"))
            gradient[0].flat[random.integers(gradient[0].size)] = random.choice([np.inf, np.nan])
        found = module.both(tensors, names, wanted)
        with np.errstate(invalid="ignore"):
            apart = module.golden(tensors, names, wanted), module.magnitude(tensors, names, wanted)
        for one, other in zip(found, apart, strict=True):
            assert tuple(one) == tuple(other) == wanted
            assert all(np.array_equal(one[name], other[name], equal_nan=True) for name in wanted), (
                names
            )


def test_bits_depend_on_no_processor_and_no_thread_count(tmp_path: Path) -> None:
    """Convolutions of data on a grid; poolings and group norms of any data; and the smoke suites of
    all operators.
    """
    calls = [
        (op, tensors, batch.names, batch.wanted)
        for op in OPERATORS
        for batch, _, tensors in samples(op)
    ]
    (tmp_path / "calls").write_bytes(pickle.dumps(calls))
    digests = set()
    for environment in working():
        command = [sys.executable, "-c", DIGEST, str(tmp_path / "calls")]
        run = subprocess.run(
            command, env=os.environ | environment, capture_output=True, text=True, check=True
        )
        digests.add(run.stdout)
    assert len(digests) == 1
