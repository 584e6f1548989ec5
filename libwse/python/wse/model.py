# SPDX-License-Identifier: MIT
"""Models: ready-made ones, and one's own as a list of operations."""
import ctypes
import errno
import weakref
from ctypes import POINTER, byref, c_uint32
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from . import _abi
from ._abi import lib
from ._handle import Error, Handle, callback, check, fill, record, says, text, word
from .array import Array, mapped

NO_VALUE = _abi.WSE_NO_VALUE


def _number(member: str, value: Union[int, str]) -> int:
    return word(member, value) if isinstance(value, str) else value


class Graph:
    """
    The graph that a model's graph() fills in, while it runs. Calls return numbers of values and
    units; after a failure they are harmless, and the call that needed the graph raises the error.
    """

    def __init__(
        self, raw: Any, keep: List[Any], sizes: Dict[int, Tuple[Dict[int, int], Dict[int, int]]]
    ) -> None:
        self._raw, self._keep = raw, keep
        self._kernels: Optional[int] = None
        #: tokens of the micro-batch, of all rows
        self.tokens: int = lib.wse_graph_tokens(raw)
        # a failed try of as many tokens is forgotten
        self._inputs, self._outputs = sizes[self.tokens] = {}, {}
        tile = _abi.wse_tile()
        lib.wse_graph_tile(raw, byref(tile))
        #: rows, cols, lanes and sram of the tile
        self.tile = record(tile)

    def _g(self) -> Any:
        if self._raw is None:
            raise Error(
                errno.EBADF, "the graph was made: its operations are added by graph() alone"
            )
        return self._raw

    def _text(self, value: Any) -> bytes:
        out = text(value)
        self._keep.append(out)  # the library keeps the pointer
        return out

    # ---- what streams and what comes with a micro-batch ----

    @says("wse_graph_sequence")
    def sequence(self, seq: int) -> None:
        lib.wse_graph_sequence(self._g(), seq)

    @says("wse_graph_program")
    def program(self, file: str, end: int) -> int:
        return int(lib.wse_graph_program(self._g(), self._text(file), end))

    @says("wse_graph_kernels")
    def kernels(self) -> int:
        if self._kernels is None:
            self._kernels = int(lib.wse_graph_kernels(self._g()))
        return self._kernels

    @says("wse_graph_classes")
    def classes(self, width: int) -> Tuple[int, int]:
        """(targets, logits)"""
        targets, logits = c_uint32(), c_uint32()
        lib.wse_graph_classes(self._g(), width, byref(targets), byref(logits))
        self._outputs[logits.value] = 4 * width * self.tokens
        self._outputs.setdefault(logits.value - 1, 4 * self.tokens)  # the losses
        return targets.value, logits.value

    @says("wse_graph_in")
    def input(self, name: str, size: int) -> int:
        out = int(lib.wse_graph_in(self._g(), self._text(name), size))
        self._inputs[out] = size
        return out

    @says("wse_graph_out")
    def output(self, name: str, size: int) -> int:
        out = int(lib.wse_graph_out(self._g(), self._text(name), size))
        self._outputs[out] = size
        return out

    @says("wse_graph_unit")
    def unit(self, weight: Optional[int], outs: int = 0, ins: int = 0, parts: int = 1) -> int:
        return int(
            lib.wse_graph_unit(
                self._g(), _abi.WSE_NO_TENSOR if weight is None else weight, outs, ins, parts
            )
        )

    @says("wse_graph_chunks")
    def chunks(self, unit: int, chunks_out: int = 1, chunks_in: int = 1) -> None:
        lib.wse_graph_chunks(self._g(), unit, chunks_out, chunks_in)

    @says("wse_graph_vec")
    def vec(self, unit: int, tensor: int, width: int, parts: int = 1) -> int:
        return int(lib.wse_graph_vec(self._g(), unit, tensor, width, parts))

    @says("wse_graph_value")
    def value(self, what: str, type: Union[int, str], shape: Union[int, str], rows: int) -> int:
        return int(
            lib.wse_graph_value(
                self._g(), self._text(what), _number("type", type), _number("shape", shape), rows
            )
        )

    # ---- operations ----

    @says("wse_op_in")
    def op_in(
        self, what: str, input: int, type: Union[int, str], shape: Union[int, str], rows: int
    ) -> int:
        return int(
            lib.wse_op_in(
                self._g(),
                self._text(what),
                input,
                _number("type", type),
                _number("shape", shape),
                rows,
            )
        )

    @says("wse_op_out")
    def op_out(self, output: int, value: int) -> None:
        lib.wse_op_out(self._g(), output, value)

    @says("wse_op_vec_in")
    def vec_in(self, unit: int) -> int:
        return int(lib.wse_op_vec_in(self._g(), unit))

    @says("wse_op_vec_out")
    def vec_out(self, unit: int, grads: int) -> None:
        lib.wse_op_vec_out(self._g(), unit, grads)

    @says("wse_op_linear", "wse_linear_op")
    def linear(
        self, unit: int, x: int, vec: Optional[int] = None, both: bool = False, **members: Any
    ) -> Any:
        """
        y = pass(x W^T + b). vec: the value with the vectors, without it there is no bias; other
        members of struct wse_linear_op by name, post as a word ("gelu"). Returns the value; with
        both, it and the second result.
        """
        if vec is None:
            members.setdefault("bias", _abi.WSE_NO_BIAS)
        op = fill(
            _abi.wse_linear_op,
            {
                "program": self._program(members.pop("program", None)),
                "unit": unit,
                "x": x,
                "vec": 0 if vec is None else vec,
                "aux": NO_VALUE,
                **members,
            },
        )
        self._keep.append(op.what)
        out2 = c_uint32()
        out = int(lib.wse_op_linear(self._g(), byref(op), byref(out2) if both else None))
        return (out, out2.value) if both else out

    @says("wse_op_wgrad", "wse_op_wgrad_chunk")
    def wgrad(
        self,
        unit: int,
        x: int,
        dy: int,
        vec: int = NO_VALUE,
        bias: int = 0,
        chunk: int = 0,
        program: Optional[int] = None,
    ) -> int:
        return int(
            lib.wse_op_wgrad_chunk(self._g(), self._program(program), unit, chunk, x, dy, vec, bias)
        )

    def _program(self, program: Optional[int]) -> int:
        return self.kernels() if program is None else program

    @says("wse_op_add")
    def add(self, a: int, b: int, what: str = "sum", program: Optional[int] = None) -> int:
        return int(lib.wse_op_add(self._g(), self._program(program), a, b, self._text(what)))

    @says("wse_op_norm", "wse_norm_op")
    def norm(self, x: int, vec: int, what: str = "activations", **members: Any) -> Tuple[int, Any]:
        """The value, and what norm_back() takes; members of struct wse_norm_op by name."""
        op = fill(
            _abi.wse_norm_op,
            {"program": self._program(members.pop("program", None)), "x": x, "vec": vec, **members},
        )
        return int(lib.wse_op_norm(self._g(), byref(op), self._text(what))), op

    @says("wse_op_norm_back")
    def norm_back(self, norm: Any, dy: int, dres: int = NO_VALUE) -> Tuple[int, int]:
        """(the gradient in bf16, dres)"""
        res = c_uint32(dres)
        return int(lib.wse_op_norm_back(self._g(), byref(norm), dy, byref(res))), res.value

    @says("wse_op_attn", "wse_attn_op")
    def attn(self, qkv: int, **members: Any) -> Tuple[int, Any]:
        """The value, and what attn_back() takes; members of struct wse_attn_op by name."""
        op = fill(
            _abi.wse_attn_op,
            {"program": self._program(members.pop("program", None)), "qkv": qkv, **members},
        )
        return int(lib.wse_op_attn(self._g(), byref(op))), op

    @says("wse_op_attn_back")
    def attn_back(self, attn: Any, o: int, dout: int) -> None:
        lib.wse_op_attn_back(self._g(), byref(attn), o, dout)

    @says("wse_op_loss")
    def loss(self, logits: int, target: int, program: Optional[int] = None) -> int:
        return int(lib.wse_op_loss(self._g(), self._program(program), logits, target))


class Batch:
    """One micro-batch, as gather() and scatter() see it: views of the library's memory that may not
    be kept."""

    def __init__(self, raw: Any, model: "Model", scatter: bool) -> None:
        self._b, self._model, self._scatter = raw.contents, model, scatter
        self._views: List[Any] = []
        self.tokens: int = self._b.tokens
        self.nsamples: int = self._b.nsamples

    def _memory(self, address: Any, size: int, what: str) -> Any:
        if not address:
            raise Error(errno.EINVAL, f"the batch has no {what}")
        memory = mapped(ctypes.cast(address, ctypes.c_void_p).value or 0, size)
        self._views.append(weakref.ref(memory))
        return memory

    @property
    def samples(self) -> Array:
        """u16 [nsamples][window + span]: the tokens before the first target of each sample, and its
        targets. A copy."""
        window, width = self._model._window, self._model._window + self._model._span
        out = bytearray(2 * width * self.nsamples)
        for i in range(self.nsamples):
            first = ctypes.cast(self._b.samples[i], ctypes.c_void_p).value or 0
            out[2 * width * i : 2 * width * (i + 1)] = ctypes.string_at(
                first - 2 * window, 2 * width
            )
        return Array(out, "u16", [self.nsamples, width])

    def _tensor(self, pointers: Any, i: int, what: str) -> Array:
        if not 0 <= i < len(self._model._shapes):
            raise IndexError(f"parameter {i}: the model has {len(self._model._shapes)}")
        rows, cols = self._model._shapes[i]
        shape = [rows, cols] if cols else [rows]
        return Array(self._memory(pointers[i], 4 * rows * max(cols, 1), what), "f32", shape)

    def param(self, i: int) -> Array:
        """gather: parameter i, f32."""
        return self._tensor(
            self._b.param, i, f"parameter {i}: its flags are without WSE_TENSOR_INPUT"
        )

    def grad(self, i: int) -> Array:
        """scatter: the gradient of parameter i, f32, to add to."""
        if not self._scatter:
            raise Error(errno.EINVAL, "gather() has no gradients: scatter() adds to them")
        return self._tensor(
            self._b.grad, i, f"gradient of parameter {i}: its flags are without WSE_TENSOR_INPUT"
        )

    def input(self, i: int) -> memoryview:
        """The bytes of input i, by the number that Graph.input() gave it, to be written."""
        return self._bytes(self._b.in_, 0, i)

    def output(self, i: int) -> memoryview:
        """scatter: the bytes of output i, as the cores made them."""
        if not self._scatter:
            raise Error(errno.EINVAL, "gather() has no outputs: they are not made yet")
        return self._bytes(self._b.out, 1, i)

    def _bytes(self, pointers: Any, which: int, i: int) -> memoryview:
        sizes = self._model._sizes[self.tokens][which]
        if i not in sizes:
            raise IndexError(f"{('input', 'output')[which]} {i}: there are {sorted(sizes)}")
        return memoryview(self._memory(pointers[i], sizes[i], "memory")).cast("B")

    def _end(self) -> None:
        del self._b
        if any(v() is not None for v in self._views):
            raise Error(
                errno.EBUSY,
                "gather() or scatter() kept a view of its batch, whose memory is the library's: keep a copy",
            )

    def _spoil(self) -> None:
        """NaN in what was to be written, so that the step is refused and nothing changes."""
        if self._scatter:
            for i, (rows, cols) in enumerate(self._model._shapes):
                if self._b.grad[i]:
                    ctypes.memset(self._b.grad[i], 0xFF, 4 * rows * max(cols, 1))
        else:
            for i, size in self._model._sizes[self.tokens][0].items():
                ctypes.memset(self._b.in_[i], 0xFF, size)


class Model(Handle):
    """
    What is trained. Model.mlp() and Model.gpt() are ready-made; one's own is a list of operations:

    graph(g) adds them to a Graph, gather(batch) writes the inputs of a micro-batch, and
    scatter(batch) adds the gradients of what gather() read. An exception in one of them is raised
    by the call that needed it.
    """

    _kind = "model"

    @says("wse_model_create", "wse_model_shape", "wse_param")
    def __init__(
        self,
        *,
        graph: Callable[[Graph], Any],
        gather: Callable[[Batch], Any],
        scatter: Optional[Callable[[Batch], Any]] = None,
        params: Sequence[Dict[str, Any]],
        **members: Any,
    ) -> None:
        """One's own: parameters are dicts of the members of struct wse_param, others those of
        struct wse_model_shape."""
        shape = fill(_abi.wse_model_shape, {"params": list(params), **members})
        self._window, self._span = shape.window, shape.span
        self._shapes = [(shape.params[i].rows, shape.params[i].cols) for i in range(shape.nparams)]
        self._sizes: Dict[int, Tuple[Dict[int, int], Dict[int, int]]] = {}
        strings: List[Any] = []
        # the callbacks stay as long as a trainer uses the model: they refer to what they need, and
        # not to this object
        facts = _Facts(self._window, self._span, self._shapes, self._sizes)

        def on_graph(_: Any, raw: Any) -> int:
            g = Graph(raw, strings, facts._sizes)
            try:
                graph(g)
            finally:
                g._raw = None
            return 0

        fields: Dict[str, Any] = {f[0]: f[1] for f in _abi.wse_builder._fields_}
        builder = _abi.wse_builder(
            callback(fields["graph"], on_graph, -errno.ECANCELED),
            _on_batch(fields["gather"], gather, facts, False),
            _on_batch(fields["scatter"], scatter, facts, True) if scatter else fields["scatter"](),
        )
        raw = POINTER(_abi.wse_model)()
        check(lib.wse_model_create(byref(shape), byref(builder), None, byref(raw)))
        self._keep: Tuple[Any, ...] = (builder, strings)
        self._own(raw, lib.wse_model_destroy, *self._keep)

    @classmethod
    def _ready(cls, make: Any, struct: Any, members: Dict[str, Any]) -> "Model":
        shape, raw = fill(struct, members), POINTER(_abi.wse_model)()
        check(make(byref(shape), byref(raw)))
        model = cls.__new__(cls)
        model._keep = ()
        model._own(raw, lib.wse_model_destroy)
        return model

    @classmethod
    @says("wse_mlp_shape")
    def mlp(cls, **members: Any) -> "Model":
        """A multi-layer perceptron over the last bytes; members of struct wse_mlp_shape."""
        return cls._ready(lib.wse_model_mlp, _abi.wse_mlp_shape, members)

    @classmethod
    @says("wse_gpt_shape")
    def gpt(cls, **members: Any) -> "Model":
        """A GPT; members of struct wse_gpt_shape."""
        return cls._ready(lib.wse_model_gpt, _abi.wse_gpt_shape, members)


class _Facts:
    """What Batch needs of a model."""

    def __init__(self, window: int, span: int, shapes: Any, sizes: Any) -> None:
        self._window, self._span, self._shapes, self._sizes = window, span, shapes, sizes


def _on_batch(kind: Any, function: Callable[[Batch], Any], facts: Any, scatter: bool) -> Any:
    def on_batch(_: Any, raw: Any) -> None:
        batch = Batch(raw, facts, scatter)
        try:
            function(batch)
        except BaseException:
            batch._spoil()
            raise
        batch._end()

    return callback(kind, on_batch)
