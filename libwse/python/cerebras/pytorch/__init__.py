# SPDX-License-Identifier: MIT
"""
The public names of Cerebras' torch front end, on libwse: a training script that was written for
them runs on the wafers of this machine.

A script's step is captured, not run: the body of a function under @trace runs once, on tensors that
only say what is asked of them, and from then on each call is one step of a wse.Trainer. Weights,
moments and every sum are libwse's; a script's optimizer and schedulers are its parameters. What a
step does besides is refused by its line. Written from public names and contracts.
"""
from . import amp, backends, distributed, optim, utils
from ._backend import Backend, backend, current_backend, use_cs
from ._checkpoint import load, save
from ._closure import checkpoint_closure, step_closure
from ._convert import from_numpy, to_numpy
from ._trace import Compiled, compile, trace

__all__ = [
    "Backend",
    "Compiled",
    "amp",
    "backend",
    "backends",
    "checkpoint_closure",
    "compile",
    "current_backend",
    "distributed",
    "from_numpy",
    "load",
    "optim",
    "save",
    "step_closure",
    "to_numpy",
    "trace",
    "use_cs",
    "utils",
]
