# SPDX-License-Identifier: MIT
"""The one backend of a process: wafers, the model that was compiled for them, its trainer."""
import os
from contextlib import contextmanager
from typing import Any, Iterator, List, Optional

import torch

import wse
from wse.train import choose_devices
from wse.zoo import split_devices

from .distributed import ClusterConfig

_current: Optional["Backend"] = None


class _Device:
    """Where modules are made: in host memory, until MemoryX takes their weights."""

    type = "csx"

    def __enter__(self) -> "_Device":
        return self

    def __exit__(self, *exc: Any) -> None:
        pass


class Backend:
    """What backend() returns."""

    is_csx, is_cpu, is_gpu, is_tpu = True, False, False, False
    backend_type = "CSX"

    def __init__(self, cluster_config: ClusterConfig, artifact_dir: Any, planning: bool) -> None:
        self.cluster_config, self.artifact_dir = cluster_config, artifact_dir
        self.planning = planning  # nothing is trained
        self.device, self.torch_device = _Device(), torch.device("cpu")
        self.model: Optional[torch.nn.Module] = None
        self.optimizer: Any = None
        self.executor: Any = None
        self.recorder: Any = None  # of the body of a traced function, while it runs
        self.captured: Any = None
        self.trainer: Optional[wse.Trainer] = None
        self.vocabulary, self.versions = 0, [0]
        self.closed = False

    @property
    def tracing(self) -> bool:
        """Is the body of a traced function running?"""
        return self.recorder is not None

    @property
    def devices(self) -> List[str]:
        """One for each of num_csx: those that WSE_DEVICES names, the nodes of this machine, or the
        twin."""
        named = os.environ.get("WSE_DEVICES")
        uris = choose_devices(split_devices(named) if named else None, self.cluster_config.num_csx)
        if len(uris) != self.cluster_config.num_csx:
            raise ValueError(
                f"num_csx is {self.cluster_config.num_csx}, and WSE_DEVICES names {len(uris)} "
                "wafers: name as many, or one simulator"
            )
        return uris

    def weights(self) -> List[int]:
        """How often each parameter of the module was written: by others than fetch(), not since
        the first step."""
        model: Any = self.model
        return [p._version for p in model.parameters()]

    def fetch(self) -> None:
        """The trainer's numbers into the module and the optimizer."""
        if self.trainer is not None and self.optimizer is not None:
            self.captured.get(self.trainer)
            self.versions = self.weights()
            self.optimizer._fetch(self)

    def close(self) -> None:
        """Gives the wafers back; a new backend may be made then."""
        global _current
        self.closed = True
        if self.trainer is not None:
            self.trainer.close()
        if _current is self:
            _current = None

    @contextmanager
    def recording(self, recorder: Any) -> Iterator[None]:
        """While the body of a traced function runs."""
        self.recorder = recorder
        try:
            yield
        finally:
            self.recorder = None


def backend(
    backend_type: str = "CSX",
    *,
    artifact_dir: Any = None,
    compile_dir: Any = None,
    compile_only: bool = False,
    validate_only: bool = False,
    cluster_config: Optional[ClusterConfig] = None,
    **_: Any,
) -> Backend:
    """
    The backend of this process, which has one until it is closed. compile_only, validate_only: the
    plan is logged, and nothing is trained.
    """
    global _current
    if str(backend_type).upper() != "CSX":
        raise ValueError(f"backend {backend_type!r}: these are wafers, 'CSX'")
    if _current is not None:
        raise RuntimeError("there is a backend: a process has one; close() gives its wafers back")
    _current = Backend(
        cluster_config or ClusterConfig(), artifact_dir, compile_only or validate_only
    )
    return _current


def current_backend(raise_exception: bool = True) -> Any:
    """The backend; without one an exception, or None."""
    if _current is None and raise_exception:
        raise RuntimeError("there is no backend: cerebras.pytorch.backend('CSX') makes it")
    return _current


def use_cs() -> bool:
    """Is there a backend of wafers?"""
    return _current is not None
