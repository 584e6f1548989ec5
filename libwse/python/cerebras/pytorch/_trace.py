# SPDX-License-Identifier: MIT
"""Capture of a step: the body of a function runs once and only says what is asked for."""
import functools
import os
import sys
from typing import Any, Callable, List, Optional

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten

import wse

from . import _backend
from ._program import Program

_OURS = tuple(os.path.dirname(m.__file__ or "") + os.sep for m in (torch, wse, _backend))
# what a body may ask of a tensor: all that does not depend on its numbers
_LOOKS = ("dim", "size", "numel", "stride", "__len__", "is_floating_point", "__hash__")
_MODES = ("_set_grad_enabled", "set_grad_enabled", "is_grad_enabled")


def user_line() -> str:
    """The innermost line that is neither torch's nor ours."""
    frame = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_OURS):
            return f" at {frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return ""


class StepError(RuntimeError):
    """What a traced step cannot do, with its line. (Operators of torch swallow a TypeError.)"""


class _Body(TorchFunctionMode):
    """Around a body: an operation that would run here and not on a wafer is refused."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", str(func))
        if name == "__get__" and func == torch.Tensor.grad.__get__:  # type: ignore[attr-defined]
            if sys._getframe(1).f_code.co_name != "zero_grad":
                raise StepError(
                    f"a gradient is read{user_line()}: gradients are on the wafers; clip them by "
                    "torch.nn.utils.clip_grad_norm_(), by that name"
                )
        elif name not in ("__get__", *_LOOKS, *_MODES):
            raise StepError(
                f"{name}(){user_line()}: a traced step computes on wafers, which run the compiled "
                "model, its loss, backward(), clip_grad_norm_() and the optimizer: compute the rest "
                "in a function under @step_closure, or in the module's forward()"
            )
        return func(*args, **(kwargs or {}))


class Loss(torch.Tensor):
    """What a compiled model returns in a traced function: the mean loss of the last step."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    def backward(self, *_: Any, **__: Any) -> None:  # type: ignore[override]
        recorder = _backend.current_backend().recorder
        if recorder is None:
            raise RuntimeError(
                "backward() outside of a traced function: put it into one (@cerebras.pytorch.trace)"
            )
        recorder.backward(self)


class Recorder:
    """What the body of a traced function asks for."""

    def __init__(self, leaves: List[Any]) -> None:
        self.leaves = leaves
        self.model: Optional["Compiled"] = None
        self.inputs: List[int] = []
        self.loss = torch.zeros(()).as_subclass(Loss)
        self.did: List[str] = []
        self.max_norm = 0.0
        self.optimizer: Any = None
        self.scheduler: Any = None

    def once(self, what: str, after: str = "") -> None:
        if what in self.did:
            raise StepError(f"{what}{user_line()}: a traced step does it once")
        if after and after not in self.did:
            raise StepError(f"{what}{user_line()}: {after} is to come before it")
        self.did.append(what)

    def call(self, model: "Compiled", tensors: List[Any]) -> Loss:
        self.once("the model")
        self.model = model
        for n, t in enumerate(tensors):
            at = [i for i, leaf in enumerate(self.leaves) if leaf is t]
            if not at:
                raise StepError(
                    f"argument {n + 1} of the model{user_line()} is no tensor of the batch: pass "
                    "them as they came"
                )
            self.inputs.append(at[0])
        if len(tensors) != 2:
            raise StepError(
                f"the model is called with {len(tensors)} tensor{'s' * (len(tensors) != 1)}"
                f"{user_line()}: with tokens and labels it returns the loss that a step needs"
            )
        return self.loss

    def backward(self, loss: Loss) -> None:
        self.once("backward()")
        if loss is not self.loss or "the model" not in self.did:
            raise StepError(f"backward(){user_line()} is not of this step's loss")

    def clip(self, parameters: Any, max_norm: float, norm_type: float = 2.0, **_: Any) -> Any:
        self.once("clip_grad_norm_()", "backward()")
        if "optimizer.step()" in self.did:
            raise StepError(f"clip_grad_norm_(){user_line()} is to come before optimizer.step()")
        given = [parameters] if isinstance(parameters, torch.Tensor) else parameters
        model = self.model.module if self.model else None
        if float(norm_type) != 2.0 or {id(p) for p in given} != {
            id(p) for p in (model.parameters() if model else ())
        }:
            raise StepError(
                f"clip_grad_norm_(){user_line()}: one norm over all parameters of the model, "
                "norm_type 2, is what MemoryX clips"
            )
        self.max_norm = float(max_norm)

    def step(self, optimizer: Any) -> None:
        self.once("optimizer.step()", "backward()")
        self.optimizer = optimizer

    def schedule(self, scheduler: Any) -> None:
        self.once("lr_scheduler.step()", "optimizer.step()")
        self.scheduler = scheduler


class Compiled:
    """What compile() returns: called in a traced function as the module would be."""

    def __init__(self, module: torch.nn.Module, backend: Any) -> None:
        self.module, self.backend = module, backend

    def __call__(self, *tensors: Any, **named: Any) -> Any:
        recorder = self.backend.recorder
        if recorder is None:
            raise RuntimeError(
                f"a compiled {type(self.module).__name__} is called outside of a traced function: "
                "put the step into one (@cerebras.pytorch.trace)"
            )
        return recorder.call(self, [*tensors, *named.values()])

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["module"], name)


def compile(  # pylint: disable=redefined-builtin
    model: torch.nn.Module, backend: Any = None, **_: Any
) -> Compiled:
    """A module for the backend, which takes one. It is read at the first step."""
    backend = backend or _backend.current_backend()
    if backend.model is not None and backend.model is not model:
        raise RuntimeError(f"the backend has a model, {type(backend.model).__name__}: it takes one")
    backend.model = model
    return Compiled(model, backend)


class _Clip:
    """While a body runs, torch's clip_grad_norm_() is the recorder's."""

    def __init__(self, recorder: Recorder) -> None:
        self.places = (torch.nn.utils, torch.nn.utils.clip_grad)
        self.old, self.new = [m.clip_grad_norm_ for m in self.places], recorder.clip

    def __enter__(self) -> None:
        for m in self.places:
            m.clip_grad_norm_ = self.new  # type: ignore[assignment]

    def __exit__(self, *exc: Any) -> None:
        for m, old in zip(self.places, self.old):
            m.clip_grad_norm_ = old  # type: ignore[assignment]


def _record(backend: Any, function: Callable[..., Any], arguments: Any, named: Any) -> Program:
    leaves, spec = tree_flatten((list(arguments), named))
    recorder = Recorder(leaves)
    with backend.recording(recorder), _Clip(recorder), _Body():
        result = function(*arguments, **named)
    for leaf in tree_flatten(result)[0]:
        if isinstance(leaf, torch.Tensor) and leaf is not recorder.loss:
            raise StepError(
                f"{function.__name__}() returns a tensor that is not its model's loss: a step of "
                "wafers gives no other"
            )
    if recorder.model is None:
        raise StepError(f"{function.__name__}() calls no compiled model: there is no step in it")
    if "backward()" in recorder.did and recorder.optimizer is None:
        raise StepError(
            f"{function.__name__}() has backward() and no optimizer.step(): a step of wafers has "
            "both (a larger batch is what adds up gradients)"
        )
    return Program(backend, function.__name__, recorder, spec, result)


def trace(function: Callable[..., Any]) -> Callable[..., Any]:
    """
    A step: the body of the function runs at its first call alone, and says what a step is: the
    compiled model's loss, backward(), clip_grad_norm_(), the steps of optimizer and scheduler. Each
    call, the first one too, is such a step, and returns the same objects. Without backward() it is
    the loss alone.
    """
    made: List[Program] = []

    @functools.wraps(function)
    def step(*arguments: Any, **named: Any) -> Any:
        if made and made[0].backend.closed:
            raise RuntimeError(f"{function.__name__}(): its backend is closed")
        backend = _backend.current_backend()
        if backend.tracing:
            raise RuntimeError(f"{function.__name__}() is called in a traced function, as another")
        if not made:
            made.append(_record(backend, function, arguments, named))
        return made[0].run(arguments, named)

    return step
