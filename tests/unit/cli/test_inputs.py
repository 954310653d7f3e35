"""What a typed input is sent as, and spans of time."""

import pytest
import typer

from ankka.cli.calling import bodies_of
from ankka.cli.durations import check_since, seconds, span
from ankka.cli.shown import shown
from ankka.protocol.payload import BYTES, JSON, TEXT


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (b'{"a": [1, null]}', [(b'{"a": [1, null]}', JSON)]),
        (b'"ok"', [(b'"ok"', JSON)]),
        (b"null", [(b"null", JSON)]),
        (b"ok", [(b"ok", TEXT)]),
        (b"", [(b"", TEXT)]),
        (b"NaN", [(b"NaN", TEXT)]),
        (b"007", [(b"007", TEXT)]),
        (b"{a: 1}", [(b"{a: 1}", TEXT)]),
        (b"a\n\n", [(b"a\n", TEXT)]),
        (b"a\r\n", [(b"a", TEXT)]),
        (b"17\n", [(b"17", TEXT), (b"17\n", JSON)]),
        (b" -1.5e3", [(b"-1.5e3", TEXT), (b" -1.5e3", JSON)]),
        (b"true", [(b"true", TEXT), (b"true", JSON)]),
        (b"\xff\xfe\n", [(b"\xff\xfe\n", BYTES)]),
    ],
)
def test_an_input_is_json_if_it_parses_as_json_else_text(given: bytes, sent: list[tuple[bytes, str]]) -> None:
    assert [tuple(body) for body in bodies_of(given)] == sent


@pytest.mark.parametrize(
    ("text", "length"), [("30", 30.0), ("500ms", 0.5), ("1.5 min", 90.0), ("2m", 120.0), ("1H", 3600.0), ("7d", 604_800.0), ("0", 0.0)]
)
def test_a_span_is_a_number_and_a_unit(text: str, length: float) -> None:
    assert seconds(text, "--timeout") == length


@pytest.mark.parametrize("text", ["", "-1", "1 week", "s", "1e3", "1:30"])
def test_what_is_no_span_is_bad_usage(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="not a span of time"):
        seconds(text, "--timeout")


@pytest.mark.parametrize("text", ["10m", "2h", "1d", "30s", "2026-05-01", "2026-05-01T10:00:00+02:00"])
def test_since_is_a_span_or_an_instant(text: str) -> None:
    assert check_since(text) == text


@pytest.mark.parametrize("text", ["10min", "yesterday", "", "1w"])
def test_since_refuses_what_the_sidecar_would(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="neither a span"):
        check_since(text)


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (0.0, "0 ms"),
        (0.9996, "1 s"),
        (1.0, "1 s"),
        (59.99, "60 s"),
        (60.0, "1 min"),
        (3_599.0, "59 min 59 s"),
        (86_400.0, "1 d"),
        (90_061.0, "1 d 1 h"),
    ],
)
def test_lengths_are_short_for_people(length: float, text: str) -> None:
    assert span(length) == text


@pytest.mark.parametrize("text", ["Größe 12 €", "日本", "👩‍🔬", "[bold]x[/]"])
def test_ordinary_text_is_shown_as_it_is(text: str) -> None:
    assert shown(text) == text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("\x1b]0;x\x07", "\\x1b]0;x\\x07"),
        ("\x9b2J", "\\x9b2J"),
        ("a\r\nb", "a\\r\\nb"),
        ("\u202egnp", "\\u202egnp"),
        ("\ud800", "\\ud800"),
        ("\x7f", "\\x7f"),
    ],
)
def test_what_a_terminal_acts_on_is_escaped(text: str, escaped: str) -> None:
    assert shown(text) == escaped
