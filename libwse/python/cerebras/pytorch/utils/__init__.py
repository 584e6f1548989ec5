# SPDX-License-Identifier: MIT
"""Data, and TensorBoard's files."""
from . import data, tensorboard

__all__ = ["data", "tensorboard"]
