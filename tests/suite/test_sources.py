"""What cases are made from: every file whose change may change a case changes a digest."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from opgen.files.resources import specs_folder
from opgen.oracle import erratafile
from opgen.spec.catalog import catalog
from opgen.suite import sources
from opgen.suite.header import header
from opgen.suite.selection import Request
from tests.support.suites import page

PACKAGE = Path(sources.__file__).parents[1]


def altered(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8") + "#\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("reflection_pad2d_backward.py", True),
        ("_folding.py", True),
        ("_absolute.py", True),
        ("__init__.py", True),
        ("convolution_backward.py", False),
        ("_winograd.py", False),
    ],
)
def test_a_kernel_is_made_from_all_that_it_imports(
    file: str, counts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(PACKAGE / "golden", tmp_path / "golden")
    monkeypatch.setattr(sources, "_PACKAGE", tmp_path)
    digest = sources.of_kernel.__wrapped__
    before = digest("reflection_pad2d_backward")
    altered(tmp_path / "golden" / file)
    assert (digest("reflection_pad2d_backward") != before) == counts


@pytest.mark.parametrize(
    "line",
    [
        "from opgen.golden import helper",
        "from opgen.golden.helper import sums",
        "import opgen.golden.helper as sums",
        "from . import helper",
        "from .helper import sums",
        "def golden():\n    from opgen.golden import other, helper",
        "from opgen.golden import between",
    ],
)
def test_imports_are_followed_whatever_they_look_like(line: str, tmp_path: Path) -> None:
    for name, text in {
        "op": line,
        "helper": "",
        "between": "from opgen.golden import helper",
        "apart": "",
    }.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    found = {path.stem for path in sources._imported(tmp_path, "op")}
    assert {"op", "helper"} <= found <= {"op", "helper", "between"}


def test_imports_of_packages_are_followed(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for name, text in {
        "op": "from opgen.golden.parts.sums import total",
        "parts/__init__": "",
        "parts/sums": "",
        "__init__": "",
    }.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    found = {path.relative_to(tmp_path).as_posix() for path in sources._imported(tmp_path, "op")}
    assert found == {"__init__.py", "op.py", "parts/__init__.py", "parts/sums.py"}


def test_a_kernel_that_is_no_python_has_a_digest(tmp_path: Path) -> None:
    (tmp_path / "op.py").write_text("def golden(:", encoding="utf-8")
    assert {path.name for path in sources._imported(tmp_path, "op")} == {"op.py"}


def test_a_page_is_made_from_its_spec_the_tables_and_its_errata_whatever_their_file_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, other = page("group_norm_backward"), page("reflection_pad2d_backward")
    folder = shutil.copytree(specs_folder(), tmp_path / "specs")
    shutil.move(folder / "errata" / "group_norm_backward.yaml", folder / "errata" / "library.yaml")
    monkeypatch.setattr(sources, "specs_folder", lambda: folder)
    monkeypatch.setattr(
        sources, "errata", lambda: erratafile.load_folder(folder / "errata", catalog())
    )
    files = {
        "errata/library.yaml": sources.of_errata,
        "tables.yaml": sources.of_spec,
        "group_norm_backward.yaml": sources.of_spec,
    }
    for file, digest in files.items():
        before = digest(spec), digest(other)
        altered(folder / file)
        assert digest(spec) != before[0]
        assert (digest(other) != before[1]) == (file == "tables.yaml")


PROGRAMS = {
    "of_errata": "errata",
    "of_kernel": "kernels",
    "of_data": "programs",
    "of_cases": "programs",
}


@pytest.mark.parametrize(("program", "key"), PROGRAMS.items())
def test_a_header_tells_other_programs_apart(
    program: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = Request(("reflection_pad2d_backward",), patterns=("*-handwritten-*",))
    suite = request.suite()
    before = header(request, suite, 0)
    monkeypatch.setattr(sources, program, lambda *of: "0123456789")
    after = header(request, suite, 0)
    assert {name for name in after if after[name] != before[name]} == {key}
