# SPDX-License-Identifier: MIT
"""Learning rates by step. MemoryX computes them; these say which."""
from typing import Any, Dict, List, Optional, Sequence

from .. import _backend


class LRScheduler:
    """What all have in common; the numbers are those of the Model Zoo's files."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = optimizer
        self.last_epoch = 0
        self._last: Optional[float] = None
        optimizer._scheduled = True

    def step(self, *_: Any) -> None:
        """In a traced function, behind optimizer.step()."""
        recorder = _backend.current_backend().recorder
        if recorder is None:
            raise RuntimeError("lr_scheduler.step() belongs into a traced function")
        recorder.schedule(self)

    def _parts(self, begin: int) -> List[Dict[str, Any]]:
        """Members of struct wse_sched, from this step on."""
        raise NotImplementedError

    def _all(self) -> List[Dict[str, Any]]:
        return self._parts(0)

    def _did(self, result: Any) -> None:
        self.last_epoch += 1
        self._last = result.lr

    def get_last_lr(self) -> List[float]:
        """The rate of the last step, for each group; before the first one the optimizer's."""
        groups = self.optimizer.param_groups
        return [g["lr"] if self._last is None else self._last for g in groups]

    get_lr = get_last_lr

    def state_dict(self) -> Dict[str, Any]:
        """The steps that were done."""
        return {"last_epoch": self.last_epoch}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """What state_dict() gave; before the first step."""
        if _backend.current_backend().trainer is not None:
            raise RuntimeError("a scheduler's state is loaded before the first step")
        self.last_epoch = int(state["last_epoch"])


def _steps(total_iters: Any) -> int:
    if isinstance(total_iters, bool) or not isinstance(total_iters, int) or total_iters < 1:
        raise ValueError(f"total_iters is {total_iters!r}: a number of steps, from 1 on")
    return total_iters


class _Between(LRScheduler):
    _kind = ""

    def __init__(
        self,
        optimizer: Any,
        initial_learning_rate: float,
        end_learning_rate: float,
        total_iters: int,
        **_: Any,
    ) -> None:
        super().__init__(optimizer)
        self.initial_learning_rate, self.end_learning_rate = (
            float(initial_learning_rate),
            float(end_learning_rate),
        )
        self.total_iters = _steps(total_iters)

    def _parts(self, begin: int) -> List[Dict[str, Any]]:
        return [
            {
                "kind": self._kind,
                "from": self.initial_learning_rate,
                "to": self.end_learning_rate,
                "total_iters": self.total_iters,
                "begin": begin,
            }
        ]


class LinearLR(_Between):
    """On a line to the end, and there from total_iters on."""

    _kind = "linear"


class CosineDecayLR(_Between):
    """On half a cosine to the end, and there from total_iters on."""

    _kind = "cosine"


class ConstantLR(LRScheduler):
    """One rate."""

    def __init__(
        self, optimizer: Any, learning_rate: float, total_iters: Optional[int] = None, **_: Any
    ) -> None:
        super().__init__(optimizer)
        self.learning_rate = float(learning_rate)
        self.total_iters = 1 if total_iters is None else _steps(total_iters)

    def _parts(self, begin: int) -> List[Dict[str, Any]]:
        rate = self.learning_rate
        return [
            {
                "kind": "constant",
                "from": rate,
                "to": rate,
                "total_iters": self.total_iters,
                "begin": begin,
            }
        ]


class SequentialLR(LRScheduler):
    """One after the other, the next from its milestone on."""

    def __init__(
        self,
        optimizer: Any,
        schedulers: Sequence[LRScheduler],
        milestones: Optional[Sequence[int]] = None,
        last_epoch: int = -1,
        **_: Any,
    ) -> None:
        super().__init__(optimizer)
        if not schedulers or any(isinstance(s, SequentialLR) for s in schedulers):
            raise ValueError("schedulers: one or more, and no SequentialLR in another")
        if milestones is not None and len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"{len(milestones)} milestones for {len(schedulers)} schedulers: one less than "
                "schedulers"
            )
        self.schedulers, self.milestones = list(schedulers), milestones
        self.last_epoch = max(last_epoch, 0)

    def _parts(self, begin: int) -> List[Dict[str, Any]]:
        out: List[Dict[str, Any]] = []
        for i, s in enumerate(self.schedulers):
            if i:
                begin = (
                    begin + out[-1]["total_iters"]
                    if self.milestones is None
                    else int(self.milestones[i - 1])
                )
            out += s._parts(begin)
        return out
