# SPDX-License-Identifier: MIT
"""Training on wafers from Python: libwse by ctypes."""
