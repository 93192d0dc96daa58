"""Where classes of backends are found: in opgen, in an installed package, in a file of your own."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from inspect import getfile, getmembers, getsourcelines, isclass
from os.path import relpath
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import TypeVar

from opgen.model import FileError, Problem

Base = TypeVar("Base")

GROUP = "opgen.backends"
"""The group of entry points by which a package names backends: ``mine = "my_package:Device"``."""
SHIPPED: Mapping[str, str] = {
    "aclnn": "opgen.devices.aclnn:AclnnBackend",
    "cmd": "opgen.devices.command:CommandBackend",
    "mutant": "opgen.devices.mutant:MutantBackend",
    "torch": "opgen.devices.torch:TorchBackend",
}


def known() -> dict[str, str]:
    """Backends by name, with their classes as ``module:class``: those of opgen, and those that
    installed packages name. Nobody replaces one of opgen.
    """
    return {entry.name: entry.value for entry in entry_points(group=GROUP)} | dict(SHIPPED)


def class_of(place: str, name: str, base: type[Base]) -> type[Base]:
    """The subclass of ``base`` in a file or a module, by its name, or the only one. FileError where
    it is not there; ModuleNotFoundError where the module is not, or imports one that is not.
    """
    module = _of_file(Path(place)) if place.endswith(".py") else import_module(place)
    there = {
        own: member
        for own, member in getmembers(module, isclass)
        if issubclass(member, base) and member is not base
    }
    if not name and len(there) == 1:
        return there.popitem()[1]
    if name not in there:
        said = f"no backend '{name}'" if name else "not one backend"
        names = ", ".join(there) or f"no class is a subclass of opgen.{base.__name__}"
        raise FileError.of("--backend", "", f"{place} has {said} ({names})")
    return there[name]


def _of_file(path: Path) -> ModuleType:
    """A module by its path, whose neighbours it may import."""
    spec = spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise FileError.of("--backend", "", f"{path}: no such file")
    sys.path.append(str(path.resolve().parent))
    module = module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError:
        raise
    except Exception as error:
        raise _raised(error, path, getattr(error, "lineno", None)) from error
    return module


class CodeError(FileError):
    """The code of a backend of one's own raised: a problem for each of its lines on the way."""

    @property
    def line(self) -> str:
        """What it raised and where, the innermost line first."""
        places = ", ".join(f"{each.file}:{each.line}" for each in reversed(self.problems))
        return f"{self.problems[-1].text} ({places})"


@contextmanager
def blamed(kind: type, expected: type[Exception] = FileError) -> Iterator[None]:
    """A block in which a class of a backend runs code of its own: what that raises becomes a
    CodeError. What is ``expected`` stays as it is, and so does whatever opgen's own backends raise.
    """
    try:
        yield
    except (FileError, expected):
        raise
    except Exception as error:
        if kind.__module__.startswith("opgen."):
            raise
        _, line = getsourcelines(kind)
        raise _raised(error, Path(getfile(kind)), line) from error


def _raised(error: Exception, path: Path, line: int | None) -> CodeError:
    """What somebody's code raised: its own lines on the way there, or one where there is none."""
    frames = [
        frame
        for frame in extract_tb(error.__traceback__)
        if Path(frame.filename).parent.resolve() == path.parent.resolve()
    ]
    way = [(relpath(frame.filename), frame.lineno) for frame in frames] or [(relpath(path), line)]
    text = f"{type(error).__name__}: {(str(error) or 'no message').splitlines()[0]}"
    told = [f"in {frame.name}: {frame.line}" for frame in frames[:-1]] + [text]
    return CodeError(
        [Problem(file, at, "", said) for (file, at), said in zip(way, told, strict=True)]
    )
