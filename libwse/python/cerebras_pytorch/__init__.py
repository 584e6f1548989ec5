# SPDX-License-Identifier: MIT
"""cerebras.pytorch by its older name: the same modules."""
import importlib
import pkgutil
import sys

import cerebras.pytorch as _new

for _module in pkgutil.walk_packages(_new.__path__, "cerebras.pytorch."):
    if not _module.name.rpartition(".")[2].startswith("_"):
        importlib.import_module(_module.name)
for _name, _found in list(sys.modules.items()):
    if _name.startswith("cerebras.pytorch."):
        sys.modules["cerebras_pytorch" + _name[len("cerebras.pytorch") :]] = _found
sys.modules[__name__] = _new
