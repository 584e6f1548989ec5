# SPDX-License-Identifier: MIT
# The debugger's side of a model: gdb's remote protocol, for wse-run and wse-emu, and its tests.

GDB_STUB := $(B)/hw/libwse_gdb.a
CFLAGS_hw/gdb := -D_GNU_SOURCE -pthread -fPIC
CFLAGS_hw/gdb/tests := -D_GNU_SOURCE
GDB_SRCS := $(wildcard hw/gdb/*.c) hw/model/cause.c
$(eval $(call c_archive,hw/libwse_gdb.a,$(GDB_SRCS)))

# test_gdb compares the models' answers where the RTL is built; with sanitizers the twin alone
GDB_ASAN := $(B)/asan/hw/libwse_gdb.a $(B)/asan/hw/libwse_twin.a
GDB_TEST := hw/gdb/tests/test_gdb
$(eval $(call c_program,$(GDB_TEST),$(GDB_TEST).c hw/twin/tests/dev.c,$(GDB_STUB) \
	$(MODEL_LIBS),$(MODEL_LINK),$(GDB_ASAN)))
$(eval $(call c_test,hw/gdb/tests/test_server,,$(GDB_STUB) $(TWIN),-lm,$(GDB_ASAN)))

ALL += $(B)/$(GDB_TEST) $(B)/asan/$(GDB_TEST)
SUITES += $(B)/$(GDB_TEST) $(B)/asan/$(GDB_TEST) hw/gdb/tests/test_session

# the debugger's session on many cores
GDB_MANY := hw/gdb/tests/many
$(eval $(call c_program,$(GDB_MANY),$(GDB_MANY).c hw/twin/tests/dev.c,\
	$(GDB_STUB) $(TWIN),-lm))
ALL += $(B)/$(GDB_MANY)
