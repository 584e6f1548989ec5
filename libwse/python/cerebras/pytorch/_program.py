# SPDX-License-Identifier: MIT
"""What a traced function became: a step of a wse.Trainer, or the loss of a batch."""
import errno
import logging
from typing import Any, Dict, Tuple

import torch
from torch.utils._pytree import tree_flatten

import wse
import wse.torch

Tensor = torch.Tensor
_log = logging.getLogger("wse")


def samples_of(tokens: Tensor, labels: Tensor, vocabulary: int) -> Tensor:
    """[B][S] tokens and labels as libwse has them, [B][S + 1]: a label is the token that follows."""
    if labels.dim() == 1:  # of the token behind a window
        labels = labels[:, None]
    elif tokens.shape != labels.shape or tokens.dim() != 2:
        raise ValueError(
            f"tokens {list(tokens.shape)}, labels {list(labels.shape)}: both are [B][S]"
        )
    elif not torch.equal(tokens[:, 1:].to(labels.dtype), labels[:, :-1]):
        b, s = (tokens[:, 1:] != labels[:, :-1]).nonzero()[0].tolist()
        raise ValueError(
            f"label {s} of sample {b} is {int(labels[b, s])}, and the token that follows is "
            f"{int(tokens[b, s + 1])}: a model of libwse predicts the next token"
        )
    out = torch.cat([tokens, labels[:, -1:].to(tokens.dtype)], 1)
    low, high = int(out.min()), int(out.max())
    if low < 0 or high >= vocabulary:
        raise ValueError(f"token {low if low < 0 else high}: the vocabulary has {vocabulary}")
    return out.to(torch.int32 if vocabulary > 65536 else torch.int16).contiguous()


class Program:
    """A traced function."""

    def __init__(self, backend: Any, name: str, recorder: Any, spec: Any, result: Any) -> None:
        self.backend, self.name, self.spec, self.result = backend, name, spec, result
        self.inputs, self.loss = recorder.inputs, recorder.loss
        self.max_norm = recorder.max_norm
        self.optimizer, self.scheduler = recorder.optimizer, recorder.scheduler

    def run(self, arguments: Tuple[Any, ...], named: Dict[str, Any]) -> Any:
        """A step on the batch of these arguments."""
        leaves, spec = tree_flatten((list(arguments), named))
        if spec != self.spec:
            raise ValueError(
                f"{self.name}(): the batch has another form than the one of its capture"
            )
        tokens, labels = (leaves[i] for i in self.inputs)
        backend = self.backend
        if backend.trainer is not None and self.optimizer and not backend.optimizer:
            backend.trainer.close()  # it evaluates only
            backend.trainer = None
        if backend.trainer is None:
            self._open(tokens, labels)
        if backend.planning:
            return self.result
        if backend.weights() != backend.versions:
            raise RuntimeError(
                "the module's weights were changed after the first step, and the trainer has them: "
                "load weights before it"
            )
        samples = samples_of(tokens, labels, backend.vocabulary)
        if self.optimizer is None:
            value = backend.trainer.loss_on(samples)
        else:
            result = backend.trainer.step_on(samples)
            value = result.loss
            self.optimizer._did(result)
            if self.scheduler is not None:
                self.scheduler._did(result)
        with torch.no_grad():
            self.loss.fill_(value)
        if backend.executor is not None:
            backend.executor._did(len(tokens))
        return self.result

    def _open(self, tokens: Tensor, labels: Tensor) -> None:
        """The module becomes a model of libwse, its optimizer the trainer's parameters."""
        backend = self.backend
        captured = wse.torch.capture(backend.model, tokens.long(), labels.long())
        members = {"batch": len(tokens), "lr": 1.0}
        if self.optimizer is not None:
            members.update(self.optimizer._members(backend.model))
        if backend.executor is not None and backend.executor.micro_batch_size:
            members["micro_batch"] = backend.executor.micro_batch_size
        members["max_norm"] = self.max_norm
        if self.scheduler is not None:
            if self.scheduler.optimizer is not self.optimizer:
                raise ValueError("the scheduler is of another optimizer than the step's")
            members["sched"] = self.scheduler._all()
            del members["lr"]
        elif self.optimizer is not None and self.optimizer._scheduled:
            raise ValueError(
                f"{self.name}() steps no scheduler, and its optimizer has one: call "
                "lr_scheduler.step() behind optimizer.step()"
            )
        params = wse.Params.make(captured.model, **members)
        if backend.planning:
            for uri in backend.devices[:1]:
                params.plan(uri, line=_log.log)
            return
        trainer = wse.Trainer(params, backend.devices)
        try:
            if self.optimizer is not None:
                self.optimizer._restore(trainer)
            captured.put(trainer)
            step, at = trainer.info.step, getattr(self.scheduler, "last_epoch", None)
            if at is not None and at != step:
                raise wse.Error(
                    errno.EINVAL,
                    f"the schedule is at step {at} and the optimizer at {step}: load the states of "
                    "both, or of none",
                )
        except BaseException:
            trainer.close()
            raise
        backend.captured, backend.trainer, backend.optimizer = captured, trainer, self.optimizer
        backend.vocabulary, backend.versions = trainer.info.vocab, backend.weights()
