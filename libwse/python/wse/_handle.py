# SPDX-License-Identifier: MIT
"""What all objects have in common: handles of the library, errors, structs in and out,
callbacks."""
import ctypes
import difflib
import errno
import keyword
import operator
import os
import signal
import sys
import threading
import weakref
from collections import namedtuple
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, Type, TypeVar

from . import _abi
from ._abi import lib
from ._library import is_integer, limits

Self = TypeVar("Self", bound="Handle")


class Error(OSError):
    """A call of the library failed: errno, and the sentence of wse_error(), which names the thing
    and the fix."""

    def __str__(self) -> str:
        return str(self.strerror)


class _Thread(threading.local):
    calls = 0  # of the library that this thread is in
    raised: Optional[BaseException] = None  # by a callback of them


_thread = _Thread()


def check(result: int) -> int:
    """The result of a call, or what it says as an exception. A callback's exception goes first."""
    raised, _thread.raised = _thread.raised, None
    if raised is not None:
        raise raised
    if result < 0:
        raise Error(
            -result, (lib.wse_error() or b"").decode("utf-8", "replace") or os.strerror(-result)
        )
    return result


def callback(
    kind: Any,
    function: Callable[..., Any],
    failed: Any = None,
    clean: Optional[Callable[..., None]] = None,
) -> Any:
    """
    A function for the library to call. An exception does not get into C: the call from which the
    callback came raises it. Until then the library gets `failed`; clean(*arguments) leaves
    something that it refuses.
    """

    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except BaseException as e:  # pylint: disable=broad-except
            if clean:
                clean(*arguments)
            if _thread.calls and _thread.raised is None:
                _thread.raised = e
            elif not _thread.calls:  # a thread of the library's own
                hook: Any = sys.unraisablehook
                hook(
                    _UNRAISABLE(
                        type(e),
                        e,
                        e.__traceback__,
                        "an exception in a callback of libwse",
                        function,
                    )
                )
            return failed

    return kind(call)


_UNRAISABLE = namedtuple("_UNRAISABLE", "exc_type exc_value exc_traceback err_msg object")


class Interrupts:
    """
    Ctrl-C while the library runs: noticed, and raised when the call has ended. Python would raise
    it in whatever callback comes next, even before that can catch it. A handler of the user's own
    stays.
    """

    def __init__(self) -> None:
        self.came = False
        self._old: Any = None

    def __enter__(self) -> "Interrupts":
        if (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        ):
            self._old = signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, *_: Any) -> None:
        self.came = True

    def __exit__(self, *exc: Any) -> None:
        if self._old is not None:
            signal.signal(signal.SIGINT, self._old)
            if self.came and exc[0] is None:
                raise KeyboardInterrupt


def _destroy(destroy: Callable[[Any], Any], raw: Any, pid: int, _keep: Any) -> None:
    if os.getpid() == pid:  # the threads behind it did not follow into a fork
        destroy(raw)


class Handle:
    """A handle of the library. Closed by close(), at the end of a `with`, or when nothing refers to
    it any more."""

    _kind = "handle"
    _one_thread = False  # one thread at a time may be in a call

    def _own(self, raw: Any, destroy: Callable[[Any], Any], *keep: Any) -> None:
        """Takes over raw; keep is what the library goes on using, callbacks above all."""
        self._raw, self._pid, self._users, self._lock = raw, os.getpid(), 0, threading.Lock()
        self._end = weakref.finalize(self, _destroy, destroy, raw, self._pid, keep)

    def _hold(self) -> Any:
        if getattr(self, "_raw", None) is None:
            raise Error(errno.EBADF, f"the {self._kind} is closed")
        if os.getpid() != self._pid:
            raise Error(
                errno.EBADF,
                f"the {self._kind} was opened by process {self._pid}, of which this one is a fork: open it "
                'here, or start processes by "spawn" (multiprocessing.set_start_method)',
            )
        with self._lock:
            if self._one_thread and self._users:
                raise Error(
                    errno.EBUSY,
                    f"the {self._kind} is in another call: one thread at a time uses it, and its callbacks do not",
                )
            self._users += 1
            return self._raw

    def _release(self) -> None:
        with self._lock:
            self._users -= 1

    def _call(self, function: Callable[..., int], *arguments: Any) -> int:
        # using() for one, without a generator: a step goes this way
        raw = self._hold()
        _thread.calls += 1
        try:
            return check(function(raw, *arguments))
        finally:
            _thread.calls -= 1
            self._release()

    @property
    def closed(self) -> bool:
        return getattr(self, "_raw", None) is None

    def close(self) -> None:
        """Gives it back; a second time does nothing."""
        if self.closed:
            return
        if os.getpid() == self._pid:
            with self._lock:
                if self._users:
                    raise Error(
                        errno.EBUSY,
                        f"the {self._kind} is in another call: close it when that has ended",
                    )
                self._raw = None
        self._raw = None
        self._end()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError(f"a {self._kind} cannot be pickled: open it in the process that uses it")


@contextmanager
def using(*handles: Optional[Handle]) -> Iterator[List[Any]]:
    """The raw handles, for the duration of a call: none of them can be closed by another thread.
    None stays None."""
    held: List[Handle] = []
    try:
        raw = []
        for h in handles:
            raw.append(h if h is None else h._hold())
            if h is not None:
                held.append(h)
        _thread.calls += 1
        try:
            yield raw
        finally:
            _thread.calls -= 1
    finally:
        for h in held:
            h._release()


# ---- structs ----

# a word in place of a number: WSE_GELU is "gelu"
_WORDS = {
    "activation": "WSE_",
    "optimizer": "WSE_OPTIM_",
    "kind": "WSE_SCHED_",
    "mode": "WSE_MODE_",
    "post": "WSE_POST_",
    "type": "WSE_TYPE_",
    "shape": "WSE_SHAPE_",
    "what": "WSE_CKPT_",
}


def word(member: str, value: str) -> int:
    """The number of a word, which is the end of a constant's name."""
    if member not in _WORDS:
        raise TypeError(f"{member} is a number, not '{value}'")
    name = _WORDS[member] + value.upper()
    number = getattr(_abi, name, None)
    if not isinstance(number, int):
        raise ValueError(f"{member} '{value}': no such constant as {name} is in libwse")
    return number


def text(value: Any) -> bytes:
    """A string for the library: str, bytes, or a path."""
    out = os.fsencode(value)
    if b"\0" in out:
        raise ValueError(f"{value!r} has a NUL in it")
    return out


def _member(name: str, t: Any, value: Any) -> Any:
    """A Python value for a member of type t."""
    if t is ctypes.c_char_p:
        return None if value is None else text(value)
    if is_integer(t):
        if isinstance(value, str):
            return word(name, value)
        low, high = limits(t)
        number = operator.index(value)
        if not low <= number <= high:
            raise ValueError(f"{name} {number} is not between {low} and {high}")
        return number
    if (
        issubclass(t, ctypes._Pointer)
        and not isinstance(value, (ctypes._Pointer, ctypes.Array))
        and value is not None
    ):
        return _array(name, t._type_, value)
    if issubclass(t, ctypes.Array):
        return t(*[_member(name, t._type_, v) for v in value])
    return value


def _array(name: str, t: Any, values: Any) -> Any:
    if issubclass(t, ctypes.Structure):
        return (t * len(values))(*[v if isinstance(v, t) else fill(t, v) for v in values])
    return (t * len(values))(*[_member(name, t, v) for v in values])


def fill(struct: Type[Any], members: Dict[str, Any]) -> Any:
    """A struct from its members by name. A list fills a pointer, and its length the member
    n<name>."""
    out = struct()
    types = dict(struct._fields_)
    for name, value in members.items():
        name += "_" * keyword.iskeyword(name)
        if name not in types:
            near = difflib.get_close_matches(name, types, 1)
            raise TypeError(
                f"{struct.__name__} has no member '{name}'"
                + (f": '{near[0]}'?" if near else f", but {', '.join(types)}")
            )
        value = _member(name, types[name], value)
        setattr(out, name, value)
        if isinstance(value, ctypes.Array) and "n" + name in types:
            setattr(out, "n" + name, len(value))
    return out


@lru_cache(maxsize=None)
def _record(struct: Any) -> Tuple[Any, Tuple[str, ...]]:
    names = tuple(n for n, _ in struct._fields_ if n != "resv")
    # type: ignore[misc]
    record = namedtuple(
        struct.__name__.replace("wse_", "").replace("drm_", "").title().replace("_", ""), names
    )
    record.__doc__ = struct.__doc__
    return record, names


def record(struct: Any) -> Any:
    """A struct as a named tuple, without what is reserved; bytes become str."""
    kind: Any = type(struct)
    make, names = _record(kind)
    values: List[Any] = []
    for n in names:
        v = getattr(struct, n)
        values.append(
            record(v)
            if isinstance(v, ctypes.Structure)
            else v.decode("utf-8", "replace")
            if isinstance(v, bytes)
            else v
        )
    return make(*values)


def says(*functions: str) -> Callable[[Any], Any]:
    """Adds to a docstring what the headers say about these functions or structs."""

    def add(thing: Any) -> Any:
        parts: List[str] = [thing.__doc__ or ""]
        for name in functions:
            doc = (getattr(lib, name) if hasattr(lib, name) else getattr(_abi, name)).__doc__ or ""
            parts += [f"{name}:\n\n{doc.strip()}"] if doc else []
        thing.__doc__ = "\n\n".join(parts)
        return thing

    return add
