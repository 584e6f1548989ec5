# SPDX-License-Identifier: MIT
"""Files of states: torch's form."""
import os
from typing import Any, Union

import torch

Path = Union[str, "os.PathLike[str]"]


def save(state: Any, path: Path) -> None:
    """state, a dict of state_dicts say, in a file: the old one or the new one, never half of it."""
    path = os.fspath(path)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    new = f"{path}.{os.getpid()}.new"
    try:
        torch.save(state, new)
        os.replace(new, path)
    finally:
        if os.path.exists(new):
            os.remove(new)


def load(path: Path, map_location: Any = "cpu", **_: Any) -> Any:
    """What save() wrote, or another file of torch.save()."""
    return torch.load(path, map_location=map_location)
