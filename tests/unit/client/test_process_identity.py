"""Who a process is: a pid with its start (DESIGN §4)."""

import os
import subprocess
import sys

import pytest

from ankka.protocol.process_identity import pid_space, pid_started, this_process

SAY = "import sys; from ankka.protocol.process_identity import pid_space; sys.stdout.write(pid_space())"
CAN_UNSHARE = sys.platform == "linux" and subprocess.run(["unshare", "--fork", "--pid", "true"], capture_output=True, check=False).returncode == 0


def test_a_running_process_has_a_start_that_stays() -> None:
    started = pid_started(os.getpid())
    assert started
    assert pid_started(os.getpid()) == started
    assert this_process().pid_started == started


def test_two_identities_of_one_process_differ_only_in_boot() -> None:
    one, other = this_process(), this_process()
    assert one.boot != other.boot
    assert (one.host, one.pid, one.pid_started) == (other.host, other.pid, other.pid_started)


def test_processes_that_see_the_same_pids_share_their_space() -> None:
    said = subprocess.run([sys.executable, "-c", SAY], capture_output=True, text=True, check=True).stdout
    assert said == pid_space() == this_process().host


@pytest.mark.skipif(not CAN_UNSHARE, reason="a pid namespace of its own needs Linux and the right to make one")
def test_a_container_of_the_same_host_name_has_a_space_of_its_own() -> None:
    inside = subprocess.run(["unshare", "--fork", "--pid", "--mount-proc", sys.executable, "-c", SAY], capture_output=True, text=True, check=True)
    assert inside.stdout != pid_space()
    assert inside.stdout.split()[0] == pid_space().split()[0]


def test_a_process_that_has_ended_is_gone_even_before_it_was_waited_for() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True)
    try:
        assert pid_started(child.pid)
        assert pid_started(child.pid) != "", "its start is known"
        assert child.stdin is not None
        child.stdin.close()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and is a zombie
        assert pid_started(child.pid) is None
    finally:
        child.wait()
    assert pid_started(child.pid) is None
