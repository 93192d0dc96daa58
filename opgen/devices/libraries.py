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

from opgen.devices import DeviceError
from opgen.devices.abi import SECOND_PHASE, CFunction, Signature, first_phase

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
HINT = "source the toolkit's set_env.sh, or set OPGEN_OPAPI to the libraries or their folders"


def _paths(environment: Mapping[str, str], name: str) -> list[Path]:
    """The files and folders that a variable names."""
    return [Path(part) for part in environment.get(name, "").split(os.pathsep) if part]


def toolkit_folders(environment: Mapping[str, str]) -> list[Path]:
    """Folders in which a toolkit keeps its libraries, whether they exist or not."""
    return [
        *(
            path.parent / f"{machine}-linux" / "lib64"
            for path in _paths(environment, "ASCEND_OPP_PATH")
            for machine in ("aarch64", "x86_64")
        ),
        *(path / "lib64" for path in _paths(environment, "ASCEND_TOOLKIT_HOME")),
    ]


def custom_libraries(environment: Mapping[str, str]) -> Iterator[Path]:
    """The libraries of custom operators that exist."""
    for path in _paths(environment, "ASCEND_CUSTOM_OPP_PATH"):
        yield from sorted(path.glob(f"vendors/*/{CUSTOM}"))
        yield path / CUSTOM
    for path in _paths(environment, "ASCEND_OPP_PATH"):
        yield from sorted(path.glob(f"vendors/*/{CUSTOM}"))


def runtime_places(name: str, environment: Mapping[str, str]) -> list[str]:
    """What to try for a library of the runtime, in order; the plain name last, which the system's
    loader looks up.
    """
    own = [
        path.parent if path.name == name else path
        for path in _paths(environment, "OPGEN_OPAPI")
        if path.name == name or path.suffix != ".so"
    ]
    return [*(str(folder / name) for folder in (*own, *toolkit_folders(environment))), name]


def operator_places(environment: Mapping[str, str]) -> list[str]:
    """What to try for operators, in order: existing files only, then plain names for the system's
    loader.
    """
    names = ("libcust_opapi.so", *OPERATORS)
    named = _paths(environment, "OPGEN_OPAPI")
    places = [path / name for path in named for name in (names if path.is_dir() else ("",))]
    places += custom_libraries(environment)
    places += [folder / name for folder in toolkit_folders(environment) for name in OPERATORS]
    return [str(path) for path in dict.fromkeys(places) if path.is_file()] + list(OPERATORS)


class Libraries:
    """The loaded libraries. DeviceError where the runtime or a symbol is absent."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self.environment = environment
        self.loaded: dict[str, ctypes.CDLL] = {}
        self.looked: list[str] = []
        missing = [name for name in RUNTIME if not self._runtime(name)]
        if missing:
            text = f"cannot load {' and '.join(missing)}; tried {', '.join(self.looked)}"
            raise DeviceError("aclnn", f"{text}; {HINT}")
        for name in RUNTIME_ALSO:
            self._runtime(name)
        runtime = list(self.loaded.values())
        for place in operator_places(self.environment):
            self._load(place, ctypes.RTLD_LOCAL)
        self._searched = [*list(self.loaded.values())[len(runtime) :], *runtime]

    def function(self, name: str, signature: Signature) -> CFunction | None:
        """A function by its name: of the first operator library that has it, then of the runtime;
        None where none has.
        """
        functions = (getattr(library, name, None) for library in self._searched)
        function = next((each for each in functions if each is not None), None)
        if function is not None:
            function.restype, function.argtypes = signature
        return function

    def require(self, signatures: Mapping[str, Signature]) -> dict[str, CFunction]:
        """Functions by name; DeviceError naming every one that no library has."""
        return self._there({name: self.function(name, each) for name, each in signatures.items()})

    def operators(
        self, apis: Mapping[str, Sequence[str]]
    ) -> tuple[dict[str, list[CFunction]], dict[str, tuple[str, ...]]]:
        """(operator -> the functions of its two phases, operator -> its symbols that no library
        has), from the kinds of every operator's parameters.

        DeviceError where not one of them is there: then it is a path that is missing, not an
        operator.
        """
        phases = {
            api: {
                name: self.function(name, signature)
                for name, signature in (
                    (f"{api}GetWorkspaceSize", first_phase(kinds)),
                    (api, SECOND_PHASE),
                )
            }
            for api, kinds in apis.items()
        }
        absent = {
            api: tuple(name for name, function in functions.items() if function is None)
            for api, functions in phases.items()
            if None in functions.values()
        }
        if absent.keys() == phases.keys():
            self._there({name: each for both in phases.values() for name, each in both.items()})
        there = phases.keys() - absent.keys()
        return {api: list(self._there(phases[api]).values()) for api in there}, absent

    def _there(self, functions: Mapping[str, CFunction | None]) -> dict[str, CFunction]:
        """Functions that are all there; DeviceError naming those that are not, and where was
        looked.
        """
        there = {name: function for name, function in functions.items() if function is not None}
        if missing := [name for name in functions if name not in there]:
            where = (
                f"loaded {', '.join(self.loaded)}; not found: {', '.join(self.looked) or 'none'}"
            )
            raise DeviceError("aclnn", f"no library has {', '.join(missing)}; {where}; {HINT}")
        return there

    def _runtime(self, name: str) -> bool:
        places = runtime_places(name, self.environment)
        return any(self._load(place, ctypes.RTLD_GLOBAL) for place in places)

    def _load(self, place: str, mode: int) -> bool:
        try:
            self.loaded[place] = ctypes.CDLL(place, mode=mode)
        except OSError as error:
            text = str(error)
            absent = text.startswith(f"{place}:") and "cannot open shared object file" in text
            self.looked.append(place if absent else f"{place} ({error})")
            return False
        return True
