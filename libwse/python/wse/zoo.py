# SPDX-License-Identifier: MIT
"""
The Model Zoo's commands on a parameter file, for those who expect them of Python; wse-train(1)
has more.

    python3 -m wse.zoo fit PARAMS.yaml          train, with evaluations and checkpoints
    python3 -m wse.zoo validate PARAMS.yaml     the held-out loss of a checkpoint
    python3 -m wse.zoo validate_all PARAMS.yaml of all checkpoints of validate_all
"""
import argparse
import logging
import signal
import sys
from typing import Any, List, Optional

from . import Error, Interrupted, Params, ParamsError, Trainer

MODES = {"fit": "train_and_eval", "validate": "eval", "validate_all": "eval_all"}
FORWARD = {"fit": 0, "validate": 1, "validate_all": 2}


class _Parser(argparse.ArgumentParser):
    def print_help(self, file: Optional[Any] = None) -> None:
        """Itself: that of Python 3.11.3 and later passes over what cannot be written."""
        print(self.format_help(), end="", file=file, flush=True)


def _arguments(argv: Optional[List[str]]) -> argparse.Namespace:
    p = _Parser(
        prog="python3 -m wse.zoo",
        allow_abbrev=False,
        description="Train or evaluate a model on wafers.",
    )
    p.add_argument("command", choices=MODES)
    p.add_argument("params", metavar="PARAMS.yaml")
    p.add_argument(
        "--num_csx",
        "--num_wse",
        type=int,
        metavar="N",
        dest="num_wse",
        help="wafers (default: the file's)",
    )
    p.add_argument(
        "--devices",
        metavar="URI,...",
        help="default: accel:0 ... if they exist, else sim:func,rows=4,cols=4",
    )
    p.add_argument("--data", metavar="PATH", help="text (default: the file's data_dir)")
    p.add_argument(
        "--model_dir",
        metavar="DIR",
        help="checkpoints, metrics.csv, loss.svg (default: the file's)",
    )
    p.add_argument(
        "--checkpoint_path",
        metavar="F",
        help='where to start from; "auto": the last one in DIR, if any',
    )
    p.add_argument(
        "--max_steps", type=int, metavar="N", help="the step to end at (default: the file's)"
    )
    p.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY.PATH=VALUE",
        help="overrides a key of the file",
    )
    return p.parse_args(argv)


def split_devices(uris: str) -> List[str]:
    """ "sim:rtl,rows=4,cols=4,accel:0": a part with a colon begins a device."""
    out: List[str] = []
    for part in uris.split(","):
        if ":" in part or not out:
            out.append(part)
        else:
            out[-1] += f",{part}"
    return out


class _Output:
    """Standard output: where it cannot be written, a run goes on without, as wse-train's does."""

    lost: Optional[OSError] = None

    def say(self, text: str) -> None:
        """A line."""
        try:
            if self.lost is None:
                print(text, flush=True)
        except OSError as e:
            self.lost = e
            # nothing is left for the interpreter to write at its end
            sys.stdout = None  # type: ignore[assignment]

    def end(self, status: int, trained: bool) -> int:
        """The exit status, after a line if something was lost."""
        if self.lost is None:
            return status
        who = "warning" if trained else "wse.zoo"
        print(f"{who}: standard output is not whole: {self.lost.strerror}", file=sys.stderr)
        return status if trained else status or 1


def main(argv: Optional[List[str]] = None) -> int:
    """The command: its exit status."""
    output = _Output()
    try:
        a = _arguments(argv)
    except OSError as e:  # of --help
        output.lost, sys.stdout = e, None  # type: ignore[assignment]
        return output.end(1, False)
    return output.end(_command(a, output), a.command == "fit")


def _command(a: argparse.Namespace, output: _Output) -> int:
    def line(level: int, text: str) -> None:
        if level > logging.INFO:
            print(text, file=sys.stderr, flush=True)
        else:
            output.say(text)

    sets = a.set + ([f"loop.max_steps={a.max_steps}"] if a.max_steps is not None else [])
    try:
        with Params(
            a.params,
            sets=sets,
            data=a.data,
            model_dir=a.model_dir,
            forward=FORWARD[a.command],
        ) as params:
            for note in params.notes:
                print(f"note: {note}", file=sys.stderr)
            with Trainer(
                params, a.devices and split_devices(a.devices), a.num_wse, log=line
            ) as trainer:
                result = trainer.run(MODES[a.command], checkpoint=a.checkpoint_path)
    except ParamsError as e:
        print("\n".join(f"wse.zoo: {fault}" for fault in e.faults), file=sys.stderr)
        return 2
    except Interrupted as e:
        output.say(f"| Stopped at step {e.result.steps}; go on with --checkpoint_path auto")
        return 130
    except (Error, ValueError) as e:
        print(f"wse.zoo: {e}", file=sys.stderr)
        return 1
    if result.checkpoint:
        output.say(f"| Checkpoint {result.checkpoint}\n| Hash {result.hash}")
    if result.evaluated:
        output.say(
            f"| Held-out loss {result.held_out:.4f}, unigram entropy {result.unigram:.4f}, bigram entropy {result.bigram:.4f}"
        )
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that is gone ends it, as wse-train
    sys.exit(main())
