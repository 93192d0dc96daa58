"""The data of legal calls obey what their page says of values."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.generation import engine
from opgen.oracle.judgement import judge
from opgen.suite import values
from tests.support.suites import EVERY, page, suite

LIMITED = tuple(
    name
    for name in EVERY
    if not page(name).status_only
    and any(values.on_values(guard) for rule in page(name).rules for guard in rule.guards)
)


@pytest.mark.parametrize("name", LIMITED)
def test_no_value_is_beyond_a_rule(name: str) -> None:
    """Whether a rule limits values on both sides or on one, and by whatever recipe."""
    spec, cases, seen = page(name), suite(name, "smoke").cases, set()
    for batch in suite(name, "smoke").batches:
        judged = judge(spec, cases.calls_of(batch.rows))
        arrays = engine.compute(batch, 0)
        for tensor, ends in values.lawful(judged).items():
            if tensor not in batch.inputs or tensor in batch.given:
                continue
            if not batch.tensors[tensor].plain:  # what lies between elements is no value
                continue
            for (low, high), row in zip(ends, arrays[tensor, "input"], strict=True):
                seen |= {tensor} if row.size and not np.isnan([low, high]).all() else set()
                beyond = (row < low) | (row > high)
                assert not beyond.any(), f"{batch.ids}: {tensor}: {row[beyond][:3]}"
    assert seen
