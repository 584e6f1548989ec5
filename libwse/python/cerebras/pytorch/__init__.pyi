# SPDX-License-Identifier: MIT
from typing import Any, Callable, Literal, Optional, TypeVar, overload

import torch

from . import amp as amp, backends as backends, distributed as distributed
from . import optim as optim, utils as utils
from ._backend import Backend as Backend, backend as backend, use_cs as use_cs
from ._checkpoint import load as load, save as save
from ._convert import from_numpy as from_numpy, to_numpy as to_numpy
from ._trace import Compiled as Compiled

_Step = TypeVar("_Step", bound=Callable[..., Any])

@overload
def current_backend(raise_exception: Literal[True] = True) -> Backend: ...
@overload
def current_backend(raise_exception: bool) -> Optional[Backend]: ...
def compile(model: torch.nn.Module, backend: Optional[Backend] = None, **_: Any) -> Compiled: ...
def trace(function: _Step) -> _Step: ...
def step_closure(function: Callable[..., Any]) -> Callable[..., None]: ...
def checkpoint_closure(function: Callable[..., Any]) -> Callable[..., None]: ...
