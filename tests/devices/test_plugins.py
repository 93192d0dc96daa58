"""Backends that are not opgen's: of a file, of a package, and the class of the manual."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

import opgen
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import Result
from opgen.cli import main
from opgen.devices import DeviceError, DeviceLost, backend, plugins
from opgen.model import FileError
from tests.support import device_sample
from tests.support.backends import Scripted

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


def test_cases_of_another_product_than_the_device_is_are_skipped(tmp_path: Path) -> None:
    suite, results = tmp_path / "two.h5", tmp_path / "results.h5"
    products = ["ascend910b", "ascend910_93"]
    opgen.generate(["reflection_pad1d_backward"], products=products, output=suite, workers=1)
    opgen.run(suite, "mutant:nothing", results, product="ascend910b")
    with opgen.open(suite) as bundle, opgen.Results.open(results) as answers:
        skipped = {case.id for case in bundle if answers[case.id].status == "skipped"}
        assert skipped == {case.id for case in bundle if case.product == "ascend910_93"} != set()
        errors = {answers[case].error for case in skipped}
    assert errors == {"the device is ascend910b; the case is for ascend910_93"}
    with pytest.raises(DeviceError, match=r"no such product 'ascend901b'; known: ascend310p"):
        backend("mutant:nothing", product="ascend901b")


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


@pytest.mark.parametrize(
    ("backend", "told"),
    [
        (["skips.py:Device"], True),
        (["skips.py:Device", "--product", "ascend910b"], False),
        (["mutant:nothing"], False),
    ],
)
def test_a_run_says_that_a_device_is_one_product(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: list[str], told: bool
) -> None:
    """Unless it knows which, or is none."""
    monkeypatch.chdir(tmp_path)
    Path("skips.py").write_text(RAISES.format(OPENED="{}").replace("[2]", "[0] and not name"))
    calls = {"new": device_sample.pool(), "old": device_sample.pool(product="ascend910")}
    device_sample.write(Path("suite.h5"), calls)
    done = CliRunner().invoke(main, ["run", "suite.h5", "-o", "r.h5", "--backend", *backend])
    assert done.exit_code == 0, done.output
    note = "r.h5: cases for 2 products (ascend910, ascend910b), and a device is one: --product P"
    assert (note in done.stderr) == told


RAISES = """\
import opgen


class Device(opgen.Backend):
    def open(self, bundle, cases):
        self.bundle = bundle
        return {OPENED}

    def answers(self, cases):
        for name in cases:
            if name == self.bundle.ids[2]:
                self.compute(self.bundle[name])
            yield opgen.Result(name, status="skipped")

    def compute(self, case):
        case.inputs["nothing of the kind"]
"""


def test_a_case_at_which_a_class_raises_is_unusable_and_the_run_goes_on(
    pads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(pads)
    Path("raises.py").write_text(RAISES.replace("{OPENED}", "{}"), encoding="utf-8")
    command = ["run", "pad.h5", "--backend", "raises.py:Device", "-o", "r.h5"]
    done = CliRunner().invoke(main, command)
    with opgen.open("pad.h5") as suite, opgen.Results.open("r.h5") as results:
        third, count = suite.ids[2], len(suite.ids)
        assert len(results) == count
        raised = [answer for answer in results if answer.status == "unusable"]
        verdict = opgen.diff(suite, "r.h5")[third]
    told = "KeyError: 'nothing of the kind' (raises.py:16, raises.py:12)"
    assert [(answer.id, answer.error) for answer in raised] == [(third, told)]
    assert verdict.verdict == "failed" and told in verdict.detail
    assert done.exit_code == 0 and done.stderr.splitlines() == [
        f"r.h5: {count - 1} skipped, 1 unusable",
        f"r.h5: 1 unusable: {told}",
    ]


def test_no_case_is_blamed_for_another_at_which_a_class_raises(pads: Path) -> None:
    """This one answers from the last to the first, and raises at two."""

    def script(bundle: Bundle, cases: Sequence[str]) -> Iterator[Result]:
        for name in sorted(cases, key=bundle.ids.index, reverse=True):
            if name in (bundle.ids[3], bundle.ids[5]):
                raise ZeroDivisionError
            yield Result(name, "skipped")

    opgen.run(pads / "pad.h5", Scripted(script), pads / "blamed.h5")
    with opgen.open(pads / "pad.h5") as suite, opgen.Results.open(pads / "blamed.h5") as results:
        assert len(results) == len(suite.ids)
        raised = [answer.id for answer in results if answer.status == "unusable"]
        assert raised == [suite.ids[3], suite.ids[5]]


def test_a_class_that_raises_at_every_case_ends_the_run_and_leaves_nothing(
    pads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(pads)
    text = RAISES.replace("{OPENED}", "{}")
    Path("always.py").write_text(
        text.replace("name == self.bundle.ids[2]", "True"), encoding="utf-8"
    )
    command = ["run", "pad.h5", "--backend", "always.py:Device", "-o", "a.h5"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 2 and done.stderr.splitlines() == [
        "always.py:12: in answers: self.compute(self.bundle[name])",
        "always.py:16: KeyError: 'nothing of the kind'",
    ]
    assert not list(Path().glob("a.h5*")), "nothing is there to go on from"


def test_a_device_that_accepts_valid_calls_is_asked_less_and_less_often(tmp_path: Path) -> None:
    """After 5, 10, 20, 40 and 40 unusable calls in a row, and after 5 again once one is usable."""
    calls = {f"p{i:03}": device_sample.pad() for i in range(130)}
    suite, good = device_sample.write(tmp_path / "s.h5", calls), ("p000", "p120")
    asked: list[tuple[str, str]] = []
    last, lost = "p000", "p999"

    def script(bundle: Bundle, cases: Sequence[str]) -> Iterator[Result]:
        nonlocal last
        if len(cases) == 1:
            asked.append((last, cases[0]))
        for name in cases:
            last = max(name, last)
            is_right = name in good and not lost <= last
            yield Result(name, 0, 0) if is_right else Result(name, "unusable")

    opgen.run(suite, Scripted(script), tmp_path / "r.h5")
    firsts = [(f"p{number:03}", "p000") for number in (5, 15, 35, 75, 115)]
    assert asked == [*firsts, ("p125", "p120")]
    asked, last, lost = [], "p000", "p010"
    with pytest.raises(DeviceLost, match="p006: 10 calls in a row got .* p000, a valid call, is"):
        opgen.run(suite, Scripted(script), tmp_path / "lost.h5")
    assert asked == firsts[:2]
    with opgen.Results.create(tmp_path / "lost.h5", suite, resume=True) as kept:
        assert [name for name in calls if name in kept] == list(calls)[:7]


def test_an_answer_that_no_file_can_keep_is_unusable(pads: Path) -> None:
    def script(bundle: Bundle, cases: Sequence[str]) -> Iterator[Result]:
        for name in cases:
            yield Result(name, "skiped" if name == bundle.ids[1] else "skipped")

    opgen.run(pads / "pad.h5", Scripted(script), pads / "kept.h5")
    with opgen.open(pads / "pad.h5") as suite, opgen.Results.open(pads / "kept.h5") as results:
        assert results[suite.ids[0]].status == "skipped"
        answer = results[suite.ids[1]]
        assert answer.status == "unusable"
        assert answer.error.startswith("status 'skiped' is not a status: give a number or one of")


@pytest.mark.parametrize(
    ("written", "instead", "said"),
    [
        ("{OPENED}", "1 / 0", r"7: ZeroDivisionError: division by zero"),
        ("{OPENED}", "1", r"4: TypeError: 'int' object is not iterable"),
        ("answers(self, cases)", "answers(self)", "4: .*TypeError: .*takes 1 positional argument"),
        ("yield opgen.Result(name, ", "yield dict(", r"4: .*TypeError: answers yields {'status"),
        (
            "open(self, bundle, cases):",
            "open(self, bundle, cases)",
            r"5: SyntaxError: expected ':'",
        ),
    ],
)
def test_whatever_is_wrong_with_a_class_is_said_of_its_file(
    pads: Path, written: str, instead: str, said: str
) -> None:
    text = (
        RAISES.replace(written, instead)
        .replace("{OPENED}", "{}")
        .replace("name == self.bundle.ids[2]", "False")
    )
    name = f"wrong{abs(hash(instead))}.py"
    (pads / name).write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=f"{name}:{said}"):
        opgen.run(pads / "pad.h5", f"{pads / name}:Device", pads / "wrong.results.h5")


def test_what_opgen_s_own_backends_raise_is_no_fault_of_a_file(pads: Path) -> None:
    class Shipped(Scripted):
        __module__ = "opgen.devices.torch"

    def script(bundle: Bundle, cases: Sequence[str]) -> Iterator[Result]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        opgen.run(pads / "pad.h5", Shipped(script), pads / "own.h5")
    with pytest.raises(FileError, match="backends.py:.*: ZeroDivisionError: no message"):
        opgen.run(pads / "pad.h5", Scripted(script), pads / "own.h5")


def test_the_backends_are_listed() -> None:
    listed = CliRunner().invoke(main, ["run", "--list-backends"])
    assert listed.exit_code == 0
    assert [line.split()[0] for line in listed.stdout.splitlines()] == sorted(plugins.known())
