"""Journal addresses, as `--journal` and `ANKKA_JOURNAL` take them."""

import re
from typing import Final

import msgspec

_FORMS: Final = "sqlite:///folder/journal.db, sqlite:////absolute/journal.db, a plain path, or memory:"
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(.*)", re.DOTALL)


class InvalidUrl(ValueError):
    """An address no journal has; the message shows it and the forms there are."""


class MemoryUrl(msgspec.Struct, frozen=True):
    """A journal in memory, gone with its process."""


class SqliteUrl(msgspec.Struct, frozen=True):
    """A journal in an SQLite file; a relative path starts at the working directory."""

    path: str


def parse(url: str) -> MemoryUrl | SqliteUrl:
    """What journal `url` names, or `InvalidUrl`.

    Three slashes start a relative path, four an absolute one.

    >>> parse("sqlite:///.ankka/journal.db")
    SqliteUrl(path='.ankka/journal.db')
    >>> parse("sqlite:////var/lib/ankka.db")
    SqliteUrl(path='/var/lib/ankka.db')
    >>> parse("memory:")
    MemoryUrl()
    """
    scheme = _SCHEME.fullmatch(url)
    if scheme is None:
        return SqliteUrl(_checked_path(url, url))
    name, rest = scheme.group(1).lower(), scheme.group(2)
    if name == "memory":
        if rest.strip("/"):
            raise InvalidUrl(f"journal {url!r}: 'memory:' takes nothing behind it, found {rest!r}")
        return MemoryUrl()
    if name == "sqlite":
        return SqliteUrl(_sqlite_path(url, rest))
    if name in ("postgres", "postgresql") or name.startswith("postgresql+"):
        raise InvalidUrl(f"journal {_without_password(url)!r}: PostgreSQL journals are not available in this version; use {_FORMS}")
    raise InvalidUrl(f"journal {_without_password(url)!r}: unknown kind of journal {name!r}; use {_FORMS}")


def _sqlite_path(url: str, rest: str) -> str:
    if not rest.startswith("///"):
        path = rest.lstrip("/") or "journal.db"
        raise InvalidUrl(f"journal {url!r}: expected three slashes before the path; write sqlite:///{path}")
    if "?" in rest:
        raise InvalidUrl(f"journal {url!r}: options behind '?' are not supported; remove them")
    return _checked_path(url, rest[3:])


def _checked_path(url: str, path: str) -> str:
    if not path.strip():
        raise InvalidUrl(f"journal {url!r} names no file; use {_FORMS}")
    if path == ":memory:":
        raise InvalidUrl(f"journal {url!r}: for a journal in memory write memory:")
    if "\0" in path:
        raise InvalidUrl(f"journal {url!r} has a NUL character; remove it")
    return path


def _without_password(url: str) -> str:
    # Errors end up in logs, and nothing secret may.
    return re.sub(r"(://[^/@:]*):[^/]*@", r"\1:***@", url)
