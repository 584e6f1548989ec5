# SPDX-License-Identifier: MIT
from typing import Any, Dict, List, Optional, Sequence

from . import Optimizer

class LRScheduler:
    optimizer: Optimizer
    last_epoch: int
    def __init__(self, optimizer: Optimizer) -> None: ...
    def step(self, *_: Any) -> None: ...
    def get_last_lr(self) -> List[float]: ...
    def get_lr(self) -> List[float]: ...
    def state_dict(self) -> Dict[str, Any]: ...
    def load_state_dict(self, state: Dict[str, Any]) -> None: ...

class LinearLR(LRScheduler):
    initial_learning_rate: float
    end_learning_rate: float
    total_iters: int
    def __init__(
        self,
        optimizer: Optimizer,
        initial_learning_rate: float,
        end_learning_rate: float,
        total_iters: int,
        **_: Any,
    ) -> None: ...

class CosineDecayLR(LRScheduler):
    initial_learning_rate: float
    end_learning_rate: float
    total_iters: int
    def __init__(
        self,
        optimizer: Optimizer,
        initial_learning_rate: float,
        end_learning_rate: float,
        total_iters: int,
        **_: Any,
    ) -> None: ...

class ConstantLR(LRScheduler):
    learning_rate: float
    total_iters: int
    def __init__(
        self,
        optimizer: Optimizer,
        learning_rate: float,
        total_iters: Optional[int] = None,
        **_: Any,
    ) -> None: ...

class SequentialLR(LRScheduler):
    schedulers: List[LRScheduler]
    milestones: Optional[Sequence[int]]
    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Optional[Sequence[int]] = None,
        last_epoch: int = -1,
        **_: Any,
    ) -> None: ...
