"""Many callers repeat commands with keys while programs die and instances are deleted: one key, one effect, one reply (W15, I3, I4).

Each caller has a seed, which a failure prints. What it may repeat it repeats: a command with a key, whatever was answered.
"""

from __future__ import annotations

import random
import sqlite3
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.chaos.bank import Bank
from tests.integration.support.programs import Programs

pytestmark = [pytest.mark.chaos, pytest.mark.slow]

CALLERS: Final = 6
KEYS: Final = 60
SECONDS: Final = 12.0
BLANKS: Final = ("{}", " {}", "{} ", "  {}  ")
"""Ways to write the same input."""


class Caller:
    """One of those who repeat: `replies` is what each key was answered, the same for all."""

    def __init__(self, bank: Bank, seed: int, replies: dict[str, str], lock: threading.Lock) -> None:
        self._bank = bank
        self._choices = random.Random(seed)
        self._replies = replies
        self._lock = lock
        self.answered: Counter[int] = Counter()

    def run(self, until: float) -> None:
        """Call, until it is time."""
        with httpx.Client(timeout=30, trust_env=False) as http:
            while time.monotonic() < until:
                self._call(http)

    def _call(self, http: httpx.Client) -> None:
        choices = self._choices
        number = choices.randrange(KEYS)
        wallet, amount, is_wrong = f"w{number % 7}", 1 + number, choices.random() < 0.05
        if choices.random() < 0.01:
            with suppress(httpx.TransportError):
                http.delete(f"{self._bank.sidecar.url}/v1/wallet/{wallet}")
            return
        content = choices.choice(BLANKS).format(amount + 1_000 if is_wrong else amount)
        headers = {"Idempotency-Key": f"k{number}", "Content-Type": "application/json"}
        try:
            answer = http.post(f"{self._bank.sidecar.url}/v1/wallet/{wallet}/deposit", headers=headers, content=content)
        except httpx.TransportError:
            time.sleep(0.02)
            return
        self.answered[answer.status_code] += 1
        assert answer.status_code in {200, 409, 503, 504}, answer.text
        if answer.status_code == 503:
            time.sleep(0.02)
        if answer.status_code == 200 and not is_wrong:
            with self._lock:
                first = self._replies.setdefault(f"k{number}", answer.text)
            assert first == answer.text, f"I4: k{number} was answered {first} and {answer.text}"
        if answer.status_code == 409:
            assert "another input" in answer.json()["detail"], answer.text


def rows_by_key(journal: Path) -> Counter[bytes]:
    """How many rows each caller's key has left, of whichever life."""
    with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as connection:
        return Counter(key[:1] + key[9:] for (key,) in connection.execute('SELECT "key" FROM journal WHERE "key" IS NOT NULL'))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("seed", [1, 2])
def test_w15_one_key_one_effect_one_reply_whatever_dies(programs: Programs, seed: int) -> None:  # F41 F42
    bank = Bank(programs)
    bank.fill("w0", 1_000_000)
    replies: dict[str, str] = {}
    lock = threading.Lock()
    callers = [Caller(bank, 100 * seed + number, replies, lock) for number in range(CALLERS)]
    choices = random.Random(seed)
    until = time.monotonic() + SECONDS
    with ThreadPoolExecutor(CALLERS) as pool:
        running = [pool.submit(caller.run, until) for caller in callers]
        while time.monotonic() < until:
            time.sleep(choices.uniform(0.3, 1.5))
            choices.choice([bank.sidecar, bank.process]).kill()
            bank.heal()
        for one in running:
            one.result()
    assert bank.kills >= 5, "nothing was disturbed"
    answered = sum((caller.answered for caller in callers), Counter[int]())
    assert answered[200] > 100, answered
    assert answered[409] > 0, answered
    bank.close()
    left = rows_by_key(bank.folder / "journal.db")
    assert max(left.values()) == 1, "I4: a key has one effect, whatever life of the instance"
    assert len(left) >= len(replies), "I3: every acknowledged command is in the journal"
