"""Specs against pages that changed."""

from __future__ import annotations

import importlib
import json
import re
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from click.testing import CliRunner

from opgen.calls.categorical import Categorical
from opgen.calls.purposes import Purpose, Purposes, describe
from opgen.cli import main
from opgen.files.digests import digest_block, line_digest
from opgen.lint.audit import (
    BOM,
    PageChange,
    audit,
    facts_by_line,
    facts_of_lock,
    facts_of_suite,
    is_text_of,
    of_this_folder,
    page_block,
    read_page,
    with_cases,
    with_page_block,
)
from opgen.lock.lockfile import LockEntry, expectation_text
from opgen.model import Break, Call, Case, Expectation, FileError
from opgen.spec import specfile
from opgen.spec.catalog import catalog, load_catalog
from opgen.spec.spec import Spec
from opgen.suite.suite import Suite
from tests.support import copies
from tests.support.case_tables import tabulate

LINES = [
    "title",
    "Atlas A",
    "x: a tensor of FLOAT",
    "k: an array",
    "k must not be larger than x",
    "end",
]
TEXT = """
api: aclnnOne
page:
  file: one.txt
  sha256: {sha256}
  lines: |
{block}
products: {{ascend910: 2}}
parameters:
  x: {{kind: tensor, at: 3, dtype: [FLOAT], shape: {{1: [N]}}}}
  k: {{kind: int_array, at: 4, length: [1], items: [kN]}}
rules:
  fits: {{at: [5, 4], require: kN <= N}}
returns:
  unstated: [product, x.dtype, x.rank, k.length, fits]
  assumed: [x.null, k.null]
"""


@pytest.fixture
def one() -> Spec:
    digest = sha256("\n".join(LINES).encode()).hexdigest()
    return specfile.loads(
        TEXT.format(block=digest_block(LINES, [2, 3, 4, 5], 2), sha256=digest), "one", "one.yaml"
    )


def findings(
    spec: Spec, folder: Path, lines: list[str]
) -> dict[int | None, tuple[str, int | None]]:
    (folder / "one.txt").write_text("\n".join(lines), encoding="utf-8")
    return {finding.line: (finding.state, finding.moved_to) for finding in audit(spec, folder)}


DIFFERS = {None: ("differs", None)}


def test_facts_stand_on_their_lines(one: Spec) -> None:
    assert facts_by_line(one) == {
        2: ["product", "product ascend910"],
        3: ["x.null", "x.dtype", "x.rank", "x"],
        4: ["k.null", "k.length", "fits", "k"],
        5: ["fits"],
    }


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda lines: lines, {}),
        (lambda lines: [*lines, ""], {}),
        (lambda lines: [*lines, "x must not be empty"], DIFFERS),
        (lambda lines: ["another title", *lines[1:]], DIFFERS),
        (lambda lines: [f"  {line}\t" for line in lines], DIFFERS),
        (
            lambda lines: [*lines[:2], "x: a tensor of FLOAT16", *lines[3:]],
            {3: ("changed", None), **DIFFERS},
        ),
        (
            lambda lines: ["", *lines],
            {2: ("moved", 3), 3: ("moved", 4), 4: ("moved", 5), 5: ("moved", 6), **DIFFERS},
        ),
        (
            lambda lines: [*lines[:3], *lines[4:]],
            {4: ("vanished", None), 5: ("moved", 4), **DIFFERS},
        ),
        (
            lambda lines: [*lines[:2], *lines[4:]],
            {3: ("vanished", None), 4: ("vanished", None), 5: ("moved", 3), **DIFFERS},
        ),
        (
            lambda lines: ["", *lines[:3], "k: two arrays", *lines[4:]],
            {2: ("moved", 3), 3: ("moved", 4), 4: ("changed", None), 5: ("moved", 6), **DIFFERS},
        ),
        (lambda lines: lines[:4], {5: ("vanished", None), **DIFFERS}),
        (
            lambda lines: [],
            {
                2: ("vanished", None),
                3: ("vanished", None),
                4: ("vanished", None),
                5: ("vanished", None),
                **DIFFERS,
            },
        ),
    ],
    ids=[
        "same",
        "ended",
        "appended",
        "uncited",
        "blanks",
        "changed",
        "moved",
        "one deleted",
        "two deleted",
        "moved and changed",
        "shorter",
        "empty",
    ],
)
def test_what_changed_is_found(one: Spec, tmp_path: Path, change, expected) -> None:  # type: ignore[no-untyped-def]
    assert findings(one, tmp_path, change(LINES)) == expected


def test_a_repeated_line_moves_as_its_neighbours_do(one: Spec, tmp_path: Path) -> None:
    """Of lines that read alike, the one is meant that went the way of the nearest line that stands
    alone.
    """
    assert findings(one, tmp_path, [LINES[4], "new", *LINES]) == {
        2: ("moved", 4),
        3: ("moved", 5),
        4: ("moved", 6),
        5: ("moved", 7),
        **DIFFERS,
    }


def other_forms(content: bytes) -> dict[str, bytes]:
    """The same text, as editors and version control leave it."""
    windows = content.replace(b"\n", b"\r\n")
    return {
        "as it is": content,
        "CRLF": windows,
        "BOM": BOM + content,
        "both": BOM + windows,
        "ended": content + b"\n",
    }


def test_another_form_of_the_same_text_is_no_finding() -> None:
    forms = other_forms("\n".join(LINES).encode())
    for kept in forms.values():
        for now in (*forms.values(), forms["CRLF"] + b"\r"):
            assert is_text_of(now, sha256(kept).hexdigest())
        assert not is_text_of(kept.replace(b"title", b"tilte"), sha256(kept).hexdigest())


def test_a_byte_order_mark_is_no_part_of_the_first_line(one: Spec, tmp_path: Path) -> None:
    for form in other_forms("\n".join(LINES).encode()).values():
        (tmp_path / "one.txt").write_bytes(form)
        assert read_page(one, tmp_path)[0][0].strip() == "title" and audit(one, tmp_path) == []


def test_a_finding_names_the_facts(one: Spec, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text(
        "\n".join([*LINES[:4], "k may be anything"]), encoding="utf-8"
    )
    found, differs = audit(one, tmp_path)
    assert (differs.line, differs.state, differs.facts) == (None, "differs", ())
    assert (found.spec, found.line, found.facts) == ("one", 5, ("fits",))


def test_a_missing_page_is_a_message(one: Spec, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="one.txt: cannot be read: No such file"):
        read_page(one, tmp_path)


@pytest.mark.parametrize(
    "found",
    [[], [PageChange("reflection_pad2d_backward", 20, "changed", None, ("gradOutput",))]],
    ids=["same", "other"],
)
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--plan", "smok"), "no such tier or file (did you mean 'smoke'?)"),
        (("--lock", "aclnnReflectionPad2dBackward.txt"), "is not a lock of this version"),
        (
            ("--plan", "smoke", "--lock", "aclnnReflectionPad2dBackward.txt"),
            "--plan and --lock: give only one of them",
        ),
    ],
)
def test_what_names_the_cases_is_looked_at_although_no_page_changed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    found: list[PageChange],
    options: tuple[str, ...],
    said: str,
) -> None:
    """So that a wrong name is not found on the day on which a page changes."""
    (tmp_path / "aclnnReflectionPad2dBackward.txt").write_text("title", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("opgen.lint.audit.audit", lambda *_: found)
    result = CliRunner().invoke(
        main, ["audit", "reflection_pad2d_backward", "--pages", ".", *options]
    )
    assert (result.exit_code, result.stdout) == (2, "") and said in result.stderr


@pytest.mark.parametrize("encoding", ["gb18030", "utf-16"])
def test_a_page_in_another_encoding_is_a_message_and_gives_no_digests(
    tmp_path: Path, encoding: str
) -> None:
    """Read as UTF-8, every line of it would have changed, and its digests would be those of no
    text.
    """
    for spec in catalog().specs:
        if spec.page is not None:
            (tmp_path / spec.page.file).write_text("title\n\u586b\u5145\n", encoding=encoding)
    for more in ((), ("--digests",)):
        result = CliRunner().invoke(
            main, ["audit", "reflection_pad2d_backward", "--pages", str(tmp_path), *more]
        )
        line = 2 if encoding == "gb18030" else 1
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"aclnnReflectionPad2dBackward.txt:{line}: is not UTF-8" in result.stderr


def test_digests_ignore_blanks_around_a_line() -> None:
    assert line_digest(" x \r") == line_digest("x") != line_digest("y")
    assert len(line_digest("")) == 12


def test_the_block_holds_what_a_spec_needs(one: Spec) -> None:
    assert one.page is not None
    assert one.page.lines == {n: line_digest(LINES[n - 1]) for n in (2, 3, 4, 5)}
    assert digest_block(LINES, [2, 99]).split() == ["2", line_digest(LINES[1])]


def test_every_shipped_spec_has_a_digest_for_each_line_that_a_fact_cites() -> None:
    for spec in catalog().specs:
        assert spec.page is None or list(spec.page.lines) == list(facts_by_line(spec))


def a_suite(
    *cases: tuple[str, Purposes, tuple[str, ...], str], product: str = "ascend910"
) -> Suite:
    """Of cases (name, purposes, the rules that it breaks, compute dtype)."""
    made = []
    for name, purposes, broken, compute in cases:
        page = Expectation((0,), "valid", tuple(Break(rule, None, None, "") for rule in broken))
        call = Call("aclnnOne", product, {"k": ()})
        made.append(Case(name, call, "invalid", describe(purposes), page, compute=compute))
    table = tabulate(made)
    return Suite(replace(table, purposes=Categorical.of([purposes for _, purposes, _, _ in cases])))


def test_a_finding_names_the_cases_it_touches(one: Spec, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text(
        "\n".join([*LINES[:4], "k may be anything", "end"]), encoding="utf-8"
    )
    suite = a_suite(
        ("purposes", (Purpose("breaks", ("fits",)),), (), ""),
        ("in-company", (Purpose("breaks", ("k.length", "fits")),), ("k.length", "fits"), ""),
        ("meant-in-company", (Purpose("breaks", ("k.length", "fits")),), (), ""),
        ("happens", (Purpose("breaks", ("k.length",)),), ("k.length", "fits"), ""),
        ("other", (Purpose("breaks", ("x.dtype",)),), ("x.dtype",), ""),
        ("at-limit", (Purpose("limits", ("fits",)), Purpose("limits", ("x.rank",))), (), ""),
        ("legal", (Purpose("covers", note="covers every pair"),), (), ""),
    )
    found, differs = with_cases(audit(one, tmp_path), {"one": facts_of_suite(one, suite)})
    assert not differs.cases
    assert found.cases == ("purposes", "in-company", "meant-in-company", "happens", "at-limit")
    broken = {
        case.id: LockEntry(
            case.id, *"----", expectation=expectation_text(case.page, case.library)
        ).rules
        for case in suite.cases
    }
    found, _ = with_cases(audit(one, tmp_path), {"one": facts_of_lock(broken)})
    assert found.cases == ("in-company", "happens")


@pytest.mark.parametrize("product", ["ascend910", "ascend910b"])
def test_the_line_of_a_product_touches_all_its_cases(
    one: Spec, tmp_path: Path, product: str
) -> None:
    """And of others those that break the list."""
    (tmp_path / "one.txt").write_text(
        "\n".join([LINES[0], "another product", *LINES[2:]]), encoding="utf-8"
    )
    suite = a_suite(
        (f"one.{product[6:]}.0", (), (), ""),
        (f"one.{product[6:]}.invalid.product.1", (), ("product",), ""),
        product=product,
    )
    mine = list(suite.cases) if product == "ascend910" else list(suite.cases)[1:]
    found, _ = with_cases(audit(one, tmp_path), {"one": facts_of_suite(one, suite)})
    assert found.line == 2 and found.cases == tuple(case.id for case in mine)
    broken = {
        case.id: LockEntry(
            case.id, *"----", expectation=expectation_text(case.page, case.library)
        ).rules
        for case in suite.cases
    }
    found, _ = with_cases(audit(one, tmp_path), {"one": facts_of_lock(broken)})
    assert found.cases == tuple(case.id for case in mine)


def test_a_mode_touches_the_cases_that_compute_in_it(one: Spec) -> None:
    suite = a_suite(("half", (), (), "FLOAT16"), ("single", (), (), "FLOAT"))
    (found,) = with_cases(
        [PageChange("one", 9, "changed", None, ("compute FLOAT16",))],
        {"one": facts_of_suite(one, suite)},
    )
    assert found.cases == ("half",)


def test_the_command_names_cases_of_a_plan(tmp_path: Path) -> None:
    """A page of which nothing is left but blank lines: whatever its spec cites has changed."""
    for spec in catalog().specs:
        if spec.page is not None:
            (tmp_path / spec.page.file).write_text("\n" * 2000, encoding="utf-8")
    command = importlib.import_module("opgen.cli.audit").command
    asked = ["reflection_pad2d_backward", "--pages", str(tmp_path), "--json"]
    result = CliRunner().invoke(command, [*asked, "--plan", "smoke"])
    assert result.exit_code == 1, result.exception
    found = json.loads(result.stdout)
    assert result.exit_code == 1
    rules = {
        rule.id for spec in catalog().of("aclnnReflectionPad2dBackward") for rule in spec.rules
    }
    for finding in found:
        for case in finding["cases"]:
            if ".invalid." in case:
                assert set(finding["facts"]) & rules
    assert any(".invalid." in case for finding in found for case in finding["cases"])
    without = json.loads(CliRunner().invoke(command, asked).stdout)
    assert [finding["line"] for finding in without] == [finding["line"] for finding in found]
    assert all(finding["cases"] == [] for finding in without)


def test_a_folder_of_one_edition_is_compared_with_the_specs_of_that_edition(tmp_path: Path) -> None:
    older, newer = catalog().of("aclnnGroupNormBackward")
    assert of_this_folder([older, newer], tmp_path) == [older, newer], "neither is there"
    assert newer.page is not None and older.page is not None
    (tmp_path / newer.page.file).write_text("x", encoding="utf-8")
    assert of_this_folder([older, newer], tmp_path) == [newer]
    (tmp_path / older.page.file).write_text("x", encoding="utf-8")
    assert of_this_folder([older, newer], tmp_path) == [older, newer]
    ours, atlas, _ = catalog().of("aclnnConvolutionBackward")
    assert ours.page is not None
    (tmp_path / ours.page.file).write_text("x", encoding="utf-8")
    assert of_this_folder([ours, atlas], tmp_path) == [ours, atlas], "two pages of one edition"


@pytest.mark.parametrize("page", ["{file: one.txt}", "{file: one.txt, sha256: '', lines: ''}"])
def test_the_digests_of_a_new_spec_are_made_from_its_page(tmp_path: Path, page: str) -> None:
    head, parameters = (
        TEXT.split("page:\n", maxsplit=1)[0],
        TEXT[TEXT.index("products:") :].format(),
    )
    (tmp_path / "one.yaml").write_text(f"{head}page: {page}\n{parameters}", encoding="utf-8")
    (tmp_path / "one.txt").write_text("\n".join(LINES), encoding="utf-8")
    (spec,) = load_catalog(tmp_path, digests=False).specs
    text = (tmp_path / "one.yaml").read_text(encoding="utf-8")
    whole = with_page_block(text, spec, page_block(spec, tmp_path))
    (tmp_path / "one.yaml").write_text(whole, encoding="utf-8")
    assert audit(specfile.load(tmp_path / "one.yaml"), tmp_path) == []
    assert with_page_block(whole, spec, page_block(spec, tmp_path)) == whole
    assert whole.startswith(head) and whole.endswith(parameters)


def test_the_command_writes_the_digests_into_the_spec(tmp_path: Path) -> None:
    """In a copy of opgen, since it is its own specs that it writes."""
    copies.checkout(tmp_path)
    path = tmp_path / "specs" / "group_norm_backward.yaml"
    whole = path.read_text(encoding="utf-8")
    bare = re.sub(r"\n  sha256:.*?\nproducts", "\nproducts", whole, flags=re.DOTALL)
    path.write_text(bare, encoding="utf-8")
    (tmp_path / "aclnnGroupNormBackward.txt").write_text("line\n" * 60, encoding="utf-8")
    asked = ["audit", "group_norm_backward", "--pages", ".", "--digests", "--write"]
    done = copies.opgen(tmp_path, *asked)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "specs/group_norm_backward.yaml: digests written\n"
    page = specfile.load(path).page
    assert page is not None and set(page.lines.values()) == {line_digest("line")}


def test_digests_are_written_into_the_spec_that_is_named_alone(tmp_path: Path) -> None:
    for more in (["--digests"], ["group_norm_backward"]):
        asked = ["audit", "--pages", str(tmp_path), "--write", *more]
        refused = CliRunner().invoke(main, asked)
        assert refused.exit_code == 2 and "--write needs --digests" in refused.stderr
