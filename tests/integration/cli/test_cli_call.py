"""`ankka call` and `ankka await` against a real sidecar and process."""

from pathlib import Path
from uuid import uuid4

import pytest

from tests.integration.cli.conftest import Run
from tests.integration.cli.programs import in_terminal


@pytest.fixture
def instance() -> str:
    return f"ü {uuid4().hex[:8]}/100% +1"


def test_plain_text_and_json_reach_a_string_alike(run: Run, instance: str) -> None:
    plain = run("call", "lab", instance, "echo", "two words")
    quoted = run("call", "lab", instance, "echo", '"two words"')
    assert (plain.returncode, plain.stdout, plain.stderr) == (0, '"two words"\n', "")
    assert (quoted.returncode, quoted.stdout, quoted.stderr) == (0, '"two words"\n', "")


def test_a_number_is_text_for_a_string_and_a_number_for_an_int(run: Run) -> None:
    assert run("call", "lab", "x", "echo", "4711").stdout == '"4711"\n'
    assert run("call", "lab", "x", "double", "4711").stdout == "9422\n"
    assert run("call", "lab", "x", "double", "-5").stdout == "-10\n"
    assert run("call", "lab", "x", "sum", "[1, 2]").stdout == "3\n"


def test_stdin_is_the_input_without_its_line_end(run: Run) -> None:
    assert run("call", "lab", "x", "echo", "-", stdin="grün\n".encode()).stdout == '"grün"\n'
    assert run("call", "lab", "x", "sum", "-", stdin=b"[1,\n2]\n").stdout == "3\n"
    assert run("call", "lab", "x", "size", "-", stdin=b"\xff\x00\xfe").stdout == "3\n"


def test_done_prints_nothing_and_null_as_json(run: Run, instance: str) -> None:
    assert run("call", "checkout", instance, "start", "ok").stdout == ""
    assert run("call", "checkout", f"{instance}2", "start", "ok", "--json").stdout == "null\n"


def test_a_command_with_a_key_is_done_once(run: Run, instance: str) -> None:  # F42
    for _ in range(2):
        started = run("call", "checkout", instance, "start", "ok", "--idempotency-key", "start of grün")
        assert (started.returncode, started.stderr) == (0, "")
    other = run("call", "checkout", instance, "start", "fail", "--idempotency-key", "start of grün")
    assert other.returncode == 1
    assert "CONFLICT (409)" in other.stderr
    assert "another input" in other.stderr


@pytest.mark.parametrize("key", ["", "a\nb", "k" * 256])
def test_a_key_that_cannot_be_is_bad_usage(run: Run, instance: str, key: str) -> None:
    refused = run("call", "checkout", instance, "start", "ok", "--idempotency-key", key)
    assert refused.returncode == 2
    assert "--idempotency-key" in refused.stderr
    assert "idempotency key" in refused.stderr


def test_a_refusal_is_on_stderr_with_its_code_and_status(run: Run, instance: str) -> None:
    assert run("call", "checkout", instance, "start", "ok").returncode == 0
    assert run("await", "checkout", instance).returncode == 0
    refused = run("call", "checkout", instance, "start", "ok")
    assert (refused.returncode, refused.stdout, refused.stderr) == (1, "", "CONFLICT (409): checkout is already charged\n")


def test_an_input_that_is_missing_or_unwanted_is_told_in_the_words_of_the_command(run: Run) -> None:
    for given in ((), ("-",)):
        missing = run("call", "lab", "a b", "double", *given)
        assert (missing.returncode, missing.stdout) == (1, "")
        said = "BAD_REQUEST (400): 'double' takes an input (int); write it behind the handler: ankka call lab 'a b' double INPUT\n"
        assert missing.stderr == said
    unwanted = run("call", "lab", "x", "wait", "4")
    assert unwanted.stderr == "BAD_REQUEST (400): 'wait' takes no input; write nothing behind the handler: ankka call lab x wait\n"


def test_what_is_not_json_is_refused_where_json_is_needed(run: Run) -> None:
    refused = run("call", "shopping-cart", "k1", "add", "{productId: 1}")
    assert refused.returncode == 1
    assert refused.stderr.startswith("BAD_REQUEST (415): 'add' takes JSON, and '{productId: 1}' is not JSON: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("call", "lab", "x", "echoo", "a"), "NOT_FOUND (404): "),
        (("call", "labb", "x", "echo", "a"), "NOT_FOUND (404): "),
        (("call", "lab", "x", "double", '"no"'), "BAD_REQUEST (400): "),
        (("call", "lab", "x", "echo"), "BAD_REQUEST (400): "),
        (("await", "shopping-cart", "x"), "BAD_REQUEST (400): "),
    ],
)
def test_what_the_sidecar_refuses_fails(run: Run, arguments: tuple[str, ...], said: str) -> None:
    refused = run(*arguments)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith(said)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("call", "lab", "", "echo"), "empty"),
        (("call", "lab", "..", "echo"), "paths resolve it"),
        (("call", "lab", "a\nb", "echo"), "control character"),
        (("call", "lab", "x" * 513, "echo"), "512"),
        (("call", "", "x", "echo"), "COMPONENT"),
        (("call", "lab", "x"), "HANDLER"),
        (("await", "lab", "x", "--timeout", "soon"), "not a span of time"),
        (("list", "--status", "Dead"), "none of NotStarted, Running"),
        (("list", "--since", "yesterday"), "neither a span"),
        (("list", "--limit", "0"), "--limit"),
        (("show", "lab"), "ID"),
        (("nothing",), "No such command"),
        (("list", "--sidecar", "localhost:9000"), "no sidecar address"),
    ],
)
def test_wrong_usage_is_2_and_says_what_is_wrong(run: Run, arguments: tuple[str, ...], said: str) -> None:
    used = run(*arguments)
    assert (used.returncode, used.stdout) == (2, "")
    assert said in used.stderr
    assert "Traceback" not in used.stderr


def test_await_prints_the_end_state(run: Run, instance: str) -> None:
    run("call", "checkout", instance, "start", "pause")
    ended = run("await", "checkout", instance)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == f'{{"cartId":"{instance}","status":"charged","mode":"pause","reserved":0}}\n'


def test_await_of_a_failed_run_fails_with_its_reason(run: Run, instance: str) -> None:
    run("call", "lab", instance, "fail", "no stock\x1b[2J")
    failed = run("await", "lab", instance)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr == "WORKFLOW_FAILED (424): no stock\\x1b[2J\n"


def test_await_gives_up_after_its_timeout_and_says_where_the_run_is(run: Run, instance: str) -> None:
    run("call", "lab", instance, "wait")
    late = run("await", "lab", instance, "--timeout", "300ms")
    assert (late.returncode, late.stdout) == (1, "")
    assert late.stderr.startswith(f"TIMEOUT (504): lab/{instance} has not ended within 300 ms: Running, step 'hang', attempt 1; it goes on")
    never = run("await", "lab", f"{instance} never", "--timeout", "0.2")
    assert never.returncode == 1
    assert "has not started" in never.stderr


def test_a_terminal_gets_indented_json_and_colours_unless_no_color(lab: str, tmp_path: Path) -> None:
    code, coloured = in_terminal("call", "checkout", "t1", "status", cwd=tmp_path, ANKKA_SIDECAR=lab)
    assert code == 0
    assert "\x1b[" in coloured
    code, plain = in_terminal("call", "checkout", "t1", "status", cwd=tmp_path, ANKKA_SIDECAR=lab, NO_COLOR="1")
    assert code == 0
    assert '{\n  "cartId": "t1",\n  "status": "new",\n' in plain.replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert "\x1b[3" not in plain
    assert "\x1b[9" not in plain


def test_a_terminal_never_gets_what_it_would_act_on(lab: str, tmp_path: Path) -> None:
    _, shown = in_terminal("call", "lab", "x", "echo", "[red]a\x9b31m\u202eb", cwd=tmp_path, ANKKA_SIDECAR=lab, NO_COLOR="1")
    assert "[red]a\\u009b31m\\u202eb" in shown
    assert "\x9b" not in shown
    assert "\u202e" not in shown
    _, raw = in_terminal("call", "lab", "x", "echo", "a\x9b31m", "--json", cwd=tmp_path, ANKKA_SIDECAR=lab)
    assert raw == '"a\\u009b31m"\n'


def test_await_shows_progress_on_a_terminal(lab: str, run: Run, tmp_path: Path, instance: str) -> None:
    run("call", "lab", instance, "wait")
    code, shown = in_terminal("await", "lab", instance, "--timeout", "2s", cwd=tmp_path, ANKKA_SIDECAR=lab)
    assert code == 1
    assert "Running, step 'hang', attempt 1" in shown.partition("TIMEOUT")[0]
