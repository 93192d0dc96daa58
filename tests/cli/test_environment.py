"""The command line where the system gives less than usual, or more: closed pipes, terminals, loops
of links, little memory, few open files.
"""

from __future__ import annotations

import io
import os
import pty
import resource
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path

import pytest
from click.testing import CliRunner

from opgen.cli import LEAST_MEMORY, console, main
from tests.support import device_sample, unmeasured

ROOT = Path(__file__).resolve().parents[2]
OPGEN = (sys.executable, "-m", "opgen")
ENVIRONMENT = {**unmeasured.ENVIRONMENT, "PYTHONPATH": str(ROOT)}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a bundle, the results of a device that is wrong, and a loop of two links."""
    folder = tmp_path_factory.mktemp("environment")
    device_sample.write(folder / "b.h5", {"pad": device_sample.pad()})
    run(folder, "run", "b.h5", "--backend", "mutant:corners_missing", "-o", "r.h5")
    assert (folder / "r.h5").exists()
    (folder / "loop").symlink_to("pool")
    (folder / "pool").symlink_to("loop")
    return folder


def run(
    folder: Path, *args: str, limited: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*OPGEN, *args],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=limited,
    )


# pipes --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "args",
    [
        "check --json",
        "check",
        "ops",
        "cases reflection_pad2d_backward --ids",
        "judge -",
        "--version",
        "--help",
    ],
)
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_closed_pipe_is_a_quiet_end(args: str, stream: str) -> None:
    """As if SIGPIPE had ended the command. What says nothing on standard error ends well."""
    read, write = os.pipe()
    os.close(read)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: write}
    readme = (ROOT / "README.md").read_text()
    call = next(line for line in readme.splitlines() if '"op":' in line).split("'")[1]
    done = subprocess.run(
        [*OPGEN, *args.split()], input=call, text=True, env=ENVIRONMENT, timeout=120, **streams
    )
    os.close(write)
    assert done.returncode == (141 if stream == "stdout" else 0)
    assert not done.stderr


def test_a_message_that_nobody_reads_changes_no_exit_code() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*OPGEN, "ops", "nothing"], stderr=write, env=ENVIRONMENT, timeout=120)
    os.close(write)
    assert done.returncode == 2


def test_the_head_of_a_list_is_shown_and_nothing_else() -> None:
    """The list is longer than what a pipe holds, and the suite leaves out nothing that would be
    named.
    """
    done = subprocess.run(
        [
            "bash",
            "-o",
            "pipefail",
            "-c",
            '"$@" | head -1',
            "bash",
            *OPGEN,
            *["cases", "group_norm_backward", "layer_norm_backward", "--plan", "standard", "--ids"],
        ],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (141, "", 1)


# terminals ----------------------------------------------------------------------------------------
def test_a_bar_moves_on_a_terminal_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    for stream, quiet, shown in (
        (Terminal(), False, True),
        (Terminal(), True, False),
        (io.StringIO(), False, False),
    ):
        with redirect_stderr(stream), console.progress("cases", 12, quiet) as advance:
            advance(5)
            advance(7)
        assert (
            ("cases" in stream.getvalue() and "12/12" in stream.getvalue())
            == shown
            == bool(stream.getvalue())
        )


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads in /proc")
@pytest.mark.parametrize(
    "command",
    [
        "generate avg_pool2d_backward group_norm_backward --workers 2 -o suite.h5",
        "refresh --check avg_pool2d_backward group_norm_backward",
    ],
)
def test_no_process_is_forked_while_a_thread_runs(command: str, tmp_path: Path) -> None:
    """A thread that draws a bar would leave its locks locked for ever in the new process."""
    code = (
        "import os; from opgen.cli import main; from opgen.generation import processes;"
        "processes.cores = lambda: 2;"
        "threads = open('threads', 'a');"
        "os.register_at_fork(before=lambda:"
        " print(len(os.listdir('/proc/self/task')), file=threads, flush=True)); main()"
    )
    here, there = pty.openpty()
    # nothing is checked yet, so that there is work to fork for
    environment = {**ENVIRONMENT, "TERM": "xterm", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    with subprocess.Popen(
        [sys.executable, "-c", code, *command.split()],
        stdin=there,
        stdout=subprocess.DEVNULL,
        stderr=there,
        cwd=tmp_path,
        env=environment,
    ) as process:
        os.close(there)
        shown = b""
        try:
            while data := os.read(here, 1 << 16):
                shown += data
        except OSError:  # the terminal's other side is closed
            pass
    os.close(here)
    assert process.returncode == 0, shown
    assert b"cases" in shown, "no bar was drawn"
    assert set((tmp_path / "threads").read_text().split()) == {"1"}


# files --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "command",
    [
        "generate reflection_pad1d_backward -o {}",
        "generate reflection_pad1d_backward --force -o {}",
        "run b.h5 --backend mutant:corners_missing -o {}",
        "run b.h5 --backend mutant:corners_missing --resume -o {}",
        "merge r.h5 -o {}",
        "unpack b.h5 -o {}",
        "export npz b.h5 -o {}",
        "export gtest b.h5 -o {}",
        "import ttk b.h5 -o {}",
        "diff b.h5 r.h5 --html {}",
        "diff b.h5 r.h5 --junit {}",
        "coverage reflection_pad1d_backward --html {}",
        "refresh reflection_pad1d_backward --lock {}",
        "refresh reflection_pad1d_backward --summary {}",
        "refresh reflection_pad1d_backward -o {}",
        "minimize b.h5 r.h5 pad --backend mutant:corners_missing -o {}",
    ],
)
@pytest.mark.parametrize("name", ["loop", "loop/file"])
def test_an_output_that_is_a_loop_of_links_is_refused(
    command: str, name: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(here)
    before = sorted(os.listdir(here))
    done = CliRunner().invoke(main, command.format(name).split(), prog_name="opgen")
    assert done.exit_code == 2 and "Traceback" not in done.stderr, done.stderr
    assert name in done.stderr.splitlines()[-1] and "loop of links" in done.stderr
    assert sorted(os.listdir(here)) == before and (here / "loop").is_symlink()


COMMANDS = [
    "ops",
    "cases reflection_pad1d_backward",
    "generate reflection_pad1d_backward --workers 3 --force -o suite.h5",
    "run b.h5 --backend mutant:corners_missing --force -o results.h5",
    "diff b.h5 r.h5 --html report.html",
    "minimize b.h5 r.h5 pad --backend mutant:corners_missing --force -o minimal",
    "export npz b.h5 --force -o arrays",
    "inspect b.h5",
    "verify b.h5",
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("most", [6])
def test_too_few_open_files_are_one_message(command: str, most: int, here: Path) -> None:
    done = run(
        here,
        *command.split(),
        limited=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)),
    )
    assert "Traceback" not in done.stderr, done.stderr
    if "Too many open files" in done.stderr:
        assert done.returncode == 2 and len(done.stderr.splitlines()) <= 2
        assert "unsound" not in done.stderr and "not a bundle" not in done.stderr
    else:
        assert done.returncode in (0, 1)


@pytest.mark.parametrize("kilobytes", [60_000, 90_000, 120_000, 160_000, 262_143])
def test_too_little_memory_to_load_a_library_is_one_message(kilobytes: int, here: Path) -> None:
    done = run(here, "diff", "b.h5", "r.h5", "--html", "report.html", limited=memory(kilobytes))
    assert (done.returncode, done.stderr) == (
        2,
        f"not enough memory: ulimit -v allows {kilobytes} kB, and opgen needs 262144\n",
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_what_little_memory_opgen_asks_for_will_do(command: str, here: Path) -> None:
    done = run(here, *command.split(), limited=memory(LEAST_MEMORY >> 10))
    assert done.returncode == (1 if command.startswith("diff") else 0), done.stderr


def test_a_library_that_cannot_be_loaded_is_one_message(here: Path) -> None:
    pytest.importorskip("torch")
    done = run(here, "run", "b.h5", "--backend", "torch", "-o", "torch.h5", limited=memory(300_000))
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert "failed to map segment" in done.stderr


def memory(kilobytes: int) -> Callable[[], None]:
    """Limits the address space of the process that calls it."""
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (kilobytes << 10, kilobytes << 10))
