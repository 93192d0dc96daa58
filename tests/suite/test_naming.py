"""Ids of cases: safe and distinct, the same whatever else a suite holds, and equal for equal calls
alone.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opgen.calls.call_json import to_json
from opgen.calls.ids import match_ids
from opgen.calls.table import from_calls
from opgen.model import Call, TensorDesc
from opgen.oracle.judgement import judge
from opgen.spec.catalog import catalog
from opgen.suite.facts import facts_of
from opgen.suite.naming import DIGITS, LONGEST, case_ids, product_in
from opgen.suite.words import CallWords, labels_of
from tests.support.suites import EVERY, FULL, PAGES, enumeration, page, suite

CALL = Call(
    "aclnnAvgPool2dBackward",
    "ascend910b",
    {
        "gradOutput": TensorDesc((1, 17, 5, 2), "FLOAT16", "NCHW"),
        "self": TensorDesc((1, 17, 5, 6), "FLOAT16", "NCHW"),
        "kernelSize": (3, 2),
        "stride": (1, 3),
        "padding": (1, 0),
        "ceilMode": True,
        "countIncludePad": False,
        "divisorOverride": 0,
        "cubeMathType": 0,
        "gradInput": TensorDesc((1, 17, 5, 6), "FLOAT16", "NCHW"),
    },
)


def ids_of(
    *calls: Call, kind: str = "valid", recipe: str = "grid", digits: int = DIGITS
) -> list[str]:
    spec = catalog().by_page[calls[0].api, calls[0].product]
    judged = judge(spec, from_calls(spec.api, spec.kinds, calls))
    rows = len(calls)
    return case_ids(judged, [kind] * rows, [()] * rows, [recipe] * rows, {}, digits)


def changed(**args: object) -> Call:
    return replace(CALL, args={**CALL.args, **args})


@pytest.mark.parametrize("name", FULL)
def test_ids_of_full_plans_are_safe_and_distinct(name: str) -> None:
    ids = [case.id for case in suite(name, "full").cases]
    assert len({one.lower() for one in ids}) == len(ids)
    assert all(re.fullmatch("[A-Za-z0-9._+-]+", one) and len(one) <= LONGEST for one in ids)
    assert all(shlex.quote(one) in (one, f"'{one}'") for one in ids)


@pytest.mark.parametrize("name", PAGES)
def test_the_product_stands_in_an_id(name: str) -> None:
    for case in suite(name).cases:
        assert product_in(case.id) == case.call.product
        assert match_ids([case.id], [f"{page(name).op}.{case.id.split('.')[1]}.*"])
    assert product_in("") == product_in("mine") == product_in("a.b") == ""


@pytest.mark.parametrize(
    ("call", "id_"),
    [
        (CALL, "k3x2-s1x3-pad1x0-4d-n1-c17-in5x6-fp16-ceil"),
        (changed(divisorOverride=-2), "k3x2-s1x3-pad1x0-4d-n1-c17-in5x6-divisorm2-fp16-ceil"),
        (changed(stride=()), "k3x2-s.empty-pad1x0-4d-n1-c17-out5x2-in5x6-fp16-ceil"),
        (
            changed(gradOutput=TensorDesc((1, 17, 5, 2), "FLOAT", "NCHW")),
            "k3x2-s1x3-pad1x0-4d-n1-c17-in5x6-fp16-go.fp32-ceil",
        ),
        (
            changed(gradInput=TensorDesc((1, 17, 5), "FLOAT16", "NCHW")),
            "k3x2-s1x3-pad1x0-4d-n1-c17-in5x6-gi.1x17x5-fp16-ceil",
        ),
        (
            changed(self=TensorDesc((1, 17, 5, 6), "FLOAT16", "NCHW", (510, 30, 1, 5))),
            "k3x2-s1x3-pad1x0-4d-n1-c17-in5x6-fp16-ceil-self.strided.ee7944",
        ),
        (
            changed(self=TensorDesc((1, 17, 5, 6), "FLOAT16", "NCHW", range=(0.0, 1.0))),
            "k3x2-s1x3-pad1x0-4d-n1-c17-in5x6-fp16-ceil.80c60a",
        ),
        (
            changed(self=None),
            "k3x2-s1x3-pad1x0-go.4d-n1-c17-out5x2-gi.1x17x5x6-go.fp16-go.nchw-ceil-self.null",
        ),
    ],
)
def test_ids_say_what_no_rule_tells(call: Call, id_: str) -> None:
    assert ids_of(call) == [f"avg_pool2d_backward.910b.{id_}"]


def test_an_invalid_case_says_what_it_breaks_and_a_handwritten_one_its_name() -> None:
    cases = suite("avg_pool2d_backward").cases
    spec = page("avg_pool2d_backward")
    for case in cases:
        words = case.id.split(".")
        if case.kind == "invalid":
            rules = [b.rule for b in case.page.breaks if spec.rule[b.rule].forbids]
            assert case.id.startswith(f"{words[0]}.{words[1]}.invalid.{rules[0]}")
        if case.kind == "handwritten":
            name = case.intent.partition(":")[0]
            assert re.fullmatch(rf"{words[0]}\.{words[1]}\.handwritten\.{name}\.\w{{6}}", case.id)


OLDEST = {"avg_pool2d_backward", "group_norm_backward", "reflection_pad2d_backward"}


@pytest.mark.parametrize("name", PAGES)
def test_an_id_stays_whatever_else_a_suite_holds(name: str) -> None:
    """Nor does it depend on how wide the columns of the table are."""
    spec = page(name)
    drafted = enumeration(name)
    judged = judge(spec, drafted.judged.table)
    columns = drafted.kind, drafted.purposes, drafted.recipe
    ids = case_ids(judged, *columns, {})
    for row in range(0, len(ids), max(1, len(ids) // 40)):
        alone = judge(spec, drafted.judged.table.take(np.array([row])))
        assert case_ids(alone, *([column[row]] for column in columns), {}) == [ids[row]]
    small = {case.id: to_json(case.call) for case in suite(name, "smoke").cases}
    large = {case.id: to_json(case.call) for case in suite(name).cases}
    shared = small.keys() & large.keys()
    assert all(small[one] == large[one] for one in shared)
    assert shared or name not in OLDEST, "most suites share cases"


@pytest.mark.parametrize("name", PAGES)
def test_words_that_say_a_whole_call_are_those_of_no_other(name: str) -> None:
    """What is broken, null or strided included; the cut and the digest left aside."""
    spec = page(name)
    table = enumeration(name).judged.table
    words = CallWords(judge(spec, table).view)
    seen: dict[tuple[object, ...], str] = {}
    for call, said, whole in zip(table.calls(), words.rows(), words.whole.tolist(), strict=True):
        text = str(to_json(call))
        assert not whole or seen.setdefault((call.product, *said), text) == text
    assert words.whole.mean() > 0.8


EXTENTS = st.integers(-1, 3)
SHAPES = st.lists(EXTENTS, min_size=2, max_size=5).map(tuple)
TENSORS = st.none() | st.builds(
    TensorDesc,
    SHAPES,
    st.sampled_from(["FLOAT", "FLOAT16", "INT8"]),
    st.sampled_from(["NCHW", "NCL", "ND"]),
)
ARRAYS = st.none() | st.lists(st.integers(-1, 3), max_size=3).map(tuple)


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[Call, Call]:
    """A call and another that differs in one or two arguments."""
    first = draw(
        st.fixed_dictionaries(
            {
                "gradOutput": TENSORS,
                "self": TENSORS,
                "gradInput": TENSORS,
                "kernelSize": ARRAYS,
                "stride": ARRAYS,
                "padding": ARRAYS,
                "divisorOverride": st.integers(-2, 2),
                "ceilMode": st.booleans(),
            }
        )
    )
    other = draw(
        st.fixed_dictionaries(
            {}, optional={"self": TENSORS, "stride": ARRAYS, "gradInput": TENSORS}
        )
    )
    return changed(**first), changed(**{**first, **other})


@given(neighbours())
def test_different_calls_have_different_ids(calls: tuple[Call, Call]) -> None:
    one, other = ids_of(*calls, kind="invalid", recipe="")
    assert (one == other) == (calls[0] == calls[1])


def test_a_recipe_is_part_of_what_a_case_is() -> None:
    assert ids_of(CALL, recipe="ones") == [f"{ids_of(CALL)[0]}-ones"]


def test_calls_whose_digests_begin_alike_stay_apart() -> None:
    calls = [
        changed(self=TensorDesc((1, 17, 5, 6), "FLOAT16", "NCHW", range=(0.0, end)))
        for end in range(1, 18)
    ]
    assert len(set(ids_of(*calls))) == len(set(ids_of(*calls, digits=1))) == len(calls)
    assert any(re.search(r"\.[0-9a-f]{16}$", one) for one in ids_of(*calls, digits=1))


@pytest.mark.parametrize("name", EVERY)
def test_labels_differ_and_do_not_go_on_in_values(name: str) -> None:
    labels = labels_of(page(name))
    assert len(set(labels.values())) == len(labels)
    end = r"[a-z0-9_]*[a-lnowp-z_]|[a-z_]*[^mx0-9]|[a-z_]+\[[0-9]+\]"  # the last: of a list
    assert all(re.fullmatch(end, x) for x in labels.values())


@pytest.mark.parametrize("name", EVERY)
def test_facts_stand_behind_those_that_tell_them(name: str) -> None:
    spec, known = page(name), set()
    tensors = {p.name for p in spec.parameters.values() if p.is_tensor}
    for fact in facts_of(spec):
        for guard in fact.guards:
            for parameter, what in (*guard.require.refs, *(guard.when.refs if guard.when else ())):
                if parameter in tensors and what in ("dtype", "format"):
                    assert (parameter, what) == fact.reference or (parameter, what) in known
        known.add(fact.reference)


def test_ids_go_through_a_shell_and_pytest(tmp_path: Path) -> None:
    """As file names, unquoted in a shell, and in an expression of ``pytest -k``."""
    ids = sorted({case.id for case in suite("avg_pool2d_backward", "smoke").cases})[::10]
    for one in ids:
        (tmp_path / one).touch()
    assert sorted(path.name for path in tmp_path.iterdir()) == ids
    echoed = subprocess.run(
        ["sh", "-c", "echo " + " ".join(ids)], cwd=tmp_path, capture_output=True, check=True
    )
    assert echoed.stdout.decode().split() == ids
    test = tmp_path / "test_it.py"
    test.write_text(
        "import pytest\n"
        f"@pytest.mark.parametrize('case', {ids!r}, ids={ids!r})\n"
        "def test_it(case): pass\n"
    )
    for one in ids[:3]:
        plugins = "-p", "no:cacheprovider", "-p", "no:unraisableexception"
        with redirect_stdout(StringIO()) as said:
            pytest.main(["-q", *plugins, "--rootdir", str(tmp_path), "-k", one, str(test)])
        assert "1 passed" in said.getvalue(), said.getvalue()
