# SPDX-License-Identifier: MIT
"""What a torch module does, by torch.fx: every call with its line, and an example of its value."""
import inspect
import operator
import os
import traceback
from typing import Any, Dict, List, NoReturn, Optional, Tuple

import torch
from torch import fx, nn

_TORCH = os.path.dirname(torch.__file__)


class Unsupported(TypeError):
    """What a module does that a model of libwse does not, by name and line."""


class _Proxy(fx.Proxy):
    """A traced value that knows an example of itself: its shape is plain numbers."""

    value: Any = None

    def __getattr__(self, name: str) -> Any:
        if name in ("shape", "device", "dtype", "ndim"):
            return getattr(self.value, name)
        if name in ("size", "dim", "numel", "__len__"):
            return getattr(self.value, name)
        return super().__getattr__(name)

    def __len__(self) -> int:
        return len(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __iter__(self) -> Any:
        # type: ignore[call-overload]
        return (operator.getitem(self, i) for i in range(len(self.value)))


class _Tracer(fx.Tracer):
    """torch.fx, which runs what it traces on an example beside it."""

    def __init__(self, examples: List[torch.Tensor]) -> None:
        super().__init__()
        self.examples = list(examples)
        self.values: Dict[fx.Node, Any] = {}
        self._running = False  # calls and parameters are then those of torch
        self._forward: Any = None

    def call_module(self, m: nn.Module, forward: Any, args: Any, kwargs: Any) -> Any:
        if self._running:
            return forward(*args, **kwargs)
        if all(m is not own for own in self.root.modules()):
            return forward(*args, **kwargs)  # made in forward(): what it calls is traced
        self._forward = forward
        return super().call_module(m, forward, args, kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: Dict[str, Any]) -> Any:
        return attr_val if self._running else super().getattr(attr, attr_val, parameter_proxy_cache)

    def proxy(self, node: fx.Node) -> fx.Proxy:
        return _Proxy(node, self)

    def create_proxy(
        self, kind: str, target: Any, args: Any, kwargs: Any, *more: Any, **options: Any
    ) -> Any:
        proxy = super().create_proxy(kind, target, args, kwargs, *more, **options)
        if kind == "output":
            return proxy
        plain = lambda a: a.value if isinstance(a, _Proxy) else a  # noqa: E731
        forward, self._running = self._forward, True
        try:
            proxy.value = self._run(
                kind,
                target,
                forward,
                fx.node.map_aggregate(args, plain),
                fx.node.map_aggregate(kwargs, plain),
            )
        finally:
            self._running = False
        self.values[proxy.node] = proxy.value
        proxy.node.meta["line"] = _user_line()
        return proxy

    def _run(self, kind: str, target: Any, forward: Any, args: Any, kwargs: Any) -> Any:
        if kind == "placeholder":
            return self.examples.pop(0)
        if kind == "get_attr":
            return operator.attrgetter(target)(self.root)
        if kind == "call_method":
            return getattr(args[0], target)(*args[1:], **kwargs)
        return (forward if kind == "call_module" else target)(*args, **kwargs)


def _user_line() -> str:
    """The innermost line of the traced module that is neither torch's nor ours."""
    frame = inspect.currentframe()
    while frame and frame.f_code is not trace.__code__:
        file = frame.f_code.co_filename
        if file != __file__ and not file.startswith(_TORCH):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def where(node: fx.Node) -> str:
    """What is called, and the line that calls it."""
    what = (
        str(node.target)
        if isinstance(node.target, str)
        else getattr(node.target, "__name__", str(node.target))
    )
    module = node.graph.owning_module
    if node.op == "call_module" and module is not None:
        what += f" ({type(module.get_submodule(what)).__name__})"
    else:
        what += "()"
    return what + (f" at {node.meta['line']}" if node.meta.get("line") else "")


def refuse(node: fx.Node, why: str) -> NoReturn:
    raise Unsupported(f"{where(node)}: {why}")


def _called_with(kind: Any, n: int) -> Any:
    """The same class, whose forward takes tokens, and labels with n = 2; other parameters have
    their defaults."""

    def one(self: Any, tokens: Any) -> Any:
        return kind.forward(self, tokens)

    def two(self: Any, tokens: Any, labels: Any) -> Any:
        return kind.forward(self, tokens, labels)

    return type(kind.__name__, (kind,), {"forward": one if n == 1 else two})


def trace(module: nn.Module, examples: List[torch.Tensor]) -> Tuple[fx.Graph, Dict[fx.Node, Any]]:
    """The graph of a module, whose class changes, for one or two inputs; and what all values
    were."""
    tracer = _Tracer(examples)
    module.__class__ = _called_with(type(module), len(examples))
    try:
        graph = tracer.trace(module)
    except Exception as e:
        lines = [
            f" at {f.filename}:{f.lineno}"
            for f in traceback.extract_tb(e.__traceback__)
            if f.filename != __file__ and not f.filename.startswith(_TORCH)
        ]
        raise Unsupported(
            f"{type(module).__name__} cannot be traced: {type(e).__name__}{(lines or [''])[-1]}"
            + (f": {e}" if str(e) else "")
        ) from e
    graph.owning_module = module  # type: ignore[assignment]
    return graph, tracer.values
