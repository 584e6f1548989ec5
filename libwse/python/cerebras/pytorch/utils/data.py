# SPDX-License-Identifier: MIT
"""Batches: a loader that the user's function makes, and the loop over it."""
import math
import operator
import time
from typing import Any, Callable, Iterator, Optional

from .._backend import current_backend


class DataLoader:
    """What input_fn(*args, **kwargs) returns, which is a torch DataLoader or another iterable of
    batches; it is called when the first one is asked for."""

    def __init__(self, input_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        self.input_fn, self._args, self._kwargs = input_fn, args, kwargs
        self._made: Any = None

    @property
    def dataloader(self) -> Any:
        """What the function returned."""
        if self._made is None:
            self._made = self.input_fn(*self._args, **self._kwargs)
        return self._made

    def __len__(self) -> int:
        return len(self.dataloader)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.dataloader)


class RateTracker:
    """Samples a second, by this machine's clock."""

    def __init__(self) -> None:
        self._begin = self._last = time.monotonic()
        self._samples, self.rate = 0, 0.0

    def add(self, samples: int) -> None:
        """A step is done."""
        now = time.monotonic()
        self.rate = samples / max(now - self._last, 1e-9)
        self._last, self._samples = now, self._samples + samples

    @property
    def global_rate(self) -> float:
        """Since the loop began."""
        return self._samples / max(self._last - self._begin, 1e-9)


class Profiler:
    """rate() of the last step and global_rate() of all, in samples a second."""

    def __init__(self) -> None:
        self.rate_tracker = RateTracker()

    def rate(self) -> float:
        """Of the last step."""
        return self.rate_tracker.rate

    def global_rate(self) -> float:
        """Of all steps."""
        return self.rate_tracker.global_rate


def _steps(name: str, n: Any, least: int) -> Optional[int]:
    """A whole number, of numpy or torch, too."""
    try:
        whole = None if n is None else operator.index(n)
    except TypeError:
        whole = -1
    if whole is not None and whole < least:
        raise ValueError(f"{name} is {n!r}: a number of steps, from {least} on")
    return whole


class DataExecutor:
    """
    The batches of num_steps steps (None: of all that the loader has once), which begins anew when
    it ends before. Checkpoints are taken every checkpoint_steps steps, and at the last one.
    """

    def __init__(
        self,
        dataloader: DataLoader,
        num_steps: Optional[int] = None,
        checkpoint_steps: Optional[int] = None,
        micro_batch_size: Any = None,
        cs_config: Any = None,
        writer: Any = None,
        **_: Any,
    ) -> None:
        self.dataloader, self.writer = dataloader, writer
        self.num_steps = _steps("num_steps", num_steps, 1)
        self.checkpoint_steps = _steps("checkpoint_steps", checkpoint_steps, 0) or 0
        self.micro_batch_size = micro_batch_size if isinstance(micro_batch_size, int) else None
        self.profiler = Profiler()
        self.iteration = 0  # from 1 on, while the loop runs
        self.cs_config = cs_config

    def __len__(self) -> int:
        return len(self.dataloader) if self.num_steps is None else self.num_steps

    @property
    def on_final_iteration(self) -> bool:
        """Is this the last step?"""
        return self.iteration >= len(self)

    @property
    def on_checkpoint(self) -> bool:
        """Is a checkpoint taken after this step?"""
        return bool(
            self.on_final_iteration
            or self.checkpoint_steps
            and self.iteration % self.checkpoint_steps == 0
        )

    def _did(self, samples: int) -> None:
        self.profiler.rate_tracker.add(samples)

    def __iter__(self) -> Iterator[Any]:
        backend = current_backend()
        # a loop that an exception ended may still be there, in its traceback: the new one counts
        backend.executor, self.profiler, self.iteration = self, Profiler(), 0
        try:
            while self.iteration < len(self):
                before = self.iteration
                for batch in self.dataloader:
                    self.iteration += 1
                    yield batch
                    if self.iteration >= len(self) or backend.planning:
                        return
                if self.iteration == before:
                    raise ValueError("the dataloader has no batch: its data are less than one")
        finally:
            if backend.executor is self:
                backend.executor = None


def compute_num_steps(
    dataloader: Any,
    initial_step: int = 0,
    num_steps: Optional[int] = None,
    max_steps: Optional[int] = None,
    num_epochs: Optional[int] = None,
    steps_per_epoch: Optional[int] = None,
    grad_accum_steps: int = 1,
) -> int:
    """Steps to run from initial_step on: num_steps of them, up to max_steps, or of num_epochs."""
    if num_steps is not None and num_epochs is not None:
        raise ValueError("num_steps and num_epochs: give one of them")
    if num_epochs is not None:
        per = steps_per_epoch or math.floor(len(dataloader) / grad_accum_steps)
        num_steps = per * num_epochs
    left = [] if num_steps is None else [num_steps]
    left += [] if max_steps is None else [max_steps - initial_step]
    if not left:
        raise ValueError("give num_steps, max_steps or num_epochs")
    if min(left) <= 0:
        raise ValueError(f"{min(left)} steps are left from step {initial_step} on")
    return min(left)
