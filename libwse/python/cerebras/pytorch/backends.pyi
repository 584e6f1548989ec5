# SPDX-License-Identifier: MIT
from types import SimpleNamespace

csx: SimpleNamespace
