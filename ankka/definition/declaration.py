"""From a definition to what the sidecar is told: durations in µs, every step with the settings that apply to it."""

from ankka.definition.definitions import ComponentDefinition, HandlerDefinition, InputDefinition, StepDefinition
from ankka.definition.settings import Recovery, microseconds
from ankka.protocol.spec import BackoffSpec, ComponentSpec, HandlerSpec, RecoverySpec, StepSpec, TypeSpec


def spec_of(definition: ComponentDefinition) -> ComponentSpec:
    """The declaration of one component."""
    settings = definition.settings
    return ComponentSpec(
        component=definition.component_id,
        kind=definition.kind,
        handlers=tuple(_handler(handler) for handler in definition.handlers.values()),
        steps=tuple(_step(step) for step in definition.steps.values()),
        state=definition.state_codec.spec(),
        manifest=definition.state_codec.manifest,
        fingerprint=definition.fingerprint(),
        timeout=None if settings.timeout is None else microseconds(settings.timeout),
        cancel_to=settings.cancel_to,
        snapshot_every=definition.snapshot_every,
        snapshot_version=definition.snapshot_version,
    )


def _handler(handler: HandlerDefinition) -> HandlerSpec:
    return HandlerSpec(
        name=handler.name,
        reply=handler.reply_codec.spec(),
        read_only=handler.read_only,
        input=_input(handler.input),
        summary=handler.summary,
    )


def _step(step: StepDefinition) -> StepSpec:
    return StepSpec(
        name=step.name,
        timeout=microseconds(step.timeout),
        aliases=step.aliases,
        recovery=_recovery(step.recovery),
        input=_input(step.input),
        once=step.once,
        threaded=step.threaded,
    )


def _input(definition: InputDefinition | None) -> TypeSpec | None:
    if definition is None:
        return None
    return definition.codec.spec(optional=definition.optional)


def _recovery(recovery: Recovery) -> RecoverySpec:
    backoff = recovery.backoff
    return RecoverySpec(
        max_retries=recovery.max_retries,
        failover_to=recovery.failover_to,
        backoff=None
        if backoff is None
        else BackoffSpec(
            initial=microseconds(backoff.initial),
            factor=float(backoff.factor),
            maximum=None if backoff.maximum is None else microseconds(backoff.maximum),
            jitter=float(backoff.jitter),
        ),
        not_on=tuple(error if isinstance(error, str) else f"{error.__module__}.{error.__qualname__}" for error in recovery.not_on),
    )
