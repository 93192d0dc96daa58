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


def test_bytes_are_elements_of_two_widths_and_one_more() -> None:
    assert table().general == [8, 9, 16, 17, 48, 49]


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


RELATIONS = """
relations:
  whole: {{equal: {{"{{}}in": "k{{}}"}}, when: "k{{}} > 1", why: one window}}
  {name}: {{equal: {{{left}: {right}}}, why: another}}
general: {{one: {{elements: 1, why: the least}}}}
operators: {{}}
"""


def relations(**changes: str) -> list[str]:
    text = RELATIONS.format(**{"name": "one", "left": "C", "right": '"1"', **changes})
    return [each.words for each in Sizes(parse(text, "sizes.yaml")).relations(pool())]


def test_a_relation_is_of_the_last_axes_of_a_page_that_has_its_names() -> None:
    both = ["whole: Win = kW", "whole: Hin = kH, Win = kW"]
    assert relations() == [*both, "one: C = 1"]
    assert relations(left="groups") == both


def test_a_relation_that_is_no_term_is_refused() -> None:
    with pytest.raises(FileError, match=r"sizes\.yaml:4: relations\.one: .*C \+"):
        relations(right='"C +"')


def test_a_boundary_may_have_names_of_its_own() -> None:
    text = TABLE.format(
        **{**GOOD, "more": ", names: [N, C, divisorOverride]", "outside": "[7, 7, 9]"}
    )
    text = text.replace("[[1, 48]]", "[[1, 48, 2]]")
    (boundary,) = Sizes(parse(text, "sizes.yaml")).boundaries(pool())
    assert dict(boundary.points[1][0]) == {"N": 7, "C": 7, "divisorOverride": 9}


def test_a_check_names_all_that_fits_no_page() -> None:
    text = TABLE.format(**{**GOOD, "holds": "M * C <= 48"}).replace("bytes: 32, ", "")
    text += "  avg_pool_backward: {names: [N], products: [ascend910b], boundaries: {}}\n"
    with pytest.raises(FileError) as raised:
        Sizes(parse(text, "sizes.yaml")).check(catalog().specs)
    told = str(raised.value)
    for part in (
        "general.block: expects elements or bytes, one of them",
        "operators.avg_pool_backward: no such operator",
        "no such name 'M'",
    ):
        assert part in told
    shipped_sizes().check(catalog().specs)
