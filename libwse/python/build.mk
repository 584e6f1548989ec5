# SPDX-License-Identifier: MIT
# The Python package: its ctypes layer is made of the public headers, checked in, and diffed by its
# test.

PYTHON_HEADERS := uapi/wse/wse_release.h uapi/wse/wse_post.h uapi/drm/wse_accel.h \
	$(addprefix libwse/include/wse/,error.h device.h model.h tokens.h train.h)

.PHONY: python
python: ## the Python package's ctypes layer from libwse's public headers
	libwse/python/abi-gen libwse/python/wse $(PYTHON_HEADERS)

BESIDE += $(addprefix --beside libwse/python/tests/,test-abi test-wse test-examples test-torch \
	test-cerebras test-stubs)
