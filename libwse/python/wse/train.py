# SPDX-License-Identifier: MIT
"""Training: parameters, plans, trainers, checkpoints, text."""
import ctypes
import errno
import logging
import os
from collections.abc import Mapping
from ctypes import POINTER, byref
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _abi
from ._abi import lib
from ._handle import (
    Error,
    Handle,
    Interrupts,
    callback,
    check,
    fill,
    record,
    says,
    text,
    using,
    word,
)
from .array import Array, numbers_of
from .model import Model

Path = Union[str, bytes, "os.PathLike[Any]"]
Log = Callable[[int, str], Any]

_LEVELS = {
    _abi.WSE_LOG_ERROR: logging.ERROR,
    _abi.WSE_LOG_WARN: logging.WARNING,
    _abi.WSE_LOG_INFO: logging.INFO,
}
_EVENTS = {
    _abi.WSE_EVENT_BEGIN: "begin",
    _abi.WSE_EVENT_TRAIN: "train",
    _abi.WSE_EVENT_EVAL: "eval",
    _abi.WSE_EVENT_CHECKPOINT: "checkpoint",
}


class ParamsError(Error):
    """A parameter file has faults: all of them, in the order of its lines."""

    faults: List[str] = []


class Interrupted(KeyboardInterrupt):
    """Ctrl-C: the run ended after the step that it was in, with a checkpoint, as result says."""

    result: Any = None


class Params(Handle):
    """What is trained, on which text, and how: a parameter file (wse-train(1)), or
    Params.make()."""

    _kind = "params"
    _one_thread = True

    @says("wse_params_read", "wse_override")
    def __init__(
        self,
        path: Path,
        *,
        sets: Union[Mapping, Sequence[str]] = (),
        data: Optional[Path] = None,  # type: ignore[type-arg]
        model_dir: Optional[Path] = None,
        prompt: Union[str, bytes, None] = None,
        tokenizer: Optional[Path] = None,
        plan: bool = False,
        forward: int = 0,
    ) -> None:
        """A file, with what overrides it; sets: {"loop.max_steps": 5}, or a list of
        "KEY.PATH=VALUE". forward 1: to evaluate and to generate only; 2: for run("eval_all")."""
        self._create(())
        said = prompt.encode() if isinstance(prompt, str) else prompt
        over = fill(
            _abi.wse_override,
            {
                "data": data,
                "model_dir": model_dir,
                "tokenizer": tokenizer,
                "plan": int(plan),
                "forward": forward,
            },
        )
        words = [
            text(s)
            for s in ([f"{k}={v}" for k, v in sets.items()] if isinstance(sets, Mapping) else sets)
        ]
        over.sets, over.nsets = (ctypes.c_char_p * len(words))(*words), len(words)
        over.prompt, over.prompt_len = said, len(said or b"")
        try:
            self._call(lib.wse_params_read, text(path), byref(over))
        except Error as e:
            faults = self._texts(lib.wse_params_fault)
            self.close()
            if not faults:
                raise
            error = ParamsError(e.errno, e.strerror)
            error.faults = faults
            raise error from None

    def _create(self, keep: Tuple[Any, ...]) -> None:
        raw = POINTER(_abi.wse_params)()
        check(lib.wse_params_create(byref(raw)))
        self._keep = keep
        self._own(raw, lib.wse_params_destroy, *keep)

    @classmethod
    @says("wse_params_make", "wse_train_shape", "wse_sched")
    def make(cls, model: Model, **members: Any) -> "Params":
        """The same without a file: members of struct wse_train_shape; sched: a list of dicts,
        members of struct wse_sched."""
        shape = fill(_abi.wse_train_shape, members)
        params = cls.__new__(cls)
        params._create(model._keep)
        with using(model) as (raw,):
            params._call(lib.wse_params_make, raw, byref(shape))
        return params

    def _texts(self, function: Any) -> List[str]:
        out: List[str] = []
        with using(self) as (raw,):
            while (line := function(raw, len(out))) is not None:
                out.append(line.decode("utf-8", "replace"))
        return out

    @property
    def notes(self) -> List[str]:
        """What one should know of the file that is no fault."""
        return self._texts(lib.wse_params_note)

    @property
    def devices(self) -> int:
        """How many wafers the file asks for."""
        return self._call(lib.wse_params_devices)

    @says("wse_params_plan", "wse_plan_info")
    def plan(
        self, uri: str, shape_only: bool = False, line: Optional[Log] = None, forward: bool = False
    ) -> Any:
        """
        Does it fit, what does it cost: struct wse_plan_info. line(level, text) gets the plan as
        text. forward: of the forward pass alone, as for evaluation and text.
        """
        flags = (_abi.WSE_PLAN_SHAPE if shape_only else 0) | (
            _abi.WSE_PLAN_FORWARD if forward else 0
        )
        info, log = _abi.wse_plan_info(), _log(line) if line else _abi.wse_log_fn()
        with Interrupts():
            self._call(lib.wse_params_plan, text(uri), flags, log, None, byref(info))
        return record(info)


class Step(NamedTuple):
    """What a step was: its number, the mean loss in nats a token, the gradient's norm before
    clipping, the learning rate."""

    step: int
    loss: float
    norm: float
    lr: float


def _log(function: Optional[Log]) -> Any:
    """A callback for lines of the library; without a function they go to the logger "wse"."""
    logger = logging.getLogger("wse")

    def line(_: Any, level: int, said: bytes) -> None:
        if function:
            function(_LEVELS[level], said.decode("utf-8", "replace"))
        else:
            logger.log(_LEVELS[level], "%s", said.decode("utf-8", "replace"))

    return callback(_abi.wse_log_fn, line)


def choose_devices(devices: Union[str, Sequence[str], None], count: int) -> List[str]:
    """
    URIs as wse-train chooses them: as named, one simulator as often as wafers are wanted; without
    names the nodes of this machine, or the twin.
    """
    if not 1 <= count <= 64:
        raise ValueError(f"num_wse {count}: 1 to 64 wafers")
    if devices is None:
        if os.path.exists("/dev/accel/accel0"):
            return [f"accel:{i}" for i in range(count)]
        devices = "sim:func,rows=4,cols=4"
    uris = [devices] if isinstance(devices, str) else [str(d) for d in devices]
    if len(uris) == 1 and not uris[0].startswith("accel:"):
        uris *= count
    return uris


class Tensors(Mapping):  # type: ignore[type-arg]
    """The parameters of a trainer by name: f32 [rows][cols] or [rows], copies of the committed
    step; assigning sets them, from numbers of that shape or all in a row."""

    def __init__(self, trainer: "Trainer") -> None:
        self._trainer = trainer
        self._numbers: Dict[str, int] = {}

    def _names(self) -> Dict[str, int]:
        if not self._numbers:
            for i in range(self._trainer.info.tensors):
                self._numbers[self._trainer._tensor(i, False)[0]] = i
        return self._numbers

    def _number(self, name: str) -> int:
        try:
            return self._names()[name]
        except KeyError:
            raise KeyError(
                f"no parameter '{name}' is in this model: {', '.join(self._names())}"
            ) from None

    def __getitem__(self, name: str) -> Array:
        out: Array = self._trainer._tensor(self._number(name), True)[1]
        return out

    def __setitem__(self, name: str, numbers: Any) -> None:
        i, source = self._number(name), numbers_of(numbers, "f32")
        has, wants = list(getattr(numbers, "shape", ())), self._trainer._tensor(i, False)[1]
        if len(has) > 1 and [n for n in has if n != 1] != [n for n in wants if n != 1]:
            raise ValueError(f"{name}: numbers of shape {has} are no {wants}")
        if source.readonly:
            source = memoryview(bytearray(source))
        data = (ctypes.c_float * (len(source) // 4)).from_buffer(source)
        self._trainer._call(lib.wse_trainer_set_tensor, i, data, len(data))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())


class Trainer(Handle):
    """
    Devices, MemoryX and SwarmX behind one handle.

        with wse.Trainer("gpt_run.yaml", devices="sim:func,rows=4,cols=4", num_wse=2) as t:
            for s in t:
                print(s.step, s.loss)

    Ctrl-C is noticed when the step has ended. What the library says goes to the logger "wse", or to
    log(level, text).
    """

    _kind = "trainer"
    _one_thread = True

    @says("wse_trainer_open")
    def __init__(
        self,
        params: Union[Params, Path],
        devices: Union[str, Sequence[str], None] = None,
        num_wse: Optional[int] = None,
        log: Optional[Log] = None,
        **override: Any,
    ) -> None:
        """params: Params, or a parameter file with what overrides it (as Params takes it)."""
        if not isinstance(params, Params):
            with Params(params, **override) as read:
                for note in read.notes:
                    logging.getLogger("wse").info("%s", note)
                self._open(read, devices, num_wse, log)
            return
        if override:
            raise TypeError(f"{', '.join(override)}: what overrides a file goes to wse.Params")
        self._open(params, devices, num_wse, log)

    def _open(
        self,
        params: Params,
        devices: Union[str, Sequence[str], None],
        num_wse: Optional[int],
        log: Optional[Log],
    ) -> None:
        uris = choose_devices(devices, params.devices if num_wse is None else num_wse)
        if num_wse is not None and len(uris) != num_wse:
            raise ValueError(
                f"num_wse {num_wse} contradicts devices, which names {len(uris)}: leave out num_wse, or name as many"
            )
        names = (ctypes.c_char_p * len(uris))(*[text(u) for u in uris])
        said, raw = _log(log), POINTER(_abi.wse_trainer)()
        try:
            with Interrupts(), using(params) as (p,):
                check(lib.wse_trainer_open(p, names, len(uris), said, None, byref(raw)))
        except BaseException:
            if raw:  # it is open, but Ctrl-C or a callback's exception came
                lib.wse_trainer_close(raw)
            raise
        self._own(raw, lib.wse_trainer_close, said, *params._keep)
        self._callbacks = bool(params._keep)

    @property
    def info(self) -> Any:
        """struct wse_trainer_info as a named tuple."""
        out = _abi.wse_trainer_info()
        self._call(lib.wse_trainer_info, byref(out))
        return record(out)

    @says("wse_trainer_step")
    def step(self) -> Step:
        """One step: forward, backward, update."""
        return self._step(lib.wse_trainer_step)

    def _step(self, function: Any, *arguments: Any) -> Step:
        out, info = _abi.wse_step_result(), _abi.wse_trainer_info()

        def call(raw: Any) -> int:
            return int(function(raw, *arguments, out) or lib.wse_trainer_info(raw, info))

        if self._callbacks:  # of the model: Ctrl-C must not come up in one of them
            with Interrupts():
                self._call(call)
        else:
            self._call(call)
        return Step(info.step, out.loss, out.norm, out.lr)

    @says("wse_trainer_step_on", "wse_trainer_step_with")
    def step_on(
        self,
        samples: Any,
        mask: Any = None,
        lr: Optional[float] = None,
        max_norm: Optional[float] = None,
    ) -> Step:
        """
        One step on samples of one's own, u16 [batch][window + span] (of a GPT 1 + S tokens, of an
        MLP window + 1): an array of numpy or torch (int16: its bits), or anything with the buffer
        protocol. For params without data. With a vocabulary above 65536 they are u32 (int32: its
        bits). mask: u8 [batch][span], 0 where a target does not count (params with
        masked=1). lr, max_norm: of this step, in place of the params'.
        """
        how = self._batch(samples, mask)
        if lr is not None:
            how.lr, how.own = lr, how.own | _abi.WSE_STEP_LR
        if max_norm is not None:
            how.max_norm, how.own = max_norm, how.own | _abi.WSE_STEP_MAX_NORM
        return self._step(lib.wse_trainer_step_with, byref(how))

    @says("wse_trainer_loss_on")
    def loss_on(self, samples: Any, mask: Any = None) -> float:
        """The mean loss of samples of one's own, as step_on() takes them; nothing is trained."""
        loss = ctypes.c_double()
        with Interrupts():
            self._call(lib.wse_trainer_loss_on, byref(self._batch(samples, mask)), byref(loss))
        return loss.value

    def _batch(self, samples: Any, mask: Any) -> Any:
        """struct wse_step_shape, which keeps what it points to."""
        wide = self.info.vocab > 65536
        # torch 1 has no unsigned ones
        signed = str(getattr(samples, "dtype", "")).rpartition(".")[2] in ("int16", "int32")
        source = numbers_of(samples, ("i" if signed else "u") + ("32" if wide else "16"))
        if source.readonly:
            source = memoryview(bytearray(source))
        kind: Any = ctypes.c_uint32 if wide else ctypes.c_uint16
        tokens = (kind * (len(source) // ctypes.sizeof(kind))).from_buffer(source)
        how = _abi.wse_step_shape(ctypes.cast(tokens, ctypes.c_void_p), len(tokens))
        how.keep = tokens
        if mask is not None:
            source = numbers_of(mask, "u8")
            marks = (ctypes.c_uint8 * len(source)).from_buffer_copy(source)
            how.mask, how.nmask, how.keep = marks, len(marks), (tokens, marks)
        return how

    def steps(self, n: int) -> Iterator[Step]:
        """n steps, one after the other."""
        for _ in range(n):
            yield self.step()

    def __iter__(self) -> Iterator[Step]:
        """The steps that are left of max_steps."""
        info = self.info
        return self.steps(max(0, info.max_steps - info.step))

    @says("wse_trainer_eval")
    def evaluate(self, max_batches: int = 0) -> Tuple[float, int]:
        """(mean loss of the held-out samples, how many)"""
        loss, n = ctypes.c_double(), ctypes.c_uint64()
        with Interrupts():
            self._call(lib.wse_trainer_eval, max_batches, byref(loss), byref(n))
        return loss.value, n.value

    @says("wse_trainer_eval_set")
    def evaluate_set(self, number: int, max_batches: int = 0) -> Tuple[float, int, str]:
        """(mean loss, samples, name) of a held-out set of the parameter file, from 0 on"""
        loss, n, name = ctypes.c_double(), ctypes.c_uint64(), ctypes.c_char_p()
        with Interrupts():
            self._call(
                lib.wse_trainer_eval_set, number, max_batches, byref(loss), byref(n), byref(name)
            )
        return loss.value, n.value, (name.value or b"").decode()

    @says("wse_trainer_live")
    def live(self, path: Optional[Path]) -> None:
        """A unix socket on which wse-top shows this trainer; None closes it."""
        self._call(lib.wse_trainer_live, None if path is None else text(path))

    @says("wse_trainer_profile")
    def profile(self, dir: Optional[Path]) -> None:
        """Records from now on where the time goes, into a new folder; None ends that."""
        self._call(lib.wse_trainer_profile, None if dir is None else text(dir))

    # ---- parameters and checkpoints ----

    @property
    def tensors(self) -> Tensors:
        """The parameters of the model, by name."""
        return Tensors(self)

    def _tensor(self, i: int, values: bool) -> Tuple[str, Any]:
        out = _abi.wse_tensor_info()
        with using(self) as (raw,):  # no other thread's call comes between the pointer and the copy
            check(lib.wse_trainer_tensor(raw, i, byref(out)))
            name = (out.name or b"").decode()
            shape = [out.rows] if out.cols == 1 else [out.rows, out.cols]
            if not values:
                return name, shape
            data = bytearray(ctypes.string_at(out.data, 4 * out.rows * out.cols))
        return name, Array(data, "f32", shape)

    @says("wse_trainer_save")
    def save(self, path: Path) -> None:
        """A checkpoint."""
        self._call(lib.wse_trainer_save, text(path))

    @says("wse_trainer_load")
    def load(self, path: Path, what: Union[int, str] = "all") -> None:
        """What a checkpoint has: "all", "rates_new", "model" or "eval" (enum wse_ckpt_load)."""
        self._call(
            lib.wse_trainer_load, text(path), word("what", what) if isinstance(what, str) else what
        )

    # ---- text ----

    @says("wse_trainer_generate", "wse_sampling")
    def generate(
        self,
        prompt: Union[str, bytes, Sequence[Union[str, bytes]]],
        n: int,
        temperature: float = 0.8,
        **members: Any,
    ) -> List[Any]:
        """
        Texts of n tokens (bytes, without a tokenizer) that go on from the prompt, `streams` (1) of
        them: str for a prompt that is str, else bytes. Of several prompts a list for each, made
        together. Others are members of struct wse_sampling.
        """
        many = not isinstance(prompt, (str, bytes, bytearray))
        prompts = list(prompt) if many else [prompt]
        said = [p.encode() if isinstance(p, str) else bytes(p) for p in prompts]
        how = fill(_abi.wse_sampling, {"n": n, "temperature": temperature, "streams": 1, **members})
        listed = (_abi.wse_prompt * len(said))(*((s, len(s)) for s in said))
        if many:
            how.prompts, how.nprompts = listed, len(said)
        else:
            how.prompt, how.prompt_len = said[0], len(said[0])
        longest = self.info.token_bytes
        room = how.n * longest + 1
        out = ctypes.create_string_buffer(how.streams * room * len(said) or 1)
        if not said:
            return []
        with Interrupts():
            self._call(lib.wse_trainer_generate, byref(how), out)
        raw = out.raw
        texts = [raw[i * room : i * room + room - 1] for i in range(how.streams * len(said))]
        if longest > 1:
            texts = [t.split(b"\0", 1)[0] for t in texts]
        made = []
        for i, p in enumerate(prompts):
            of = texts[i * how.streams : (i + 1) * how.streams]
            made.append([t.decode("utf-8", "replace") for t in of] if isinstance(p, str) else of)
        return made if many else made[0]

    # ---- a whole run ----

    @says("wse_trainer_run", "wse_run_shape", "wse_run_result")
    def run(
        self,
        mode: Union[int, str] = "train_and_eval",
        *,
        checkpoint: Optional[Path] = None,
        verify: Sequence[int] = (),
        verify_device: Optional[str] = None,
        check: Sequence[int] = (0, 0),
        check_weights: Optional[Path] = None,
        progress: Optional[Callable[[Any], Any]] = None,
        event: Optional[Callable[[Any], Any]] = None,
        stop: Optional[Callable[[], Any]] = None,
        chart: bool = False,
    ) -> Any:
        """
        Train, evaluate, checkpoint, draw and sample as the parameters say: what wse-train does.
        Returns struct wse_run_result as a named tuple. progress(p) and event(e) get named tuples;
        stop(), asked between steps, ends the run with a checkpoint when it is true. So does Ctrl-C:
        then Interrupted is raised, which has the result. run("check", checkpoint=FILE, check=(A,
        B)): was the run of that checkpoint what it says? An Error says what differs.
        """
        fields: Dict[str, Any] = {f[0]: f[1] for f in _abi.wse_run_shape._fields_}
        run = fill(
            _abi.wse_run_shape,
            {
                "mode": mode,
                "checkpoint": checkpoint,
                "verify": list(verify),
                "verify_uri": verify_device,
                "chart": int(chart),
                "check_from": check[0],
                "check_to": check[1],
                "check_weights": check_weights,
            },
        )
        out, interrupts = _abi.wse_run_result(), Interrupts()
        failed: List[BaseException] = []

        def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any) -> Any:
                try:
                    return function(*arguments)
                except BaseException as e:
                    failed.append(e)
                    raise

            return call

        def on_event(_: Any, e: Any) -> None:
            if event:
                made = record(e.contents)
                event(made._replace(kind=_EVENTS.get(made.kind, made.kind)))

        # an exception in any of them stops the run, with its checkpoint
        run.stop = callback(
            fields["stop"],
            guarded(lambda _: int(bool(failed or interrupts.came or stop and stop()))),
            1,
        )
        if progress:
            show = progress
            run.progress = callback(
                fields["progress"], guarded(lambda _, p: show(record(p.contents)))
            )
        if event:
            run.event = callback(fields["event"], guarded(on_event))
        try:
            with interrupts:
                self._call(lib.wse_trainer_run, byref(run), byref(out))
        except KeyboardInterrupt:
            if not interrupts.came:
                raise
            result = record(out)
            end = Interrupted(
                f"stopped at step {result.steps}"
                + (f": go on with checkpoint='{result.checkpoint}'" if result.checkpoint else "")
            )
            end.result = result
            raise end from None
        return record(out)


def checkpoint_hash(path: Path) -> str:
    """SHA-256 over weights and training state of a checkpoint, hexadecimal: equal training has
    equal hashes."""
    out = ctypes.create_string_buffer(65)
    check(lib.wse_checkpoint_hash(text(path), out))
    return out.value.decode()
