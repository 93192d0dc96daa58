"""Where classes of backends are found: in opgen, in an installed package, in a file of your own."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from inspect import getmembers, isclass
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import TypeVar

from opgen.model import FileError

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
        lines = [frame.lineno for frame in extract_tb(error.__traceback__)]
        text = f"{type(error).__name__}: {(str(error) or 'no message').splitlines()[0]}"
        raise FileError.of(f"{path}:{lines[-1]}", "", text) from error
    return module
