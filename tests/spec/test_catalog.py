"""All specs of a folder together: their problems at once, and what pages of one operator must
share.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from opgen.lint.audit import facts_by_line
from opgen.model import FileError
from opgen.spec.catalog import catalog, load_catalog
from tests.support.spec_sample import TEXT


def problems(folder: Path) -> list[str]:
    with pytest.raises(FileError) as caught:
        load_catalog(folder)
    return str(caught.value).splitlines()


def test_problems_of_all_files_at_once(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(
        TEXT.replace("mode != KEEP", "mode != KEPE"), encoding="utf-8"
    )
    (tmp_path / "two.yaml").write_text("api: [", encoding="utf-8")
    found = problems(tmp_path)
    assert [line.split(":")[0] for line in found] == ["specs/one.yaml", "specs/two.yaml"]


def test_digests_that_are_about_to_be_made_are_not_asked_for(tmp_path: Path) -> None:
    """A new spec has none, a finished one that cites another line lacks one."""
    for page in (
        "{file: a.txt}",
        "{file: a.txt, sha256: x, lines: ''}",
        "{file: a.txt, lines: '10 0123456789ab'}",
    ):
        (tmp_path / "w.yaml").write_text(
            TEXT.replace("page: none", f"page: {page}"), encoding="utf-8"
        )
        (spec,) = load_catalog(tmp_path, digests=False).specs
        assert (
            spec.page is not None
            and spec.page.file == "a.txt"
            and list(facts_by_line(spec))[:3] == [10, 11, 12]
        )
        with pytest.raises(
            FileError,
            match=(
                r"page.lines: no digest of lines (10, )?11, 12, .*; opgen audit OP --pages DIR"
                r" --digests --write adds them"
            ),
        ):
            load_catalog(tmp_path)
    (tmp_path / "w.yaml").write_text(TEXT.replace("page: none", "page: {}"), encoding="utf-8")
    with pytest.raises(FileError, match="the key 'file' is missing"):
        load_catalog(tmp_path, digests=False)


def test_two_pages_of_one_operator_share_the_prototype(tmp_path: Path) -> None:
    (tmp_path / "w.one.yaml").write_text(
        TEXT.replace("judges: [ascend310p, ascend910, ", "judges: ["), encoding="utf-8"
    )
    other = TEXT.replace(
        "judges: [ascend310p, ascend910, ascend910b, ascend910_93]",
        "judges: [ascend310p, ascend910]",
    )
    (tmp_path / "w.two.yaml").write_text(other, encoding="utf-8")
    pages = load_catalog(tmp_path)
    assert pages.by_page["aclnnWindowBackward", "ascend910"].name == "w.two"
    assert pages.by_page["aclnnWindowBackward", "ascend910b"].name == "w.one"
    assert [spec.name for spec in pages.of("aclnnWindowBackward")] == ["w.one", "w.two"]
    (tmp_path / "w.two.yaml").write_text(
        other.replace("ceil: {kind: bool}", "ceil: {kind: bool}\n  late: {kind: bool}"),
        encoding="utf-8",
    )
    assert "another prototype than in specs/w.one.yaml" in problems(tmp_path)[0]


def test_every_product_has_exactly_one_judge(tmp_path: Path) -> None:
    (tmp_path / "w.one.yaml").write_text(
        TEXT.replace("judges: [ascend310p, ascend910, ", "judges: ["), encoding="utf-8"
    )
    assert (
        "ascend310p is judged by no page; exactly one is needed (key 'judges')"
        in problems(tmp_path)[0]
    )
    (tmp_path / "w.two.yaml").write_text(TEXT, encoding="utf-8")
    assert any(
        "ascend910b is judged by specs/w.one.yaml, specs/w.two.yaml" in line
        for line in problems(tmp_path)
    )


def test_an_operator_has_two_names() -> None:
    assert (
        catalog().api("avg_pool2d_backward")
        == catalog().api("aclnnAvgPool2dBackward")
        == "aclnnAvgPool2dBackward"
    )
    with pytest.raises(FileError, match="no such operator .did you mean 'avg_pool2d_backward'"):
        catalog().api("avgpool2d_backward")
    assert list(catalog().operators) == sorted(catalog().operators)
    assert {
        "avg_pool2d_backward",
        "convolution_backward",
        "group_norm_backward",
        "reflection_pad2d_backward",
    } <= set(catalog().operators)


def test_formulas_name_the_code_that_is_likely() -> None:
    formulas = catalog().formulas("aclnnConvolutionBackward", "ascend910b")
    assert formulas["groups_limit"].endswith(
        "groups <= 65535 when not transposed and weight.rank in (3, 4, 5); likely 561103"
    )
    assert "likely" not in formulas["kernel_height"]
    assert catalog().formulas("aclnnNothing", "ascend910b") == {}
