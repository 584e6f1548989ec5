# SPDX-License-Identifier: MIT
"""
The checkpoint of libwse that is in a file of cerebras.pytorch.save(), for wse-train and for
transformers:

    python3 -m cerebras.pytorch.to_wse checkpoint_1000.mdl checkpoint_1000.safetensors
"""
import sys
from typing import List, Optional

import wse

from ._checkpoint import load
from .optim import file_of


def main(argv: Optional[List[str]] = None) -> int:
    """0, or a line of what is wrong."""
    args = sys.argv[1:] if argv is None else argv
    if len(args) != 2:
        print("to_wse: give a checkpoint (.mdl) and a new file (.safetensors)", file=sys.stderr)
        return 2
    try:
        state = load(args[0])
        with open(args[1], "xb") as f:
            f.write(file_of(state.get("optimizer") if isinstance(state, dict) else None))
        print(f"| Checkpoint {args[1]}\n| Hash {wse.checkpoint_hash(args[1])}")
    except Exception as e:  # pylint: disable=broad-except
        print(f"to_wse: {args[0]}: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
