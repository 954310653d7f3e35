"""What a process of a folder makes of what it finds there, before any program is started."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ankka.embedded import health, program
from ankka.embedded.folder import Folder, FolderUnusable, SidecarFile
from ankka.embedded.health import Health, Unanswered, health_of
from ankka.embedded.membership import FolderSidecar
from ankka.embedded.program import SidecarNotStarted, check_installed, first_choice
from ankka.embedded.start_lock import start_lock


def written(folder: Folder, text: str) -> None:
    folder.make()
    folder.sidecar_file.write_text(text, encoding="utf-8")


def test_the_file_is_read_with_or_without_a_scheme(tmp_path: Path) -> None:
    folder = Folder.of(tmp_path)
    assert folder.read_sidecar_file() is None
    written(folder, '{"http":"127.0.0.1:9000","pid":7,"incarnation":"i","version":"1","journal":"j","startedAt":"2026-01-01T00:00:00Z"}')
    read = folder.read_sidecar_file()
    assert read is not None
    assert read == SidecarFile("127.0.0.1:9000", 7, "i", "1", "j", "2026-01-01T00:00:00Z")
    assert read.url == "http://127.0.0.1:9000"
    written(folder, '{"http":"http://127.0.0.1:9001","pid":7,"incarnation":"i"}')
    read = folder.read_sidecar_file()
    assert read is not None
    assert read.url == "http://127.0.0.1:9001"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"http":"x"}'])
def test_a_file_that_is_cut_off_or_of_something_else_counts_as_none(tmp_path: Path, text: str) -> None:
    folder = Folder.of(tmp_path)
    written(folder, text)
    assert folder.read_sidecar_file() is None


def test_the_log_is_shown_from_where_it_was(tmp_path: Path) -> None:
    folder = Folder.of(tmp_path)
    assert folder.log_size() == 0
    assert folder.log_since(0) == ""
    folder.make()
    folder.log.write_text("of an earlier start\n", encoding="utf-8")
    size = folder.log_size()
    with folder.log.open("a", encoding="utf-8") as log:
        log.write("cannot listen\n")
    assert folder.log_since(size) == "cannot listen"


def test_a_folder_that_cannot_be_made_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / ".ankka").write_text("")
    with pytest.raises(FolderUnusable, match="set ANKKA_SIDECAR to the address of a running sidecar"):
        Folder.of(tmp_path).make()


def test_without_the_runtime_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    check_installed()
    monkeypatch.setattr(program, "NEEDED", ("ankka_sidecar", "no_such_module_of_ours"))
    with pytest.raises(SidecarNotStarted, match=r"missing: no_such_module_of_ours.*ankka-engine\[sidecar\].*ANKKA_SIDECAR") as raised:
        check_installed()
    assert "make setup" in str(raised.value), "this is a checkout"


def test_the_first_port_tried_is_9000_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANKKA_HTTP", raising=False)
    assert first_choice() == "127.0.0.1:9000"
    monkeypatch.setenv("ANKKA_HTTP", "127.0.0.1:9100")
    assert first_choice() == "127.0.0.1:9100"


async def test_the_lock_is_held_by_one_and_free_again_after_it(tmp_path: Path) -> None:
    order: list[str] = []
    held = asyncio.Event()

    async def second() -> None:
        await held.wait()
        async with start_lock(tmp_path / "start.lock"):
            order.append("second")

    waiting = asyncio.create_task(second())
    async with start_lock(tmp_path / "start.lock"):
        held.set()
        await asyncio.sleep(0)
        order.append("first")
    await waiting
    assert order == ["first", "second"]


async def test_the_lock_can_be_given_up_while_it_is_waited_for(tmp_path: Path) -> None:
    async with start_lock(tmp_path / "start.lock"):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05), start_lock(tmp_path / "start.lock"):
                raise AssertionError("two hold it")


@asynccontextmanager
async def answering(reply: bytes) -> AsyncGenerator[asyncio.Server]:
    served: set[asyncio.Task[None]] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        served.add(task)
        await reader.readuntil(b"\r\n\r\n")
        if reply:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(reply) + reply)
            await writer.drain()
        else:
            await reader.read()  # until the caller has given up
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield server
    await asyncio.gather(*served, return_exceptions=True)


def url_of(server: asyncio.Server) -> str:
    return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_health_is_read_and_other_answers_are_none() -> None:
    async with answering(b'{"status":"ok","incarnation":"i1","processes":2}') as server:
        assert await health_of(url_of(server)) == Health("ok", "i1", 2)
        gone = url_of(server)
    assert await health_of(gone) == Unanswered(listening=False)
    async with answering(b"<html>another program</html>") as server:
        assert await health_of(url_of(server)) == Unanswered(listening=False)


async def test_a_sidecar_that_hangs_is_not_replaced_while_its_process_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "ANSWER_TIMEOUT", 0.05)
    folder = Folder.of(tmp_path)
    async with answering(b"") as server:
        written(folder, f'{{"http":"{url_of(server)}","pid":{os.getpid()},"incarnation":"i1"}}')
        with pytest.raises(SidecarNotStarted, match=f"runs but does not answer; if it stays so, end it: kill -9 {os.getpid()}"):
            await FolderSidecar(folder).locate()


async def test_a_sidecar_that_answers_with_its_incarnation_is_joined(tmp_path: Path) -> None:
    folder = Folder.of(tmp_path)
    async with answering(b'{"status":"ok","incarnation":"i1","processes":1}') as server:
        written(folder, f'{{"http":"{url_of(server)}","pid":1,"incarnation":"i1"}}')
        sidecar = FolderSidecar(folder)
        assert (await sidecar.locate()).url == url_of(server)
        assert sidecar.url == url_of(server)
