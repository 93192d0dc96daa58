"""Operators whose page has several editions: which one judges a call, and who names it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import opgen
from opgen.calls.vocabulary import vocabulary
from opgen.cli import main
from opgen.model import UNDATED, FileError
from opgen.spec.catalog import Catalog, catalog, edition_of
from opgen.spec.spec_folder import disagreements

PAD = "aclnnReflectionPad2dBackward"
IMAGE = {"shape": [2, 3, 4, 4], "dtype": "BFLOAT16", "format": "ND"}


def pad(product: str, dtype: str = "BFLOAT16") -> dict[str, object]:
    image = {**IMAGE, "dtype": dtype}
    args = {"gradOutput": {**image, "shape": [2, 3, 4, 6]}, "self": image, "padding": [1, 1, 0, 0]}
    return {"id": product, "op": PAD, "product": product, "args": {**args, "gradInput": image}}


def run(*words: str, lines: list[dict[str, object]] | None = None) -> str:
    text = "".join(f"{json.dumps(line)}\n" for line in lines or ())
    told = CliRunner().invoke(main, [*words], input=text)
    assert told.exit_code == 0, told.output
    return told.stdout


def test_the_oldest_edition_that_knows_a_product_judges_its_calls():
    older, newer = catalog().of(PAD)
    assert (older.edition, newer.edition) == ("", "2026-08")
    assert catalog().by_page[PAD, "ascend910b"] is older
    assert newer.judges == ("ascend950",) and "ascend950" not in older.judges
    assert catalog().by_page[PAD, "ascend950"] is newer


def test_an_edition_judges_every_product():
    (newer,) = catalog("2026-08").of(PAD)
    (older,) = catalog(UNDATED).of(PAD)
    for product in vocabulary().products:
        assert catalog("2026-08").by_page[PAD, product] is newer
        assert catalog(UNDATED).by_page[PAD, product] is older
    assert catalog("2026-08").every(PAD) == catalog().every(PAD) != [newer]


def test_an_edition_that_no_page_has_is_refused():
    with pytest.raises(FileError, match=r"2026-8: no such edition \(did you mean '2026-08'\?\)"):
        catalog("2026-8")
    told = CliRunner().invoke(main, ["generate", "--edition", "2026-8"])
    assert told.exit_code == 2 and "no such edition" in told.stderr


def test_editions_share_the_prototype_and_each_judges_a_product_once():
    older, newer = catalog().every(PAD)
    assert not list(disagreements([older, newer]))
    twice = list(disagreements([older, newer, replace(newer, file="again.yaml")]))
    assert all("exactly one is needed" in problem.text for problem in twice) and twice
    other = replace(newer, parameters=dict(reversed(newer.parameters.items())))
    (told,) = disagreements([older, other])
    assert told.text == f"another prototype than in {older.file}"


def test_a_spec_whose_products_all_have_an_older_page_judges_nothing_by_default():
    older, newer = catalog().every(PAD)
    known = vocabulary().known_to_every_page
    later = replace(newer, judges=known)
    assert Catalog.of_all([older, later]).specs == (older,)
    assert Catalog.of_all([older, later], "2026-08").specs == (later,)


def test_judge_names_the_edition_behind_each_answer():
    calls = [pad("ascend910b"), pad("ascend950")]
    asked = [json.loads(line)["page"] for line in run("judge", lines=calls).splitlines()]
    assert [(page["edition"], page["bucket"]) for page in asked] == [
        (UNDATED, "unstated"),  # the older page has no BFLOAT16
        ("2026-08", "valid"),
    ]
    (one,) = map(json.loads, run("judge", "--edition", "2026-08", lines=calls[:1]).splitlines())
    assert (one["page"]["edition"], one["page"]["bucket"]) == ("2026-08", "valid")
    (answer,) = opgen.judge(calls[:1], edition="2026-08")
    assert answer.page.bucket == "valid"
    text = run("judge", "--format", "text", "--edition", "2026-08", lines=calls[:1])
    assert "page: success (valid; edition 2026-08)" in text


def test_the_library_is_taken_to_do_as_its_page_says_on_a_product_that_its_release_does_not_know():
    for edition in ("", "2026-08"):
        (answer,) = opgen.judge([pad("ascend950")], edition=edition)
        assert answer.library is not None and answer.library.codes == answer.page.codes == (0,)
        assert answer.library.basis == "inferred"
    (answer,) = opgen.judge([pad("ascend910b")], edition="2026-08")
    assert answer.library is not None and answer.library.codes == (0,)


def test_bundles_and_reports_name_the_edition_and_are_judged_by_it(tmp_path: Path):
    pytest.importorskip("torch")
    bundle, results = tmp_path / "suite.h5", tmp_path / "results.h5"
    opgen.generate([PAD], products=["ascend910b"], edition="2026-08", output=bundle, workers=1)
    with opgen.open(bundle) as held:
        assert edition_of(held.header) == "2026-08"
        assert held.header["editions"] == {"reflection_pad2d_backward.2026-08": "2026-08"}
        halves = [case for case in held if "-bf16" in case.id and case.kind == "valid"]
        assert halves and all(case.expect.bucket == "valid" for case in halves)
    opgen.run(bundle, "torch", results)
    report = opgen.diff(bundle, results)
    assert report.totals.get("passed") and not report.totals.get("failed")
    assert report.origin["editions"] == {"reflection_pad2d_backward.2026-08": "2026-08"}
    shown = run("explain", "--bundle", str(bundle), "*.invalid.bfloat16_padding.*")
    assert "highest(padding) <= 7" in shown
    assert "reflection_pad2d_backward.2026-08" in run("coverage", str(bundle), "--plan", "smoke")


def test_a_bundle_of_several_editions_names_each(tmp_path: Path):
    opgen.generate([PAD], output=tmp_path / "suite.h5", workers=1)
    with opgen.open(tmp_path / "suite.h5") as held:
        assert held.header["editions"] == {
            "reflection_pad2d_backward": UNDATED,
            "reflection_pad2d_backward.2026-08": "2026-08",
        }
        assert "edition" not in held.header


def test_every_markdown_page_has_an_edition():
    """The vendor's pages in Markdown are those of an edition; the five in plain text have no
    date.
    """
    without = {spec.page.file for spec in catalog().specs if spec.page and not spec.edition}
    assert len(without) == 5 and all(file.endswith(".txt") for file in without)
