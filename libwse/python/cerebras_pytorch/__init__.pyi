# SPDX-License-Identifier: MIT
from cerebras.pytorch import *
