# SPDX-License-Identifier: MIT
"""Settings of the vendor's machines: taken and not used, as a wafer of libwse has its own."""
from types import SimpleNamespace

#: backends.csx.debug.execute_crd_memory_gi = 32 and the like may be assigned
csx = SimpleNamespace(debug=SimpleNamespace(), performance=SimpleNamespace())
