"""Where the vendor's shared libraries lie, and how a symbol is found in them.

Operators move between libraries from release to release, so they are looked up by symbol; the names
of libraries only say where to look. ``$OPGEN_OPAPI`` (files and folders, separated as in ``PATH``)
comes before everything else.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from opgen.model import FileError, Problem

RUNTIME = ("libascendcl.so", "libnnopbase.so")
"""Needed by everything; loaded first, with their symbols visible to the libraries of operators."""
RUNTIME_ALSO = ("libacl_rt.so",)
OPERATORS = (
    "libopapi_math.so",
    "libopapi_nn.so",
    "libopapi_cv.so",
    "libopapi_transformer.so",
    "libopapi.so",
)
CUSTOM = "op_api/lib/libcust_opapi.so"


class DeviceError(FileError):
    """The device, a library or a symbol is not there; carries one line per thing and says where was
    looked.
    """

    def __init__(self, *lines: str, where: str = "aclnn") -> None:
        super().__init__([Problem(where, None, "", line) for line in lines])


def own_places(environment: Mapping[str, str]) -> list[Path]:
    """The files and folders of ``$OPGEN_OPAPI``."""
    return [Path(part) for part in environment.get("OPGEN_OPAPI", "").split(os.pathsep) if part]


def toolkit_folders(environment: Mapping[str, str]) -> list[Path]:
    """Folders in which a toolkit keeps its libraries, whether they exist or not."""
    folders = []
    opp = environment.get("ASCEND_OPP_PATH")
    if opp:
        folders += [
            Path(opp).parent / f"{machine}-linux" / "lib64" for machine in ("aarch64", "x86_64")
        ]
    home = environment.get("ASCEND_TOOLKIT_HOME")
    if home:
        folders.append(Path(home) / "lib64")
    return folders


def custom_places(environment: Mapping[str, str]) -> list[Path]:
    """Libraries of custom operators: a pattern for each place that may hold one."""
    places = []
    for part in environment.get("ASCEND_CUSTOM_OPP_PATH", "").split(os.pathsep):
        if part:
            places += [Path(part) / "vendors/*" / CUSTOM, Path(part) / CUSTOM]
    if environment.get("ASCEND_OPP_PATH"):
        places.append(Path(environment["ASCEND_OPP_PATH"]) / "vendors/*" / CUSTOM)
    return places


def runtime_places(name: str, environment: Mapping[str, str]) -> list[str]:
    """What to try for a library of the runtime, in order; the plain name last, which the system's
    loader looks up.
    """
    own = [
        path.parent if path.name == name else path
        for path in own_places(environment)
        if path.name == name or path.suffix != ".so"
    ]
    return [*(str(folder / name) for folder in (*own, *toolkit_folders(environment))), name]


def operator_places(environment: Mapping[str, str]) -> list[str]:
    """What to try for operators, in order: existing files only, then plain names for the system's
    loader.
    """
    found: list[str] = []
    for path in own_places(environment):
        found += (
            [str(path / name) for name in ("libcust_opapi.so", *OPERATORS)]
            if path.is_dir()
            else [str(path)]
        )
    for place in custom_places(environment):
        found += map(str, _matching(place))
    found += [str(folder / name) for folder in toolkit_folders(environment) for name in OPERATORS]
    return [path for path in dict.fromkeys(found) if Path(path).is_file()] + list(OPERATORS)


def _matching(pattern: Path) -> Iterator[Path]:
    root = Path(pattern.anchor) if pattern.is_absolute() else Path()
    return iter(
        sorted(root.glob(str(pattern.relative_to(root) if pattern.is_absolute() else pattern)))
    )


class Libraries:
    """The loaded libraries. Raises :class:`DeviceError` where the runtime or a symbol is absent."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self.environment = os.environ if environment is None else environment
        self.loaded: dict[str, ctypes.CDLL] = {}
        self.looked: list[str] = []
        missing = [name for name in RUNTIME if not self._runtime(name)]
        if missing:
            raise DeviceError(
                f"cannot load {' and '.join(missing)}; looked at {', '.join(self.looked)};"
                f" {self._hint()}"
            )
        for name in RUNTIME_ALSO:
            self._runtime(name)
        self.base = tuple(self.loaded)
        for place in operator_places(self.environment):
            self._load(place, ctypes.RTLD_LOCAL)

    def symbol(self, name: str) -> Any:
        """A function by its name: of the first operator library that has it, then of the runtime;
        None where none has.
        """
        for path in (*[p for p in self.loaded if p not in self.base], *self.base):
            found = getattr(self.loaded[path], name, None)
            if found is not None:
                return found
        return None

    def require(self, names: Sequence[str]) -> dict[str, Any]:
        """Functions by name; DeviceError naming every one that no library has."""
        found = {name: self.symbol(name) for name in names}
        missing = [name for name, function in found.items() if function is None]
        if missing:
            raise self.without(missing)
        return found

    def operators(
        self, apis: Sequence[str]
    ) -> tuple[dict[str, tuple[Any, Any]], dict[str, tuple[str, ...]]]:
        """(operator -> the functions of its two phases, operator -> its symbols that no library
        has).

        DeviceError where not one of them is there: then it is a path that is missing, not an
        operator.
        """
        there: dict[str, tuple[Any, Any]] = {}
        absent: dict[str, tuple[str, ...]] = {}
        for api in apis:
            names = (f"{api}GetWorkspaceSize", api)
            first, second = functions = [self.symbol(name) for name in names]
            if first is not None and second is not None:
                there[api] = (first, second)
            else:
                absent[api] = tuple(
                    name
                    for name, function in zip(names, functions, strict=True)
                    if function is None
                )
        if absent and not there:
            raise self.without([name for names in absent.values() for name in names])
        return there, absent

    def without(self, names: Sequence[str]) -> DeviceError:
        """The error of symbols that no library has, with where was looked."""
        where = f"loaded {', '.join(self.loaded)}; not found: {', '.join(self.looked) or 'none'}"
        return DeviceError(f"no library has {', '.join(names)}; {where}; {self._hint()}")

    def _runtime(self, name: str) -> bool:
        return any(
            self._load(place, ctypes.RTLD_GLOBAL)
            for place in runtime_places(name, self.environment)
        )

    def _load(self, place: str, mode: int) -> bool:
        try:
            self.loaded[place] = ctypes.CDLL(place, mode=mode)
        except OSError as error:
            absent = "cannot open shared object file" in str(error) and str(error).startswith(
                f"{place}:"
            )
            self.looked.append(place if absent else f"{place} ({error})")
            return False
        return True

    def _hint(self) -> str:
        return (
            "source the toolkit's set_env.sh, or set OPGEN_OPAPI to the libraries or their folders"
        )
