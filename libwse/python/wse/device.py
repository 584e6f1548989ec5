# SPDX-License-Identifier: MIT
"""Devices, buffers, contexts, programs, commands."""
import ctypes
import errno
import time
import weakref
from ctypes import byref
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from . import _abi
from ._abi import lib
from ._handle import Error, Handle, check, fill, record, says, text, using
from .array import Array, mapped

_SCOPES = {
    "tile": _abi.DRM_WSE_SCOPE_TILE,
    "core": _abi.DRM_WSE_SCOPE_CORE,
    "link": _abi.DRM_WSE_SCOPE_LINK,
    "queue": _abi.DRM_WSE_SCOPE_QUEUE,
}


@says("wse_device_open")
class Device(Handle):
    """A wafer, by its URI: a device node of the driver, or a model in this process."""

    _kind = "device"

    def __init__(self, uri: str) -> None:
        raw = ctypes.POINTER(_abi.wse_device)()
        check(lib.wse_device_open(text(uri), byref(raw)))
        self._own(raw, lib.wse_device_close)

    @property
    def uri(self) -> str:
        with using(self) as (raw,):
            return (lib.wse_device_uri(raw) or b"").decode()

    @property
    def info(self) -> Any:
        """What it is, as a named tuple: struct drm_wse_info."""
        out = _abi.drm_wse_info()
        self._call(lib.wse_device_info, byref(out))
        return record(out)

    def counters(self, scope: str = "tile", object: int = 0) -> Dict[str, int]:
        """The counters of the tile, or of one core, link or queue, by name. Those that this library
        does not know are left out."""
        if scope not in _SCOPES:
            raise ValueError(f"scope '{scope}' is none of {', '.join(_SCOPES)}")
        names: List[str] = []
        while lib.wse_counter(_SCOPES[scope], len(names)):
            names.append(lib.wse_counter(_SCOPES[scope], len(names)).contents.name.decode())
        values, n = (ctypes.c_uint64 * len(names))(), ctypes.c_uint32()
        self._call(lib.wse_device_counters, _SCOPES[scope], object, values, len(names), byref(n))
        return dict(zip(names[: n.value], values))

    @says("wse_device_mmio_read")
    def mmio_read(self, offset: int) -> int:
        """A register of BAR0."""
        value = ctypes.c_uint32()
        self._call(lib.wse_device_mmio_read, offset, byref(value))
        return value.value

    def buffer(self, size: int) -> "Buffer":
        """Memory that the device can reach, zeroed."""
        return Buffer(self, size)

    @says("wse_context_create")
    def context(self, wait: bool = False) -> "Context":
        """The lease of the whole device; with wait, when it is free."""
        return Context(self, wait)


class _Memory(Handle):
    """The handle itself; Buffer and all views refer to it."""

    _kind = "buffer"

    def __init__(self, raw: Any) -> None:
        self._own(raw, lib.wse_buffer_destroy)


class Buffer:
    """
    Host memory that the device can reach.

    view() is all of it as a memoryview, array() a part as numbers of a type: neither copies.
    close() refuses while there are such views (BufferError); without it the memory stays until the
    last view is gone.
    """

    _kind = "buffer"

    @says("wse_buffer_create")
    def __init__(self, device: Device, size: int) -> None:
        """size bytes, rounded up to pages."""
        raw = ctypes.POINTER(_abi.wse_buffer)()
        device._call(lib.wse_buffer_create, size, byref(raw))
        self._take(raw, device)

    def _take(self, raw: Any, device: Device) -> None:
        self._memory, self._device = _Memory(raw), weakref.ref(device)
        self._views: Any = lambda: None

    @says("wse_buffer_share")
    def share(self, device: Device) -> "Buffer":
        """The same memory for another device."""
        raw = ctypes.POINTER(_abi.wse_buffer)()
        with using(device, self._memory) as (dev, buf):
            check(lib.wse_buffer_share(dev, buf, byref(raw)))
        out = Buffer.__new__(Buffer)
        out._take(raw, device)
        return out

    @property
    def size(self) -> int:
        with using(self._memory) as (raw,):
            return int(lib.wse_buffer_size(raw))

    @property
    def closed(self) -> bool:
        return self._memory.closed

    def __len__(self) -> int:
        return self.size

    def _shared(self) -> Any:
        memory = self._views()
        if memory is None:
            with using(self._memory) as (raw,):
                memory = mapped(lib.wse_buffer_map(raw) or 0, lib.wse_buffer_size(raw))
                memory.owner = self._memory
            self._views = weakref.ref(memory)
        return memory

    def view(self) -> memoryview:
        """All bytes."""
        return memoryview(self._shared()).cast("B")

    __buffer__ = lambda self, _: self.view()  # noqa: E731 Python 3.12 on

    def array(self, dtype: str, shape: Union[int, Sequence[int]], offset: int = 0) -> Array:
        """Numbers from byte `offset` on."""
        return Array(self._shared(), dtype, [shape] if isinstance(shape, int) else shape, offset)

    def close(self) -> None:
        if not self.closed and self._views() is not None:
            raise BufferError(
                "the buffer has views or arrays that are in use: it can be closed when they are gone"
            )
        self._memory.close()

    def __enter__(self) -> "Buffer":
        return self

    def __exit__(self, *exc: Any) -> None:
        if exc[0] is not None and self._views() is not None:
            return  # the traceback refers to views: the first error is the one to hear of
        self.close()


class Fence(Handle):
    """What became of a submit."""

    _kind = "fence"

    def __init__(self, raw: Any) -> None:
        self._own(raw, lib.wse_fence_destroy)

    @says("wse_fence_wait")
    def wait(self, timeout: Optional[float] = None) -> None:
        """Until the commands are done, at most timeout seconds (TimeoutError's errno: they still
        run)."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:  # a slice at a time, so that Ctrl-C gets through
            left = 0.1 if end is None else min(0.1, max(0.0, end - time.monotonic()))
            try:
                self._call(lib.wse_fence_wait, int(left * 1e9))
                return
            except Error as e:
                if e.errno != errno.ETIMEDOUT or (end is not None and time.monotonic() >= end):
                    raise

    @property
    def done(self) -> bool:
        with using(self) as (raw,):
            return bool(lib.wse_fence_poll(raw) != -errno.ETIMEDOUT)

    @says("wse_fence_cycles")
    def cycles(self) -> "tuple[int, int]":
        """Device cycles at the start and at the end."""
        start, end = ctypes.c_uint32(), ctypes.c_uint32()
        self._call(lib.wse_fence_cycles, byref(start), byref(end))
        return start.value, end.value


class Program(Handle):
    """A program of the cores."""

    _kind = "program"

    def __init__(self, raw: Any, device: Device) -> None:
        self._own(raw, lib.wse_program_destroy)
        self._device = weakref.ref(device)

    def symbol(self, name: str) -> int:
        """Absolute address of a symbol."""
        out = ctypes.c_uint32()
        self._call(lib.wse_program_symbol, text(name), byref(out))
        return out.value

    @property
    def end(self) -> int:
        """First SRAM offset behind it."""
        with using(self) as (raw,):
            return int(lib.wse_program_end(raw))

    def copy(self, queue: int = 1) -> Any:
        """The command that copies a program of Context.create_program() to all cores."""
        with using(self) as (raw,):
            command = lib.wse_program_copy(raw, queue)
        command.source = self
        return command


class Context(Handle):
    """The lease of a device: commands and programs."""

    _kind = "context"

    def __init__(self, device: Device, wait: bool = False) -> None:
        raw = ctypes.POINTER(_abi.wse_context)()
        device._call(lib.wse_context_create, _abi.WSE_CONTEXT_WAIT if wait else 0, byref(raw))
        self._own(raw, lib.wse_context_destroy)
        self.device = device

    @says("wse_program_load")
    def load(self, program: Any) -> Program:
        """A program on all cores: the path of an ELF file, or its bytes."""
        raw = ctypes.POINTER(_abi.wse_program)()
        if isinstance(program, (bytes, bytearray, memoryview)):
            image = bytes(program)
            self._call(lib.wse_program_load_memory, image, len(image), byref(raw))
        else:
            self._call(lib.wse_program_load, text(program), byref(raw))
        return Program(raw, self.device)

    @says("wse_program_create")
    def create_program(self, path: Any) -> Program:
        """A program that stays in a buffer until its copy() command runs."""
        raw = ctypes.POINTER(_abi.wse_program)()
        self._call(lib.wse_program_create, text(path), byref(raw))
        return Program(raw, self.device)

    @says("wse_program_print")
    def messages(self, program: Program) -> List[Tuple[int, int, str]]:
        """What the cores have printed since the last call: row, column, text of each message."""
        said: List[Tuple[int, int, str]] = []

        def hear(_arg: Any, row: int, col: int, what: bytes) -> None:
            said.append((row, col, what.decode(errors="replace")))

        with using(program) as (raw,):
            self._call(lib.wse_program_print, raw, _abi.wse_message_fn(hear), None)
        return said

    @says("wse_submit")
    def submit(self, commands: Iterable[Any], after: Sequence[Fence] = ()) -> Fence:
        """Submits commands, all or nothing, to run when the fences of `after` have signalled."""
        cmds = list(commands)
        array = (_abi.drm_wse_cmd * len(cmds))(*cmds)
        raw = ctypes.POINTER(_abi.wse_fence)()
        buffers = [b for c in cmds for b in getattr(c, "buffers", {}).values()]
        programs = [c.source for c in cmds if hasattr(c, "source")]
        if any(b._device() is not self.device for b in buffers):
            raise ValueError("a command's buffer is of another device: take its share() with this")
        if any(p._device() is not self.device for p in programs):
            raise ValueError("a program is of another device: create it there, too")
        # a command has no more than its buffer's number, which may be another one's by now
        held = [*[b._memory for b in buffers], *programs]
        with using(self, *after, *held) as (ctx, *fences):
            fences = fences[: len(after)]
            waits = (ctypes.POINTER(_abi.wse_fence) * len(fences))(*fences)
            check(lib.wse_submit(ctx, array, len(cmds), waits, len(fences), byref(raw)))
        return Fence(raw)

    def run(self, commands: Iterable[Any], timeout: Optional[float] = None) -> None:
        """Submits commands and waits for them."""
        with self.submit(commands) as fence:
            fence.wait(timeout)

    @property
    def fault(self) -> Any:
        """The first fault of a context that is lost (struct drm_wse_fault), or None."""
        out = _abi.drm_wse_fault()
        try:
            self._call(lib.wse_context_fault, byref(out))
        except Error as e:
            if e.errno == errno.ENODATA:
                return None
            raise
        return record(out)


# ---- commands ----


def _command(function: Any, struct: Any, members: Dict[str, Any]) -> Any:
    """A command from the members of its struct. It keeps its buffers."""
    buffers = {k: members.pop(k) for k in ("buf", "mask") if members.get(k) is not None}
    for k, b in buffers.items():
        if not isinstance(b, Buffer):
            raise TypeError(f"{k} is a wse.Buffer, not a {type(b).__name__}")
    with using(*[b._memory for b in buffers.values()]) as raws:
        command = function(fill(struct, {**members, **dict(zip(buffers, raws))}))
    command.buffers = buffers
    return command


@says("wse_copy")
def copy_in(**members: Any) -> Any:
    """The command that copies from a buffer into SRAM; members of struct wse_copy."""
    return _command(lib.wse_cmd_copy_in, _abi.wse_copy, members)


@says("wse_copy")
def copy_out(**members: Any) -> Any:
    """The command that copies from SRAM into a buffer; members of struct wse_copy."""
    return _command(lib.wse_cmd_copy_out, _abi.wse_copy, members)


@says("wse_stream")
def stream_in(**members: Any) -> Any:
    """The command that streams from a buffer into the fabric; members of struct wse_stream."""
    return _command(lib.wse_cmd_stream_in, _abi.wse_stream, members)


@says("wse_stream")
def stream_out(**members: Any) -> Any:
    """The command that streams from the fabric into a buffer; members of struct wse_stream."""
    return _command(lib.wse_cmd_stream_out, _abi.wse_stream, members)


@says("wse_start")
def start(arg: Sequence[int] = (), **members: Any) -> Any:
    """The command that starts an entry on a rectangle of cores; members of struct wse_start."""
    if len(arg) > 16:
        raise ValueError(f"{len(arg)} arguments: a start takes 16")
    return _command(lib.wse_cmd_start, _abi.wse_start, {"arg": arg, **members})


@says("wse_cmd_fence")
def fence(queue: int, wait_cmd: int) -> Any:
    """The command that makes a queue wait for an earlier command."""
    return lib.wse_cmd_fence(queue, wait_cmd)


@says("wse_cmd_fence_queue")
def fence_queue(queue: int, wait_queue: int) -> Any:
    """The command that makes a queue wait for another queue."""
    return lib.wse_cmd_fence_queue(queue, wait_queue)


def nop(queue: int = 1) -> Any:
    """A command that does nothing."""
    return lib.wse_cmd_nop(queue)
