"""Backends that are not opgen's: of a file, of a package, and the class of the manual."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import opgen
from opgen.cli import main
from opgen.devices import backend, plugins
from opgen.model import FileError

MANUAL = (Path(opgen.__file__).parent / "devices" / "BACKENDS.md").read_text(encoding="utf-8")
EXAMPLE = re.findall(r"```python\n(.*?)```", MANUAL, flags=re.DOTALL)[0]
LACKS = "import opgen\nclass Half(opgen.Backend):\n    def open(self, bundle, cases): return {}\n"


@pytest.fixture(scope="module")
def pads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite, and the class of the manual beside it."""
    folder = tmp_path_factory.mktemp("mine")
    opgen.generate(
        ["reflection_pad1d_backward"], products=["ascend910b"], output=folder / "pad.h5", workers=1
    )
    (folder / "mine.py").write_text(EXAMPLE, encoding="utf-8")
    return folder


def verdicts(folder: Path, text: str = "") -> dict[str, str]:
    """What a class of the manual gets, changed or not, by case with data."""
    if text:
        (folder / "changed.py").write_text(text, encoding="utf-8")
    name = folder / ("changed.py" if text else "mine.py")
    with opgen.open(folder / "pad.h5") as suite:
        opgen.run(suite, f"{name}:Device", folder / "results.h5", force=True)
        report = opgen.diff(suite, folder / "results.h5")
        return {found.case: found.verdict for found in report if suite[found.case].phase == 2}


def test_the_class_of_the_manual_is_right_and_short(pads: Path) -> None:
    assert len(EXAMPLE.splitlines()) <= 40
    found = verdicts(pads)
    assert set(found.values()) <= {"passed", "inconclusive"}
    assert list(found.values()).count("passed") > 4


def test_the_class_of_the_manual_fails_where_it_is_wrong(pads: Path) -> None:
    wrong = EXAMPLE.replace("left - i]", "left - i - 1]")
    assert wrong != EXAMPLE and "failed" in verdicts(pads, wrong).values()


def test_results_name_the_backend_and_what_it_says(pads: Path) -> None:
    verdicts(pads)
    with opgen.Results.open(pads / "results.h5") as results:
        assert results.header["backend"] == f"{pads / 'mine.py'}:Device"
        assert "numpy" in results.header


def test_a_failure_on_a_device_of_ones_own_is_reduced(pads: Path) -> None:
    wrong = pads / "wrong.py"
    wrong.write_text(EXAMPLE.replace("for i in range(right)", "for i in range(right - 1)"))
    command = ["run", str(pads / "pad.h5"), "--backend", f"{wrong}:Device", "-o"]
    done = CliRunner().invoke(main, [*command, str(pads / "wrong.h5"), "--force"])
    assert done.exit_code == 0, done.output
    with opgen.open(pads / "pad.h5") as suite:
        report = opgen.diff(suite, pads / "wrong.h5")
        failed = next(found.case for found in report if found.verdict == "failed")
        small = opgen.minimize(pads / "pad.h5", pads / "wrong.h5", failed, f"{wrong}:Device")
    assert small.failure.call.args["padding"][1] == 1  # one to the right is enough


def test_the_only_class_need_not_be_named(pads: Path) -> None:
    assert type(backend(str(pads / "mine.py"))).__name__ == "Device"


def test_a_package_names_its_backend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "packaged.py").write_text(EXAMPLE, encoding="utf-8")
    assert type(backend("opgen.devices.mutant:MutantBackend")).__name__ == "MutantBackend"
    package = tmp_path / "packaged-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: packaged\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[opgen.backends]\nmine = packaged:Device\n")
    assert plugins.known()["mine"] == "packaged:Device"
    made = backend("mine", device="2")
    assert (type(made).__name__, made.name, made.device) == ("Device", "mine", "2")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("none.py:Device", None, "none.py: no such file"),
        ("empty.py:Device", "", "has no backend 'Device' (no class is a subclass of opgen.Backend"),
        ("other.py:Devise", EXAMPLE, "has no backend 'Devise' (Device)"),
        ("half.py:Half", LACKS, "class Half lacks answers"),
        ("broken.py", "\nraise RuntimeError('no card')", "broken.py:2: RuntimeError: no card"),
        ("needy.py", "import not_there", "needs not_there, which is not installed"),
    ],
)
def test_what_is_no_backend(tmp_path: Path, name: str, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / name.split(":", maxsplit=1)[0]).write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=re.escape(message)):
        backend(str(tmp_path / name))


def test_the_backends_are_listed() -> None:
    listed = CliRunner().invoke(main, ["run", "--list-backends"])
    assert listed.exit_code == 0
    assert [line.split()[0] for line in listed.stdout.splitlines()] == sorted(plugins.known())
