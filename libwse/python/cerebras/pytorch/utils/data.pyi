# SPDX-License-Identifier: MIT
from typing import Any, Callable, Generic, Iterable, Iterator, Optional, Sized, TypeVar

_Batch = TypeVar("_Batch")

class DataLoader(Generic[_Batch]):
    input_fn: Callable[..., Iterable[_Batch]]
    def __init__(
        self, input_fn: Callable[..., Iterable[_Batch]], *args: Any, **kwargs: Any
    ) -> None: ...
    @property
    def dataloader(self) -> Iterable[_Batch]: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[_Batch]: ...

class RateTracker:
    rate: float
    def __init__(self) -> None: ...
    def add(self, samples: int) -> None: ...
    @property
    def global_rate(self) -> float: ...

class Profiler:
    rate_tracker: RateTracker
    def __init__(self) -> None: ...
    def rate(self) -> float: ...
    def global_rate(self) -> float: ...

class DataExecutor(Generic[_Batch]):
    dataloader: DataLoader[_Batch]
    num_steps: Optional[int]
    checkpoint_steps: int
    micro_batch_size: Optional[int]
    profiler: Profiler
    iteration: int
    cs_config: Any
    writer: Any
    def __init__(
        self,
        dataloader: DataLoader[_Batch],
        num_steps: Optional[int] = None,
        checkpoint_steps: Optional[int] = None,
        micro_batch_size: Any = None,
        cs_config: Any = None,
        writer: Any = None,
        **_: Any,
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def on_final_iteration(self) -> bool: ...
    @property
    def on_checkpoint(self) -> bool: ...
    def __iter__(self) -> Iterator[_Batch]: ...

def compute_num_steps(
    dataloader: Sized,
    initial_step: int = 0,
    num_steps: Optional[int] = None,
    max_steps: Optional[int] = None,
    num_epochs: Optional[int] = None,
    steps_per_epoch: Optional[int] = None,
    grad_accum_steps: int = 1,
) -> int: ...
