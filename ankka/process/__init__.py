"""The process's side of a session: connect, keep the session, run what the sidecar asks for, make calls.

connection   dials, reads, writes, reconnects          (sockets)
session      what is said and remembered               (no sockets)
  calls        calls under way, and the sidecar's credit
  attempts     step attempts that run or whose answer is not acknowledged
work         requests to dispatch and back             (tasks, threads)
  dispatch…    one command, query, fold, step or merge to user code
  overdue      replaced attempts that do not end
watchdog     names what blocks the event loop          (a thread)
hosting      all of it together, until drained
run, leaving a service in the foreground, and its end
"""
