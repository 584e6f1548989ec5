# SPDX-License-Identifier: MIT
"""Code of the host between steps."""
import functools
from typing import Any, Callable

import torch
from torch.utils._pytree import tree_map

from ._backend import current_backend
from ._trace import Loss


def _plain(value: Any) -> Any:
    """What it is now, in a tensor that the next step does not change."""
    return value.as_subclass(torch.Tensor).clone() if isinstance(value, Loss) else value


def _closure(function: Callable[..., Any], due: Callable[[Any], bool]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> None:
        backend = current_backend()
        if backend.tracing:
            raise RuntimeError(
                f"{function.__name__}() is code of the host: call it behind the traced function, "
                "whose result has its numbers"
            )
        if not due(backend):
            return
        function(*tree_map(_plain, list(arguments)), **tree_map(_plain, named))

    return call


def step_closure(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that may read what a traced function returned. Its own result is dropped."""
    return _closure(function, lambda backend: not backend.planning)


def checkpoint_closure(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs after the steps at which the executor takes checkpoints; outside of an
    executor always. The module and the optimizer then have the trainer's numbers."""

    def due(backend: Any) -> bool:
        executor = backend.executor
        if backend.planning or executor is not None and not executor.on_checkpoint:
            return False
        backend.fetch()
        return True

    return _closure(function, due)
