"""Rules without a code that say nothing more where the same fault breaks a rule with one."""

from __future__ import annotations

import pytest

from opgen.calls.call_json import make_call
from opgen.calls.table import from_calls
from opgen.oracle.judgement import judge
from opgen.spec import specfile
from tests.support.spec_sample import PAIR

NAMED, ANY, BOTH = (161002,), ("any_error",), (161002, "any_error")


@pytest.mark.parametrize(
    ("given", "broken", "codes"),
    [
        ({"x": {"dtype": "INT8"}}, "x.dtype", NAMED),
        ({"x": {"dtype": "FLOAT16"}}, "x.dtype", NAMED),
        ({"y": {"dtype": "FLOAT16"}}, "y_dtype out_dtype", ANY),
        ({"y": {"dtype": "INT8"}}, "y.dtype y_dtype out_dtype", ANY),
        ({"x": {"dtype": "INT8"}, "y": {"dtype": "INT8"}}, "x.dtype out_dtype", BOTH),
        ({"x": {"shape": [1, 2, 3]}}, "x.rank y_shape", NAMED),
        ({"y": {"shape": [1, 2, 3]}}, "y_shape", NAMED),
        ({"out": {"shape": [1, 2, 3]}}, "out.rank", ANY),
        ({"x": {"shape": [1, 2, 3]}, "out": {"shape": [1, 2, 4]}}, "x.rank y_shape out.rank", BOTH),
        ({"x": None, "y": {"shape": [1, 2, 3]}}, "x.null y.rank", (161001, "any_error")),
        ({"x": {"shape": [2, 4]}}, "y_shape out_axes", BOTH),
        ({"out": {"shape": [2, 4]}, "width": 4}, "out_axes", ANY),
        ({"width": 4}, "out_width", ANY),
        ({"width": 0}, "width.range", NAMED),
        ({"width": 0, "out": {"shape": [2, 4]}}, "width.range out_axes", BOTH),
    ],
)
def test_a_code_is_not_lost_where_relations_without_one_break_along(
    given: dict[str, object], broken: str, codes: tuple[int | str, ...]
) -> None:
    """The dtype and the rank of x have codes, and so have the shape of y and the least width.
    These silence what relates x or width, the rank of y, and its dtype where that of x is the same.
    """
    spec = specfile.loads(PAIR)
    plain = {"shape": [2, 3], "dtype": "FLOAT", "format": "ND"}
    args = {
        name: plain | other if isinstance(other, dict) else other
        for name, other in ({"x": {}, "y": {}, "out": {}, "width": 3} | given).items()
    }
    call = make_call(spec.api, "ascend910", args, {spec.api: spec.kinds})
    judged = judge(spec, from_calls(spec.api, spec.kinds, [call]))
    assert {rule.id for rule, _ in judged.breaking} == set(broken.split())
    assert judged.codes(0) == codes
