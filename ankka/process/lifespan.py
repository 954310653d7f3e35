"""Opens what a service's `lifespan` yields, once per process."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack
from typing import Any, cast

_Manager = AbstractAsyncContextManager[Any, Any] | AbstractContextManager[Any, Any]
Lifespan = _Manager | Callable[[], _Manager]
"""A context manager, sync or async, or a function without arguments that makes one."""


async def enter_lifespan(stack: AsyncExitStack, lifespan: Lifespan | None) -> Any:
    """What `lifespan` yields (`None` without one); it is left when `stack` is closed."""
    if lifespan is None:
        return None
    manager: Any = lifespan
    if not isinstance(manager, AbstractAsyncContextManager | AbstractContextManager) and callable(manager):
        manager = manager()
    if isinstance(manager, AbstractAsyncContextManager):
        return await stack.enter_async_context(cast("AbstractAsyncContextManager[Any]", manager))
    if isinstance(manager, AbstractContextManager):
        return stack.enter_context(cast("AbstractContextManager[Any]", manager))
    raise TypeError(f"lifespan={lifespan!r} gives no context manager; write a function decorated with @contextlib.asynccontextmanager")
