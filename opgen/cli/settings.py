"""Options that need not be typed: from ``[tool.opgen]`` of a pyproject.toml, and the environment.

A command line wins over the environment, which wins over the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from opgen.model import FileError, Problem

if TYPE_CHECKING:
    import click


def name_of(option: click.Parameter) -> str:
    """An option as it is typed, without its dashes: ``seed-calls``."""
    return max(option.opts, key=len).lstrip("-")


def variable(command: str, option: click.Parameter) -> str:
    """The variable of the environment that gives an option of a command.

    >>> import click
    >>> variable("generate", click.Option(["--seed-calls"]))
    'OPGEN_GENERATE_SEED_CALLS'
    """
    return f"OPGEN_{command}_{name_of(option)}".replace("-", "_").upper()


def options(command: click.Command) -> dict[str, click.Parameter]:
    """The options of a command by the names that a person types."""
    return {
        name_of(option): option for option in command.params if option.param_type_name == "option"
    }


def defaults(
    path: Path, names: Mapping[str, str], command: Callable[[str], click.Command | None]
) -> dict[str, dict[str, object]]:
    """Command -> parameter -> value, of the table ``[tool.opgen]`` of a file.

    A key of the table itself holds for every command that has such an option; ``[tool.opgen.run]``
    holds for ``opgen run`` alone. ``names`` are those of all commands, ``command`` gives one.
    Raises FileError naming every key that no command has.
    """
    import tomllib

    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("opgen", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileError.of(str(path), "", f"cannot be read: {error}") from None
    if not isinstance(table, dict):
        raise FileError.of(str(path), "tool.opgen", "expects a table of options")
    known = {name: options(found) for name in names if table and (found := command(name))}
    general = {key: value for key, value in table.items() if not isinstance(value, dict)}
    own = {key: value for key, value in table.items() if isinstance(value, dict)}
    if problems := _unknown(str(path), general, own, known):
        raise FileError(problems)
    return {
        name: {
            str(has[key].name): value
            for key, value in (general | own.get(name, {})).items()
            if key in has
        }
        for name, has in known.items()
    }


def _unknown(
    file: str,
    general: Mapping[str, object],
    own: Mapping[str, Mapping[str, object]],
    known: Mapping[str, Mapping[str, object]],
) -> list[Problem]:
    """A problem for every name of an option or a command that there is none of."""
    from opgen.model import did_you_mean

    everything = {key: None for has in known.values() for key in has}
    asked: list[tuple[str, str, Mapping[str, object], str]] = [
        *((key, key, everything, "no command has such an option") for key in general),
        *((name, name, known, "no such command") for name in own),
        *(
            (f"{name}.{key}", key, known[name], "no such option")
            for name, table in own.items()
            if name in known
            for key in table
        ),
    ]
    return [
        Problem(file, None, f"tool.opgen.{place}", f"{text}{did_you_mean(name, names)}")
        for place, name, names, text in asked
        if name not in names
    ]
