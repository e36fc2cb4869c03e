"""TOML that a person wrote: parsed, or refused with the file and the line. The bytes come in; nothing is read here."""

from typing import Any, NoReturn

from rookery.core.errors import BadInput


def parse(data: bytes, path: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        refuse(path, f"is not UTF-8 at line {_line(data, error.start)}")
    except tomllib.TOMLDecodeError as error:
        # tomllib says "at end of document" where it could say which line that is.
        end = f"at line {_line(data.rstrip(), len(data))}, the end"
        refuse(path, f"is not valid TOML: {error}".replace("at end of document", end))
    except RecursionError:
        refuse(path, "is not valid TOML: it is nested too deeply")


def refuse(path: str, why: str) -> NoReturn:
    raise BadInput(f"The settings file {path} {why}.", "Correct or remove it.", code="BAD_SETTINGS_FILE", source=path)


def _line(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1
