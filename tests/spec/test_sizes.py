"""The table of sizes that matter: what it says is true of its own points, and what is wrong in it
is told.
"""

from __future__ import annotations

import pytest

from opgen.files.yamlfile import parse
from opgen.model import FileError
from opgen.spec.catalog import catalog
from opgen.spec.sizes import Sizes, shipped_sizes

TABLE = """
general: {{block: {{bytes: 32, why: a copy}}, cores: {{elements: 48, why: one task each}}}}
operators:
  avg_pool2d_backward:
    names: [N, C]
    products: [ascend910b]
    boundaries:
      cores:
        {{holds: "{holds}", inside: [[1, 48]], outside: [{outside}],
         source: a file, basis: {basis}{more}}}
"""
GOOD = {"holds": "N * C <= 48", "outside": "[7, 7]", "basis": "run", "more": ""}


def table(**changes: str) -> Sizes:
    return Sizes(parse(TABLE.format(**{**GOOD, **changes}), "sizes.yaml"))


def pool():
    return catalog().by_page["aclnnAvgPool2dBackward", "ascend910b"]


def test_bytes_are_elements_of_two_widths() -> None:
    assert table().general == [8, 16, 48]


def test_a_boundary_has_points_on_both_sides() -> None:
    (boundary,) = table(more=", also: {ceilMode: true}").boundaries(pool())
    assert boundary.products == ("ascend910b",) and boundary.when is None
    assert [(dict(values), inside) for values, inside in boundary.points] == [
        ({"N": 1, "C": 48, "ceilMode": True}, True),
        ({"N": 7, "C": 7, "ceilMode": True}, False),
    ]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"holds": "Nn * C <= 48"}, "no such name 'Nn'"),
        ({"outside": "[7]"}, "expects a number for each of N, C; not [7]"),
        ({"outside": "[a, 7]"}, "expects a whole number, not 'a'"),
        ({"basis": "guessed"}, "guessed"),
        ({"more": ", products: [ascend911]"}, "ascend911"),
        ({"more": ", wen: N == 1"}, "wen"),
    ],
    ids=str,
)
def test_what_is_wrong_is_told_with_its_line(changes: dict[str, str], told: str) -> None:
    with pytest.raises(FileError) as error:
        table(**changes).boundaries(pool())
    assert told in str(error.value) and "sizes.yaml:" in str(error.value)


def test_the_shipped_boundaries_fit_every_page_of_their_operators() -> None:
    sizes, known = shipped_sizes(), {spec.op for spec in catalog().specs}
    assert set(sizes.form.operators) <= known
    for spec in catalog().specs:
        for boundary in sizes.boundaries(spec):
            assert {inside for _, inside in boundary.points} == {True, False}
