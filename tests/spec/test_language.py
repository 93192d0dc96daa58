"""The rule language: what it refuses and with which words, and that it computes what Python
computes, on columns.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen.calls import bigint
from opgen.calls.reals import rounded
from opgen.calls.vocabulary import vocabulary
from opgen.spec.language import parse
from opgen.spec.language.term import Reference, TermError
from opgen.spec.language.value import Value

KINDS: dict[Reference, str] = {
    **{(name, ""): "int" for name in "abcdefgh"},
    ("padH", ""): "int",
    ("flag", ""): "bool",
    ("other", ""): "bool",
    ("product", ""): "product",
    ("x", "dtype"): "dtype",
    ("x", "format"): "format",
    ("x", "shape"): "shape",
    ("x", "rank"): "int",
    ("x", "null"): "bool",
    ("y", "dtype"): "dtype",
    ("y", "shape"): "shape",
    ("p", "len"): "int",
    ("p", "lowest"): "int",
    ("p", 0): "int",
    ("p", "values"): "shape",
    ("x", ("dim", -1)): "int",
    ("real", ""): "double",
    ("single", ""): "float",
}


class Names:
    """A scope of a few names; ``MODE`` is the word 3."""

    def kind(self, reference: Reference) -> str | None:
        return KINDS.get(reference)

    def constant(self, name: str) -> int | None:
        return {"MODE": 3}.get(name)

    def names(self) -> list[str]:
        return list(dict.fromkeys([name for name, _ in KINDS] + ["MODE"]))


@dataclass
class Columns:
    """A view of columns given by name."""

    columns: dict[Any, Value]

    def get(self, reference: Reference) -> Value:
        return (
            self.columns[reference[0]] if reference[0] in self.columns else self.columns[reference]
        )


def ints(**values: Any) -> Columns:
    return Columns({name: Value(bigint.as_column(column)) for name, column in values.items()})


def read(text: str, view: Columns) -> list[Any]:
    value = parse.term(text, Names()).read(view)
    rows = max(np.asarray(v.data).size for v in view.columns.values())
    data, bound = (
        np.broadcast_to(value.data, rows).tolist(),
        np.broadcast_to(value.bound, rows).tolist(),
    )
    return [Fraction(d, value.over) if b else None for d, b in zip(data, bound, strict=True)]


REFUSED = [
    ("padh <= a", "no such name 'padh' (did you mean 'padH'?)"),
    ("zzzz <= a", "no such name 'zzzz'"),
    ("x.length == 3", "'x.length': no such attribute; known: dtype, format"),
    ("a.rank == 3", "'a.rank': a has no such property"),
    ("x == y", "'x': x stands for the whole; write x.shape of a tensor, x[i] of an array"),
    ("a", "'a' must be one comparison; two facts are two rules"),
    ("a == b and c == d", "must be one comparison; two facts are two rules"),
    ("a < b < c", "must be one comparison"),
    ("a = b", "is not an expression: "),
    ("a ==", "is not an expression: "),
    ("", "is not an expression: "),
    ("a is b", "'a is b': compare with =="),
    ("x.dtype < y.dtype", "'x.dtype < y.dtype': dtype has no order"),
    ("flag < other", "bool has no order"),
    ("x.dtype == a", "compares dtype with int"),
    ("x.dtype == 3", "compares dtype with int"),
    ("flag == 1", "compares bool with int"),
    ("a == 'FLOAT'", "compares int with word"),
    ("'FLOAT' == 'FLOAT'", "compares word with word"),
    ("x.dtype == 'FLOAT32'", "no such dtype 'FLOAT32' (did you mean 'FLOAT'?)"),
    ("x.dtype in ('FLOT',)", "no such dtype 'FLOT' (did you mean 'FLOAT'?)"),
    ("x.format == 'NCWH'", "no such format 'NCWH' (did you mean 'NCHW'?)"),
    ("product == 'ascend910bb'", "no such product 'ascend910bb' (did you mean 'ascend910b'?)"),
    ("a in 3", "write the members in parentheses: x in (1, 2)"),
    ("a in ()", "write the members in parentheses"),
    ("(a) in b", "write the members in parentheses"),
    ("a in b", "write the members in parentheses"),
    ("x.shape == 3", "compares shape with int"),
    ("a ** 2 == b", "'a ** 2': compute with + - * / // %"),
    ("a / b <= c", "/ divides by a positive constant; use // for whole numbers"),
    ("a / 0 <= c", "/ divides by a positive constant"),
    ("a <= 1 // 0", "'1 // 0': divides by zero"),
    ("a % (MODE - 3) <= c", "'a % (MODE - 3)': divides by zero"),
    ("a / 2.5 <= c", "/ divides by a positive constant"),
    ("a / 'x' <= c", "is word, a number is needed"),
    ("a / True <= c", "is bool, a number is needed"),
    ("a / 2 // 2 <= c", "'a / 2': must be whole here; use // instead of /"),
    ("conv_out(a / 2, b, c, d, e) == f", "'a / 2': must be whole here"),
    ("x.shape == (a / 2, b)", "'a / 2': must be whole here"),
    ("1e999 <= a", "only numbers, True, False and quoted words"),
    ("a // 1.5 == b", "'1.5': must be whole here"),
    ("x.shape[1.5:] == y.shape", "'1.5': must be whole here"),
    ("x.shape[a / 2] == b", "'a / 2': must be whole here"),
    ("x.shape[::2] == y.shape", "'x.shape[::2]': a slice has no step"),
    ("x.shape[y.shape] == a", "'y.shape': is shape, a number is needed"),
    ("a[b] == 1", "'a': is int, only a shape has parts"),
    ("x.shape - y.shape == x.shape", "'x.shape': is shape, a number is needed"),
    ("2 * x.shape == x.shape", "'x.shape': is shape, a number is needed"),
    ("x.shape < y.shape", "shape has no order"),
    ("broadcast(x.shape, a) == y.shape", "'a': is int, broadcast takes shape there"),
    ("without(x.shape) == y.shape", "takes 2 arguments, not 1"),
    ("broadcast(x.shape, y.shape)", "must be one comparison"),
    ("p == a", "compares shape with int"),
    ("sum(a) == b", "'a': is int, sum takes shape there"),
    ("sum(values(p)) == a", "'values(p)': takes the name of a tensor"),
    ("a == sum(values(x))", "'values(x)': stands alone on the left of a comparison"),
    ("values(x) == a", "'values(x)': compare all values with < <= > >="),
    ("a + flag == b", "'flag': is bool, a number is needed"),
    ("a + x.dtype == b", "'x.dtype': is dtype, a number is needed"),
    ("pool(a) == b", "no such function (did you mean 'pooled'?)"),
    ("pooled(a, b) == c", "takes 5 arguments, not 2"),
    ("min(a) == c", "takes 2 to 9 arguments, not 1"),
    ("pooled(a, b, c, d, e) == f", "'e': is int, pooled takes bool there"),
    ("promote(a, b) == x.dtype", "'a': is int, promote takes dtype there"),
    ("min(a, key=b) == c", "takes no keywords"),
    ("len(a + b) == 1", "len takes the name of a parameter"),
    ("len(q) == 1", "len takes the name of a parameter"),
    ("p[1:2] == 1", "compares shape with int"),
    ("p[{[1]: 2}] == 1", "'{[1]: 2}': is not part of the rule language"),
    ("p['1'] == 1", "an index must be a whole number"),
    ("p[True] == 1", "an index must be a whole number"),
    ("p[99999999999999999999] == 1", "an index must be a whole number"),
    ("a.b.c == 1", "is not a name of the rule language"),
    ("(lambda: 1) == 1", "is not part of the rule language"),
    ("[a] == b", "is not part of the rule language"),
    ("(a == b) == True", "is not part of the rule language"),
    ("__import__('os').system('true') == 0", "no such function"),
    ("a == " + "-" * 1500 + "1", "nested too deeply"),
    ("a == " + "1 + " * 600 + "1", "longer than 2000 characters"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_is_refused_and_why(text: str, message: str) -> None:
    with pytest.raises(TermError) as caught:
        parse.relation(text, Names())
    assert message in str(caught.value)


def test_a_name_that_is_nested_too_deeply() -> None:
    with pytest.raises(TermError, match=r"'-{40}\.\.\.' is nested too deeply"):
        parse.reference("-" * 1500 + "x")


@pytest.mark.parametrize("text", ["a", "x.dtype", "a + 1", "'FLOAT'", "p[0]"])
def test_a_condition_must_be_true_or_false(text: str) -> None:
    with pytest.raises(TermError, match="a condition must be true or false"):
        parse.condition(text, Names())


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a", "int"),
        ("a + 1", "int"),
        ("x.dtype", "dtype"),
        ("flag", "bool"),
        ("not flag", "bool"),
        ("a == b", "bool"),
        ("a == b and flag", "bool"),
    ],
)
def test_either_is_a_condition_or_a_term(text: str, kind: str) -> None:
    assert parse.term(text, Names()).kind == kind


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a and flag", "'a': is int, a condition must be"),
        ("flag +", "is not an expression"),
        ("q", "no such name"),
    ],
)
def test_either_says_what_is_wrong_with_the_part(text: str, message: str) -> None:
    with pytest.raises(TermError, match=message):
        parse.term(text, Names())


@pytest.mark.parametrize("value", [True, 3, None, ["a == b"]])
def test_what_is_no_text_is_refused(value: Any) -> None:
    with pytest.raises(TermError, match="is not an expression; quote it"):
        parse.relation(value, Names())


# values -------------------------------------------------------------------------------------------
NUMBERS = st.one_of(st.integers(-9, 9), st.integers(-(2**63), 2**63 - 1))
LEAVES = st.one_of(
    st.sampled_from(["a", "b", "c", "MODE"]), st.integers(0, 9).map(str), st.just(str(2**62))
)


def branches(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%"]), inner).map(
        lambda t: f"({t[0]} {t[1]} {t[2]})"
    )
    called = st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(
        lambda t: f"{t[0]}({t[1]}, {t[2]})"
    )
    return st.one_of(
        binary, called, inner.map(lambda t: f"(-{t})"), inner.map(lambda t: f"abs({t})")
    )


def plain(text: str, names: dict[str, int]) -> int | None:
    try:
        return eval(
            text, {"__builtins__": {}}, {**names, "MODE": 3, "min": min, "max": max, "abs": abs}
        )
    except ZeroDivisionError:
        return None


def computable(text: str) -> bool:
    """Whether a text is a term; what is refused divides by a constant that is 0, and has no
    value.
    """
    try:
        parse.term(text, Names())
    except TermError as error:
        assert (
            str(error).endswith("divides by zero")
            and plain(text, {"a": 5, "b": -7, "c": 2**62}) is None
        )
        return False
    return True


ARITHMETIC = st.recursive(LEAVES, branches, max_leaves=6).filter(computable)
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=4)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(ARITHMETIC, ROWS)
def test_arithmetic_is_that_of_python_and_never_wraps(
    text: str, rows: list[tuple[int, int, int]]
) -> None:
    a, b, c = (list(column) for column in zip(*rows, strict=True))
    expected = [plain(text, dict(zip("abc", row, strict=True))) for row in rows]
    assert read(text, ints(a=a, b=b, c=c)) == expected


@settings(max_examples=40, deadline=None, derandomize=True)
@given(ARITHMETIC, ARITHMETIC, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), ROWS)
def test_comparisons_are_those_of_python(
    left: str, right: str, sign: str, rows: list[tuple[int, int, int]]
) -> None:
    a, b, c = (list(column) for column in zip(*rows, strict=True))
    value = parse.relation(f"{left} {sign} {right}", Names()).read(ints(a=a, b=b, c=c))
    for i, row in enumerate(rows):
        names = dict(zip("abc", row, strict=True))
        x, y = plain(left, names), plain(right, names)
        bound = np.broadcast_to(value.bound, len(rows))[i]
        assert bound == (x is not None and y is not None)
        if bound:
            assert np.broadcast_to(value.data, len(rows))[i] == eval(f"{x} {sign} {y}")


def test_halves_are_exact() -> None:
    view = ints(a=[1, 1, 2, 2**62 + 1], b=[2, 3, 5, 2**63 - 1])
    assert parse.relation("a <= b / 2", Names()).read(view).data.tolist() == [
        True,
        True,
        True,
        False,
    ]
    assert parse.relation("a == b / 2", Names()).read(view).data.tolist() == [
        True,
        False,
        False,
        False,
    ]
    pairs = [(1, 2), (1, 3), (2, 5), (2**62 + 1, 2**63 - 1)]
    assert read("b / 2 / 3 - a / 5", view) == [Fraction(b, 6) - Fraction(a, 5) for a, b in pairs]
    assert read("max(a / 2, b / 3)", view)[0] == Fraction(2, 3)


def test_decimal_constants_are_exact() -> None:
    view = ints(a=[1, 2, 3, 2**62], b=[10, 20, 31, 5 * 2**61])
    assert parse.relation("a * 2.5 == b / 4", Names()).read(view).data.tolist() == [
        True,
        True,
        False,
        False,
    ]
    assert parse.relation("a <= b * 0.1", Names()).read(view).data.tolist() == [
        True,
        True,
        True,
        False,
    ]
    assert read("a + 1e-3", view)[0] == Fraction(1001, 1000)


def test_what_a_name_is_has_no_divisor() -> None:
    """A whole number where the fraction is one, else nothing."""
    value = parse.term("(a + b) / 2 / 3", Names()).value(
        ints(a=[5, 6, 2**63 - 3, -5], b=[1, 1, 1, -7])
    )
    assert value.over == 1 and value.bound.tolist() == [True, False, True, True]
    assert value.data[value.bound].tolist() == [1, (2**63 - 2) // 6, -2]


def test_formulas_over_a_small_range() -> None:
    every = list(itertools.product(range(0, 7), range(1, 4), range(1, 4), range(0, 3), range(1, 3)))
    a, b, c, d, e = (list(column) for column in zip(*every, strict=True))
    assert read("conv_out(a, b, c, d, e)", ints(a=a, b=b, c=c, d=d, e=e)) == [
        (
            len(range(0, n + pad - (dil * (k - 1)), s))
            if n + pad > dil * (k - 1)
            else (n + pad - dil * (k - 1) - 1) // s + 1
        )
        for n, k, s, pad, dil in every
    ]
    longer = read("transposed_out(a, b, c, d, e, 0)", ints(a=a, b=b, c=c, d=d, e=e))
    for (n, k, s, pad, dil), out in zip(every, longer, strict=True):
        assert out is not None
        if n and out > 0:  # a convolution of that output has this input back
            assert (out + pad - dil * (k - 1) - 1) // s + 1 == n


def test_a_truncated_quotient_drops_the_fraction() -> None:
    pairs = [(a, b) for a in range(-9, 10) for b in range(-4, 5)] + [(-(2**70) - 1, 2)]
    columns = ints(a=[a for a, _ in pairs], b=[b for _, b in pairs])
    expected = [None if b == 0 else abs(a) // abs(b) * (1 if a * b > 0 else -1) for a, b in pairs]
    assert read("truncated(a, b)", columns) == expected


def test_pooling_ends_where_the_last_window_starts_inside() -> None:
    grid = itertools.product(range(1, 9), range(1, 4), range(1, 4), range(0, 2), (False, True))
    every = [(n, k, s, p, c) for n, k, s, p, c in grid if 2 * p <= k <= n + 2 * p]
    a, b, c, d, flag = (list(column) for column in zip(*every, strict=True))
    view = Columns({**ints(a=a, b=b, c=c, d=d).columns, "flag": Value(np.array(flag))})
    for (n, k, s, p, ceil), out in zip(every, read("pooled(a, b, c, d, flag)", view), strict=True):
        starts = [i * s - p for i in range(20)]
        whole = [x for x in starts if x + k <= n + p]
        overhanging = [x for x in starts if x < n and (x + k <= n + p or x - s + k < n + p)]
        assert out == (max(len(whole), len(overhanging)) if ceil else len(whole)), (
            n,
            k,
            s,
            p,
            ceil,
        )


def test_a_scaled_extent_is_that_of_c() -> None:
    sizes, scales = (
        [3, 10, 7, 3, 3, 3, 2**62],
        [2.5, 0.1, 0.3, -1.1, float("nan"), float("inf"), 4.0],
    )
    view = Columns({**ints(a=sizes).columns, "real": Value(np.array(scales))})
    assert read("scaled(a, real)", view) == [7, 1, 2, -4, -1, -1, -1]


def test_a_formula_without_a_meaning_is_unbound() -> None:
    view = Columns(
        {
            **ints(a=[5, 5], b=[2, 2], c=[0, -1], d=[0, 0], e=[1, 1]).columns,
            "flag": Value(np.array([True, False])),
        }
    )
    for text in (
        "conv_out(a, b, c, d, e)",
        "transposed_out(a, b, c, d, e, 0)",
        "pooled(a, b, c, d, flag)",
    ):
        assert read(text, view) == [None, None]


def test_promotion_of_every_pair() -> None:
    names = vocabulary().names["dtype"]
    pairs = list(itertools.product(range(len(names)), repeat=2))
    view = Columns(
        {
            ("x", "dtype"): Value(np.array([p[0] for p in pairs])),
            ("y", "dtype"): Value(np.array([p[1] for p in pairs])),
        }
    )
    value = parse.term("promote(x.dtype, y.dtype)", Names()).read(view)
    answers = {
        (names[i], names[j]): names[d] if b else None
        for (i, j), d, b in zip(pairs, value.data, value.bound, strict=True)
    }
    assert answers["FLOAT16", "BFLOAT16"] == answers["BFLOAT16", "FLOAT16"] == "FLOAT"
    assert (
        answers["FLOAT16", "DOUBLE"] == "DOUBLE"
        and answers["INT8", "INT8"] == "INT8"
        and answers["INT8", "FLOAT"] is None
    )
    assert all(answers[j, i] == answers[i, j] for i, j in answers)
    higher = parse.term("higher(x.dtype, y.dtype)", Names()).read(view)
    neither = {(names[i], names[j]) for (i, j), b in zip(pairs, higher.bound, strict=True) if not b}
    assert (
        neither >= {("FLOAT16", "BFLOAT16"), ("INT8", "FLOAT")}
        and ("FLOAT", "FLOAT16") not in neither
    )


def test_the_first_dtype_that_there_is() -> None:
    there = np.array([True, True, False, False])
    view = Columns(
        {
            ("x", "dtype"): Value(np.array([1, 2, 1, 2]), there),
            ("y", "dtype"): Value(np.array([2, 1, 2, 1]), np.array([True, False, True, False])),
        }
    )
    value = parse.term("first(x.dtype, y.dtype)", Names()).read(view)
    assert value.data[value.bound].tolist() == [1, 2, 2]
    assert value.bound.tolist() == [True, True, True, False]


# three-valued logic -------------------------------------------------------------------------------
TRUTH = [True, False, None]


def kleene(sign: str, a: bool | None, b: bool | None) -> bool | None:
    if sign == "and":
        return False if a is False or b is False else None if a is None or b is None else True
    return True if a is True or b is True else None if a is None or b is None else False


@pytest.mark.parametrize("sign", ["and", "or"])
@pytest.mark.parametrize("garbage", [True, False])
def test_unknown_stays_unknown_unless_the_other_side_decides(sign: str, garbage: bool) -> None:
    pairs = list(itertools.product(TRUTH, repeat=2))

    def column(values: list[bool | None]) -> Value:
        return Value(
            np.array([garbage if v is None else v for v in values]),
            np.array([v is not None for v in values]),
        )

    view = Columns({"flag": column([a for a, _ in pairs]), "other": column([b for _, b in pairs])})
    value = parse.condition(f"flag {sign} other", Names()).read(view)
    assert [bool(d) if b else None for d, b in zip(value.data, value.bound, strict=True)] == [
        kleene(sign, a, b) for a, b in pairs
    ]
    turned = parse.condition(f"not (flag {sign} other)", Names()).read(view)
    assert [None if not b else not d for d, b in zip(turned.data, turned.bound, strict=True)] == [
        kleene(sign, a, b) for a, b in pairs
    ]


def test_shapes_are_compared_by_rank_and_extents() -> None:
    x = Value(
        (np.array([2, 3, 0, 2]), np.array([[2, 3, 1], [2, 3, 1], [1, 1, 1], [2, 4, 1]])),
        np.array([True, True, True, True]),
    )
    y = Value(
        (np.array([2, 2, 0, 2]), np.array([[2, 3], [2, 3], [1, 1], [2, 3]])),
        np.array([True, True, True, False]),
    )
    view = Columns({("x", "shape"): x, ("y", "shape"): y, "a": Value(np.array([2, 2, 2, 2]))})
    same = parse.relation("x.shape == y.shape", Names()).read(view)
    assert same.data.tolist() == [True, False, True, False] and np.broadcast_to(
        same.bound, 4
    ).tolist() == [True, True, True, False]
    assert parse.relation("x.shape == (a, 3)", Names()).read(view).data.tolist() == [
        True,
        False,
        False,
        False,
    ]
    assert parse.relation("x.shape != (a, 3)", Names()).read(view).data.tolist() == [
        False,
        True,
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("len(p)", True),
        ("x.rank", True),
        ("a % 16", True),
        ("(a + b) % 2", True),
        ("a % b", False),
        ("a % (0 - 3)", False),
        ("a", False),
        ("lowest(p)", False),
        ("a % 16 - 1", False),
        ("x.shape[-1]", False),
    ],
)
def test_what_counts_is_never_below_zero(text: str, counts: bool) -> None:
    assert parse.term(text, Names()).counts is counts


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("a == b + 1", True),
        ("x.shape[-1] == b", True),
        ("len(p) == 1", True),
        ("a + 1 == b", False),
    ],
)
def test_a_bare_name_on_the_left_is_told_apart(text: str, bare: bool) -> None:
    assert parse.relation(text, Names()).bare is bare


# reals --------------------------------------------------------------------------------------------
BESIDE = [
    (float(np.nextafter(x, away)), x) for x in (0.0, 0.1, 1.0, 3.0) for away in (-np.inf, np.inf)
]


def real_row(value: float, **integers: int) -> Columns:
    columns: dict[Any, Value] = {
        ("real", ""): Value(np.array([value])),
        ("single", ""): Value(np.array([rounded(value, np.dtype("f4"))], dtype=np.float32)),
    }
    return Columns(columns | {(n, ""): Value(bigint.as_column([i])) for n, i in integers.items()})


@pytest.mark.parametrize(
    "text", ["a in (3)", "(a) in (3)", "x.dtype in ('FLOAT')", "not (a in ( 3 ))"]
)
def test_one_member_needs_no_comma(text: str) -> None:
    with_comma = re.sub(r"in \(( ?[^ )]+ ?)\)", r"in (\1,)", text)
    view = ints(a=[2, 3, 4])
    view.columns["x", "dtype"] = Value(np.arange(3))
    assert with_comma != text and len(set(read(text, view))) > 1
    assert read(text, view) == read(with_comma, view)


def holds(text: str, row: Columns) -> bool:
    read = parse.relation(text, Names()).read(row)
    assert np.all(read.bound)
    return bool(np.all(read.data))


@pytest.mark.parametrize(("beside", "limit"), BESIDE)
def test_a_limit_of_a_real_is_exact(beside: float, limit: float) -> None:
    row, at = real_row(beside), real_row(limit)
    assert holds(f"real <= {limit!r}", row) == (beside < limit)
    assert holds(f"real > {limit!r}", row) == (beside > limit)
    assert holds(f"{limit!r} != real", row) and not holds(f"real in (7, {limit!r})", row)
    assert holds(f"real <= {limit!r}", at) and not holds(f"real < {limit!r}", at)
    assert holds(f"real == {limit!r}", at) and holds(f"real in (7, {limit!r})", at)


def test_a_decimal_is_of_the_type_that_it_is_compared_with() -> None:
    row = real_row(0.1)
    assert (
        holds("single == 0.1", row) and holds("single <= 0.1", row) and holds("0.1 <= single", row)
    )
    assert holds("real == 0.1", row) and holds("real < single", row)
    assert holds("real > -0.5", row) and holds("single not in (-0.5, 0.25)", row)


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("name", ["real", "single"])
def test_nan_breaks_every_inequality(sign: str, name: str) -> None:
    row = real_row(np.nan, a=1)
    assert not holds(f"{name} {sign} 1", row) and not holds(f"{name} {sign} a", row)
    assert not holds(f"0.5 {sign} {name}", row)
    assert not holds(f"{name} in (1, 0.5)", row) and holds(f"{name} != 1", row)


def test_zeros_are_equal_and_infinities_have_an_order() -> None:
    assert holds("real >= 0", real_row(-0.0)) and holds("real == 0", real_row(-0.0))
    assert not holds("real > 0", real_row(-0.0)) and holds("real > 0", real_row(5e-324))
    assert holds("real > 1e308", real_row(np.inf)) and holds(
        "real < a", real_row(-np.inf, a=-(2**70))
    )


@given(
    st.floats(allow_nan=False),
    st.integers(-(2**70), 2**70) | st.integers(-(2**54), 2**54),
    st.integers(1, 9),
)
def test_reals_compare_with_whole_numbers_and_fractions_exactly(
    value: float, number: int, over: int
) -> None:
    row = real_row(value, a=number)
    assert holds("real < a", row) == (value < number)
    assert holds("a == real", row) == (number == value)
    assert holds(f"real <= a / {over}", row) == (value <= Fraction(number, over))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("real + 1 > 0", "'real': only whole numbers are computed with; a real can be compared"),
        ("min(real, 1) > 0", "is double, min takes int there"),
        ("real == 'mean'", "compares double with word"),
        ("real == flag", "compares double with bool"),
        ("single < 1e39", "1e+39 does not fit a float"),
    ],
)
def test_what_is_no_term_of_reals(text: str, message: str) -> None:
    with pytest.raises(TermError) as caught:
        parse.relation(text, Names())
    assert message in str(caught.value)
