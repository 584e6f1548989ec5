# SPDX-License-Identifier: MIT
"""
Training on wafers from Python: libwse by ctypes, without arithmetic of its own.

    import wse
    with wse.Trainer("gpt_run.yaml", devices="sim:func,rows=4,cols=4", num_wse=2) as t:
        for s in t:
            print(s.step, s.loss)
        t.save("gpt.safetensors")

Trainer, Params and Model train; Device, Buffer, Context, Program and Fence are the wafer itself.
Every failure is a wse.Error with errno and the library's sentence. Objects are closed by close(),
by `with`, or when nothing refers to them; they belong to the process that opened them. wse.abi has
the library's functions, structs and constants as they are in C.
"""
from . import _abi as abi
from ._handle import Error, Handle
from .array import Array
from .device import (
    Buffer,
    Context,
    Device,
    Fence,
    Program,
    copy_in,
    copy_out,
    fence,
    fence_queue,
    nop,
    start,
    stream_in,
    stream_out,
)
from .model import Batch, Graph, Model
from .train import Interrupted, Params, ParamsError, Step, Tensors, Trainer, checkpoint_hash

__version__: str = (abi.lib.wse_version() or b"").decode()
if __version__ != abi.WSE_RELEASE:
    raise ImportError(
        f"libwse is release {__version__}, and this package was made for {abi.WSE_RELEASE}: install both from one tree"
    )

__all__ = [
    "Array",
    "Batch",
    "Buffer",
    "Context",
    "Device",
    "Error",
    "Fence",
    "Graph",
    "Handle",
    "Interrupted",
    "Model",
    "Params",
    "ParamsError",
    "Program",
    "Step",
    "Tensors",
    "Trainer",
    "abi",
    "checkpoint_hash",
    "copy_in",
    "copy_out",
    "fence",
    "fence_queue",
    "nop",
    "start",
    "stream_in",
    "stream_out",
]
