"""Where steps lead to: literal targets and settings checked against the declared steps, and each step's own limits."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ankka.definition.collect import members
from ankka.definition.component import Component
from ankka.definition.definitions import StepDefinition
from ankka.definition.problems import Findings, suggestion
from ankka.definition.settings import Recovery, StepSettings, WorkflowSettings
from ankka.definition.targets import Target, read_targets

Steps = Mapping[str, StepDefinition]


def canonical(name: str, steps: Steps) -> str | None:
    """The declared name of a step given by name or alias, `None` if there is no such step."""
    if name in steps:
        return name
    return next((step.name for step in steps.values() if name in step.aliases), None)


def _known(steps: Steps) -> list[str]:
    return [name for step in steps.values() for name in (step.name, *step.aliases)]


def check_targets(cls: type[Component[Any]], steps: Steps, findings: Findings) -> None:
    """Note every literal transition target that is no declared step, or whose input is missing or too much."""
    for method, value, _ in members(cls):
        if not callable(value) or isinstance(value, type):
            continue
        reading = read_targets(value, cls)
        for target in reading.targets if reading is not None else ():
            _check_target(method, target, steps, findings)


def _check_target(method: str, target: Target, steps: Steps, findings: Findings) -> None:
    if target.problem is not None:
        findings.add(f"{method}: a transition goes to a step, but {target.problem}")
        return
    if target.step is None:
        return
    name = canonical(target.step, steps)
    if name is None:
        findings.add(f"{method}: transition to the step {target.step!r}, which is not declared{suggestion(target.step, _known(steps))}")
        return
    taken = steps[name].input
    if target.has_input and taken is None:
        findings.add(f"{method}: the step {target.step!r} takes no input, but the transition gives one")
    elif target.has_input is False and taken is not None and not (taken.optional or taken.takes_none):
        findings.add(f"{method}: the step {target.step!r} takes an input ({taken.name}), but the transition gives none")


def resolved_settings(cls: type[Component[Any]], steps: Steps, findings: Findings) -> WorkflowSettings:
    """The class's settings with aliases replaced by declared names; what names no step is noted."""
    settings: object = getattr(cls, "settings", None)
    if settings is None or cls.__ankka_effects__.step is None:
        return WorkflowSettings()
    if not isinstance(settings, WorkflowSettings):
        findings.add(f"settings is {settings!r}; WorkflowSettings(…) is expected")
        return WorkflowSettings()

    def step(name: str, where: str) -> str:
        found = canonical(name, steps)
        if found is None:
            findings.add(f"settings: {where} names the step {name!r}, which is not declared{suggestion(name, _known(steps))}")
        return found or name

    def recovery(given: Recovery | None, where: str) -> Recovery | None:
        if given is None or given.failover_to is None:
            return given
        return replace(given, failover_to=step(given.failover_to, f"{where}.failover_to"))

    own: dict[str, StepSettings] = {}
    for name, one in settings.steps.items():
        known = step(name, f"steps[{name!r}]")
        if known in own:
            findings.add(f"settings: steps has the step {known!r} twice, also as {name!r}")
        own[known] = replace(one, recovery=recovery(one.recovery, f"steps[{name!r}].recovery"))
    return replace(
        settings,
        default_recovery=recovery(settings.default_recovery, "default_recovery"),
        steps=own,
        cancel_to=None if settings.cancel_to is None else step(settings.cancel_to, "cancel_to"),
    )


def check_failovers(settings: WorkflowSettings, steps: Steps, findings: Findings) -> None:
    """Note steps that are entered without an input but take one."""
    recoveries = [
        ("default_recovery", settings.default_recovery),
        *((f"steps[{name!r}].recovery", one.recovery) for name, one in settings.steps.items()),
    ]
    entered = [(f"{where}.failover_to", recovery.failover_to) for where, recovery in recoveries if recovery is not None]
    for where, name in [*entered, ("cancel_to", settings.cancel_to)]:
        taken = steps[name].input if name is not None and name in steps else None
        if taken is not None:
            findings.add(
                f"settings: {where} names the step {name!r}, which takes an input ({taken.name}); it is entered without one: read the state instead"
            )


def with_settings(steps: Steps, settings: WorkflowSettings) -> dict[str, StepDefinition]:
    """The steps with the limits that apply to them."""
    default_recovery = settings.default_recovery or Recovery()
    limited: dict[str, StepDefinition] = {}
    for name, step in steps.items():
        own = settings.steps.get(name, StepSettings())
        limited[name] = replace(
            step,
            timeout=own.timeout or settings.default_step_timeout,
            recovery=own.recovery or default_recovery,
            once=own.once,
        )
    return limited
