"""Reading specs: a table of bad fragments and what is said of each, and whole bad files with
everything said of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from opgen.calls.call_json import make_call
from opgen.calls.table import from_calls
from opgen.calls.vocabulary import vocabulary
from opgen.model import FileError
from opgen.oracle.judgement import judge
from opgen.spec import specfile
from tests.support.spec_sample import TEXT

BAD = Path(__file__).parents[1] / "data" / "bad_specs"

ITEMS = "    items: {1: [[kH, kW]], 2: [kH, kW]}\n    min"
HALF = "half_kernel: {require: kH <= W / 2}"
FRAGMENTS = [
    # (what is replaced, by what, the line, the message)
    ("api: aclnn", "apy: aclnn", 1, "the key 'api' is missing"),
    ("api: aclnn", "apy: aclnn", 1, "apy: no such key (did you mean 'api'?); known: api, page"),
    (
        "api: aclnnWindowBackward",
        "api: 3",
        1,
        "api: expects the vendor's name of the operator, not 3",
    ),
    (
        "products: [ascend910,",
        "products: [ascend91,",
        3,
        "products.0: no such product 'ascend91' (did you mean 'ascend910'?)",
    ),
    (
        "products: [ascend910, ascend910b]",
        "products: ascend910",
        3,
        "expects a list of products or a mapping of product to line",
    ),
    (
        "products: [ascend910, ascend910b]",
        "products: {ascend910: x}",
        3,
        "products.ascend910: expects a line of the page",
    ),
    ("page: none", "page: {fill: a}", 2, "page.fill: no such key (did you mean 'file'?)"),
    (
        "page: none",
        'page: {lines: "10 abc"}',
        2,
        "expects line numbers and digests of 12 characters, not '10 abc'",
    ),
    ("page: none", "page: {}", 2, "page: the key 'file' is missing"),
    ("page: none", "page: {}", 2, "page: the key 'sha256' is missing"),
    ("page: none", "page: {file: [1], sha256: 7}", 2, "page.file: expects a text, not [1]"),
    (
        "page: none",
        "page: {file: [1], sha256: 7}",
        2,
        "sha256: expects 64 digits 0-9 and a-f, not 7",
    ),
    ("page: none", "page: {file: ''}", 2, "page.file: expects a text, not ''"),
    (
        "page: none",
        "page: {sha256: abc}",
        2,
        "page.sha256: expects 64 digits 0-9 and a-f, not 'abc'",
    ),
    (
        "page: none",
        'page: {lines: "² 0123456789ab"}',
        2,
        "expects line numbers and digests of 12 characters, not '² 0123456789ab'",
    ),
    ("page: none", "page: {lines: [10]}", 2, "page.lines: expects a text, not [10]"),
    (
        "page: none",
        "page: {file: a.txt}",
        2,
        "page.lines: no digest of lines 10, 11, 12, 13, 14, 21, 30, 31, 32, 33; opgen audit",
    ),
    (
        "    kind: int_array\n    at: 12",
        "    kind: intarray\n    at: 12",
        25,
        "kernel.kind: no such kind 'intarray' (did",
    ),
    ("    at: 12", "    att: 12", 26, "kernel.att: no such key of int_array (did you mean 'at'?)"),
    (
        "    at: 12",
        "    at: twelve",
        26,
        "at: expects lines of the page, or a mapping of a key to its lines, not 'twelve'",
    ),
    (
        "    at: 10\n",
        "    at: {dtype: {any: 10}}\n",
        9,
        "gradOutput.at.dtype: expects lines of any, ascend910b, not of any",
    ),
    (
        "    at: 10\n",
        "    at: {dtype: {any: x, ascend910b: 1}}\n",
        9,
        "at.dtype.any: expects a line of the page or a list of",
    ),
    (
        "    at: 10\n",
        "    at: {format: {ND: 10}}\n",
        9,
        "gradOutput.at.format: expects a line of the page or a list of lines, not of ND",
    ),
    (
        "    at: 10\n",
        "    at: {format: {}}\n",
        9,
        "gradOutput.at.format: expects a line of the page or a list of lines, not of nothing",
    ),
    (
        "    at: 12",
        "    at: {minn: 12}",
        26,
        "kernel.at.minn: no such key of int_array that yields a rule (did",
    ),
    ("    at: 12", "    dtype: [FLOAT]", 26, "kernel.dtype: no such key of int_array"),
    ("    min: 1\n", "    min: one\n", 29, "kernel.min: no such name 'one'"),
    ("    min: 1\n", "    when: {minn: ceil}\n    min: 1\n", 29, "kernel.when.minn: no such key"),
    (
        "    min: 1\n",
        "    when: ceil\n    min: 1\n",
        29,
        "expects a mapping of a key to the condition under which",
    ),
    (
        "    min: 1\n",
        "    when: {min: cail}\n    min: 1\n",
        30,
        "kernel.min: no such name 'cail' (did you mean 'ceil'?)",
    ),
    (
        "    length: [1, 2]\n",
        "    length: [kH]\n",
        27,
        "kernel.length: a length cannot follow from the array's own items",
    ),
    (
        "    length: [1, 2]\n",
        "    length: []\n",
        27,
        "kernel.length: expects lengths, or a term and for each of its values the lengths, not []",
    ),
    (
        "    length: [1, 2]\n",
        "    length: {self.rank: 3}\n",
        27,
        "kernel.length.self.rank: expects a mapping of number to lengths, not 3",
    ),
    (
        ITEMS,
        "    items: {1: [kH, kW]}\n    min",
        28,
        "kernel.items.1: expects a list of 1 slot names",
    ),
    (ITEMS, "    items: kH\n    min", 28, "kernel.items: expects a list of slot names"),
    (ITEMS, "    items: {2: [kH, k-W]}\n    min", 28, "expects a list of 2 slot names"),
    (
        "otherwise: {0: {sH: kH",
        "otherwise: {0: {sH: kHH",
        35,
        "stride.otherwise.0: no such letter or slot 'kHH' (did you mean 'kH'?)",
    ),
    ("otherwise: {0: {sH: kH", "otherwise: {0: {sH: sH", 6, "sH: falls back to itself"),
    (
        "otherwise: {0: {sH: kH, sW: kW}}",
        "otherwise: {0: {sH: sW, sW: sH}}",
        6,
        "sH: falls back to itself",
    ),
    (
        "shape: {1: [2]}",
        "shape: [2]",
        23,
        "scale.shape: expects a mapping of rank to a list of letters",
    ),
    (
        "otherwise: {0: {sH: kH, sW: kW}}",
        "otherwise: {sH: kH}",
        35,
        "stride.otherwise.sH: expects a length, not 'sH'",
    ),
    (
        "enum: {0: KEEP, 1: LOWER}",
        "enum: {0: KEEP, one: LOWER}",
        36,
        "mode.enum.one: expects a number, not 'one'",
    ),
    (
        "enum: {0: KEEP, 1: LOWER}",
        "enum: {0: KEEP, 1: 2}",
        36,
        "mode.enum.1: expects a name, not 2",
    ),
    (
        "enum: {0: KEEP, 1: LOWER}",
        "enum: [KEEP, LOWER]",
        36,
        "mode.enum: expects a mapping of number to name",
    ),
    (
        "range: [-255, 255]",
        "range: 255",
        37,
        "divisor.range: expects [lowest, highest]; null stands for no limit",
    ),
    (
        "shape: {3: [N, Hout, Wout], 2",
        "shape: {3: [N, Hout], 2",
        12,
        "gradOutput.shape.3: expects a list of 3 letters",
    ),
    (
        "shape: {3: [N, Hout, Wout], 2",
        "shape: {3: {NCHW: [N, Hout, Wout], NHWC: [N, Wout, C]}, 2",
        12,
        "gradOutput.shape.3.NHWC: expects the axes of NCHW in another order",
    ),
    (
        "shape: {3: [N, Hout, Wout], 2",
        "shape: {3: {NCWH: [N, Hout, Wout]}, 2",
        12,
        "no such format 'NCWH' (did you mean 'NCHW'?)",
    ),
    (
        "    format: [ND]\n    shape: {3",
        "    format: {ascend91: [ND]}\n    shape: {3",
        11,
        "gradOutput.format.ascend91: no such product 'ascend91' (did you mean 'ascend910'?)",
    ),
    (
        "{3: [N, H, W], 2",
        "{3: [N, H, V], 2",
        17,
        "self.shape.3: 'V' stands at rank 3 only, and no rule reads it; did you mean 'W'?",
    ),
    (
        "2: [Hout, Wout]}",
        "2: [Hout, Wuot]}",
        12,
        "'Wuot' stands at rank 2 only, and no rule reads it; did you mean 'Wout'?",
    ),
    (
        "{3: [N, Hout, Wout], 2: [",
        "{3: [Wuot, N, Hout], 2: [",
        12,
        "shape.3: 'Wuot' stands at rank 3 only, and no rule reads it; did you",
    ),
    (
        "shape: {1: [2]}",
        "shape: {1: [scale]}",
        20,
        "scale: is both a parameter and another name; rename the letter, slot or word",
    ),
    (
        "enum: {0: KEEP,",
        "enum: {0: kH,",
        6,
        "kH: is both a word of an enum and a letter or slot; rename one",
    ),
    (
        "{1: [[kH, kW]], 2: [kH, kW]}",
        "{1: [[H, kW]], 2: [H, kW]}",
        6,
        "H: is both a letter and a slot; rename one, and write a rule that they are equal",
    ),
    (
        "any: [FLOAT16, FLOAT]",
        "any: [FLOAT16, FLOTA]",
        10,
        "gradOutput.dtype.any.1: no such dtype 'FLOTA' (did you mean 'FLOAT'?)",
    ),
    (
        "any: [FLOAT16, FLOAT]",
        "any: FLOAT",
        10,
        "dtype.any: expects a list of dtypes, not 'FLOAT'",
    ),
    (
        "dtype: {any:",
        "dtype: {ascend9: [FLOAT], any:",
        10,
        "no such product 'ascend9' (did you mean 'ascend950'?)",
    ),
    (
        "    empty: false",
        "    empty: 0",
        19,
        "self.empty: expects false (no extent may be 0) or true",
    ),
    ("    empty: false", "    empty: no", 19, "YAML 1.1 reads 'no' as bool"),
    (
        "    empty: false",
        "    empty: false\n    strided: maybe",
        20,
        "expects true or false: whether the page allows",
    ),
    ('"mask[0]"', '"maks[0]"', 40, "gradInput.mask: no such name 'maks' (did you mean 'mask'?)"),
    ("mode != KEEP", "mode != KEPE", 47, "keep_half: no such name 'KEPE' (did you mean 'KEEP'?)"),
    (
        "require: mode != KEEP",
        "requires: mode != KEEP",
        47,
        "rules.keep_half: the key 'require' is missing",
    ),
    (
        "note: two",
        "not: two",
        47,
        "rules.keep_half.not: no such key of a rule (did you mean 'note'?)",
    ),
    ("note: two sentences disagree", "note: [two]", 47, "expects a sentence, not ['two']"),
    ("at: 14,", "at: 0,", 43, "expects a line of the page or a list of lines, not 0"),
    (
        HALF,
        HALF.replace("kH <= W / 2", "true"),
        48,
        "require: expects an expression, not True",
    ),
    (
        HALF,
        HALF.replace("W / 2", "W / 2 and kW <= W"),
        48,
        "must be one comparison; two facts are two rules",
    ),
    (HALF, HALF.replace("W / 2", "hw / 2"), 48, "half_kernel: no such name 'hw'"),
    (
        "  half_kernel:",
        "  half_height:",
        48,
        "half_height: is missing from returns; put it under its code and clause, or",
    ),
    ("  half_kernel:", "  half_height:", 62, "half_kernel: no such rule"),
    ("  half_kernel:", "  kernel.min:", 48, "kernel.min: is the id of two rules; rename one"),
    (
        "disputed: [keep_half]",
        "disputed: [keep_half, half_kernel]",
        63,
        "half_kernel: is in returns twice; every rule has one place",
    ),
    (
        "disputed: [keep_half]",
        "disputed: keep_half",
        63,
        "returns.disputed: expects a list of rule ids, not 'keep_half'",
    ),
    ("disputed: [keep_half]", "disputed: [[keep_half]]", 63, "expects rule ids, not ['keep_half']"),
    (
        "disputed: [keep_half]",
        "disputd: [keep_half]",
        63,
        "returns.disputd: no such status code or bucket 'disputd' (did you mean 'disputed'?)",
    ),
    (
        "  561103: [kernel.max]",
        "  561199: [kernel.max]",
        61,
        "returns.561199: no such status code or bucket 561199 (did you mean",
    ),
    (
        "2: [same_dtype, kernel.length]",
        "2: [sam_dtype, same_dtype, kernel.length]",
        60,
        "sam_dtype: no such rule (did",
    ),
    (
        "2: [same_dtype, kernel.length], 3:",
        "3:",
        56,
        "161002.2: no rule stands under number 2 in returns",
    ),
    (
        "  161001: {1: 30}",
        "  161001: {1: 30}\n  ²: {1: 30}",
        56,
        "².1: no rule stands under number 1 in returns",
    ),
    (
        "1: 31, 2: 32, 3: 33",
        "1: 31, 2: 32",
        60,
        "161002.3: the clause has no line; put it under clauses",
    ),
    (
        "1: 31, 2: 32, 3: 33",
        "1: 31, 2: 32, 3: x",
        56,
        "expects the clause's line on the page, not 'x'",
    ),
    (
        "dtype: FLOAT16}]",
        "dtype: FLOAT61}]",
        51,
        "compute.modes.0.dtype: no such compute dtype 'FLOAT61' (did you mean 'FLOAT16'?)",
    ),
    (
        "exact: [gradInput]",
        "exact: [[gradInput]]",
        52,
        "compute.exact.0: expects an output, not ['gradInput']",
    ),
    (
        "dtype: FLOAT16}]",
        "dtype: FLOAT16, optional: 1}]",
        51,
        "compute.modes.0.optional: expects true or false, not 1",
    ),
    (
        "dtype: FLOAT16}]",
        "dtype: FLOAT16, may: true}]",
        51,
        "compute.modes.0.may: no such key of a mode",
    ),
    (
        "dtype: FLOAT16}]",
        "dtype: [FLOAT16]}]",
        51,
        "compute.modes.0.dtype: no such compute dtype ['FLOAT16'] (did you",
    ),
    (
        "sH: kH, sW: kW}}",
        "sH: [kH], sW: kW}}",
        35,
        "stride.otherwise.0.sH: expects a name, not ['kH']",
    ),
    (
        "sH: kH, sW: kW}}",
        "sH: {kH: 1}, sW: kW}}",
        35,
        "stride.otherwise.0.sH: expects a name, not {'kH': 1}",
    ),
    (
        "2: [H, W]}\n    dims",
        "2: null}\n    dims",
        17,
        "self.shape.2: expects a list of letters, or a mapping of format to such a list, not None",
    ),
    (
        "range: [-255, 255]",
        "range: [255, -255]",
        37,
        "divisor.range: lets nothing pass: 255 is more than -255",
    ),
    ("dims: [0, null]", "dims: [2, 1]", 18, "self.dims: lets nothing pass: 2 is more than 1"),
    ("require: kH <= W / 2", "require: kH <= W // 0", 48, "half_kernel: 'W // 0': divides by zero"),
    (
        "compute:\n",
        "likely: {561103: [half_kernl]}\ncompute:\n",
        50,
        "half_kernl: no such rule (did you mean 'half_kernel'?)",
    ),
    (
        "compute:\n",
        "likely: {561103: [out_width]}\ncompute:\n",
        50,
        "out_width: is assumed; only what is unstated has a likely code",
    ),
    (
        "compute:\n",
        "likely: {561103: {1: [half_kernel]}}\ncompute:\n",
        50,
        "561103.1: the clause has no line; put it under clauses",
    ),
    (
        "compute:\n",
        "likely: {561103: [half_kernel], 161002: [half_kernel]}\ncompute:\n",
        50,
        "half_kernel: is in likely twice; every rule has one place",
    ),
    (
        "compute:\n",
        "likely: {unstated: [half_kernel]}\ncompute:\n",
        50,
        "likely.unstated: no such status code 'unstated'",
    ),
    (
        "compute:\n",
        "remarks: {x: wrong}\ncompute:\n",
        50,
        "remarks.x: expects a line of the page, not 'x'",
    ),
    (
        "exact: [gradInput]",
        "exact: [gradInptu]",
        52,
        "gradInptu: no such output (did you mean 'gradInput'?)",
    ),
    (
        'modes: [{when: "mode == LOWER", dtype: FLOAT16}]',
        "modes: 3",
        51,
        "compute.modes: expects a list of modes, not 3",
    ),
    ('when: "mode == LOWER"', "when: mode", 51, "is int, a condition must be true or false"),
]


def problems(text: str) -> list[str]:
    try:
        specfile.loads(text, file="x.yaml")
    except FileError as error:
        return [str(problem) for problem in error.problems]
    return []


def test_the_sample_is_well_formed() -> None:
    assert problems(TEXT) == []


@pytest.mark.parametrize(("old", "new", "line", "message"), FRAGMENTS)
def test_a_bad_fragment_is_named_with_its_line(
    old: str, new: str, line: int | None, message: str
) -> None:
    assert TEXT.count(old) >= 1
    found = problems(TEXT.replace(old, new, 1))
    place = "x.yaml: " if line is None else f"x.yaml:{line}: "
    assert any(problem.startswith(place) and message in problem for problem in found), "\n".join(
        found
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("mode", "int9"),
        ("mode", "number"),
        ("kernel", "intarray"),
        ("kernel", "list"),
        ("self", "tensr"),
        ("self", "3"),
        ("gradInput", "result"),
        ("ceil", "boolean"),
    ],
)
def test_a_wrong_kind_is_all_that_is_said_of_a_parameter(name: str, kind: str) -> None:
    spec = yaml.safe_load(TEXT)
    spec["parameters"][name]["kind"] = kind
    (found,) = problems(yaml.safe_dump(spec, sort_keys=False))
    assert f"parameters.{name}.kind: no such kind '{kind}'" in found


def test_the_digest_is_of_what_the_file_says(tmp_path: Path) -> None:
    path = tmp_path / "window_backward.yaml"
    digests = []
    for text in (
        TEXT,
        "# a comment\n" + TEXT.replace("\n", "\r\n"),
        TEXT.replace("at: 10", "at: 11"),
    ):
        path.write_bytes(text.encode())
        digests.append(specfile.load(path).digest)
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize(
    "shapes",
    [
        "{3: [N, Ho, Wo], 2: [Ho, Wo]}",  # leading letters alone differ
        "{3: [N, H, W], 2: [N, L]}",  # another layout at another rank, and nothing reads its letter
        "{3: [N, H, W], 2: [Wide, High]}",
        "{3: [2, H, W], 2: [H, W]}",
    ],
)
def test_letters_that_differ_on_purpose_are_no_problem(shapes: str) -> None:
    assert problems(TEXT.replace("{1: [2]}", shapes)) == []


@pytest.mark.parametrize("key", ["api", "page", "products", "parameters", "returns"])
def test_a_missing_key_is_said(key: str) -> None:
    lines = TEXT.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"{key}:"))
    end = next(
        (i for i in range(start + 1, len(lines)) if lines[i] and not lines[i].startswith(" ")),
        len(lines),
    )
    assert f"x.yaml:1: the key '{key}' is missing" in problems(
        "\n".join(lines[:start] + lines[end:])
    )


@pytest.mark.parametrize("section", ["parameters", "rules", "compute", "clauses", "returns"])
@pytest.mark.parametrize("value", ["3", "[a, b]", "{a: 3}", "{3: [x]}", "word", "[[1]]"])
def test_no_value_of_a_section_is_a_traceback(section: str, value: str) -> None:
    lines = TEXT.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"{section}:"))
    end = next(
        (i for i in range(start + 1, len(lines)) if lines[i] and not lines[i].startswith(" ")),
        len(lines),
    )
    assert problems("\n".join([*lines[:start], f"{section}: {value}", *lines[end:]]))


@pytest.mark.parametrize("text", ["", "3", "[a]", "a: &a [*a]", "api: x"])
def test_what_is_no_spec_is_a_problem(text: str) -> None:
    assert problems(text)


@pytest.mark.parametrize("path", sorted(BAD.glob("*.yaml")), ids=lambda path: path.stem)
def test_all_problems_of_a_bad_file_at_once(path: Path) -> None:
    with pytest.raises(FileError) as caught:
        specfile.load(path, path.name)
    assert _plain(str(caught.value)) == _plain(path.with_suffix(".txt").read_text(encoding="utf-8"))


def _plain(text: str) -> list[str]:
    """The lines of a message, without what this Python says of a syntax error."""
    return [line.split(" is not an expression")[0] for line in text.splitlines()]


def test_what_is_read() -> None:
    spec = specfile.loads(TEXT, name="window_backward.one")
    assert (spec.op, spec.api, spec.products) == (
        "window_backward",
        "aclnnWindowBackward",
        ("ascend910", "ascend910b"),
    )
    assert list(spec.kinds.items())[:4] == [
        ("gradOutput", "tensor"),
        ("self", "tensor"),
        ("scale", "tensor"),
        ("kernel", "int_array"),
    ]
    rule = spec.rule["kernel.min"]
    assert (rule.text, rule.code, rule.clause, rule.at, rule.bucket) == (
        "lowest(kernel) >= 1",
        161002,
        "161002.3",
        (12, 33),
        "stated",
    )
    assert (spec.rule["kernel.max"].clause, spec.rule["kernel.max"].code) == (None, 561103)
    assert spec.rule["product"].bucket == "unsupported_product"
    assert spec.rule["self.empty"].at == (21,) and spec.rule["self.dims"].at == (11,)
    assert (
        spec.rule["gradOutput.dtype"].text
        == "gradOutput.dtype in (FLOAT16, FLOAT) when product not in (ascend910b); "
        "gradOutput.dtype in (FLOAT16, FLOAT, BFLOAT16) when product == ascend910b"
    )
    assert "scale.null" not in spec.rule and "gradOutput.shape" not in spec.rule
    assert spec.codes == (161001, 161002, 561103)
    assert spec.clauses == {"161001.1": 30, "161002.1": 31, "161002.2": 32, "161002.3": 33}
    assert [mode.dtype for mode in spec.modes] == ["FLOAT16"] and spec.exact == ("gradInput",)
    mask = spec.parameters["gradInput"].mask
    assert mask is not None and mask.text == "mask[0]"


def test_a_page_judges_a_newer_product_that_it_lists_and_no_other() -> None:
    text = TEXT.replace("judges:", "# judges:")
    newer = text.replace("products: [ascend910,", "products: [ascend950, ascend910,")
    old, new = (specfile.loads(each) for each in (text, newer))
    assert {*new.judges} - {*old.judges} == {"ascend950"}
    assert {*old.judges} == {*vocabulary().known_to_every_page}


EACH = """
api: aclnnWindowBackward
page: none
products: [ascend910]
parameters:
  self: {kind: tensor, dtype: [FLOAT, FLOAT16]}
  hx: {kind: tensor_list, most: 2}
rules:
  alike: {each: hx, when: each % 2 == 1, require: "hx[each].dtype == self.dtype"}
returns:
  161001: [self.null, hx.null]
  161002: [self.dtype]
  assumed: [product, alike]
"""


def test_a_rule_about_each_tensor_of_a_list() -> None:
    spec = specfile.loads(EACH)
    assert [guard.require.text for guard in spec.rule["alike"].guards] == [
        "hx[0].dtype == self.dtype",
        "hx[1].dtype == self.dtype",
    ]
    one, other = ({"shape": [2], "dtype": dtype} for dtype in ("FLOAT", "FLOAT16"))
    lists = ([other, one], [one, other], [other])
    calls = [
        make_call(spec.api, "ascend910", {"self": one, "hx": hx}, {spec.api: spec.kinds})
        for hx in lists
    ]
    table = from_calls(spec.api, spec.kinds, calls)
    broken = [[one.rule for one in judge(spec, table).expectation(row).breaks] for row in range(3)]
    assert broken == [[], ["alike"], []]


def test_a_rule_about_each_tensor_of_what_is_no_list() -> None:
    with pytest.raises(FileError, match="hy: no such list of tensors"):
        specfile.loads(EACH.replace("each: hx", "each: hy"))
