# SPDX-License-Identifier: MIT
"""
Modules of torch as models of libwse.

    c = wse.torch.capture(module, torch.zeros(1, 64, dtype=torch.long))
    with wse.Trainer(wse.Params.make(c.model, data="TEXT", batch=12, lr=1e-3), "sim:func,rows=4,cols=4") as t:
        c.put(t)                # the module's weights, bit for bit
        for s in t.steps(100):
            print(s.step, s.loss)
        c.get(t)                # and back

The module takes tokens [B][S] and returns logits: of the token that follows each, [B][S][V], if it is a decoder of GPT-2's
form, or of the one that follows them all, [B][V], if it is an embedding, linear layers and activations. It is captured by
torch.fx, which tells what was called, where; what libwse has not, is refused by its name and line. Then the module and the
model that it was taken for are evaluated beside each other, in binary64 on random tokens: what differs is no capture.
Weights are in MemoryX while a trainer has them, which owns the optimizer; a wafer has no tensors to run op by op.
"""
import copy
import inspect
import operator
import os
import traceback
from typing import Any, Dict, List, NamedTuple, NoReturn, Optional, Sequence, Tuple

import torch
from torch import fx, nn
from torch.nn import functional as F

from .model import Model


_TORCH = os.path.dirname(torch.__file__)


class Unsupported(TypeError):
    """What a module does that a model of libwse does not, by name and line."""


# ---- capture ----


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
        return (operator.getitem(self, i) for i in range(len(self.value)))  # type: ignore[call-overload]


class _Tracer(fx.Tracer):
    """torch.fx, which runs what it traces on an example beside it."""

    def __init__(self, example: torch.Tensor) -> None:
        super().__init__()
        self.example = example
        self.values: Dict[fx.Node, Any] = {}
        self._running = False  # calls and parameters are then those of torch
        self._forward: Any = None

    def call_module(self, m: nn.Module, forward: Any, args: Any, kwargs: Any) -> Any:
        if self._running:
            return forward(*args, **kwargs)
        self._forward = forward
        return super().call_module(m, forward, args, kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: Dict[str, Any]) -> Any:
        return attr_val if self._running else super().getattr(attr, attr_val, parameter_proxy_cache)

    def proxy(self, node: fx.Node) -> fx.Proxy:
        return _Proxy(node, self)

    def create_proxy(self, kind: str, target: Any, args: Any, kwargs: Any, *more: Any, **options: Any) -> Any:
        proxy = super().create_proxy(kind, target, args, kwargs, *more, **options)
        if kind == "output":
            return proxy
        plain = lambda a: a.value if isinstance(a, _Proxy) else a  # noqa: E731
        forward, self._running = self._forward, True
        try:
            proxy.value = self._run(
                kind, target, forward, fx.node.map_aggregate(args, plain), fx.node.map_aggregate(kwargs, plain)
            )
        finally:
            self._running = False
        self.values[proxy.node] = proxy.value
        proxy.node.meta["line"] = _user_line()
        return proxy

    def _run(self, kind: str, target: Any, forward: Any, args: Any, kwargs: Any) -> Any:
        if kind == "placeholder":
            return self.example
        if kind == "get_attr":
            return operator.attrgetter(target)(self.root)
        if kind == "call_method":
            return getattr(args[0], target)(*args[1:], **kwargs)
        return (forward if kind == "call_module" else target)(*args, **kwargs)


def _user_line() -> str:
    """The innermost line of the traced module that is neither torch's nor ours."""
    frame = inspect.currentframe()
    while frame and frame.f_code.co_name != "_trace":
        file = frame.f_code.co_filename
        if file != __file__ and not file.startswith(_TORCH):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def _where(node: fx.Node) -> str:
    """What is called, and the line that calls it."""
    what = str(node.target) if isinstance(node.target, str) else getattr(node.target, "__name__", str(node.target))
    module = node.graph.owning_module
    if node.op == "call_module" and module is not None:
        what += f" ({type(module.get_submodule(what)).__name__})"
    else:
        what += "()"
    return what + (f" at {node.meta['line']}" if node.meta.get("line") else "")


def _refuse(node: fx.Node, why: str) -> NoReturn:
    raise Unsupported(f"{_where(node)}: {why}")


# ---- what is known ----


class _Layer(NamedTuple):
    """A layer: its input, its parameters by name, and the module or the call."""

    kind: str
    x: Any
    weight: str = ""
    bias: str = ""
    of: Any = None


_ACTS = {"GELU": "gelu", "gelu": "gelu", "ReLU": "relu", "relu": "relu"}
_SAME = ("Identity", "contiguous", "Dropout", "dropout", "clone")  # what changes no value
_SHAPES = ("view", "reshape", "flatten", "transpose", "permute", "unflatten", "Flatten", "Unflatten")
_ATTENTION = (
    "matmul",
    "bmm",
    "softmax",
    "Softmax",
    "masked_fill",
    "mul",
    "truediv",
    "div",
    "split",
    "chunk",
    "getitem",
    "unbind",
    "scaled_dot_product_attention",
    "MultiheadAttention",
    "unsqueeze",
    "imul",
    "itruediv",
    "type_as",
    "to",
    "float",
    "where",
)  # the last proof of how they are put together is the comparison
_LAYERS = ("Linear", "linear", "LayerNorm", "layer_norm", "Embedding", "embedding", "add", "iadd")


class _Reader:
    """The layers of a traced module."""

    def __init__(self, module: nn.Module, graph: fx.Graph) -> None:
        self.module = module
        self.graph = graph
        self.modules = dict(module.named_modules())

    def name(self, node: fx.Node) -> str:
        if node.op == "call_module":
            return type(self.modules[str(node.target)]).__name__
        name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", str(node.target))
        return str(name)

    def check_names(self) -> None:
        known = (*_ACTS, *_SAME, *_SHAPES, *_ATTENTION, *_LAYERS)
        for node in self.graph.nodes:
            if node.op in ("placeholder", "output", "get_attr"):
                continue
            name = self.name(node)
            if name not in known:
                _refuse(
                    node,
                    "a model of libwse has no such layer: Linear, Embedding, LayerNorm, ReLU, GELU, causal attention and "
                    "residual sums are known",
                )
            if (
                name == "Dropout"
                and self.modules[str(node.target)].p
                or name == "dropout"
                and _argument(node, 1, "p", 0.5)
            ):
                _refuse(node, "a wafer drops nothing: p must be 0")
            self.layer(node)

    def parameter(self, node: Any, what: fx.Node) -> str:
        if node is None:
            return ""
        if not isinstance(node, fx.Node) or node.op != "get_attr":
            _refuse(what, "its weights must be parameters of the module")
        return str(node.target)

    def same(self, node: Any) -> Any:
        """Behind what changes no value."""
        while isinstance(node, fx.Node) and node.op.startswith("call_") and self.name(node) in _SAME:
            node = node.args[0]
        return node

    def layer(self, node: Any) -> Optional[_Layer]:
        node = self.same(node)
        if not isinstance(node, fx.Node) or not node.op.startswith("call_"):
            return None
        name = self.name(node)
        module = self.modules[str(node.target)] if node.op == "call_module" else None
        own = lambda p: f"{node.target}.{p}" if getattr(module, p) is not None else ""  # noqa: E731
        if name in ("Linear", "linear"):
            params = (
                (own("weight"), own("bias"))
                if module
                else (self.parameter(node.args[1], node), self.parameter(_argument(node, 2, "bias", None), node))
            )
            return _Layer("linear", node.args[0], *params, of=node)
        if name in ("LayerNorm", "layer_norm"):
            params = (
                (own("weight"), own("bias"))
                if module
                else (
                    self.parameter(_argument(node, 2, "weight", None), node),
                    self.parameter(_argument(node, 3, "bias", None), node),
                )
            )
            if not all(params):
                _refuse(node, "a norm has a gain and a bias: elementwise_affine=True")
            return _Layer("norm", node.args[0], *params, of=node)
        if name in ("Embedding", "embedding"):
            return _Layer(
                "embed", node.args[0], own("weight") if module else self.parameter(node.args[1], node), of=node
            )
        if name in _ACTS:
            how = getattr(module, "approximate", None) if module else _argument(node, 1, "approximate", "none")
            if _ACTS[name] == "gelu" and how != "tanh":
                _refuse(node, 'a wafer computes GELU in its tanh form: approximate="tanh"')
            return _Layer("act", node.args[0], of=_ACTS[name])
        return None

    def want(self, kind: str, node: Any, behind: fx.Node, what: str) -> _Layer:
        layer = self.layer(node)
        if layer is None or layer.kind != kind:
            _refuse(
                self.same(node) if isinstance(node, fx.Node) and self.same(node).op.startswith("call_") else behind,
                f"{what} is expected here",
            )
        return layer

    def linear(self, node: Any, behind: fx.Node, what: str) -> _Layer:
        layer = self.want("linear", node, behind, what)
        if not layer.bias:
            _refuse(layer.of, "it has no bias, which a layer of libwse has: bias=True")
        return layer

    # ---- the two families ----

    def mlp(self, out: fx.Node) -> Tuple[List[_Layer], _Layer, str]:
        """Linear layers from the first on, the embedding, the activation."""
        layers, acts = [self.linear(out, out, "a linear layer")], set()
        while True:
            layer = self.layer(layers[0].x)
            if layer is None or layer.kind == "embed":
                break
            if layer.kind != "act":
                _refuse(layers[0].of, "an activation or the embedding is expected before it")
            acts.add(layer.of)
            layers.insert(0, self.linear(layer.x, layers[0].of, "a linear layer"))
        if len(acts) > 1:
            _refuse(layers[-1].of, f"all layers have one activation, not {' and '.join(sorted(acts))}")
        node = self.same(layers[0].x)
        while isinstance(node, fx.Node) and node.op.startswith("call_") and self.name(node) in _SHAPES:
            node = self.same(node.args[0])
        embed = self.want("embed", node, layers[0].of, "the embedding of the tokens")
        return layers, embed, acts.pop() if acts else "gelu"

    def residual(self, node: Any, behind: fx.Node) -> Tuple[Any, Any]:
        """A sum: the residual, and what is added to it."""
        node = self.same(node)
        if (
            not isinstance(node, fx.Node)
            or not node.op.startswith("call_")
            or self.name(node) not in ("add", "iadd")
            or len(node.args) != 2
        ):
            _refuse(behind, "a residual sum is expected before it")
        for res, branch in (node.args, node.args[::-1]):
            layer = self.layer(branch)
            if layer and layer.kind == "linear" or self.attention_module(branch):
                return self.same(res), branch
        _refuse(node, "no linear layer is added to the residual here")

    def attention_module(self, node: Any) -> Optional[fx.Node]:
        node = self.same(node)
        if (
            isinstance(node, fx.Node)
            and node.op.startswith("call_")
            and self.name(node) == "getitem"
            and isinstance(node.args[0], fx.Node)
        ):
            node = node.args[0]
            if node.op == "call_module" and self.name(node) == "MultiheadAttention":
                return node
        return None

    def attention(self, branch: Any) -> Tuple[Dict[str, List[str]], int, Any]:
        """Parameters of queries, keys, values and of the projection, heads, the norm before them."""
        call = self.attention_module(branch)
        if call is not None:
            m, at = self.modules[str(call.target)], str(call.target)
            if m.in_proj_weight is None or m.in_proj_bias is None or not m.batch_first or m.bias_k is not None:
                _refuse(
                    call,
                    "MultiheadAttention is known with batch_first=True and bias=True, of one width, and without add_bias_kv",
                )
            if any(a is not call.args[0] for a in call.args[:3]) or len(call.args) < 3:
                _refuse(call, "queries, keys and values are of one input")
            if m.dropout:
                _refuse(call, "a wafer drops nothing: dropout must be 0")
            return (
                {
                    "c_attn.weight": [f"{at}.in_proj_weight"],
                    "c_attn.bias": [f"{at}.in_proj_bias"],
                    "c_proj.weight": [f"{at}.out_proj.weight"],
                    "c_proj.bias": [f"{at}.out_proj.bias"],
                },
                m.num_heads,
                call.args[0],
            )
        proj = self.linear(branch, branch, "the projection of an attention")
        inputs: Dict[fx.Node, _Layer] = {}
        heads: List[int] = []
        self.attended(proj.x, inputs, heads)
        linears = sorted(inputs.values(), key=lambda layer: list(self.graph.nodes).index(layer.of))
        if len(linears) not in (1, 3) or not heads or any(layer.x is not linears[0].x for layer in linears):
            _refuse(
                proj.of,
                "before it queries, keys and values of one input are expected, from one linear layer or three, in heads: "
                "view(B, S, heads, width / heads)",
            )
        return (
            {
                "c_attn.weight": [layer.weight for layer in linears],
                "c_attn.bias": [layer.bias for layer in linears],
                "c_proj.weight": [proj.weight],
                "c_proj.bias": [proj.bias],
            },
            heads[0],
            linears[0].x,
        )

    def attended(self, node: Any, inputs: Dict[fx.Node, _Layer], heads: List[int]) -> None:
        """Collects the linear layers behind an attention, and the heads of its views."""
        node = self.same(node)
        if not isinstance(node, fx.Node) or not node.op.startswith("call_"):
            return
        layer = self.layer(node)
        if layer and layer.kind == "linear":
            inputs[layer.of] = self.linear(node, node, "")
            return
        if layer or self.name(node) not in (*_ATTENTION, *_SHAPES, "add", "iadd"):
            _refuse(node, "queries, keys and values are linear layers")
        if self.name(node) in ("view", "reshape") and len(node.meta["shape"]) == 4:
            heads.append(node.meta["shape"][2])
        for a in node.all_input_nodes:
            self.attended(a, inputs, heads)

    def gpt(self, out: fx.Node) -> Tuple[Dict[str, List[str]], int, str, float, List[str]]:
        """Parameters by libwse's names, heads, activation, epsilon; wte and the head's weight."""
        head = self.want("linear", out, out, "the output layer")
        if head.bias:
            _refuse(head.of, "the output layer of a GPT has no bias: bias=False")
        norm = self.want("norm", head.x, head.of, "a norm before the output layer")
        norms, acts, heads, last = [norm], set(), set(), norm
        blocks: List[Dict[str, List[str]]] = []
        x = self.same(norm.x)
        while (tables := self.embeddings(x)) is None:
            res, branch = self.residual(x, last.of)
            second = self.linear(branch, last.of, "the second feed-forward layer")
            act = self.want("act", second.x, second.of, "an activation")
            first = self.linear(act.x, second.of, "the first feed-forward layer")
            ln2 = self.want("norm", first.x, first.of, "a norm before the feed-forward layer")
            if self.same(ln2.x) is not res:
                _refuse(ln2.of, "it reads another value than the residual to which its branch is added")
            start, attended = self.residual(res, ln2.of)
            params, n, behind = self.attention(attended)
            ln1 = self.want("norm", behind, ln2.of, "a norm before the attention")
            if self.same(ln1.x) is not start:
                _refuse(ln1.of, "it reads another value than the residual to which its branch is added")
            params = {f"attn.{k}": v for k, v in params.items()}
            for name, layer in (("ln_1", ln1), ("ln_2", ln2), ("mlp.c_fc", first), ("mlp.c_proj", second)):
                params.update({f"{name}.weight": [layer.weight], f"{name}.bias": [layer.bias]})
            blocks.insert(0, params)
            norms += [ln1, ln2]
            acts.add(act.of)
            heads.add(n)
            x, last = start, ln1
        wte, wpe = tables
        names = {"transformer.wte.weight": [wte], "transformer.wpe.weight": [wpe]}
        for i, params in enumerate(blocks):
            names.update({f"transformer.h.{i}.{k}": v for k, v in params.items()})
        names.update({"transformer.ln_f.weight": [norm.weight], "transformer.ln_f.bias": [norm.bias]})
        eps = {self.eps(n.of) for n in norms}
        if not blocks:
            _refuse(norm.of, "there is no block of attention and feed-forward layers before it")
        if len(acts) > 1 or len(heads) > 1 or len(eps) > 1:
            _refuse(
                norm.of, f"all blocks have one activation, one number of heads and one eps, not {acts}, {heads}, {eps}"
            )
        return names, heads.pop(), acts.pop(), eps.pop(), [wte, head.weight]

    def eps(self, node: fx.Node) -> float:
        return float(
            self.modules[str(node.target)].eps if node.op == "call_module" else _argument(node, 4, "eps", 1e-5)
        )

    def embeddings(self, node: Any) -> Optional[Tuple[str, str]]:
        """The two tables of which a sum is, tokens' first."""
        if not isinstance(node, fx.Node) or not node.op.startswith("call_") or self.name(node) not in ("add", "iadd"):
            return None
        found: List[Tuple[bool, str]] = []
        for a in node.args:
            while (
                isinstance(a, fx.Node) and a.op.startswith("call_") and self.name(a) in (*_SAME, "getitem", "unsqueeze")
            ):
                a = a.args[0]
            layer = self.layer(a)
            if layer and layer.kind == "embed":
                found.append((isinstance(layer.x, fx.Node) and layer.x.op == "placeholder", layer.weight))
            elif isinstance(a, fx.Node) and a.op == "get_attr":
                found.append((False, str(a.target)))
        tokens = [w for t, w in found if t]
        places = [w for t, w in found if not t]
        return (tokens[0], places[0]) if len(tokens) == len(places) == 1 else None


def _argument(node: fx.Node, at: int, name: str, default: Any) -> Any:
    return node.args[at] if len(node.args) > at else node.kwargs.get(name, default)


# ---- what they were taken for, in torch ----


def _gpt(
    p: Dict[str, torch.Tensor], tokens: torch.Tensor, heads: int, act: str, eps: float, blocks: int
) -> torch.Tensor:
    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        return F.layer_norm(x, x.shape[-1:], p[f"{name}.weight"], p[f"{name}.bias"], eps)

    def linear(x: torch.Tensor, name: str) -> torch.Tensor:
        return F.linear(x, p[f"{name}.weight"], p[f"{name}.bias"])

    n, s = tokens.shape
    x = p["transformer.wte.weight"][tokens] + p["transformer.wpe.weight"][:s]
    future = torch.ones(s, s, dtype=torch.bool).triu(1)
    for i in range(blocks):
        at = f"transformer.h.{i}."
        q, k, v = (
            a.view(n, s, heads, -1).transpose(1, 2)
            for a in linear(norm(x, at + "ln_1"), at + "attn.c_attn").chunk(3, -1)
        )
        scores = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).masked_fill(future, float("-inf"))
        x = x + linear((scores.softmax(-1) @ v).transpose(1, 2).reshape(n, s, -1), at + "attn.c_proj")
        x = x + linear(_act(linear(norm(x, at + "ln_2"), at + "mlp.c_fc"), act), at + "mlp.c_proj")
    return F.linear(
        norm(x, "transformer.ln_f"), p["lm_head.weight"] if "lm_head.weight" in p else p["transformer.wte.weight"]
    )


def _mlp(p: Dict[str, torch.Tensor], tokens: torch.Tensor, act: str, hidden: int) -> torch.Tensor:
    x = p["transformer.wte.weight"][tokens].flatten(1)
    for i in range(hidden):
        x = _act(F.linear(x, p[f"transformer.h.{i}.mlp.c_fc.weight"], p[f"transformer.h.{i}.mlp.c_fc.bias"]), act)
    return F.linear(x, p["lm_head.weight"], p["lm_head.bias"])


def _act(x: torch.Tensor, act: str) -> torch.Tensor:
    return F.relu(x) if act == "relu" else F.gelu(x, approximate="tanh")


# ---- the result ----


class Captured:
    """A module as a model: model, what goes to wse.Params.make(); put() and get() take the weights in and out."""

    def __init__(self, module: nn.Module, model: Model, names: Dict[str, List[str]]) -> None:
        self.module, self.model = module, model
        #: parameters of the module behind each parameter of the model; several are one below the other
        self.names = names

    def _tensors(self, name: str) -> List[torch.Tensor]:
        return [operator.attrgetter(n)(self.module) for n in self.names[name]]

    def put(self, trainer: Any) -> None:
        """The module's weights become the trainer's, bit for bit; the moments of its optimizer stay."""
        for name in trainer.tensors:
            trainer.tensors[name] = torch.cat([t.detach() for t in self._tensors(name)]).contiguous()

    def get(self, trainer: Any) -> None:
        """The trainer's weights of the committed step become the module's, bit for bit."""
        with torch.no_grad():
            for name, values in trainer.tensors.items():
                tensors, new = self._tensors(name), torch.from_dlpack(values)
                for t, part in zip(tensors, new.split([len(t) for t in tensors])):
                    t.copy_(part)


def capture(module: nn.Module, tokens: torch.Tensor) -> Captured:
    """
    module as a model of libwse. tokens: an example of its input, [B][S] of int64; S is the length of the sequences that
    it is trained on, or the window of an MLP.
    """
    if tokens.dim() != 2 or tokens.dtype != torch.long:
        raise TypeError("tokens are an example of the module's input: int64, [B][S]")
    twin = copy.deepcopy(module).double().eval()  # tracing and binary64 leave the module as it is
    with torch.no_grad():
        graph, example = _trace(twin, tokens)
        out = next(n for n in graph.nodes if n.op == "output").args[0]
        if not isinstance(out, fx.Node):
            raise Unsupported(
                f"{type(module).__name__} returns a {type(out).__name__.replace('immutable_', '')}: a model's output is one tensor, its logits"
            )
        reader = _Reader(twin, graph)
        reader.check_names()
        vocabulary, seq = example.shape[-1], tokens.shape[1]
        how: Dict[str, Any]
        if example.dim() == 3:
            names, heads, act, eps, (wte, head) = reader.gpt(out)
            get = operator.attrgetter
            if get(head)(twin) is not get(wte)(twin):
                names["lm_head.weight"] = [head]
            params = _parameters(twin, names)
            blocks = sum(n.endswith(".ln_1.weight") for n in names)
            want = lambda t: _gpt(params, t, heads, act, eps, blocks)  # noqa: E731
            positions, hidden = params["transformer.wpe.weight"].shape[-2:]
            how = {
                "positions": positions,
                "seq": seq,
                "hidden": hidden,
                "layers": blocks,
                "heads": heads,
                "eps": eps,
                "filter": len(params["transformer.h.0.mlp.c_fc.bias"]),
                "untied": int("lm_head.weight" in names),
            }
        else:
            layers, embed, act = reader.mlp(out)
            names = {"transformer.wte.weight": [embed.weight]}
            for i, layer in enumerate(layers):
                at = "lm_head" if layer is layers[-1] else f"transformer.h.{i}.mlp.c_fc"
                names.update({f"{at}.weight": [layer.weight], f"{at}.bias": [layer.bias]})
            params = _parameters(twin, names)
            want = lambda t: _mlp(params, t, act, len(layers) - 1)  # noqa: E731
            how = {
                "window": seq,
                "embed": params["transformer.wte.weight"].shape[1],
                "hidden": [len(params[f"{n[:-7]}.bias"]) for n in names if n.endswith("c_fc.weight")],
            }
        _compare(twin, want, tokens.shape, vocabulary, type(module).__name__)
    left = {n for n, _ in module.named_parameters()} - {p for ps in names.values() for p in ps}
    if left:
        raise Unsupported(f"{', '.join(sorted(left))}: no layer that was captured has these parameters")
    make = Model.gpt if example.dim() == 3 else Model.mlp
    return Captured(module, make(vocab=vocabulary, activation=act, **how), names)


def _trace(module: nn.Module, tokens: torch.Tensor) -> Tuple[fx.Graph, torch.Tensor]:
    """The graph, and an example of the output."""
    tracer = _Tracer(tokens.new_zeros(2, tokens.shape[1]))
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
    for node in graph.nodes:
        value = tracer.values.get(node)
        node.meta["shape"] = tuple(value.shape) if isinstance(value, torch.Tensor) else ()
    out = next(n for n in graph.nodes if n.op == "output").args[0]
    return graph, tracer.values[out] if isinstance(out, fx.Node) else tokens


def _parameters(module: nn.Module, names: Dict[str, List[str]]) -> Dict[str, torch.Tensor]:
    return {k: torch.cat([operator.attrgetter(n)(module) for n in v]) for k, v in names.items()}


def _compare(module: nn.Module, want: Any, shape: Sequence[int], vocabulary: int, name: str) -> None:
    tokens = torch.randint(vocabulary, (2, shape[1]), generator=torch.Generator().manual_seed(1))
    a, b = module(tokens), want(tokens)
    off = float((a - b).abs().max() / b.abs().max().clamp_min(1e-30)) if a.shape == b.shape else float("inf")
    if not off < 1e-9:
        raise Unsupported(
            f"{name} has the layers of a model of libwse but computes something else (off by {off:.1g} of the largest logit): "
            "attention must be causal and scaled by 1 / sqrt(width of a head), heads side by side, norms before each branch"
        )


__all__: Sequence[str] = ("Captured", "Unsupported", "capture")
