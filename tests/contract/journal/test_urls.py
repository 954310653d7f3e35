"""Which address names which journal, and what is said about the others."""

import pytest
from ankka_sidecar.adapters.journal.urls import InvalidUrl, MemoryUrl, SqliteUrl, parse


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///.ankka/journal.db", ".ankka/journal.db"),
        ("sqlite:////var/lib/ankka.db", "/var/lib/ankka.db"),
        ("SQLite:///journal.db", "journal.db"),
        ("journal.db", "journal.db"),
        ("/var/lib/a b%20.db", "/var/lib/a b%20.db"),
        ("./odd:name.db", "./odd:name.db"),
        ("C:\\data\\journal.db", "C:\\data\\journal.db"),
        ("sqlite:///C:/data/journal.db", "C:/data/journal.db"),
    ],
)
def test_an_sqlite_address_is_a_path(url: str, path: str) -> None:
    assert parse(url) == SqliteUrl(path)


@pytest.mark.parametrize("url", ["memory:", "memory://", "MEMORY:"])
def test_memory_is_a_journal_without_a_file(url: str) -> None:
    assert parse(url) == MemoryUrl()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql://me@host/db", "PostgreSQL journals are not available in this version; use sqlite:///"),
        ("postgres://host/db", "PostgreSQL journals are not available in this version"),
        ("postgresql+psycopg://host/db", "PostgreSQL journals are not available in this version"),
        ("mysql://host/db", "unknown kind of journal 'mysql'; use sqlite:///"),
        ("sqlite://journal.db", "expected three slashes before the path; write sqlite:///journal.db"),
        ("sqlite:journal.db", "write sqlite:///journal.db"),
        ("sqlite:", "write sqlite:///journal.db"),
        ("sqlite:///", "names no file"),
        ("", "names no file"),
        ("  ", "names no file"),
        (":memory:", "write memory:"),
        ("sqlite:///:memory:", "write memory:"),
        ("memory:x", "takes nothing behind it, found 'x'"),
        ("sqlite:///a.db?mode=ro", "options behind '\\?' are not supported"),
        ("a\0b", "NUL"),
    ],
)
def test_another_address_is_refused_with_what_to_write(url: str, message: str) -> None:
    with pytest.raises(InvalidUrl, match=message):
        parse(url)


def test_a_password_is_not_repeated() -> None:
    with pytest.raises(InvalidUrl) as refused:
        parse("postgresql://me:secret@host/db")
    assert "secret" not in str(refused.value)
