"""What holds of every page that opgen ships."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from opgen.calls.jsonl import read_calls
from opgen.calls.kinds import KINDS
from opgen.calls.table import from_calls
from opgen.calls.vocabulary import vocabulary
from opgen.files.resources import specs_folder
from opgen.lint import audit
from opgen.model import FileError, TensorDesc
from opgen.oracle.judgement import judge
from opgen.spec import specfile
from opgen.spec.catalog import catalog
from opgen.spec.parameter_keys import KEYS
from opgen.spec.spec import Spec
from tests.support.spec_sample import TEXT
from tests.support.suites import suite

SPECS = {spec.name: spec for spec in catalog().specs}
FOLDER = Path(__file__).parents[2] / "specs"
every = pytest.mark.parametrize("spec", catalog().specs, ids=lambda spec: spec.name)
paged = pytest.mark.parametrize(
    "spec", [spec for spec in catalog().specs if spec.page is not None], ids=lambda spec: spec.name
)
"""Specs that stand on a page; one that was transcribed without a page cites no line and only
assumes."""

PROTOTYPES = {
    "aclnnAvgPool2dBackward": (
        "gradOutput self kernelSize stride padding ceilMode countIncludePad divisorOverride"
        " cubeMathType gradInput"
    ),
    "aclnnConvolutionBackward": (
        "gradOutput input weight biasSizes stride padding dilation transposed outputPadding groups outputMask cubeMathType "  # noqa: E501
        "gradInput gradWeight gradBias"
    ),
    "aclnnGroupNormBackward": (
        "gradOut input mean rstd gamma N C HxW group outputMask gradInput gradGammaOut gradBetaOut"
    ),
    "aclnnReflectionPad2dBackward": "gradOutput self padding gradInput",
}
CLAUSES = {
    "avg_pool2d_backward": {161001: 1, 161002: 8},
    "convolution_backward.ascend910b": {161001: 2, 161002: 6, 561103: 1},
    "convolution_backward.atlas": {},
    "group_norm_backward": {},
    "reflection_pad2d_backward": {},
}
"""How many numbered clauses each of these pages has; three have lost theirs."""
LISTED = {
    "avg_pool2d_backward": {"ascend310p", "ascend910", "ascend910b"},
    "convolution_backward.ascend910b": {"ascend910b", "ascend910_93"},
    "convolution_backward.atlas": {"ascend310p", "ascend910", "ascend910b"},
    "group_norm_backward": {"ascend910", "ascend910b"},
    "reflection_pad2d_backward": {"ascend310p", "ascend910", "ascend910b", "ascend910_93"},
}


def test_every_page_is_there() -> None:
    assert set(CLAUSES) == set(LISTED) <= set(SPECS)
    assert {SPECS[name].api: " ".join(SPECS[name].parameters) for name in CLAUSES} == PROTOTYPES


def test_specs_without_a_page_and_no_others_only_assume() -> None:
    def assumes(spec: Spec) -> bool:
        facts = *spec.rules, *spec.parameters.values(), *spec.modes
        return {rule.bucket for rule in spec.rules} == {"assumed"} and not any(
            fact.at for fact in facts
        )

    without = {name for name, spec in SPECS.items() if spec.page is None}
    assert {name for name, spec in SPECS.items() if assumes(spec)} == without


@every
def test_every_rule_has_one_place(spec: Spec) -> None:
    for rule in spec.rules:
        assert rule.guards, rule.id
        stated = rule.code is not None
        assert stated == (rule.bucket == "stated") or rule.id == "product", rule.id
        assert rule.clause is None or rule.clause.startswith(f"{rule.code}."), rule.id
    assert len(spec.rule) == len(spec.rules)


@pytest.mark.parametrize("spec", [SPECS[name] for name in CLAUSES], ids=lambda spec: spec.name)
def test_every_numbered_clause_is_named_by_a_rule(spec: Spec) -> None:
    numbered = {
        f"{code}.{number}"
        for code, count in CLAUSES[spec.name].items()
        for number in range(1, count + 1)
    }
    demanded = {rule.clause for rule in spec.rules if rule.clause}
    suggested = {clause for clause in numbered if clause.startswith("561103.")}
    assert set(spec.clauses) == numbered == demanded | suggested and not demanded & suggested
    assert all(spec.clauses[rule.clause] in rule.at for rule in spec.rules if rule.clause)
    lines = [spec.clauses[clause] for clause in sorted(numbered)]
    assert lines == list(range(lines[0], lines[0] + len(lines))) if lines else True
    likely = {rule.likely for rule in spec.rules} - {None}
    assert {*spec.codes, *likely} == set(CLAUSES[spec.name])


@pytest.mark.parametrize(
    "clause",
    [(name, clause) for name, spec in SPECS.items() for clause in spec.clauses],
    ids=lambda c: f"{c[0]}-{c[1]}",
)
def test_a_clause_that_is_taken_away_is_missed(clause: tuple[str, str]) -> None:
    spec = SPECS[clause[0]]
    code, number = clause[1].split(".")
    text = (FOLDER / f"{spec.name}.yaml").read_text(encoding="utf-8")
    start = text.index(f"  {code}:", text.index("\nreturns:\n"))
    cut = re.sub(rf"(?s)\b{number}: \[[^]]*\],?", "", text[start:], count=1)
    with pytest.raises(FileError) as caught:
        specfile.loads(text[:start] + cut, spec.name)
    assert f"no rule stands under number {number} in returns" in str(caught.value)


@pytest.mark.parametrize("spec", [SPECS[name] for name in CLAUSES], ids=lambda spec: spec.name)
def test_the_products_of_a_page(spec: Spec) -> None:
    assert set(spec.products) == LISTED[spec.name]
    assert spec.rule["product"].bucket == "unsupported_product"
    assert len(spec.rule["product"].at) == len(spec.products) + (
        spec.rule["product"].clause is not None
    )


def test_each_product_is_judged_by_one_page() -> None:
    for api in PROTOTYPES:
        judges = [product for spec in catalog().of(api) for product in spec.judges]
        listed = {product for spec in catalog().of(api) for product in spec.products}
        assert sorted(judges) == sorted(vocabulary().known_to(listed))
    by_page = catalog().by_page
    convolution = {
        product: by_page["aclnnConvolutionBackward", product].name.split(".")[1]
        for product in vocabulary().products
    }
    assert convolution == {
        "ascend910b": "ascend910b",
        "ascend910_93": "ascend910b",
        "ascend310p": "atlas",
        "ascend910": "atlas",
        "ascend310b": "ascend910b",  # no page supports it, so the first one answers
        "ascend950": "2026-08",  # the older pages do not know it
    }


@paged
def test_every_cited_line_has_a_digest_and_no_other_has(spec: Spec) -> None:
    assert spec.page is not None and re.fullmatch(r"[0-9a-f]{64}", spec.page.sha256)
    assert list(audit.facts_by_line(spec)) == list(spec.page.lines)
    assert all(re.fullmatch(r"[0-9a-f]{12}", digest) for digest in spec.page.lines.values())


@paged
@pytest.mark.skipif("OPGEN_PAGES" not in os.environ, reason="OPGEN_PAGES names no folder of pages")
def test_every_cited_line_is_what_it_was(spec: Spec) -> None:
    assert audit.audit(spec, Path(os.environ["OPGEN_PAGES"])) == []


@paged
def test_what_the_page_says_has_a_line_and_what_it_does_not_say_has_none(spec: Spec) -> None:
    for rule in spec.rules:
        if rule.bucket in ("stated", "unstated", "unsupported_product", "disputed"):
            assert rule.at, rule.id
        if rule.bucket == "assumed":
            of_data = any("values(" in guard.require.text for guard in rule.guards)
            silent = not rule.at or (spec.name, rule.key) == ("group_norm_backward", "null")
            assert silent or of_data, "no checker of arguments sees data, whatever the page says"
    assert all(parameter.at for parameter in spec.parameters.values())
    assert all(mode.at for mode in spec.modes)


UNMASKED = {"lstm_backward"}
"""Specs of pages that say of their outputMask that every output is written whatever it says."""


@every
def test_every_pointer_has_its_null_rule_and_every_tensor_its_keys(spec: Spec) -> None:
    """A tensor of a list has the keys of its list."""
    raw = yaml.safe_load((specs_folder() / Path(spec.file).name).read_text(encoding="utf-8"))
    for parameter in spec.parameters.values():
        name = parameter.of or parameter.name
        if KINDS[parameter.kind].pointer:
            allowed = raw["parameters"][name].get(None) is True  # how YAML reads the key null
            assert allowed or f"{name}.null" in spec.rule, parameter.name
        if parameter.is_tensor:
            assert {f"{name}.dtype", f"{name}.format"} <= set(spec.rule), parameter.name
        if parameter.kind == "tensor":
            told = (parameter.name, "shape") in spec.equalities
            assert told or f"{name}.rank" in spec.rule, parameter.name
            assert parameter.strided is not None
        if parameter.is_array:
            assert f"{name}.length" in spec.rule
        if parameter.kind == "output" and "outputMask" in spec.parameters:
            assert (parameter.mask is None) == (spec.name in UNMASKED)
    assert {rule.key for rule in spec.rules} - {None} <= set(KEYS)


def untied(spec: Spec) -> set[str]:
    """Letters that only one parameter has, and that no rule but those of shapes reads, nor the
    array that they are items of, and of a tensor whose shape no rule holds against another's: facts
    left out.
    """
    read = {
        name for rule in spec.rules if rule.key != "shape" for name, what in rule.refs if what == ""
    }
    whole = {name for rule in spec.rules for name, what in rule.refs if what == "values"}
    read |= {
        name
        for array in whole
        for slots in spec.parameters[array].items.values()
        for name in sum(slots, ())
    }
    compared = set()
    for rule in spec.rules:
        shapes = {name for name, what in rule.refs if what == "shape"}
        compared |= shapes if rule.key != "shape" and len(shapes) > 1 else set()
    places = {
        letter: {place.parameter for place in found}
        for letter, found in spec.scope.occurrences.items()
    }
    return {
        letter
        for letter, found in places.items()
        if letter not in read and len(found) == 1 and not found & compared
    }


FREE = {
    "adaptive_avg_pool2d_backward": {"Hout", "Wout"},
    "adaptive_avg_pool3d_backward": {"Dout", "Hout", "Wout"},
    "clipped_swiglu_grad": {"G"},
    "max_pool2d_with_mask_backward": {"dH", "dW"},
    "roi_pooling_grad_with_arg_max": {"N", "H", "W"},
    "swiglu_group_grad": {"G"},
    "swiglu_group_quant_grad": {"G"},
}
"""Extents that only the caller chooses, and that the incoming gradient, or a number of groups,
alone tells; and dilations that can only be 1.
"""


@every
def test_every_tensor_of_a_shape_with_letters_is_tied_to_the_others(spec: Spec) -> None:
    assert untied(spec) == FREE.get(spec.name, set())


def test_a_letter_that_is_tied_to_nothing_is_seen() -> None:
    assert untied(specfile.loads(TEXT)) == set()
    lone = TEXT.replace("{1: [2]}", "{2: [Q, 2]}")
    assert untied(specfile.loads(lone)) == {"Q"}
    held = lone.replace("gradInput.shape == self.shape", "gradInput.shape == scale.shape")
    assert untied(specfile.loads(held)) == set()


@every
def test_no_call_with_a_negative_extent_is_legal(spec: Spec) -> None:
    """Not even where all tensors agree on it, so that every rule that ties one to another is
    kept.
    """
    legal = [case.call for case in suite(spec.name, "smoke").cases if case.page.bucket == "valid"]
    turned = []
    for call in legal:
        tensors = {
            name: value
            for name, value in call.args.items()
            if isinstance(value, TensorDesc) and len(value.shape) > 1
        }
        for axis in (0, 1) if tensors else ():
            shapes = {
                name: (*one.shape[:axis], -max(one.shape[axis], 1), *one.shape[axis + 1 :])
                for name, one in tensors.items()
            }
            bare = {
                name: replace(
                    tensors[name], shape=shape, strides=None, offset=0, storage_shape=None
                )
                for name, shape in shapes.items()
            }
            turned.append(replace(call, args={**call.args, **bare}))
    assert turned and not judge(spec, from_calls(spec.api, spec.kinds, turned)).valid.any()


def test_real_legal_calls_are_valid() -> None:
    """Calls that the library accepts as they stand, but for what the pages forbid and the library
    lets pass.
    """
    named = [
        n
        for n in read_calls(
            Path(__file__).parents[1] / "data" / "library_sample.jsonl.gz", catalog().kinds
        )
        if not n.extra["mutations"]
    ]
    allowed = {"product", "gamma.null", "groups_in_transposed"} | {
        f"grad{output}.null" for output in ("Input", "Weight", "Bias")
    }
    for name in CLAUSES:
        spec = SPECS[name]
        mine = [n for n in named if catalog().by_page[n.call.api, n.call.product] is spec]
        judgement = judge(spec, from_calls(spec.api, spec.kinds, [n.call for n in mine]))
        rules = [{b.rule for b in said.breaks} for said in judgement.expectations()]
        dtypes = {rule for rule in spec.rule if rule.endswith(".dtype")}
        odd = [
            (n.id, r)
            for n, r in zip(mine, rules, strict=True)
            if r - allowed - (dtypes if "product" in r else set())
        ]
        assert not odd and sum(not any(spec.rule[i].forbids for i in r) for r in rules) > 100
