"""What kernels made of a formula have in common: of a NaN their pages say nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.golden.elementwise import expected


@pytest.mark.parametrize(
    ("op", "source", "output", "names"),
    [
        ("elu_backward", "selfOrResult", "gradInput", {"alpha": 1.0, "inputScale": 1.0}),
        ("hardswish_backward", "self", "out", {}),
        ("leaky_relu_backward", "self", "out", {"negativeSlope": 0.25}),
        ("selu_backward", "result", "gradInput", {}),
        ("softplus_backward", "self", "gradInput", {"beta": 1.0, "threshold": 20.0}),
    ],
)
def test_any_answer_to_a_nan_is_right(
    op: str, source: str, output: str, names: dict[str, Any]
) -> None:
    """It is neither above a limit nor below. Torch returns the gradient of a single one, and NaN of
    many at a time, in three of these operators.
    """
    of = {"gradOutput": np.ones(3), source: np.array([-1.0, np.nan, 1.0])}
    names = {"scale": 1.0, "isResult": 0, **names}
    golden, limit = expected(op, of, names, output, "FLOAT")
    assert np.isinf(limit).tolist() == [False, True, False] and np.isfinite(golden).all()
