# SPDX-License-Identifier: MIT
"""The shared library: where it is, and its functions one by one."""
import ctypes
import operator
import os
from functools import lru_cache
from pathlib import Path
from typing import Any, List


def _paths() -> List[str]:
    """Where libwse may be, the likeliest first."""
    if os.environ.get("WSE_LIBRARY"):
        return [os.environ["WSE_LIBRARY"]]
    up = Path(__file__).resolve().parents
    beside = [
        up[3] / "libwse.so.1",  # PREFIX/lib, of PREFIX/lib/python3/dist-packages/wse
        up[3] / "build" / "libwse.so.1",
    ]  # a tree, of libwse/python/wse
    return [str(p) for p in beside if p.exists()] + ["libwse.so.1"]


def _load() -> ctypes.CDLL:
    why = ""
    for path in _paths():
        try:
            return ctypes.CDLL(path)
        except OSError as e:
            why = why or str(e)
    raise ImportError(
        f"libwse.so.1 cannot be loaded ({why}): install libwse, or name the file in WSE_LIBRARY"
    )


lib = _load()


def limits(integer: Any) -> "tuple[int, int]":
    """The lowest and the highest number of a ctypes integer."""
    bits = 8 * ctypes.sizeof(integer)
    return (
        (0, 2**bits - 1) if integer(-1).value > 0 else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    )


@lru_cache(maxsize=None)
def _checked(integer: Any) -> Any:
    """The same integer as a parameter: ctypes alone would cut off what does not fit."""
    low, high = limits(integer)

    def from_param(_: Any, value: Any) -> Any:
        number = operator.index(value)
        if not low <= number <= high:
            raise ValueError(f"{number} is not between {low} and {high}")
        return integer(number)

    return type(integer.__name__, (integer,), {"from_param": classmethod(from_param)})


def is_integer(t: Any) -> bool:
    return (
        isinstance(t, type)
        and issubclass(t, ctypes._SimpleCData)
        and getattr(t, "_type_") in "bBhHiIlLqQ"
    )


def bind(name: str, result: Any, *arguments: Any, doc: str = "") -> None:
    """Makes lib.NAME the library's function of that name. The GIL is released while it runs."""
    try:
        function = getattr(lib, name)
    except AttributeError:
        lib.wse_version.restype = ctypes.c_char_p
        raise ImportError(
            f"{lib._name} is release {lib.wse_version().decode()} and has no {name}(): "
            "this package belongs to another release"
        ) from None
    function.restype = result
    function.argtypes = [_checked(a) if is_integer(a) else a for a in arguments]
    function.__doc__ = doc.strip("\n")
