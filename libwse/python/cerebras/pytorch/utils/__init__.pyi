# SPDX-License-Identifier: MIT
from . import data as data, tensorboard as tensorboard
