"""What comes of tasks is the same in another process, errors too."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from opgen.generation.outcomes import Outcome, leave, outcome, portable, take
from opgen.model import FileError, Problem


class Odd(Exception):
    """An error that is pickled, and not made again."""

    def __init__(self, a: str, b: str) -> None:
        super().__init__(f"{a} and {b}")


class Closed(Exception):
    """An error that is not pickled."""

    def __init__(self) -> None:
        super().__init__("closed")
        self.function = lambda: None


def there_and_back(found: Outcome, file: Any) -> Outcome:
    return take(leave(portable(found)[0], file), file)


def test_answers_behind_each_other(tmp_path: Path) -> None:
    """However few bytes the system reads at a time."""
    with open(tmp_path / "a", "w+b") as file:
        places = [
            leave(portable(outcome(lambda task: task * 10, ["a", "b", "c"], at))[0], file)
            for at in range(3)
        ]
        assert [take(place, file, 3).get() for place in reversed(places)] == [
            "c" * 10,
            "b" * 10,
            "a" * 10,
        ]
        assert [take(place, file, 3).at for place in places] == [0, 1, 2]


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (ValueError("no good"), ValueError, "^no good$"),
        (
            FileError([Problem("a.yaml", 3, "x", "is no good")]),
            FileError,
            "^a.yaml:3: x: is no good$",
        ),
        (Odd("this", "that"), RuntimeError, r"Odd\('this and that'\)"),
        (Closed(), RuntimeError, r"Closed\('closed'\)"),
    ],
)
def test_what_is_raised_is_raised_there(error: Exception, kind: type[Exception], said: str) -> None:
    def work(task: int) -> None:
        raise error

    here = outcome(work, [1], 0)
    with pytest.raises(type(error)) as caught:
        here.get()
    assert caught.value is error and caught.value.__cause__ is None
    data, wrong = portable(here)
    assert wrong
    with tempfile.TemporaryFile() as file, pytest.raises(kind, match=said) as caught:
        take(leave(data, file), file).get()
    assert "raise error" in str(caught.value.__cause__)


def test_an_answer_that_cannot_be_pickled_is_an_error() -> None:
    data, wrong = portable(outcome(lambda task: lambda: task, [1], 0))
    assert wrong
    with tempfile.TemporaryFile() as file, pytest.raises(Exception, match="pickle"):
        take(leave(data, file), file).get()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_no_room() -> None:
    with (
        suppress(OSError),
        open("/dev/full", "wb") as file,
    ):  # what is left in its buffer has no room either
        place = leave(b"x" * 100_000, file)
        assert place == "No space left on device"
        with pytest.raises(
            FileError,
            match=("has no room for messages of a worker: No space left on device; TMPDIR names"),
        ):
            take(place, file)
