"""Every example of every help is run, and ends as it says.

An example is a line ``$ opgen ...`` of a help text; ``# exit 1`` behind it says how it ends where
that is not 0. Files that examples name are made here; what stands behind -o is
what the example makes.
"""

from __future__ import annotations

import gzip
import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest
import yaml
from click.testing import CliRunner

from opgen.cli import main, titles
from opgen.spec.catalog import catalog
from tests.spec.test_drafting import page_text

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
WRITTEN = ("-o", "--output", "--summary", "--html", "--junit")
"""Options whose value is made by the example, not for it."""


def command_line(line: str) -> tuple[list[str], int]:
    """The arguments of an example, without the file that its output goes to, and how it ends."""
    text, _, comment = line.partition(" # ")
    code = re.search(r"\bexit (\d+)", comment)
    return shlex.split(text.partition(" > ")[0]), int(code[1]) if code else 0


def examples() -> list[str]:
    """The examples of the group and of every command, each once."""
    context = click.Context(main, info_name="opgen")
    texts = [main.get_help(context)]
    for name in titles():
        command = main.get_command(context, name)  # type: ignore[attr-defined]
        texts.append(
            command.get_help(
                click.Context(
                    command,
                    parent=context,
                    info_name=name,
                    max_content_width=200,
                    terminal_width=200,
                )
            )
        )
    found = [
        line.strip()
        for text in texts
        for line in re.findall(r"^ *\$ opgen +(.+)$", text, re.MULTILINE)
    ]
    return list(dict.fromkeys(found))


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where files that several examples name are kept, each made once."""
    return tmp_path_factory.mktemp("shelf")


def opgen(*args: str) -> None:
    made = CliRunner().invoke(main, args, prog_name="opgen", catch_exceptions=False)
    assert made.exit_code == 0, made.output


def calls(path: Path) -> None:
    lines = gzip.decompress(
        (ROOT / "tests" / "data" / "library_sample.jsonl.gz").read_bytes()
    ).splitlines(keepends=True)[:200]
    text = b"".join(lines)
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def one_call(path: Path) -> None:
    path.write_text(re.findall(r"echo '(\{\"id\".*)' > calls.jsonl", README)[0], encoding="utf-8")


def pages(path: Path) -> None:
    """Pages of which no line is what it was."""
    path.mkdir()
    for spec in catalog().specs:
        if spec.page:
            (path / spec.page.file).write_text("\n" * 120, encoding="utf-8")
    (path / "aclnnTentBackward.md").write_text(page_text(), encoding="utf-8")


def torn(path: Path) -> None:
    whole = path.with_name("suite.h5")
    need(whole)
    path.write_bytes(whole.read_bytes()[:-1000])


def results(path: Path) -> None:
    whole = path.with_name("suite.h5")
    need(whole)
    opgen("run", str(whole), "--backend", "torch", "-o", str(path), "--quiet")


def broken(path: Path) -> None:
    whole = path.with_name("suite.h5")
    need(whole)
    opgen("run", str(whole), "--backend", "mutant:channel_block_lost", "-o", str(path), "--quiet")


def part(path: Path) -> None:
    opgen(
        "generate",
        "group_norm_backward",
        "--shard",
        {"one": "1/2", "two": "2/2"}[path.stem],
        "-o",
        str(path),
        "--quiet",
    )


def share(path: Path) -> None:
    """Answers to some cases of the suite, as one of two devices gives them."""
    whole = path.with_name("suite.h5")
    need(whole)
    some = {"these": "avg_pool2d*", "others": "group_norm*"}[path.stem]
    opgen(
        "run", str(whole), "--backend", "mutant:nothing", "--case", some, "-o", str(path), "--quiet"
    )


def report(path: Path) -> None:
    for name in ("suite.h5", "results.h5"):
        need(path.with_name(name))
    files = (str(path.with_name(name)) for name in ("suite.h5", "results.h5"))
    told = CliRunner().invoke(main, ["diff", *files, "--json"], prog_name="opgen")
    path.write_text(told.stdout, encoding="utf-8")


def atk_cases(path: Path) -> None:
    from tests.interop.test_import_atk import pad

    path.write_text(json.dumps([pad()]), encoding="utf-8")


def ttk_cases(path: Path) -> None:
    from tests.interop.test_import_ttk import PAD, table

    path.write_text(table(PAD), encoding="utf-8")


def faulty_spec(path: Path) -> None:
    whole = (ROOT / "specs" / "avg_pool2d_backward.yaml").read_text(encoding="utf-8")
    path.write_text(whole.replace("padH <= kH", "pad <= kH"), encoding="utf-8")


def training(path: Path) -> None:
    path.write_text(
        "import torch\n"
        "layer = torch.nn.Conv2d(2, 3, 3)\n"
        "layer(torch.ones(1, 2, 5, 5)).sum().backward()\n",
        encoding="utf-8",
    )


def draft(path: Path) -> None:
    need(path.with_name("pages"))
    opgen(
        "draft", str(path.with_name("pages") / "aclnnTentBackward.md"), "-o", str(path), "--quiet"
    )


def learnt(path: Path) -> None:
    """A folder with the errata of one operator."""
    path.mkdir()
    shutil.copy(ROOT / "specs" / "errata" / "group_norm_backward.yaml", path)


def device(path: Path) -> None:
    """The class of the manual, for the operators that it lacks."""
    manual = (ROOT / "opgen" / "devices" / "BACKENDS.md").read_text(encoding="utf-8")
    path.write_text(manual.split("```python\n")[1].split("```")[0], encoding="utf-8")


def caught(path: Path) -> None:
    asked = ["--plan", "standard", "--mutant", "scaled_1_001", "--json", "--quiet"]
    shown = CliRunner().invoke(main, ["mutants", "silu_backward", *asked])
    path.write_text(shown.stdout, encoding="utf-8")


MAKERS: dict[str, Callable[[Path], None]] = {
    "suite.h5": lambda path: opgen(
        "generate", "avg_pool2d_backward", "group_norm_backward", "-o", str(path), "--quiet"
    ),
    "pool.h5": lambda path: opgen("generate", "avg_pool2d_backward", "-o", str(path), "--quiet"),
    "torn.h5": torn,
    "calls.jsonl": calls,
    "my.jsonl": one_call,
    "calls.jsonl.gz": calls,
    "library_sample.jsonl.gz": calls,
    "results.h5": results,
    "broken.h5": broken,
    "one.h5": part,
    "two.h5": part,
    "these.h5": share,
    "others.h5": share,
    "before.json": report,
    "after.json": report,
    "cases.json": atk_cases,
    "cases.csv": ttk_cases,
    "smoke.lock": lambda path: opgen(
        "refresh", "group_norm_backward", "--plan", "smoke", "-o", str(path), "--quiet"
    ),
    "pages": pages,
    "page.md": lambda path: path.write_text(page_text(), encoding="utf-8"),
    "draft.yaml": draft,
    "train.py": training,
    "mutants.json": caught,
    "learnt-1": learnt,
    "learnt-2": learnt,
    "mine.py:Device": lambda path: device(path.with_name("mine.py")),
    "my_pool.yaml": faulty_spec,
}


NEED_TORCH = {"torch", "train.py", "results.h5", "before.json", "after.json"}


def need(path: Path) -> None:
    """Make a file that an example names, unless it is there."""
    if not path.exists() and path.name in MAKERS:
        MAKERS[path.name](path)


def lay_out(shelf: Path, name: str, folder: Path) -> None:
    """A copy of a file of the shelf."""
    need(shelf / name)
    name = name.split(":", maxsplit=1)[0]
    copy = shutil.copytree if (shelf / name).is_dir() else shutil.copy
    copy(shelf / name, folder / name)


@pytest.mark.parametrize("line", examples())
def test_example(line: str, shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    args, code = command_line(line)
    if NEED_TORCH & set(args):
        pytest.importorskip("torch")
    for before, word in zip(["", *args], args, strict=False):
        if word in MAKERS and before not in WRITTEN:
            lay_out(shelf, word, tmp_path)
        elif word.startswith("tests/"):
            (tmp_path / word).parent.mkdir(parents=True)
            shutil.copy(ROOT / word, tmp_path / word)
    monkeypatch.chdir(tmp_path)
    shown = CliRunner().invoke(main, args, prog_name="opgen")
    assert shown.exit_code == code, f"ends with {shown.exit_code}:\n{shown.output[-2000:]}"
    assert "Traceback" not in shown.output
    for before, word in zip(args, args[1:], strict=False):
        assert before not in WRITTEN or (tmp_path / word).exists(), f"did not write {word}"


LAID_OUT = (
    "audit avg_pool2d_backward group_norm_backward --pages pages",
    "backtest library_sample.jsonl.gz",
    "cases avg_pool2d_backward",
    "check --all",
    "coverage --plan smoke avg_pool2d_backward --untested",
    "diff suite.h5 broken.h5",
    "explain pad_height",
    "explain --bundle suite.h5 avg_pool2d_backward.910b.invalid.pad_height.*",
    "generate reflection_pad1d_backward --force -o small.h5",
    "inspect suite.h5",
    "inspect suite.h5 avg_pool2d_backward.910b.invalid.pad_height.*",
    "inspect broken.h5",
    "learn library_sample.jsonl.gz",
    "mutants reflection_pad1d_backward --mutant border_missing --mutant nan_lost",
    "ops",
    "page reflection_pad2d_backward",
    "refresh group_norm_backward --lock empty.lock --check",
)
"""Commands that print tables or paragraphs."""


@pytest.mark.parametrize("line", LAID_OUT)
def test_output_breaks_between_words_and_has_no_blanks_at_the_ends_of_lines(
    line: str, shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = shlex.split(line)
    for word in MAKERS.keys() & set(args):
        lay_out(shelf, word, tmp_path)
    (tmp_path / "empty.lock").write_text("opgen lock 1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    words = []
    for width in (60, 100):
        monkeypatch.setenv("COLUMNS", str(width))
        shown = CliRunner().invoke(main, args, prog_name="opgen")
        assert shown.exit_code in (0, 1), shown.output
        lines = (shown.stderr if args[0] == "generate" else shown.stdout).splitlines()
        assert len(lines) > 1
        for printed in lines:
            assert printed == printed.rstrip(), repr(printed)
            assert len(printed) <= width or len(printed.split()) == 1, printed
        words.append({word for printed in lines for word in printed.split() if "─" not in word})
    assert words[0] == words[1], words[0] ^ words[1]


def test_every_command_that_lays_out_its_output_is_among_them() -> None:
    laid_out = {
        path.stem
        for path in (ROOT / "opgen" / "cli").glob("*.py")
        if path.stem in titles()
        and re.search(r"report\.layout|render\(", path.read_text(encoding="utf-8"))
    }
    assert laid_out <= {line.split()[0] for line in LAID_OUT} and "diff" in laid_out


@pytest.mark.parametrize("block", re.findall(r"echo '(\{\"id\".*)' > calls.jsonl", README))
def test_calls_of_the_readme_are_legal(block: str, tmp_path: Path) -> None:
    (tmp_path / "calls.jsonl").write_text(block, encoding="utf-8")
    made = CliRunner().invoke(
        main, ["judge", str(tmp_path / "calls.jsonl")], catch_exceptions=False
    )
    assert made.exit_code == 0 and json.loads(made.stdout)["page"]["bucket"] == "valid"


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
def test_python_of_the_readme(
    block: str, shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_out(shelf, "suite.h5", tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {})


def workflows() -> list[dict[str, list[str]]]:
    """Job -> its opgen commands, of each workflow of the README."""
    found = []
    for block in re.findall(r"```yaml\n((?:name|goldens):.*?)```", README, re.DOTALL):
        jobs = yaml.safe_load(block)
        jobs = jobs.get("jobs", jobs)
        lines = {
            name: job.get("script") or [step.get("run", "") for step in job["steps"]]
            for name, job in jobs.items()
        }
        found.append(
            {
                name: [line for line in mine if line.startswith("opgen ")]
                for name, mine in lines.items()
            }
        )
    return found


def test_the_workflows_run_the_same_commands() -> None:
    github, gitlab = workflows()
    assert {
        job: [line.replace('"$GITHUB_STEP_SUMMARY"', "summary.md") for line in lines]
        for job, lines in github.items()
    } == gitlab


@pytest.mark.parametrize("job", sorted(workflows()[-1]))
def test_the_workflows_run(job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a device is asked for, a correct one answers."""
    monkeypatch.chdir(tmp_path)
    for line in workflows()[-1][job]:
        args = shlex.split(
            line.replace("--backend aclnn --device npu:0", "--backend mutant:nothing")
        )[1:]
        shown = CliRunner().invoke(main, args, prog_name="opgen")
        assert shown.exit_code == 0, f"{line} ends with {shown.exit_code}:\n{shown.output[-2000:]}"
        assert all(
            (tmp_path / word).exists()
            for before, word in zip(args, args[1:], strict=False)
            if before in WRITTEN
        )


def test_pictures_are_there_and_small_and_fetch_nothing() -> None:
    named = set(re.findall(r"!\[[^\]]+\]\(([^)]+)\)|<img alt=\"[^\"]+\" src=\"([^\"]+)\"", README))
    shown = {ROOT / (one or other) for one, other in named}
    gallery = ROOT / "tests" / "gallery"
    pictures = {path for path in gallery.iterdir() if path.suffix in (".svg", ".png")}
    in_other_widths = {path for path in pictures if re.search("-(phone|tablet|dark)", path.stem)}
    assert shown == pictures - in_other_widths
    assert all(path.stat().st_size < 200_000 for path in pictures)
    for path in gallery.glob("*.svg"):
        fetched = re.findall(
            r"(?:href|src)=\"(?!#)|url\((?!#)|@import", path.read_text(encoding="utf-8")
        )
        assert ElementTree.parse(path) and not fetched, path


def test_links_of_the_readme_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert len(links) > 8 and all((ROOT / link).exists() for link in links)


def test_the_readme_names_every_command_once() -> None:
    rows = dict(re.findall(r"^\| `opgen (\w+)` \| (.+?\.)[^.]* \|$", README, re.MULTILINE))
    said = {
        name: re.sub(r" \([^(]+\)|\[(\w+)\]\(.+?\)", r"\1", row).partition(". ")[0].rstrip(".")
        for name, row in rows.items()
    }
    assert said == {name: title.rstrip(".") for name, title in titles().items()}


def test_options_that_the_manuals_name_beside_a_command_are_its_own() -> None:
    listed = {}
    for name in titles():
        named = main.get_command(click.Context(main), name)
        assert named is not None
        listed[name] = {word for parameter in named.params for word in parameter.opts}
    seen = 0
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "opgen").rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        for name, rest in re.findall(r"\bopgen (\w+)([^`\n|;&#]*)", text):
            for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", rest if name in listed else ""):
                seen += 1
                assert option in {*listed[name], "--help"}, f"{path}: opgen {name} {option}"
    assert seen > 50


def test_exit_codes_are_read_off_the_comment() -> None:
    assert command_line("verify torn.h5     # exit 1, with what is damaged") == (
        ["verify", "torn.h5"],
        1,
    )
    assert command_line("generate --case 'a #b'")[1] == 0
    assert command_line("ops") == (["ops"], 0)
