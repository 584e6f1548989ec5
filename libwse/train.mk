# SPDX-License-Identifier: MIT
# The host side of the trainer: libwse/train, the fp32 reference, wse-train and their tests.
# Included by libwse/build.mk. WSE_EXEC_OBJS is the wafer executor (wse_exec_open_wafer, weakly referenced,
# so tests of the host side link without a device), WSE_EXEC_LIBS what it links with.

WSE_EXEC_OBJS := $(B)/libwse/exec/wafer.o $(B)/libwse/exec/commands.o
WSE_EXEC_LIBS = $(LIBWSE_MODEL_LINK) $(LIBWSE_LIBS)

$(B)/libwse/exec/%.o: libwse/exec/%.c $(B)/libwse/exec/.d
	$(CC) $(CPPFLAGS) $(LIBWSE_CPPFLAGS) $(CFLAGS) -MMD -c -o $@ $<

TRAIN_SRC := $(wildcard libwse/train/*.c)
TRAIN_OBJ := $(TRAIN_SRC:%.c=$(B)/%.o)
TRAIN_ASAN_OBJ := $(TRAIN_SRC:%.c=$(B)/asan/%.o)
TRAIN_LIBS := -lyaml -lpthread
REF_CFLAGS = $(shell pkg-config --cflags openblas 2>/dev/null)
REF_LIBS := -lopenblas -lm

# inner loops that want vectors; -O3 changes no bit (no -ffast-math, no contraction)
$(B)/libwse/train/oracle.o $(B)/libwse/train/memx.o $(B)/libwse/train/reduce.o: CFLAGS += -O3
$(B)/libwse/ref/%.o $(B)/asan/libwse/ref/%.o: CPPFLAGS += $(REF_CFLAGS)

$(B)/libwse/train/%.o: libwse/train/%.c $(B)/libwse/train/.d
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -c -o $@ $<
$(B)/libwse/ref/%.o: libwse/ref/%.c $(B)/libwse/ref/.d
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -c -o $@ $<
$(B)/libwse/tests/train/%.o: libwse/tests/train/%.c $(B)/libwse/tests/train/.d
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -c -o $@ $<
$(B)/libwse/tools/wse-train.o: libwse/tools/wse-train.c $(B)/libwse/tools/.d
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -c -o $@ $<
$(B)/asan/libwse/train/%.o: libwse/train/%.c $(B)/asan/libwse/train/.d
	$(CC) $(CPPFLAGS) $(CFLAGS) $(ASAN) -MMD -c -o $@ $<
$(B)/asan/libwse/ref/%.o: libwse/ref/%.c $(B)/asan/libwse/ref/.d
	$(CC) $(CPPFLAGS) $(CFLAGS) $(ASAN) -MMD -c -o $@ $<
$(B)/asan/libwse/tests/train/%.o: libwse/tests/train/%.c $(B)/asan/libwse/tests/train/.d
	$(CC) $(CPPFLAGS) $(CFLAGS) $(ASAN) -MMD -c -o $@ $<

TRAIN_TESTS := $(patsubst libwse/tests/train/%.c,%,$(wildcard libwse/tests/train/test-*.c))
TRAIN_TEST_BINS := $(TRAIN_TESTS:%=$(B)/libwse/tests/train/%)
TRAIN_ASAN_BINS := $(TRAIN_TESTS:%=$(B)/asan/libwse/tests/train/%)

# the one that runs wafers; it looks over the executor's shoulder (--wrap)
WAFER_TEST := libwse/tests/train/test-wafer
TRAIN_ASAN_EXEC := $(WSE_EXEC_OBJS:$(B)/%=$(B)/asan/%)
WAFER_WRAP := -Wl,--wrap=wse_exec_open_wafer

$(B)/libwse/tests/train/test-wafer.o $(B)/asan/libwse/tests/train/test-wafer.o: CPPFLAGS += $(LIBWSE_CPPFLAGS)
$(B)/asan/libwse/exec/%.o: libwse/exec/%.c $(B)/asan/libwse/exec/.d
	$(CC) $(CPPFLAGS) $(LIBWSE_CPPFLAGS) $(CFLAGS) $(ASAN) -MMD -c -o $@ $<
$(B)/$(WAFER_TEST): %: %.o $(TRAIN_OBJ) $(WSE_EXEC_OBJS) $(B)/libwse.a $(LIBWSE_MODEL_LIBS) | $(FW)/wse-fw.bin $(FW)/mlp.elf
	$(CC) $(CFLAGS) $(WAFER_WRAP) -o $@ $(filter %.o,$^) $(B)/libwse.a $(TRAIN_LIBS) $(WSE_EXEC_LIBS)
$(B)/asan/$(WAFER_TEST): %: %.o $(TRAIN_ASAN_OBJ) $(TRAIN_ASAN_EXEC) $(LIBWSE_ASAN_OBJ) $(LIBWSE_MODEL_LIBS) | $(FW)/wse-fw.bin $(FW)/mlp.elf
	$(CC) $(CFLAGS) $(ASAN) $(WAFER_WRAP) -o $@ $(filter %.o,$^) $(TRAIN_LIBS) $(WSE_EXEC_LIBS)

$(filter-out %/test-wafer,$(TRAIN_TEST_BINS)): %: %.o $(TRAIN_OBJ) $(B)/libwse/ref/mlp_ref.o
	$(CC) $(CFLAGS) -o $@ $^ $(TRAIN_LIBS) $(REF_LIBS)
$(filter-out %/test-wafer,$(TRAIN_ASAN_BINS)): %: %.o $(TRAIN_ASAN_OBJ) $(B)/asan/libwse/ref/mlp_ref.o
	$(CC) $(CFLAGS) $(ASAN) -o $@ $^ $(TRAIN_LIBS) $(REF_LIBS)

ifneq ($(wildcard libwse/tools/wse-train.c),)
$(B)/wse-train: $(B)/libwse/tools/wse-train.o $(TRAIN_OBJ) $(WSE_EXEC_OBJS) $(B)/libwse.a \
		$(LIBWSE_MODEL_LIBS)
	$(CC) $(CFLAGS) -o $@ $(filter %.o,$^) $(B)/libwse.a $(TRAIN_LIBS) $(WSE_EXEC_LIBS)
ALL += $(B)/wse-train
endif

# libwse/bench/train.c; the rule of wse-bench has been read by now, its recipe has not been expanded
TRAIN_BENCH_OBJ := $(TRAIN_OBJ) $(WSE_EXEC_OBJS) $(B)/libwse/ref/mlp_ref.o
BENCHES += $(TRAIN_BENCH_OBJ)
$(B)/wse-bench: $(TRAIN_BENCH_OBJ)
$(B)/wse-bench: LIBWSE_LIBS += $(TRAIN_LIBS)

ALL += $(TRAIN_TEST_BINS) $(TRAIN_ASAN_BINS)
SUITES += $(TRAIN_TEST_BINS) $(TRAIN_ASAN_BINS) libwse/tests/train/test-cli

-include $(B)/libwse/tools/wse-train.d $(B)/libwse/ref/mlp_ref.d $(B)/asan/libwse/ref/mlp_ref.d
-include $(WSE_EXEC_OBJS:.o=.d) $(TRAIN_ASAN_EXEC:.o=.d) $(TRAIN_OBJ:.o=.d) $(TRAIN_ASAN_OBJ:.o=.d) $(TRAIN_TEST_BINS:=.d) $(TRAIN_ASAN_BINS:=.d)
