# SPDX-License-Identifier: MIT
"""
Optimizers. Their arithmetic is MemoryX's: these say which one, with which numbers, and have its
moments when a checkpoint is taken.
"""
import json
import os
import tempfile
from typing import Any, Dict, List, Optional

import torch

import wse

from .. import _backend
from . import lr_scheduler

__all__ = ["Adam", "AdamW", "Optimizer", "SGD", "lr_scheduler"]
_MOMENTS = ("exp_avg", "exp_avg_sq", "momentum_buffer")


def file_of(state: Any) -> bytes:
    """The checkpoint of libwse in an optimizer's state_dict()."""
    words = state.get("wse") if isinstance(state, dict) else None
    if words is None:
        raise ValueError("there is no optimizer state of libwse in it: take its weights alone")
    return words.contiguous().view(torch.uint8).numpy().tobytes()


class Optimizer(torch.optim.Optimizer):
    """What all have in common."""

    _kind = ""

    def __init__(self, params: Any, defaults: Dict[str, Any]) -> None:
        super().__init__(params, defaults)
        self._scheduled = False
        self._words: Optional[torch.Tensor] = None  # a checkpoint of libwse, as binary32

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """In a traced function: its step ends with an update."""
        recorder = _backend.current_backend().recorder
        if recorder is None:
            raise RuntimeError("optimizer.step() belongs into a traced function")
        if closure is not None:
            raise ValueError("optimizer.step(closure): a traced step has one forward pass")
        recorder.step(self)

    step.hooked = True  # type: ignore[attr-defined]  # torch's profiler would wrap it

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Gradients begin at zero in every step."""

    def _one(self, name: str) -> Any:
        """A number that all groups have."""
        values = [g[name] for g in self.param_groups]
        if any(v != values[0] for v in values):
            raise ValueError(f"{name} is {values}: all groups of parameters have one")
        return values[0]

    def _members(self, model: torch.nn.Module) -> Dict[str, Any]:
        """Of struct wse_train_shape."""
        names = {id(p): n for n, p in model.named_parameters()}
        decay = {id(p): float(g["weight_decay"]) for g in self.param_groups for p in g["params"]}
        left = [n for i, n in names.items() if i not in decay]
        if left or len(decay) != len(names):
            raise ValueError(
                f"the optimizer has {len(decay)} parameters, the model {len(names)}"
                + (f"; {left[0]} is in no group" if left else "")
            )
        matrices = {decay[id(p)] for p in model.parameters() if p.dim() > 1}
        for p in model.parameters():
            if p.dim() < 2 and decay[id(p)] != 0.0:
                raise ValueError(
                    f"weight_decay {decay[id(p)]} of {names[id(p)]}: MemoryX decays matrices, so put "
                    "vectors into a group with weight_decay 0"
                )
        if len(matrices) > 1:
            raise ValueError(f"weight_decay is {sorted(matrices)}: all matrices have one")
        return {
            "optimizer": self._kind,
            "lr": float(self._one("lr")),
            "weight_decay": matrices.pop() if matrices else 0.0,
        }

    # ---- states ----

    def _did(self, result: Any) -> None:
        for group in self.param_groups:
            group["lr"] = result.lr

    def _fetch(self, backend: Any) -> None:
        """The trainer's checkpoint, and the moments as views of it."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "state.safetensors")
            backend.trainer.save(path)
            raw = bytearray(os.path.getsize(path))
            with open(path, "rb") as f:
                f.readinto(raw)
        self._words = torch.frombuffer(raw, dtype=torch.float32)
        begin = 8 + int.from_bytes(raw[:8], "little")
        header = json.loads(raw[8:begin])
        step = int(header["__metadata__"]["wse.step"])
        named = dict(backend.model.named_parameters())
        for name, value in backend.trainer.tensors.items():
            parts = [named[n] for n in backend.captured.names[name]]
            now = torch.from_dlpack(value)
            at = lambda entry: (  # noqa: E731
                self._words[(begin + entry["data_offsets"][0]) // 4 :][
                    : (entry["data_offsets"][1] - entry["data_offsets"][0]) // 4
                ].view(entry["shape"])
            )
            turned = (
                not torch.equal(at(header[name]).view(torch.int32), now.view(torch.int32))
                if (at(header[name]).shape == now.shape)
                else True
            )
            for moment in _MOMENTS:
                entry = header.get(f"optimizer.{moment}.{name}")
                if entry is None:
                    continue
                whole = at(entry).t() if turned else at(entry)
                for p, part in zip(parts, whole.split([len(p) for p in parts])):
                    self.state[p].update({moment: part, "step": step})

    def state_dict(self) -> Any:
        """As torch's, with the checkpoint of libwse that its moments are views of."""
        return {**super().state_dict(), "wse": self._words}

    def load_state_dict(self, state_dict: Any) -> None:
        """What state_dict() gave; before the first step."""
        if _backend.current_backend().trainer is not None:
            raise RuntimeError("the optimizer's state is loaded before the first step")
        file_of(state_dict)
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "wse"})
        self._words = state_dict["wse"]

    def _restore(self, trainer: wse.Trainer) -> None:
        if self._words is None:
            return
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "state.safetensors")
            with open(path, "wb") as f:
                f.write(file_of({"wse": self._words}))
            trainer.load(path, "rates_new")


class _Adams(Optimizer):
    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
    ) -> None:
        if amsgrad:
            raise ValueError("amsgrad=True: MemoryX has no such moment")
        if not all(0.0 < b < 1.0 for b in betas) or not eps > 0.0:
            raise ValueError(f"betas {betas}, eps {eps}: betas are between 0 and 1, eps is above 0")
        numbers = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, numbers)

    def _members(self, model: torch.nn.Module) -> Dict[str, Any]:
        betas = self._one("betas")
        return {
            **super()._members(model),
            "beta1": float(betas[0]),
            "beta2": float(betas[1]),
            "eps": float(self._one("eps")),
        }


class AdamW(_Adams):
    """Decay beside the update; moments are corrected for their beginning at zero."""

    _kind = "adamw"

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        correct_bias: bool = True,
        amsgrad: bool = False,
    ) -> None:
        if not correct_bias:
            raise ValueError("correct_bias=False: MemoryX corrects moments for their beginning")
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad)


class Adam(_Adams):
    """Decay is part of the gradient."""

    _kind = "adam"


class SGD(Optimizer):
    """With momentum."""

    _kind = "sgd"

    def __init__(
        self,
        params: Any,
        lr: float,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        if dampening or nesterov:
            raise ValueError("dampening and nesterov: MemoryX has plain momentum")
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    def _members(self, model: torch.nn.Module) -> Dict[str, Any]:
        return {**super()._members(model), "momentum": float(self._one("momentum"))}
