# SPDX-License-Identifier: MIT
"""The one name that gigaGPT's eval.py takes from tqdm."""


def tqdm(steps, total=None):
    """Without a bar."""
    return steps
