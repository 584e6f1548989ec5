# SPDX-License-Identifier: MIT
"""To numpy and back."""
from typing import Any

import torch


def to_numpy(tensor: torch.Tensor) -> Any:
    """A copy; bfloat16, which numpy has not, as float32."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy().copy()


def from_numpy(array: Any) -> torch.Tensor:
    """A copy; what torch 1 has not (uint16, uint32) as the next wider integers."""
    wider = {"uint16": "int32", "uint32": "int64"}.get(str(array.dtype))
    return torch.from_numpy(array.astype(wider) if wider else array.copy())
