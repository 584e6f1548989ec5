# SPDX-License-Identifier: MIT
"""
Mixed precision. Wafers of libwse hold weights and activations in bfloat16 and sum in binary32, the
masters in MemoryX are binary32: that is all there is to choose, and losses need no scale.
"""
from contextlib import contextmanager
from typing import Any, Iterator, Union

import torch


def set_half_dtype(dtype: Union[str, torch.dtype]) -> torch.dtype:
    """bfloat16 is what wafers have; another one is refused."""
    if str(dtype).rpartition(".")[2] != "bfloat16":
        raise ValueError(
            f"half dtype {dtype}: a wafer computes in bfloat16, so set_half_dtype('bfloat16')"
        )
    return torch.bfloat16


def get_half_dtype() -> torch.dtype:
    """torch.bfloat16"""
    return torch.bfloat16


def use_bfloat16(value: bool = True) -> bool:
    """As set_half_dtype()."""
    if not value:
        raise ValueError("a wafer computes in bfloat16: use_bfloat16(True)")
    return True


@contextmanager
def autocast(*_: Any, **__: Any) -> Iterator[None]:
    """Does nothing: see above."""
    yield


class GradScaler:
    """Passes everything on: bfloat16 has the range of binary32."""

    def __init__(self, loss_scale: Any = None, **_: Any) -> None:
        if loss_scale not in (None, 1, 1.0, "dynamic"):
            raise ValueError(
                f"loss_scale {loss_scale}: losses in bfloat16 need none, so leave it out"
            )

    def scale(self, loss: Any) -> Any:
        """The loss as it is."""
        return loss

    def unscale_(self, optimizer: Any) -> None:
        """Nothing was scaled."""

    def step(self, optimizer: Any) -> None:
        """The optimizer's step."""
        optimizer.step()

    def update(self) -> None:
        """There is no scale."""

    def state_dict(self) -> Any:
        """Empty."""
        return {}

    def load_state_dict(self, state: Any) -> None:
        """Nothing to take."""
