# SPDX-License-Identifier: MIT
"""The shared library: where it is, and its functions one by one."""
import ctypes
import os
from pathlib import Path
from typing import Any


def _paths() -> "list[str]":
    """Where libwse may be, the likeliest first."""
    if os.environ.get("WSE_LIBRARY"):
        return [os.environ["WSE_LIBRARY"]]
    here = Path(__file__).resolve().parent
    beside = [here.parents[2] / "libwse.so.1",  # PREFIX/lib, of PREFIX/lib/python3/dist-packages/wse
              here.parents[2] / "build" / "libwse.so.1"]  # of a tree
    return [str(p) for p in beside if p.exists()] + ["libwse.so.1"]


def _load() -> ctypes.CDLL:
    why = ""
    for path in _paths():
        try:
            return ctypes.CDLL(path)
        except OSError as e:
            why = why or str(e)
    raise ImportError(f"libwse.so.1 cannot be loaded ({why}): install libwse, or name the file in WSE_LIBRARY")


lib = _load()


def bind(name: str, result: Any, *arguments: Any, doc: str = "") -> Any:
    """The library's function of that name. The GIL is released while it runs."""
    try:
        function = getattr(lib, name)
    except AttributeError:
        lib.wse_version.restype = ctypes.c_char_p
        raise ImportError(f"{lib._name} is release {lib.wse_version().decode()} and has no {name}(): "
                          "this package belongs to another release") from None
    function.restype = result
    function.argtypes = arguments
    function.__doc__ = doc
    return function
