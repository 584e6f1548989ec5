# SPDX-License-Identifier: MIT
from typing import Any, Dict, Tuple

import torch

from . import lr_scheduler as lr_scheduler

def file_of(state: Any) -> bytes: ...

class Optimizer(torch.optim.Optimizer):
    def __init__(self, params: Any, defaults: Dict[str, Any]) -> None: ...
    def step(self, closure: None = None) -> None: ...  # type: ignore[override]
    def zero_grad(self, set_to_none: bool = True) -> None: ...
    def state_dict(self) -> Dict[str, Any]: ...
    def load_state_dict(self, state_dict: Any) -> None: ...

class AdamW(Optimizer):
    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: Tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        correct_bias: bool = True,
        amsgrad: bool = False,
    ) -> None: ...

class Adam(Optimizer):
    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: Tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
    ) -> None: ...

class SGD(Optimizer):
    def __init__(
        self,
        params: Any,
        lr: float,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None: ...
