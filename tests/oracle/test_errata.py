"""Errata: reading and refusing files, and the answers of a list of checks of which the first
failure wins.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opgen.calls.jsonl import read_calls
from opgen.calls.table import from_calls
from opgen.files.resources import specs_folder
from opgen.golden.avg_pool2d_backward import golden
from opgen.model import Argument, Call, FileError, LibraryAnswer, TensorDesc
from opgen.oracle import errata_folder, erratafile, library
from opgen.oracle.differences import differences
from opgen.oracle.errata import Errata, Fault
from opgen.oracle.judgement import Judgement, judge
from opgen.spec.catalog import catalog
from tests.support.suites import suite

PAD = "aclnnReflectionPad2dBackward"
POOL = "aclnnAvgPool2dBackward"
CONV = "aclnnConvolutionBackward"
TEXT = (specs_folder() / "errata" / "reflection_pad2d_backward.yaml").read_text(encoding="utf-8")


def tensor(*shape: int, dtype: str = "FLOAT", layout: str = "ND") -> TensorDesc:
    return TensorDesc(tuple(shape), dtype, layout)


def pad(product: str = "ascend910b", **changed: Argument) -> Call:
    args = {
        "gradOutput": tensor(2, 3, 6, 8),
        "self": tensor(2, 3, 4, 4),
        "padding": (2, 2, 1, 1),
        "gradInput": tensor(2, 3, 4, 4),
    }
    return Call(PAD, product, {**args, **changed})


def pool(product: str = "ascend910b", **changed: Argument) -> Call:
    args: dict[str, Argument] = {
        "gradOutput": tensor(1, 2, 6, 6, layout="NCHW"),
        "self": tensor(1, 2, 12, 12, layout="NCHW"),
        "kernelSize": (2, 2),
        "stride": (2, 2),
        "padding": (0, 0),
        "ceilMode": False,
        "countIncludePad": True,
        "divisorOverride": 0,
        "cubeMathType": 0,
        "gradInput": tensor(1, 2, 12, 12, layout="NCHW"),
    }
    return Call(POOL, product, {**args, **changed})


MIXED: dict[str, Argument] = {
    "gradOutput": tensor(1, 2, 6, 6, dtype="FLOAT16", layout="NCHW"),
    "gradInput": tensor(1, 2, 12, 12, dtype="FLOAT16", layout="NCHW"),
}  # of a pooling, whose self stays FLOAT


def conv(product: str = "ascend910b", **changed: Argument) -> Call:
    args: dict[str, Argument] = {
        "gradOutput": tensor(1, 4, 3, 3, layout="NCHW"),
        "input": tensor(1, 2, 5, 5, layout="NCHW"),
        "weight": tensor(4, 2, 3, 3, layout="NCHW"),
        "biasSizes": (4,),
        "stride": (1, 1),
        "padding": (0, 0),
        "dilation": (1, 1),
        "transposed": False,
        "outputPadding": (0, 0),
        "groups": 1,
        "outputMask": (True, True, True),
        "cubeMathType": 1,
        "gradInput": tensor(1, 2, 5, 5, layout="NCHW"),
        "gradWeight": tensor(4, 2, 3, 3, layout="NCHW"),
        "gradBias": tensor(4),
    }
    return Call(CONV, product, {**args, **changed})


def slice_without_n(stored: int) -> TensorDesc:
    """An empty view of a storage that has some elements."""
    return TensorDesc((0, 2, 5, 5), "FLOAT", "NCHW", (50, 25, 5, 1), 0, (stored,))


def _transposed(*extents: int, k: int, stride: tuple[int, ...], layout: str) -> dict[str, Any]:
    """One channel, transposed, without padding; ``extents`` of the input."""
    zeros, ones = (0,) * len(extents), (1,) * len(extents)
    grown = [(n - 1) * s + k for n, s in zip(extents, stride, strict=True)]
    image, weight = (
        tensor(1, 1, *extents, layout=layout),
        tensor(1, 1, *(k,) * len(extents), layout=layout),
    )
    return {
        "gradOutput": tensor(1, 1, *grown, layout=layout),
        "input": image,
        "weight": weight,
        "biasSizes": (1,),
        "stride": stride,
        "padding": zeros,
        "dilation": ones,
        "transposed": True,
        "outputPadding": zeros,
        "gradInput": image,
        "gradWeight": weight,
        "gradBias": tensor(1),
    }


VOLUME = _transposed(2, 2, 2, k=2, stride=(1, 1, 1), layout="NCDHW")
FORWARD = {
    **VOLUME,
    "gradOutput": tensor(1, 1, 1, 1, 1, layout="NCDHW"),
    "transposed": False,
}
SHORT = {
    **_transposed(1, k=5, stride=(3,), layout="NCL"),
    "gradOutput": tensor(1, 1, 4, layout="NCL"),
}
"""(4 - 4 - 1) / 3 + 1 is 1 where a division drops the fraction, and 0 where it rounds down."""
MANY: dict[str, Any] = {
    "gradOutput": tensor(1, 65537, 1, layout="NCL"),
    "input": tensor(1, 65537, 1, layout="NCL"),
    "weight": tensor(65537, 1, 1, layout="NCL"),
    "biasSizes": (65537,),
    "stride": (1,),
    "padding": (0,),
    "dilation": (1,),
    "outputPadding": (0,),
    "groups": 65537,
    "gradInput": tensor(1, 65537, 1, layout="NCL"),
    "gradWeight": tensor(65537, 1, 1, layout="NCL"),
    "gradBias": tensor(65537),
}
WITHOUT_N: dict[str, Any] = {
    "gradOutput": tensor(0, 4, 3, 3, layout="NCHW"),
    "input": tensor(0, 2, 5, 5, layout="NCHW"),
    "gradInput": tensor(0, 2, 5, 5, layout="NCHW"),
}


def lone(
    channels: int,
    columns: int,
    kernel: tuple[int, int],
    padding: tuple[int, int],
    dtype: str = "FLOAT16",
    product: str = "ascend910b",
) -> Call:
    """A pooling of one row with stride 1, which the vector path computes."""
    sizes = zip((1, columns), kernel, padding, strict=True)
    out = [extent + 2 * pad - size + 1 for extent, size, pad in sizes]
    image = tensor(1, channels, 1, columns, dtype=dtype, layout="NCHW")
    return pool(
        product,
        gradOutput=tensor(1, channels, *out, dtype=dtype, layout="NCHW"),
        self=image,
        gradInput=image,
        kernelSize=kernel,
        stride=(1, 1),
        padding=padding,
        countIncludePad=False,
    )


def image(*shape: int) -> dict[str, Any]:
    """An input of a convolution and its gradient."""
    return dict.fromkeys(("input", "gradInput"), tensor(*shape, layout="NCHW"))


def kernel(*shape: int) -> dict[str, Any]:
    """A weight of a convolution and its gradient."""
    return dict.fromkeys(("weight", "gradWeight"), tensor(*shape, layout="NCHW"))


def grouped(many: int, other: int, transposed: bool = False, **changed: Argument) -> Call:
    """Two groups; ``many`` channels that they divide, and ``other`` ones."""
    small, wide = tensor(1, other, 3, 3, layout="NCHW"), tensor(1, many, 5, 5, layout="NCHW")
    weight = tensor(other, many // 2, 3, 3, layout="NCHW")
    grad, image = (wide, small) if transposed else (small, wide)
    return conv(
        gradOutput=grad,
        input=image,
        weight=weight,
        groups=2,
        transposed=transposed,
        biasSizes=(grad.shape[1],),
        gradInput=image,
        gradWeight=weight,
        gradBias=tensor(grad.shape[1]),
        **changed,
    )


def longer(rows: int, **changed: Argument) -> Call:
    """A transposed call of stride 2 and no output padding, whose gradOutput has ``rows`` more than
    follow from that.
    """
    args: dict[str, Argument] = {
        "gradOutput": tensor(1, 3, 7 + rows, 7, layout="NCHW"),
        "input": tensor(1, 2, 3, 3, layout="NCHW"),
        "weight": tensor(2, 3, 3, 3, layout="NCHW"),
        "biasSizes": (3,),
        "stride": (2, 2),
        "transposed": True,
        "gradInput": tensor(1, 2, 3, 3, layout="NCHW"),
        "gradWeight": tensor(2, 3, 3, 3, layout="NCHW"),
        "gradBias": tensor(3),
    }
    return conv(**{**args, **changed})


def norm(product: str, n: int, group: int, c: int = 6, hxw: int = 4, **changed: Argument) -> Call:
    image, weight, statistic = tensor(n, c, hxw), tensor(c), tensor(n, group)
    args: dict[str, Argument] = {
        "gradOut": image,
        "input": image,
        "mean": statistic,
        "rstd": statistic,
        "gamma": weight,
        "N": n,
        "C": c,
        "HxW": hxw,
        "group": group,
        "outputMask": (True, True, True),
        "gradInput": image,
        "gradGammaOut": weight,
        "gradBetaOut": weight,
    }
    return Call("aclnnGroupNormBackward", product, {**args, **changed})


def halved(call: Call) -> Call:
    """The same in FLOAT16."""
    half = {
        name: replace(value, dtype="FLOAT16") if isinstance(value, TensorDesc) else value
        for name, value in call.args.items()
    }
    return replace(call, args=half)


def judged(*calls: Call) -> Judgement:
    spec = catalog().by_page[calls[0].api, calls[0].product]
    return judge(spec, from_calls(spec.api, spec.kinds, calls))


def answered(*calls: Call, known: Errata | None = None) -> library.LibraryAnswers:
    source = None if known is None else {known.api: known}
    answers = library.answers_to(judged(*calls), source)
    assert answers is not None
    return answers


def codes(call: Call) -> tuple[int | str, ...]:
    return answered(call).codes(0)


def refused(text: str) -> str:
    with pytest.raises(FileError) as error:
        erratafile.loads(text, catalog(), "bad.yaml")
    return str(error.value)


# reading ------------------------------------------------------------------------------------------
def test_every_shipped_file_reads_and_names_one_release() -> None:
    known = errata_folder.errata()
    assert set(known) <= set(catalog().kinds)
    assert library.releases(known) == ("2026-08",)
    for api, errata in known.items():
        assert sorted(errata.pages) == sorted(spec.name for spec in catalog().of(api))


def test_every_entry_says_where_it_was_read() -> None:
    for errata in errata_folder.errata().values():
        for page in errata.pages.values():
            assert all("/" in place for entry in page.entry.values() for place in entry.where)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            f"api: {PAD}",
            "api: aclnnReflectionPadBackward",
            "no page of 'aclnnReflectionPadBackward' (did you mean",
        ),
        ('release: "2026-08"', "release: 7", "release: expects the release in quotes, not 7"),
        ("tolerates:", "tolerated:", "no such key (did you mean 'tolerates'?)"),
        (
            "rules: [padding.length]",
            "rules: [padding.lenght]",
            "no such rule 'padding.lenght' (did you mean 'padding.length'?)",
        ),
        (
            "rules: [padding.length]",
            "rules: [padding.length, left_below]",
            "no such rule 'left_below' (did you mean 'left_below_width'?)",
        ),
        ("code: 0", "code: 161009", "no such status code 161009"),
        (
            "code: 0",
            "code: [0, 161002, 561103]",
            "expects one code, or two where the first phase cannot tell",
        ),
        ("code: 0", "code: true", "no such status code True"),
        ("basis: inferred", "basis: guessed", "no such basis 'guessed'"),
        ('where: "RP:36-44", ', "", "the key 'where' is missing"),
        ('where: "RP:36-44"', 'where: "PR:36-44"', "no such source 'PR'"),
        ("when: self.numel == 0\n", "when: self.numl == 0\n", "no such attribute"),
        (
            "lowest(padding) >= 0",
            "lowest(paddings) >= 0",
            "lowest takes the name of a parameter (did you mean 'padding'?)",
        ),
        (
            "require: [highest(padding) <= 7]",
            "require: [highest(padding)]",
            "must be one comparison",
        ),
        ("  padding_length:", "  every_product:", "is the id of two entries; rename one"),
        ("rules: product}", "rules: []}", "changes nothing: it names no rule"),
        (
            "rules: product}",
            "rules: [product, padding.min]}",
            "changes nothing: no page forbids a call by padding.min",
        ),
        (
            "rules: product}",
            "rules: [product, out_width]}",
            "changes nothing: out_width is held by out_extents whatever the call",
        ),
        (
            "rules: [padding.length]",
            "rules: [grad_rank]",
            "changes nothing: grad_rank is held by ranks before",
        ),
        (
            "rules: [padding.length]",
            "rules: [grad_rank]",
            "padding.length: no stage holds or replaces this rule of the page",
        ),
        ("written: untouched}", "written: ones}", "no such content"),
        ("written: untouched}", "note: x}", "changes nothing, or too much"),
        ("written: untouched}", "written: zeros, bound: FLOAT}", "changes nothing, or too much"),
        (
            "written: untouched}",
            "bound: HALF}",
            "no such compute dtype 'HALF'; known: FLOAT16, BFLOAT16, HFLOAT32, FLOAT",
        ),
        (
            "written: untouched}",
            "through: HALF}",
            "no such compute dtype 'HALF'; known: FLOAT16, BFLOAT16, HFLOAT32, FLOAT",
        ),
        (
            "written: untouched}",
            "through: FLOAT16, bound: FLOAT16}",
            "changes nothing, or too much",
        ),
        ("written: untouched}", "roundings: 2}", "changes nothing, or too much"),
        (
            "written: untouched}",
            "through: FLOAT16, roundings: 2}",
            "expects how often terms are rounded to the dtype of bound, not 2",
        ),
        (
            "written: untouched}",
            "bound: FLOAT16, roundings: 0}",
            "expects how often terms are rounded to the dtype of bound, not 0",
        ),
        (
            "written: untouched}",
            "bound: FLOAT16, roundings: true}",
            "expects how often terms are rounded to the dtype of bound, not True",
        ),
        (
            "written: untouched}",
            "compute: HALF}",
            "no such compute dtype 'HALF'; known: FLOAT16, BFLOAT16, HFLOAT32, FLOAT",
        ),
        ("written: untouched}", "reference: {padL: 1}}", "no such name (did you mean 'padLeft'?)"),
        ("written: untouched}", "outputs: gradWeight, written: zeros}", "no such output"),
        (
            "stages:",
            "names: {bf: self.dtype == 'BFLOAT16'}\n\nstages:",
            "is read by no entry; delete it",
        ),
        ("stages:", "names: {self: self.rank == 3}\n\nstages:", "is a name of the page already"),
        ("stages:", "names: {n: self.rank == }\n\nstages:", "is not an expression"),
        ("stages:", "names: [n]\n\nstages:", "names: expects a mapping of id to entry"),
        (
            "stages:",
            "stages:\n  idle: 161002",
            "idle: expects a mapping with some of where, basis, note",
        ),
        (
            "rules: [padding.length]",
            "rules: [7]",
            "rules: expects a rule of the page or a list of them, not [7]",
        ),
        (
            'where: "RP:36-44"',
            "where: []",
            "expects a place, NAME:LINES or a list of them, not []",
        ),
        ("written: untouched}", "reference: padLeft}", "expects a mapping of name to term"),
        (
            "written: untouched}",
            "bound: [FLOAT]}",
            "no such compute dtype ['FLOAT'] (did you mean 'FLOAT'?)",
        ),
        ("written: untouched}", "written: null}", "no such content"),
        ("code: 0", "code: [[0]]", "no such status code [0]"),
        ("code: 0", "code: {0: 1}", "no such status code {0: 1}"),
        ("basis: inferred", "basis: inferred\n    note: 3", "note: expects a sentence, not 3"),
        (
            "sources:\n",
            "sources:\n  XX: [1]\n",
            "sources.XX: expects a place among the published sources, not [1]",
        ),
        ("stages:", "names: {7: self.rank == 3}\n\nstages:", "names.7: expects a name, not 7"),
    ],
)
def test_bad_fragments_are_refused(old: str, new: str, message: str) -> None:
    assert old in TEXT
    said = refused(TEXT.replace(old, new, 1))
    assert message in said
    assert said.startswith("bad.yaml:")


def test_shipped_errata_have_one_file_per_operator_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(TEXT, encoding="utf-8")
    assert {api: own.api for api, own in errata_folder.ShippedErrata(tmp_path).items()} == {
        PAD: PAD
    }
    (tmp_path / "a.yaml").write_text(TEXT, encoding="utf-8")
    with pytest.raises(FileError, match=f"b.yaml: {PAD}: a.yaml has its errata already"):
        errata_folder.ShippedErrata(tmp_path)


def test_a_folder_says_the_problems_of_all_its_files_and_has_one_file_per_operator(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.yaml").write_text(TEXT, encoding="utf-8")
    (tmp_path / "b.yaml").write_text(TEXT, encoding="utf-8")
    (tmp_path / "c.yaml").write_text(
        TEXT.replace("basis: inferred", "basis: guessed", 1), encoding="utf-8"
    )
    with pytest.raises(FileError) as caught:
        errata_folder.load_folder(tmp_path, catalog())
    assert [problem.file for problem in caught.value.problems] == [
        f"{tmp_path}/b.yaml",
        f"{tmp_path}/c.yaml",
    ]
    assert f"{PAD}: {tmp_path}/a.yaml has its errata already" in str(
        caught.value
    ) and "no such basis 'guessed'" in str(caught.value)
    (tmp_path / "b.yaml").unlink()
    (tmp_path / "c.yaml").unlink()
    assert list(errata_folder.load_folder(tmp_path, catalog())) == [PAD]


def test_a_stage_that_answers_for_every_call_is_refused() -> None:
    assert "idle: answers for every call" in refused(
        TEXT.replace("tolerates:", '  idle: {where: "RP:1", code: 0}\n\ntolerates:')
    )


def test_all_problems_come_at_once() -> None:
    said = refused(
        TEXT.replace("basis: inferred", "basis: guessed").replace(
            "rules: [padding.length]", "rules: [padding.lenght]"
        )
    )
    assert len(said.splitlines()) >= 5


# answering ----------------------------------------------------------------------------------------
def test_an_operator_without_errata_has_no_answer() -> None:
    others = {api: own for api, own in errata_folder.errata().items() if api != PAD}
    assert library.answers_to(judged(pad()), others) is None


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (pad(), (0,)),
        (pad(gradOutput=None, padding=(9,)), (161001,)),
        (pad(gradOutput=tensor(2, 4, 6, 8)), (561103,)),
        (pad(gradOutput=tensor(2, 0, 6, 8)), (0,)),
        (pad(gradOutput=tensor(2, 3, 6, 9)), (161002,)),
        (pool(product="ascend910", divisorOverride=300), (161002,)),
        (pool(divisorOverride=300), (0,)),
        (pool(divisorOverride=300, stride=None), ("crash",)),
        (pool(stride=None), (0,)),
        (
            pool(
                product="ascend910",
                gradOutput=tensor(1, 0, 6, 6, layout="NCHW"),
                divisorOverride=300,
            ),
            (0,),
        ),
        *(
            (pool(product=product, cubeMathType=mode), (0, 161002))
            for product in ("ascend310p", "ascend910")
            for mode in (0, 3)
        ),
        (pool(product="ascend910", cubeMathType=1), (0,)),
        (
            pool(product="ascend910", self=tensor(1, 2, 12, 12, dtype="FLOAT16", layout="NCHW")),
            (0, 161002),
        ),
        (pool(product="ascend910", **MIXED), (0,)),
        (
            pool(
                product="ascend910",
                kernelSize=(12, 12),
                gradOutput=tensor(1, 2, 1, 1, layout="NCHW"),
            ),
            (0,),
        ),
        (pool(product="ascend910", gradOutput=tensor(1, 0, 6, 6, layout="NCHW")), (0,)),
        (conv(), (0,)),
        (grouped(4, 3), (0, 561103)),
        (grouped(4, 3, outputMask=(False, False, True)), (0,)),
        (grouped(4, 6), (0,)),
        (grouped(2, 3), (161002,)),
        (grouped(4, 3, transposed=True), (0, 561103)),
        (conv(outputMask=(True, True)), (161001,)),
        (conv(biasSizes=None), (0,)),
        (conv(gradInput=tensor(1, 2, 5, 5, dtype="FLOAT16", layout="NCHW")), (0,)),
        (conv(gradOutput=tensor(1, 4, 4, 3, layout="NCHW")), (0, 561103)),
        (longer(0), (0,)),
        (longer(1), (0,)),
        (longer(2), (561103,)),
        (longer(1, outputMask=(False, True, True)), (0,)),
        (longer(2, outputMask=(False, True, True)), (0, 561103)),
        (longer(2, outputMask=(False, False, True)), (0,)),
        (conv(product="ascend910", cubeMathType=0), (161002,)),
        (pool(self=tensor(1, 2, 12, 12, layout="NCL")), (161002,)),
        (conv(gradOutput=tensor(-1, 4, 3, 3, layout="NCHW")), (561103,)),
        (conv(gradOutput=tensor(-1, 4, 3, 3, layout="NCHW"), outputMask=(True, True, False)), (0,)),
        (conv(gradOutput=tensor(1, 4, -3, 3, layout="NCHW")), (0,)),
        (conv(gradOutput=tensor(1, -4, 3, 3, layout="NCHW")), (161002,)),
        (conv(**image(-1, 2, 5, 5)), (561103,)),
        (conv(**image(-1, 2, 5, 5), outputMask=(True, False, True)), (0,)),
        (conv(**image(1, 2, -5, 5)), (561103,)),
        (conv(**image(1, 2, 5, -5), outputMask=(True, False, False)), (0,)),
        (conv(**kernel(4, 2, 3, -3)), (561103,)),
        (conv(**kernel(4, 2, 3, -3), outputMask=(False, True, True)), (0,)),
        (conv(**{**FORWARD, "gradOutput": tensor(1, 1, 1, -1, 1, layout="NCDHW")}), (161002,)),
        (conv(**FORWARD), (0,)),
        (conv(**SHORT), (0,)),
        (
            conv(
                **{**SHORT, **dict.fromkeys(("input", "gradInput"), tensor(1, 1, 2, layout="NCL"))}
            ),
            (561103,),
        ),
        (conv(**VOLUME), (0,)),
        (conv(**{**VOLUME, "stride": ()}), (161002, "crash")),
        (conv(**{**VOLUME, "stride": (1,)}), (161002,)),
        (conv(**{**MANY, "outputMask": (False, False, True)}), (561103,)),
        (conv(**MANY), (561103,)),
        (conv(**WITHOUT_N), (0,)),
        (conv(**{**WITHOUT_N, "input": slice_without_n(8)}), (161002,)),
        (conv(**{**WITHOUT_N, "input": slice_without_n(0)}), (0,)),
    ],
)
def test_the_first_failing_check_answers(call: Call, expected: tuple[int | str, ...]) -> None:
    assert codes(call) == expected


STATISTICS = [
    # (N, group, mean, rstd, whether gamma's gradient is asked for, the answer where it is composed
    # of small operators)
    (2, 3, (2, 3), (2, 3), True, (0,)),
    (2, 3, (6,), (6,), True, (0,)),
    (2, 3, (2, 3), (6,), True, (561103,)),
    (2, 3, (6,), (2, 3), True, (0,)),
    (2, 3, (2, 3), (6,), False, (0,)),
    (2, 3, (6,), (2, 3), False, (0,)),
    (2, 3, (3, 2), (3, 2), True, (561103,)),
    (2, 2, (1, 4), (4, 1), True, (561103,)),
    (2, 2, (2, 2), (4, 1), True, (561103,)),
    (1, 1, (1, 1, 1), (1, 1, 1), True, (561103,)),
    (1, 1, (1, 1), (1,), True, (561103,)),
    (1, 1, (1,), (), True, (0,)),
    (1, 1, (1,), (1, 1), False, (0,)),
]


@pytest.mark.parametrize(("n", "group", "mean", "rstd", "asked", "expected"), STATISTICS)
def test_the_rank_of_mean_decides_whether_statistics_are_reshaped(
    n: int,
    group: int,
    mean: tuple[int, ...],
    rstd: tuple[int, ...],
    asked: bool,
    expected: tuple[int, ...],
) -> None:
    for product, answer in (
        ("ascend910", expected),
        ("ascend310p", expected),
        ("ascend910b", (0,)),
        ("ascend910_93", (0,)),
    ):
        call = norm(product, n, group, mean=tensor(*mean), rstd=tensor(*rstd))
        assert codes(replace(call, args={**call.args, "outputMask": (True, asked, True)})) == answer


@pytest.mark.parametrize(
    ("product", "layout", "shape", "mask", "expected"),
    [
        ("ascend910", "NCHW", (2, 6, 4), (True, True, True), (561103,)),
        ("ascend310p", "NHWC", (2, 6, 4), (True, True, True), (561103,)),
        ("ascend910", "NCDHW", (2, 6, 4), (True, True, True), (561103,)),
        ("ascend910", "NCL", (2, 6, 4), (True, True, True), (0,)),
        ("ascend910", "NCHW", (2, 6, 4), (False, True, True), (0,)),
        ("ascend910", "NCHW", (2, 6, 2, 2), (True, True, True), (0,)),
        ("ascend910b", "NCHW", (2, 6, 4), (True, True, True), (0,)),
    ],
)
def test_the_gradient_of_the_input_takes_formats_of_its_rank(
    product: str,
    layout: str,
    shape: tuple[int, ...],
    mask: tuple[bool, ...],
    expected: tuple[int, ...],
) -> None:
    image = tensor(*shape, layout=layout)
    call = norm(product, 2, 3, input=image, gradOut=image, gradInput=image, outputMask=mask)
    assert codes(call) == expected


def test_both_pages_of_an_operator_get_the_same_list() -> None:
    old, new = (
        answered(conv(product=product, biasSizes=None)) for product in ("ascend910", "ascend910b")
    )
    assert old.page.spec.name != new.page.spec.name
    assert [s.id for s in old.page.stages] == [s.id for s in new.page.stages]
    assert old.codes(0) == new.codes(0) == (0,)


def test_an_answer_carries_release_and_basis() -> None:
    answers = answered(pad(), pad(gradOutput=tensor(2, 4, 6, 8)))
    assert answers.answer(0) == LibraryAnswer("2026-08", (0,), "read")
    assert answers.answer(1) == LibraryAnswer("2026-08", (561103,), "inferred")


@pytest.mark.parametrize(
    ("name", "layout", "basis"),
    [
        ("gradInput", {"strides": (288, 144, 12, 1)}, "read"),
        ("gradInput", {"strides": (288, 144, 0, 1)}, "inferred"),
        ("gradInput", {"strides": (288, 144, 11, 1)}, "inferred"),
        ("self", {"strides": (0, 0, 0, 0), "storage_shape": (1,)}, "read"),
        ("self", {"strides": (288, 144, -12, 1), "offset": 132}, "inferred"),
        ("self", {"strides": (288, 144, 12, 1), "storage_shape": (287,)}, "inferred"),
        ("self", {"offset": -1}, "inferred"),
        ("self", {"offset": 1, "storage_shape": (289,)}, "read"),
    ],
)
def test_nothing_looks_at_how_a_tensor_lies(name: str, layout: dict[str, Any], basis: str) -> None:
    answers = answered(
        pool(**{name: replace(tensor(1, 2, 12, 12, layout="NCHW"), **layout)}),
        pool(divisorOverride=300, stride=None),
    )
    assert answers.answers()[0] == answers.answer(0) == LibraryAnswer("2026-08", (0,), basis)


def test_an_acceptance_is_no_firmer_than_what_lets_it_pass() -> None:
    """A tolerance, or a check in place of the page's; those that do not apply or that nothing
    breaks count for nothing.
    """
    known = errata_folder.errata()[POOL]
    (name, page), *_ = known.pages.items()
    calls = (
        pool(),
        pool(divisorOverride=300),
        pool(product="ascend310p", gradOutput=tensor(1, 0, 6, 6, layout="NCHW")),
        pool(stride=None),
    )

    def bases(**changed: Any) -> list[str]:
        entries = tuple(
            replace(entry, **changed) if entry.id == "divisor_any" else entry
            for entry in page.tolerated
        )
        answers = answered(
            *calls, known=replace(known, pages={name: replace(page, tolerated=entries)})
        )
        assert [answers.codes(row)[0] for row in range(4)] == [0] * 4
        return [one.basis for one in answers.answers()]

    assert bases() == ["read", "read", "read", "read"]
    assert bases(basis="inferred") == ["read", "inferred", "read", "read"]
    assert bases(basis="inferred", rules=("stride.null",), when=None) == [
        "read",
        "read",
        "read",
        "inferred",
    ]
    grown = {"outputMask": (False, True, True), "outputPadding": (1, 0)}
    plain, silent = answered(
        longer(1, **grown), longer(1, outputMask=(False, True, True))
    ).answers()
    assert plain == LibraryAnswer("2026-08", (0,), "read") and silent == LibraryAnswer(
        "2026-08", (0,), "inferred"
    )


def test_answers_have_at_most_two_codes() -> None:
    assert all(
        len(s.codes) <= 2
        for e in errata_folder.errata().values()
        for page in e.pages.values()
        for s in page.stages
    )


@pytest.mark.parametrize(
    ("code", "fatal"),
    [("561103", False), ("[0, 561103]", False), ("crash", True), ("[0, crash]", True)],
)
def test_a_call_that_may_end_the_host_process_is_told(code: str, fatal: bool) -> None:
    old = "code: [0, 561103]"
    assert TEXT.count(old) == 1
    known = erratafile.loads(TEXT.replace(old, f"code: {code}"), catalog(), "changed.yaml")
    answers = answered(pad(), pad(gradOutput=tensor(0, 3, 6, 8)), pad(gradOutput=None), known=known)
    assert answers.name(1) == "empty_gradient_batch" and answers.crashing.tolist() == [
        False,
        fatal,
        False,
    ]


# page against library -----------------------------------------------------------------------------
def test_a_difference_names_the_entry_behind_it() -> None:
    calls = [
        pool(),
        pool(divisorOverride=300),
        pool(divisorOverride=300, stride=None),
        pool(gradOutput=tensor(1, 0, 6, 6, layout="NCHW")),
        pool(self=tensor(1, 2, 12, 12, dtype="FLOAT16", layout="NCHW")),
    ]
    differing = differences(answered(*calls))
    assert differing.differs.tolist() == [False, True, True, True, True]
    assert differing.explained.all()
    found = [differing.entries(row) for row in range(5)]
    assert found == [
        (),
        ("divisor", "divisor_any"),
        ("null_stride",),
        ("empty", "shape_of_grad", "empty_grad"),
        ("one_dtype",),
    ]


def test_page_and_library_differ_where_the_page_does_not_admit_each_code() -> None:
    """Of every call with a known status, as the codes of the two answers say."""
    sample = Path(__file__).parents[1] / "data" / "library_sample.jsonl.gz"
    by_page: dict[str, list[Call]] = {}
    for named in read_calls(sample, catalog().kinds):
        spec = catalog().by_page.get((named.call.api, named.call.product))
        if spec is not None:
            by_page.setdefault(spec.name, []).append(named.call)
    seen = set()
    for calls in by_page.values():
        answers = answered(*calls)
        differs = differences(answers).differs.tolist()
        for row, page in enumerate(answers.judgement.expectations()):
            admitted = [
                code in page.codes or (code not in (0, "crash") and "any_error" in page.codes)
                for code in answers.codes(row)
            ]
            assert differs[row] == (not all(admitted)), (page, answers.codes(row))
            seen.add((page.bucket, answers.codes(row) == (0,), differs[row]))
    assert len(seen) > 8


@pytest.mark.parametrize(
    ("code", "differs"),
    [("161002", False), ("561103", False), ("crash", True), ("[161002, crash]", True)],
)
def test_a_crash_differs_from_a_page_that_admits_any_error(code: str, differs: bool) -> None:
    old = "code: 161002, rules: [left_below_width,"
    assert TEXT.count(old) == 1
    known = erratafile.loads(
        TEXT.replace(old, f"code: {code}, rules: [left_below_width,"), catalog(), "changed.yaml"
    )
    answers = answered(pad(padding=(4, 0, 1, 1)), known=known)
    assert answers.name(0) == "padding_below_extents" and answers.judgement.codes(0) == (
        "any_error",
    )
    assert differences(answers).differs.tolist() == [differs]


def test_a_difference_without_an_entry_stands_out() -> None:
    known = errata_folder.errata()[POOL]
    (name, page), *_ = known.pages.items()
    bare = replace(
        page, tolerated=(), stages=tuple(stage for stage in page.stages if stage.id != "divisor")
    )
    stripped = replace(known, pages={name: bare})
    differing = differences(answered(pool(), pool(divisorOverride=300), known=stripped))
    assert differing.differs.tolist() == [False, True]
    assert differing.explained.tolist() == [True, False]


# numbers ------------------------------------------------------------------------------------------
def numeric(*calls: Call) -> list[tuple[str, ...]]:
    """Per call the ids of the numeric entries that apply."""
    answers = answered(*calls)
    ids = [entry.id for entry in answers.page.numeric]
    return [tuple(compress(ids, column)) for column in library.applies(answers).T]


def test_numeric_entries_apply_by_their_condition() -> None:
    nothing = tensor(0, 2, 12, 12, layout="NCHW")
    found = numeric(
        pool(),
        pool(cubeMathType=1),
        pool(cubeMathType=2, countIncludePad=False),
        pool(gradOutput=tensor(0, 2, 6, 6, layout="NCHW"), self=nothing, gradInput=nothing),
        pool(kernelSize=(12, 12), gradOutput=tensor(1, 2, 1, 1, layout="NCHW")),
    )
    assert found == [
        (),
        ("mode_1_is_half",),
        ("vector_in_float",),
        ("nothing_written",),
        ("whole_image",),
    ]
    mixed = numeric(pool(cubeMathType=1, self=MIXED["gradInput"]), pool(cubeMathType=2, **MIXED))
    assert mixed == [("mode_1_is_half",), ("weights_in_half",)]
    older = numeric(
        pool("ascend910", divisorOverride=255, countIncludePad=False),
        pool("ascend910", ceilMode=True),
    )
    assert older == [("divisor_255_ignored",), ("windows_not_clipped",)]
    bf16 = {
        name: tensor(1, 2, 12, 12, dtype="BFLOAT16", layout="NCHW")
        for name in ("self", "gradInput")
    }
    whole = {
        **bf16,
        "kernelSize": (12, 12),
        "gradOutput": tensor(1, 2, 1, 1, dtype="BFLOAT16", layout="NCHW"),
    }
    assert [numeric(pool(**whole, cubeMathType=mode))[0][1:] for mode in (0, 1, 2, 3)] == [
        (),
        *[("bfloat16_through_half",)] * 2,
        (),
    ]
    assert numeric(conv(groups=2, input=tensor(1, 4, 5, 5, layout="NCHW")))[0] == (
        "grouped_through_half",
    )


def test_another_reference_is_the_golden_of_other_names() -> None:
    """The shortcut for a kernel as large as the image spreads the gradient evenly, whatever the
    padding.
    """
    call = pool(
        kernelSize=(12, 12),
        stride=(1, 1),
        padding=(6, 0),
        countIncludePad=False,
        gradOutput=tensor(1, 2, 1, 1, layout="NCHW"),
    )
    answers = answered(call)
    entry = next(e for e in answers.page.numeric if e.id == "whole_image")
    names = {
        "kH": 12,
        "kW": 12,
        "sH": 1,
        "sW": 1,
        "padH": 6,
        "padW": 0,
        "ceilMode": 0,
        "countIncludePad": 0,
        "divisorOverride": 0,
        "Hin": 12,
        "Win": 12,
        "Hout": 1,
        "Wout": 1,
    }
    names.update(
        {name: int(column[0]) for name, column in library.reference(answers, entry).items()}
    )
    gradient = np.array([[[[1.0]], [[144.0]]]])[None]
    result = golden({"gradOutput": gradient}, names, {"gradInput"})["gradInput"]
    np.testing.assert_array_equal(result, np.broadcast_to(gradient / 144.0, result.shape))


def test_windows_that_overhang_divide_by_the_whole_kernel() -> None:
    answers = answered(pool("ascend910", ceilMode=True, kernelSize=(3, 2)))
    entry = next(e for e in answers.page.numeric if e.id == "windows_not_clipped")
    assert library.reference(answers, entry)["divisorOverride"].tolist() == [6]


def wide(width: int, left: int, right: int, product: str = "ascend910b") -> Call:
    """A pad of one row, at both sides."""
    return pad(
        product,
        gradOutput=tensor(1, 1, 1, width + left + right),
        self=tensor(1, 1, 1, width),
        padding=(left, right, 0, 0),
        gradInput=tensor(1, 1, 1, width),
    )


HALF_CHANNELS = 5776
"""Channels of a group that fit the unified buffer in 16 bits, 34 bytes each."""


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (halved(norm("ascend910b", 1, 1, HALF_CHANNELS, 1)), ""),
        (halved(norm("ascend910b", 1, 1, HALF_CHANNELS + 1, 1)), "unified_buffer"),
        (halved(norm("ascend910_93", 1, 1, 8000, 1)), "unified_buffer"),
        (halved(norm("ascend910", 1, 1, 8000, 1)), ""),
        (norm("ascend910b", 1, 1, 8000, 1), ""),
        (halved(norm("ascend910b", 1, 1, 8000, 2)), ""),
        (halved(norm("ascend910b", 1, 2, 8000, 1)), ""),
        (lone(1, 1, (1, 2), (0, 1)), "remainder_by_zero"),
        (lone(2, 1, (1, 2), (0, 1)), ""),
        (lone(1, 47, (2, 2), (1, 1)), "remainder_by_zero"),
        (lone(1, 48, (2, 2), (1, 1)), ""),
        (lone(1, 1, (1, 2), (0, 1), dtype="FLOAT"), ""),
        (lone(1, 1, (1, 2), (0, 1), product="ascend910"), ""),
        (halved(norm("ascend910b", 3, 11, 16379, 1)), ""),
        (halved(norm("ascend910b", 3, 16, 16400, 1)), ""),
        (halved(norm("ascend910b", 4, 4, 17408, 1)), ""),
        (halved(norm("ascend910b", 3, 11, 16390, 1)), "row_stride_half"),
        (halved(norm("ascend910_93", 3, 16, 16768, 1)), "row_stride_half"),
        (halved(norm("ascend910b", 2, 11, 16390, 1)), ""),
        (norm("ascend910b", 4, 32, 17152, 1), ""),
        (norm("ascend910b", 5, 11, 16390, 1), ""),
        (norm("ascend910b", 5, 32, 17088, 1), "row_stride_float"),
        (norm("ascend910b", 5, 4, 18432, 1), "row_stride_float"),
        (wide(5760, 5759, 5759), ""),
        (wide(5761, 5760, 5760), "wide_padding"),
        (wide(11521, 11520, 0), "wide_padding"),
        (wide(5761, 5760, 5760, product="ascend910"), ""),
    ],
)
def test_a_device_may_fault_where_a_kernel_is_wrong(call: Call, fault: str) -> None:
    answers = answered(call)
    assert answers.faulty.tolist() == [bool(fault)] and not answers.crashing.any()
    assert answers.may_succeed.all() and answers.name(0) == (fault or "accepted")
    ends = fault == "remainder_by_zero"
    assert answers.codes(0) == ((0, "crash") if ends else (0,))


def test_a_fault_says_why() -> None:
    faults = [
        stage
        for errata in errata_folder.errata().values()
        for page in errata.pages.values()
        for stage in page.stages
        if isinstance(stage, Fault)
    ]
    assert faults and all(fault.note and fault.when for fault in faults)
    head = "\nfaults:\n"
    silent = TEXT.replace(head, f'{head}  lost: {{where: "RP:1", when: self.rank == 3}}\n')
    assert "faults.lost: the key 'note' is missing" in refused(silent)
    everywhere = TEXT.replace(head, f'{head}  lost: {{where: "RP:1", note: all of them}}\n')
    assert "lost: answers for every call" in refused(everywhere)


@pytest.mark.parametrize(
    ("name", "within", "beyond"),
    [
        ("group_norm_backward", "channels-within-the", "channels-beyond-the"),
        ("avg_pool2d_backward", "as-many-elements-as-cores", "fewer-elements-than-cores"),
    ],
)
def test_both_sides_of_a_fault_are_cases_with_data(name: str, within: str, beyond: str) -> None:
    cases = [case for case in suite(name).cases if case.kind == "handwritten" and case.phase == 2]
    for part, faulty in ((within, False), (beyond, True)):
        (case,) = [case for case in cases if f".handwritten.{part}" in case.id]
        assert answered(case.call).faulty.tolist() == [faulty] and case.page.codes == (0,)


def test_errata_say_how_far_their_answers_reach() -> None:
    head = 'release: "2026-08"\n'
    kernel = erratafile.loads(TEXT.replace(head, f"{head}until: kernel\n", 1), catalog())
    assert (kernel.until, erratafile.loads(TEXT, catalog()).until) == ("kernel", "graph")
    answer = answered(pad(), known=kernel).answer(0)
    assert answer is not None
    assert answer.until == "kernel"
    with pytest.raises(FileError, match="until"):
        erratafile.loads(TEXT.replace(head, f"{head}until: run\n", 1), catalog())
