# SPDX-License-Identifier: MIT
include selftests/driver/build.mk
