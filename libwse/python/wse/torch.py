# SPDX-License-Identifier: MIT
"""
Modules of torch as models of libwse.

    c = wse.torch.capture(module, torch.zeros(1, 64, dtype=torch.long)) # tokens; and labels, if it
    takes them with wse.Trainer(wse.Params.make(c.model, data="TEXT", batch=12, lr=1e-3),
    "sim:func,rows=4,cols=4") as t:
        c.put(t)                # the module's weights, bit for bit
        for s in t.steps(100):
            print(s.step, s.loss)
        c.get(t)                # and back

The module takes tokens [B][S] and returns logits: of the token that follows each, [B][S][V], if it
is a decoder of GPT-2's form, or of the one that follows them all, [B][V], if it is an embedding,
linear layers and activations. It is captured by torch.fx, which tells what was called, where; what
libwse has not, is refused by its name and line. Then the module and the model that it was taken for
are evaluated beside each other, in binary64 on random weights and tokens: what differs is no
capture. Weights
are in MemoryX while a trainer has them, which owns the optimizer; a wafer has no tensors to run op
by op.
"""
import copy
import operator
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch
from torch import fx, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from ._fx import Unsupported, refuse, trace
from .model import Model


# ---- what is known ----


class _Layer(NamedTuple):
    """A layer: its input, its parameters by name, and the module or the call."""

    kind: str
    x: Any
    weight: str = ""
    bias: str = ""
    of: Any = None


_ACTS = {"GELU": "gelu", "gelu": "gelu", "ReLU": "relu", "relu": "relu"}
_GELUS = {"none": "gelu", "tanh": "gelu_new"}  # by what torch calls approximate
_SAME = ("Identity", "contiguous", "Dropout", "dropout", "clone")  # what changes no value
_SHAPES = (
    "view",
    "reshape",
    "flatten",
    "transpose",
    "permute",
    "unflatten",
    "Flatten",
    "Unflatten",
)
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
_LOSSES = ("cross_entropy", "CrossEntropyLoss")
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
        name = (
            node.target
            if isinstance(node.target, str)
            else getattr(node.target, "__name__", str(node.target))
        )
        return str(name)

    def check_names(self) -> None:
        known = (*_ACTS, *_SAME, *_SHAPES, *_ATTENTION, *_LAYERS, *_LOSSES, "mean", "sum", "long")
        for node in self.graph.nodes:
            if node.op in ("placeholder", "output", "get_attr"):
                continue
            name = self.name(node)
            if name not in known:
                refuse(
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
                refuse(node, "a wafer drops nothing: p must be 0")
            self.layer(node)

    def parameter(self, node: Any, what: fx.Node) -> str:
        if node is None:
            return ""
        if not isinstance(node, fx.Node) or node.op != "get_attr":
            refuse(what, "its weights must be parameters of the module")
        return str(node.target)

    def same(self, node: Any) -> Any:
        """Behind what changes no value."""
        while (
            isinstance(node, fx.Node) and node.op.startswith("call_") and self.name(node) in _SAME
        ):
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
                else (
                    self.parameter(node.args[1], node),
                    self.parameter(_argument(node, 2, "bias", None), node),
                )
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
                refuse(node, "a norm has a gain and a bias: elementwise_affine=True")
            return _Layer("norm", node.args[0], *params, of=node)
        if name in ("Embedding", "embedding"):
            return _Layer(
                "embed",
                node.args[0],
                own("weight") if module else self.parameter(node.args[1], node),
                of=node,
            )
        if name in _ACTS:
            how = (
                getattr(module, "approximate", None)
                if module
                else _argument(node, 1, "approximate", "none")
            )
            act = _GELUS.get(str(how)) if _ACTS[name] == "gelu" else _ACTS[name]
            if act is None:
                refuse(node, f"a wafer computes no GELU with approximate={how!r}")
            return _Layer("act", node.args[0], of=act)
        return None

    def want(self, kind: str, node: Any, behind: fx.Node, what: str) -> _Layer:
        layer = self.layer(node)
        if layer is None or layer.kind != kind:
            refuse(
                self.same(node)
                if isinstance(node, fx.Node) and self.same(node).op.startswith("call_")
                else behind,
                f"{what} is expected here",
            )
        return layer

    def linear(self, node: Any, behind: fx.Node, what: str) -> _Layer:
        layer = self.want("linear", node, behind, what)
        if not layer.bias:
            refuse(layer.of, "it has no bias, which a layer of libwse has: bias=True")
        return layer

    def output(self, with_loss: bool, module: str) -> Tuple[int, fx.Node]:
        """Which of the outputs is compared (-1: the only one), and the logits: that one, or what
        its loss is made of."""
        out = next(n for n in self.graph.nodes if n.op == "output").args[0]
        several = list(out) if isinstance(out, (list, tuple)) else [out]
        nodes = [
            (i, n)
            for i, n in enumerate(several)
            if isinstance(n, fx.Node) and n.op.startswith("call_")
        ]
        if not with_loss:
            if len(nodes) != 1 or any(n is not None for n in several if n is not nodes[0][1]):
                raise Unsupported(
                    f"{module} returns a {type(out).__name__.replace('immutable_', '')} of {len(several)}: "
                    "a model's output is one tensor, its logits"
                )
            return (-1 if out is nodes[0][1] else nodes[0][0]), nodes[0][1]
        for i, node in nodes:
            while node.op.startswith("call_") and self.name(node) in (
                "truediv",
                "div",
                "mul",
                "mean",
                "sum",
                "to",
                *_SHAPES,
                *_SAME,
            ):
                node = node.args[0]
            if node.op.startswith("call_") and self.name(node) in _LOSSES:
                node = self.same(node.args[0])
                while node.op.startswith("call_") and self.name(node) in (
                    *_SHAPES,
                    *_SAME,
                    "float",
                    "to",
                ):
                    node = node.args[0]
                return (-1 if out is several[i] and not isinstance(out, (list, tuple)) else i), node
        raise Unsupported(
            f"{module} returns no cross-entropy of its labels: capture it without labels, by its logits"
        )

    # ---- the two families ----

    def mlp(self, out: fx.Node) -> Tuple[List[_Layer], _Layer, str]:
        """Linear layers from the first on, the embedding, the activation."""
        layers, acts = [self.linear(out, out, "a linear layer")], set()
        while True:
            layer = self.layer(layers[0].x)
            if layer is None or layer.kind == "embed":
                break
            if layer.kind != "act":
                refuse(layers[0].of, "an activation or the embedding is expected before it")
            acts.add(layer.of)
            layers.insert(0, self.linear(layer.x, layers[0].of, "a linear layer"))
        if len(acts) > 1:
            refuse(
                layers[-1].of, f"all layers have one activation, not {' and '.join(sorted(acts))}"
            )
        node = self.same(layers[0].x)
        while (
            isinstance(node, fx.Node) and node.op.startswith("call_") and self.name(node) in _SHAPES
        ):
            node = self.same(node.args[0])
        embed = self.want("embed", node, layers[0].of, "the embedding of the tokens")
        return layers, embed, acts.pop() if acts else "gelu_new"

    def residual(self, node: Any, behind: fx.Node) -> Tuple[Any, Any]:
        """A sum: the residual, and what is added to it."""
        node = self.same(node)
        if (
            not isinstance(node, fx.Node)
            or not node.op.startswith("call_")
            or self.name(node) not in ("add", "iadd")
            or len(node.args) != 2
        ):
            refuse(behind, "a residual sum is expected before it")
        for res, branch in (node.args, node.args[::-1]):
            layer = self.layer(branch)
            if layer and layer.kind == "linear" or self.attention_module(branch):
                return self.same(res), branch
        refuse(node, "no linear layer is added to the residual here")

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
        """Parameters of queries, keys, values and of the projection, heads, the norm before
        them."""
        call = self.attention_module(branch)
        if call is not None:
            m, at = self.modules[str(call.target)], str(call.target)
            if (
                m.in_proj_weight is None
                or m.in_proj_bias is None
                or not m.batch_first
                or m.bias_k is not None
            ):
                refuse(
                    call,
                    "MultiheadAttention is known with batch_first=True and bias=True, of one width, and without add_bias_kv",
                )
            if any(a is not call.args[0] for a in call.args[:3]) or len(call.args) < 3:
                refuse(call, "queries, keys and values are of one input")
            if m.dropout:
                refuse(call, "a wafer drops nothing: dropout must be 0")
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
        if (
            len(linears) not in (1, 3)
            or not heads
            or any(layer.x is not linears[0].x for layer in linears)
        ):
            refuse(
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
            refuse(node, "queries, keys and values are linear layers")
        if self.name(node) in ("view", "reshape") and len(node.meta["shape"]) == 4:
            heads.append(node.meta["shape"][2])
        for a in node.all_input_nodes:
            self.attended(a, inputs, heads)

    def gpt(self, out: fx.Node) -> Tuple[Dict[str, List[str]], int, str, float, List[str]]:
        """Parameters by libwse's names, heads, activation, epsilon; wte and the head's weight."""
        head = self.want("linear", out, out, "the output layer")
        if head.bias:
            refuse(head.of, "the output layer of a GPT has no bias: bias=False")
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
                refuse(
                    ln2.of, "it reads another value than the residual to which its branch is added"
                )
            start, attended = self.residual(res, ln2.of)
            params, n, behind = self.attention(attended)
            ln1 = self.want("norm", behind, ln2.of, "a norm before the attention")
            if self.same(ln1.x) is not start:
                refuse(
                    ln1.of, "it reads another value than the residual to which its branch is added"
                )
            params = {f"attn.{k}": v for k, v in params.items()}
            for name, layer in (
                ("ln_1", ln1),
                ("ln_2", ln2),
                ("mlp.c_fc", first),
                ("mlp.c_proj", second),
            ):
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
        names.update(
            {"transformer.ln_f.weight": [norm.weight], "transformer.ln_f.bias": [norm.bias]}
        )
        eps = {self.eps(n.of) for n in norms}
        if not blocks:
            refuse(norm.of, "there is no block of attention and feed-forward layers before it")
        if len(acts) > 1 or len(heads) > 1 or len(eps) > 1:
            refuse(
                norm.of,
                f"all blocks have one activation, one number of heads and one eps, not {acts}, {heads}, {eps}",
            )
        return names, heads.pop(), acts.pop(), eps.pop(), [wte, head.weight]

    def eps(self, node: fx.Node) -> float:
        return float(
            self.modules[str(node.target)].eps
            if node.op == "call_module"
            else _argument(node, 4, "eps", 1e-5)
        )

    def embeddings(self, node: Any) -> Optional[Tuple[str, str]]:
        """The two tables of which a sum is, tokens' first."""
        if (
            not isinstance(node, fx.Node)
            or not node.op.startswith("call_")
            or self.name(node) not in ("add", "iadd")
        ):
            return None
        found: List[Tuple[bool, str]] = []
        for a in node.args:
            while (
                isinstance(a, fx.Node)
                and a.op.startswith("call_")
                and self.name(a) in (*_SAME, "getitem", "unsqueeze")
            ):
                a = a.args[0]
            layer = self.layer(a)
            if layer and layer.kind == "embed":
                found.append(
                    (isinstance(layer.x, fx.Node) and layer.x.op == "placeholder", layer.weight)
                )
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
        x = x + linear(
            (scores.softmax(-1) @ v).transpose(1, 2).reshape(n, s, -1), at + "attn.c_proj"
        )
        x = x + linear(_act(linear(norm(x, at + "ln_2"), at + "mlp.c_fc"), act), at + "mlp.c_proj")
    return F.linear(
        norm(x, "transformer.ln_f"),
        p["lm_head.weight"] if "lm_head.weight" in p else p["transformer.wte.weight"],
    )


def _mlp(p: Dict[str, torch.Tensor], tokens: torch.Tensor, act: str, hidden: int) -> torch.Tensor:
    x = p["transformer.wte.weight"][tokens].flatten(1)
    for i in range(hidden):
        x = _act(
            F.linear(
                x, p[f"transformer.h.{i}.mlp.c_fc.weight"], p[f"transformer.h.{i}.mlp.c_fc.bias"]
            ),
            act,
        )
    return F.linear(x, p["lm_head.weight"], p["lm_head.bias"])


def _act(x: torch.Tensor, act: str) -> torch.Tensor:
    return (
        F.relu(x)
        if act == "relu"
        else F.gelu(x, approximate="tanh" if act == "gelu_new" else "none")
    )


# ---- the result ----


class Captured:
    """A module as a model: model, what goes to wse.Params.make(); put() and get() take the weights
    in and out."""

    def __init__(self, module: nn.Module, model: Model, names: Dict[str, List[str]]) -> None:
        self.module, self.model = module, model
        #: parameters of the module behind each parameter of the model; several are one below the
        #: other
        self.names = names

    def _tensors(self, name: str) -> List[torch.Tensor]:
        return [operator.attrgetter(n)(self.module) for n in self.names[name]]

    def put(self, trainer: Any) -> None:
        """The module's weights become the trainer's, bit for bit; the moments of its optimizer
        stay."""
        for name in trainer.tensors:
            trainer.tensors[name] = torch.cat(
                [t.detach() for t in self._tensors(name)]
            ).contiguous()

    def get(self, trainer: Any) -> None:
        """The trainer's weights of the committed step become the module's, bit for bit."""
        with torch.no_grad():
            for name, values in trainer.tensors.items():
                tensors, new = self._tensors(name), torch.from_dlpack(values)
                for t, part in zip(tensors, new.split([len(t) for t in tensors])):
                    t.copy_(part)


def capture(
    module: nn.Module, tokens: torch.Tensor, labels: Optional[torch.Tensor] = None
) -> Captured:
    """
    module as a model of libwse. tokens: an example of its input, [B][S] of int64; S is the length
    of the sequences that it is trained on, or the window of an MLP. labels: of a module that takes
    them, too, and returns the mean cross-entropy, alone or among others; they are as the logits
    are, [B][S] or [B].
    """
    for t in [tokens] if labels is None else [tokens, labels]:
        if t.dtype != torch.long or t is tokens and t.dim() != 2:
            raise TypeError(
                "tokens are an example of the module's input, int64 [B][S], and labels int64"
            )
    name = type(module).__name__
    twin = copy.deepcopy(module).double().eval()  # tracing and binary64 leave the module as it is
    examples = [
        t.new_zeros(2, *t.shape[1:]) for t in ([tokens] if labels is None else [tokens, labels])
    ]
    with torch.no_grad():
        _scatter_weights(twin)
        graph, values = trace(twin, examples)
        for node in graph.nodes:
            value = values.get(node)
            node.meta["shape"] = tuple(value.shape) if isinstance(value, torch.Tensor) else ()
        reader = _Reader(twin, graph)
        reader.check_names()
        at, logits = reader.output(labels is not None, name)
        read = _read_gpt if len(logits.meta["shape"]) == 3 else _read_mlp
        names, want, make = read(reader, logits, tokens.shape[1])
        _compare(twin, want, examples, at, logits.meta["shape"][-1], name)
    left = {n for n, _ in module.named_parameters()} - {p for ps in names.values() for p in ps}
    if left:
        raise Unsupported(
            f"{', '.join(sorted(left))}: no layer that was captured has these parameters"
        )
    return Captured(module, make(), names)


_Names = Dict[str, List[str]]
_Read = Tuple[_Names, Callable[[torch.Tensor], torch.Tensor], Callable[[], Model]]


def _read_gpt(reader: _Reader, logits: fx.Node, seq: int) -> _Read:
    """Parameters, the same model in torch, and in libwse."""
    names, heads, act, eps, (wte, head) = reader.gpt(logits)
    get = operator.attrgetter
    if get(head)(reader.module) is not get(wte)(reader.module):
        names["lm_head.weight"] = [head]
    params = _parameters(reader.module, names)
    blocks = sum(n.endswith(".ln_1.weight") for n in names)
    positions, hidden = params["transformer.wpe.weight"].shape[-2:]
    how = {
        "positions": positions,
        "seq": seq,
        "hidden": hidden,
        "layers": blocks,
        "heads": heads,
        "eps": eps,
    }
    how["filter"] = len(params["transformer.h.0.mlp.c_fc.bias"])
    how["untied"] = int("lm_head.weight" in names)
    vocab = logits.meta["shape"][-1]
    return (
        names,
        lambda t: _gpt(params, t, heads, act, eps, blocks),
        lambda: Model.gpt(vocab=vocab, activation=act, **how),
    )


def _read_mlp(reader: _Reader, logits: fx.Node, window: int) -> _Read:
    layers, embed, act = reader.mlp(logits)
    names = {"transformer.wte.weight": [embed.weight]}
    for i, layer in enumerate(layers):
        at = "lm_head" if layer is layers[-1] else f"transformer.h.{i}.mlp.c_fc"
        names.update({f"{at}.weight": [layer.weight], f"{at}.bias": [layer.bias]})
    params = _parameters(reader.module, names)
    hidden = [len(params[n]) for n in names if n.endswith("c_fc.bias")]
    vocab, width = logits.meta["shape"][-1], params["transformer.wte.weight"].shape[1]
    return (
        names,
        lambda t: _mlp(params, t, act, len(hidden)),
        lambda: Model.mlp(vocab=vocab, window=window, embed=width, hidden=hidden, activation=act),
    )


def _parameters(module: nn.Module, names: Dict[str, List[str]]) -> Dict[str, torch.Tensor]:
    return {k: torch.cat([operator.attrgetter(n)(module) for n in v]) for k, v in names.items()}


_SHORT = (torch.float32, torch.float16, torch.bfloat16)


class _Exact(TorchFunctionMode):
    """Casts to a shorter format, as of scores before a softmax, stay in binary64."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16):
            return args[0].double()
        long = lambda a: torch.float64 if a in _SHORT else a  # noqa: E731
        return func(
            *[long(a) if isinstance(a, torch.dtype) else a for a in args],
            **{k: long(a) if isinstance(a, torch.dtype) else a for k, a in (kwargs or {}).items()},
        )


def _scatter_weights(module: nn.Module) -> None:
    """Weights under which every layer counts: those of a start may be 0, or all but."""
    random = torch.Generator().manual_seed(1)
    for p in module.parameters():
        std = p.shape[-1] ** -0.5 if p.dim() > 1 else 0.5
        p.copy_(torch.randn(p.shape, generator=random, dtype=p.dtype) * std)


def _compare(
    module: nn.Module,
    want: Any,
    examples: Sequence[torch.Tensor],
    at: int,
    vocabulary: int,
    name: str,
) -> None:
    """Both on random tokens; at: which output is to be compared, -1: the only one."""
    random = torch.Generator().manual_seed(1)
    inputs = [torch.randint(vocabulary, e.shape, generator=random) for e in examples]
    with _Exact():
        a, b = module(*inputs), want(inputs[0])
    if at >= 0:
        a = a[at]
    if len(inputs) == 2:
        b = F.cross_entropy(b.flatten(0, -2), inputs[1].flatten())
    off = (
        float((a - b).abs().max() / b.abs().max().clamp_min(1e-30))
        if a.shape == b.shape
        else float("inf")
    )
    if not off < 1e-9:
        raise Unsupported(
            f"{name} has the layers of a model of libwse but computes something else (off by {off:.1g} of the largest "
            f"{'logit' if len(inputs) == 1 else 'loss'}): attention must be causal and scaled by 1 / sqrt(width of a head), "
            "heads side by side, norms before each branch, the loss a mean over all targets"
        )


__all__: Sequence[str] = ("Captured", "Unsupported", "capture")
