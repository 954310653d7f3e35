"""`make bench`: the workloads, one after the other, each with a sidecar and a journal of its own; prints a table.

`python -m tests.benchmarks [WORKLOAD:IN_FLIGHT:COUNT …]` runs those instead of the default ones.
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

DEFAULT = (
    "plain:1:600", "plain:16:4000", "plain:64:8000", "plain:256:8000", "starts:64:8000", "queries:64:20000",
    "calling:64:4000", "keyless:64:4000", "deposits:64:8000", "keyed:64:8000",
)  # fmt: skip
"""`calling` and `keyed` beside the same work without keys: what keys cost."""
READY_WITHIN = 20.0


def run(workload: str, in_flight: int, total: int, journal: str) -> dict[str, float]:
    """One workload over a fresh journal: the worker's figures, with the sidecar's CPU and memory."""
    with tempfile.TemporaryDirectory(prefix="ankka-bench-", dir=journal) as folder:
        announced = Path(folder) / "sidecar.json"
        log = (Path(folder) / "sidecar.log").open("wb")
        sidecar = subprocess.Popen(
            [sys.executable, "-m", "ankka_sidecar", "--journal", f"sqlite:///{folder}/journal.db", "--http", "127.0.0.1:0", "--embedded", announced],
            stdout=log,
            stderr=log,
        )
        try:
            until = time.monotonic() + READY_WITHIN
            while not announced.exists():
                if sidecar.poll() is not None or time.monotonic() > until:
                    raise RuntimeError((Path(folder) / "sidecar.log").read_text())
                time.sleep(0.01)
            environment = {**os.environ, "ANKKA_SIDECAR": json.loads(announced.read_text())["http"]}
            before = psutil.Process(sidecar.pid).cpu_times()
            command = [sys.executable, "-m", "tests.benchmarks.worker", workload, str(in_flight), str(total)]
            printed = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
            after = psutil.Process(sidecar.pid)
            figures: dict[str, float] = json.loads(printed)
            spent = after.cpu_times()
            figures["sidecar_cpu_us"] = (spent.user + spent.system - before.user - before.system) / total * 1e6
            figures["sidecar_mib"] = after.memory_info().rss / 2**20
            return figures
        finally:
            sidecar.send_signal(signal.SIGTERM)
            sidecar.wait(15)
            log.close()


def main(asked: list[str]) -> None:
    """Run what was asked for, or all."""
    print(f"Python {sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}, {os.cpu_count()} cores, fsync on")
    print(f"{'workload':<10}{'in flight':>10}{'per s':>10}{'p50 ms':>9}{'p99 ms':>9}{'sidecar µs':>12}{'process µs':>12}{'sidecar MiB':>13}")
    folder = os.environ.get("ANKKA_BENCH_DIR", ".")
    for one in asked or DEFAULT:
        workload, in_flight, total = one.split(":")
        found = run(workload, int(in_flight), int(total), folder)
        print(
            f"{workload:<10}{in_flight:>10}{found['per_second']:>10,.0f}{found['p50_ms']:>9.2f}{found['p99_ms']:>9.2f}"
            f"{found['sidecar_cpu_us']:>12.0f}{found['process_cpu_us']:>12.0f}{found['sidecar_mib']:>13.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
