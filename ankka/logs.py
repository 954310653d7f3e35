"""Which handler the present code runs for: in logs, and for code that is not handed a context.

    handler = logging.StreamHandler()
    handler.addFilter(WorkFilter())
    handler.setFormatter(logging.Formatter("%(levelname)s [%(ankka_work)s] %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])

    WARNING [step 'charge' of checkout/c1, attempt 2] the bank did not answer

It is known in commands, queries, steps, `apply_event` and `merge_state`, in the tasks they start, in `asyncio.to_thread` and
in the threads of sync steps: it is a context variable. A thread that you make yourself (`threading.Thread`, an executor's)
does not inherit those, as always in Python; hand it `contextvars.copy_context().run`.
"""

import logging
from typing import Any

from ankka.process.running import REQUEST, CurrentWork, work_of

__all__ = ["CurrentWork", "WorkFilter", "current_work"]


def current_work() -> CurrentWork | None:
    """What the present code runs for; `None` outside handlers.

    >>> current_work() is None
    True
    """
    running = REQUEST.get()
    return None if running is None else work_of(running)


class WorkFilter(logging.Filter):
    """Puts what runs on every log record: add it to a *handler*, then a formatter of any kind can show it.

    `ankka_work` is a text (`step 'charge' of checkout/c1, attempt 2`; outside handlers `-`). `ankka_component`,
    `ankka_instance`, `ankka_handler`, `ankka_step`, `ankka_attempt` and `ankka_trace` are for structured logs, `None` where
    there is nothing. A filter of a *logger* sees only what is logged by that very logger, none of its children's records.

    >>> record = logging.makeLogRecord({"msg": "hello"})
    >>> WorkFilter().filter(record), record.ankka_work, record.ankka_step
    (True, '-', None)
    """

    def filter(self, record: logging.LogRecord) -> bool:
        # One that passed another such filter keeps what it says: it may be handled in another thread (a QueueListener's).
        if not hasattr(record, "ankka_work"):
            record.__dict__.update(_attributes(current_work()))
        return bool(super().filter(record))


def _attributes(work: CurrentWork | None) -> dict[str, Any]:
    return {
        "ankka_work": "-" if work is None else str(work),
        "ankka_component": None if work is None else work.component_id,
        "ankka_instance": None if work is None else work.entity_id,
        "ankka_handler": None if work is None else work.handler,
        "ankka_step": None if work is None else work.step,
        "ankka_attempt": None if work is None else work.attempt,
        "ankka_trace": None if work is None else work.trace,
    }
