# SPDX-License-Identifier: MIT
# libwse: the device layer (build/libwse.a, build/libwse.so.1), wse-info, wse-bench, their tests; at the
# end the trainer.

LIBWSE_VERSION := 0.1.0
LIBWSE_SRC := $(wildcard libwse/device/*.c)
LIBWSE_OBJ := $(LIBWSE_SRC:%.c=$(B)/%.o)
LIBWSE_ASAN_OBJ := $(LIBWSE_SRC:%.c=$(B)/asan/%.o)
# paths of a build are compiled in, so that a tree works without being installed
LIBWSE_CPPFLAGS = $(shell pkg-config --cflags libdrm) -DWSE_BUILD_FIRMWARE='"$(abspath $(B)/firmware)"'
LIBWSE_CFLAGS := -fPIC -fvisibility=default -pthread
LIBWSE_LIBS = -ldrm -pthread

# In-process models: what hw/ builds. -u pulls each out of its archive, where only a weak symbol asks for it.
LIBWSE_RTL := $(if $(RTL_LIBS),$(B)/rtl/libwse_rtl.a)
LIBWSE_MODEL_LIBS := $(B)/hw/libwse_func.a $(LIBWSE_RTL)
LIBWSE_MODEL_LINK = -Wl,-u,wse_model_find -Wl,-u,wse_model_func $(if $(LIBWSE_RTL),-Wl$(comma)-u$(comma)wse_model_rtl) \
	$(LIBWSE_MODEL_LIBS) $(RTL_LIBS) -lm
comma := ,

$(LIBWSE_OBJ): $(B)/%.o: %.c libwse/build.mk
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(LIBWSE_CPPFLAGS) $(CFLAGS) $(LIBWSE_CFLAGS) -MMD -MP -c -o $@ $<

$(LIBWSE_ASAN_OBJ): $(B)/asan/%.o: %.c libwse/build.mk
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(LIBWSE_CPPFLAGS) $(CFLAGS) $(LIBWSE_CFLAGS) $(ASAN) -MMD -MP -c -o $@ $<

$(B)/libwse.a: $(LIBWSE_OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$(B)/libwse.so.1: $(LIBWSE_OBJ) $(LIBWSE_MODEL_LIBS) libwse/libwse.map
	$(CC) $(CFLAGS) -shared -Wl,-soname,libwse.so.1 -Wl,--version-script=libwse/libwse.map -Wl,-z,defs \
		-o $@ $(LIBWSE_OBJ) $(LIBWSE_MODEL_LINK) $(LIBWSE_LIBS)

$(B)/libwse.so: $(B)/libwse.so.1
	ln -sf libwse.so.1 $@

$(B)/libwse.pc: libwse/libwse.pc.in libwse/build.mk
	sed -e 's,@prefix@,/usr/local,; s,@version@,$(LIBWSE_VERSION),' $< > $@

# ---- tools ----

$(B)/libwse/tools/wse-info.o: libwse/tools/wse-info.c libwse/build.mk
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(LIBWSE_CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/wse-info: $(B)/libwse/tools/wse-info.o $(B)/libwse.a $(LIBWSE_MODEL_LIBS)
	$(CC) $(CFLAGS) -o $@ $< $(B)/libwse.a $(LIBWSE_MODEL_LINK) $(LIBWSE_LIBS) -lpci

LIBWSE_BENCH_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard libwse/bench/*.c))
$(LIBWSE_BENCH_OBJ): $(B)/%.o: %.c libwse/build.mk
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(LIBWSE_CPPFLAGS) $(shell pkg-config --cflags openblas 2>/dev/null) $(CFLAGS) -MMD -MP -c -o $@ $<

ifneq ($(LIBWSE_BENCH_OBJ),)
$(B)/wse-bench: $(LIBWSE_BENCH_OBJ) $(BENCHES) $(B)/libwse.a $(LIBWSE_MODEL_LIBS)
	$(CC) $(CFLAGS) -o $@ $(LIBWSE_BENCH_OBJ) $(BENCHES) $(B)/libwse.a $(LIBWSE_MODEL_LINK) $(LIBWSE_LIBS) -lopenblas
ALL += $(B)/wse-bench
endif

# ---- tests: one program each, with and without sanitizers ----

LIBWSE_TESTS := $(patsubst libwse/tests/device/%.c,%,$(wildcard libwse/tests/device/test-*.c))
LIBWSE_TEST_BINS := $(LIBWSE_TESTS:%=$(B)/libwse/tests/device/%)
LIBWSE_ASAN_BINS := $(LIBWSE_TESTS:%=$(B)/asan/libwse/tests/device/%)
LIBWSE_TEST_CPPFLAGS = -Ilibwse/tests/train -Ilibwse/device $(LIBWSE_CPPFLAGS)

$(B)/libwse/tests/device/%.o: libwse/tests/device/%.c libwse/build.mk
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(LIBWSE_TEST_CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/asan/libwse/tests/device/%.o: libwse/tests/device/%.c libwse/build.mk
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(LIBWSE_TEST_CPPFLAGS) $(CFLAGS) $(ASAN) -MMD -MP -c -o $@ $<

# a model of its own, that misbehaves on demand
$(B)/libwse/tests/device/test-mock: %: %.o $(B)/libwse/tests/device/mock-model.o $(B)/libwse.a
	$(CC) $(CFLAGS) -o $@ $^ $(LIBWSE_LIBS)
$(B)/asan/libwse/tests/device/test-mock: %: %.o $(B)/asan/libwse/tests/device/mock-model.o $(LIBWSE_ASAN_OBJ)
	$(CC) $(CFLAGS) $(ASAN) -o $@ $^ $(LIBWSE_LIBS)

$(filter-out %/test-mock,$(LIBWSE_TEST_BINS)): %: %.o $(B)/libwse.a $(LIBWSE_MODEL_LIBS) | $(FW)/wse-fw.bin $(FW_KERNELS)
	$(CC) $(CFLAGS) -o $@ $< $(B)/libwse.a $(LIBWSE_MODEL_LINK) $(LIBWSE_LIBS)
$(filter-out %/test-mock,$(LIBWSE_ASAN_BINS)): %: %.o $(LIBWSE_ASAN_OBJ) $(LIBWSE_MODEL_LIBS) | $(FW)/wse-fw.bin $(FW_KERNELS)
	$(CC) $(CFLAGS) $(ASAN) -o $@ $< $(LIBWSE_ASAN_OBJ) $(LIBWSE_MODEL_LINK) $(LIBWSE_LIBS)

# plays a kernel of another release
$(B)/libwse/tests/device/test-versions $(B)/asan/libwse/tests/device/test-versions: LIBWSE_LIBS += \
	-Wl,--wrap=drmGetVersion,--wrap=drmFreeVersion,--wrap=drmIoctl

ALL += $(B)/libwse.a $(B)/libwse.so.1 $(B)/libwse.so $(B)/libwse.pc $(B)/wse-info
# the same program on the shared library: every device and nothing but the exported names
$(B)/libwse/tests/device/test-linear-so: $(B)/libwse/tests/device/test-linear.o $(B)/libwse.so | $(FW)/wse-fw.bin $(FW_KERNELS)
	$(CC) $(CFLAGS) -o $@ $< -L$(B) -lwse -Wl,-rpath,'$$ORIGIN/../../..' -pthread -lm

ALL += $(LIBWSE_TEST_BINS) $(LIBWSE_ASAN_BINS) $(B)/libwse/tests/device/test-linear-so
SUITES += $(LIBWSE_TEST_BINS) $(LIBWSE_ASAN_BINS) libwse/tests/device/test-symbols libwse/tests/device/test-tools \
	libwse/tests/device/test-guest $(B)/libwse/tests/device/test-linear-so

-include $(LIBWSE_OBJ:.o=.d) $(LIBWSE_ASAN_OBJ:.o=.d) $(LIBWSE_BENCH_OBJ:.o=.d) $(B)/libwse/tools/wse-info.d
-include $(LIBWSE_TEST_BINS:=.d) $(LIBWSE_ASAN_BINS:=.d) $(B)/libwse/tests/device/mock-model.d
-include $(B)/asan/libwse/tests/device/mock-model.d

-include libwse/train.mk
