# SPDX-License-Identifier: MIT
# libwse (build/libwse.a, build/libwse.so.1), its tools, references, benches and tests.

LIBWSE_VERSION := $(shell sed -n 's/^\#define WSE_RELEASE "\(.*\)"/\1/p' uapi/wse/wse_release.h)
LIBWSE_DIRS := base device device/accel device/sim graph ops model exec memx swarmx input output \
	num train
LIBWSE_SRC := $(wildcard $(LIBWSE_DIRS:%=libwse/%/*.c))
TOP_LIBS := -lncurses -ltinfo
LIBWSE_LIBS := -ldrm -lyaml -lcrypto -ljson-c -lpcre2-8 -luring -ldl -pthread
# paths of a build are compiled in, so that a tree works without being installed
# what libwse.so exports is what include/wse declares
HIDDEN := -fvisibility=hidden
CFLAGS_libwse := $(HIDDEN) -fPIC -pthread -DWSE_BUILD_FIRMWARE='"$(abspath $(B)/firmware)"'
WITH_PATH := libwse/device/firmware libwse/bench/gemm libwse/bench/kernels \
	$(patsubst %.c,%,$(shell grep -l '"rig.h"' libwse/tests/device/*.c))
$(foreach d,$(B) $(B)/asan,$(WITH_PATH:%=$(d)/%.o)): $(B)/where
# inner loops that want vectors; -O3 changes no bit (no -ffast-math, no contraction)
CFLAGS_libwse/ops := -O3
CFLAGS_libwse/memx/optim.c := -O3
CFLAGS_libwse/memx/ckpt_arrays.c := -O3
CFLAGS_libwse/memx/store_image.c := -O3
CFLAGS_libwse/num/image.c := -O3
CFLAGS_libwse/num/normal.c := -O3
CFLAGS_libwse/swarmx/reduce.c := -O3
CFLAGS_libwse/memx/grad_file.c := -O3
# fp32 references with OpenBLAS, of benches and tests
REF_SRC := $(wildcard libwse/ref/*.c)
OPENBLAS_CFLAGS := $(shell pkg-config --cflags openblas 2>/dev/null)
CFLAGS_libwse/ref := $(OPENBLAS_CFLAGS) -O3 -fvisibility=default
CFLAGS_libwse/bench := $(OPENBLAS_CFLAGS)
CFLAGS_libwse/tools/gpt-ref-train.c := $(OPENBLAS_CFLAGS)
CFLAGS_libwse/tools/gpt-beside.c := $(OPENBLAS_CFLAGS)
CFLAGS_libwse/tools/gpt-slice.c := $(OPENBLAS_CFLAGS)
# tests, a hundred: compiled in little more than half the time of -O2
CFLAGS_libwse/tests/device := -Ilibwse/device -O1
CFLAGS_libwse/tests/train := -O1

# $(LIBWSE): what a program that uses the library links, models and their debugger included
LIBWSE_HW := $(GDB_STUB) $(MODEL_LIBS)
LIBWSE := $(B)/libwse.a $(LIBWSE_HW)
# the RTL's C++ has no sanitizers: of the tests with them these alone run it
ASAN_WITH_RTL := $(addprefix %/test-,counters device exact gdb hdf5 plan print)
asan_libwse = $(B)/asan/libwse.a \
	$(if $(filter $(ASAN_WITH_RTL),$(1)),$(LIBWSE_HW),$(filter-out %_rtl.a,$(LIBWSE_HW)))
LIBWSE_LINK := $(MODEL_LINK) $(LIBWSE_LIBS)

$(eval $(call c_archive,libwse.a,$(LIBWSE_SRC)))

link_so = $(call short,LINK,$@)$(CC) $(CFLAGS) -shared -Wl,-soname,libwse.so.1 \
	-Wl,--version-script=libwse/libwse.map -Wl,--exclude-libs,ALL -Wl,-z,defs \
	-o $@ $(filter %.o,$^) $(call pull_models,$^) $(LIBWSE_HW) $(LIBWSE_LINK)
$(B)/libwse.so.1: $(LIBWSE_SRC:%.c=$(B)/%.o) $(LIBWSE_HW) libwse/libwse.map
	$(link_so)

$(B)/libwse.so: $(B)/libwse.so.1
	@ln -sf libwse.so.1 $@

pc_values = -e 's|@version@|$(LIBWSE_VERSION)|; s|@kernel_cflags@|$(KERNEL_CFLAGS)|; s|@kernel_link@|$(RVLINK)|' \
	-e 's|@bare_link@|$(RVLINK),--no-relax $${kerneldir}/bare.S|'
# of this tree: PKG_CONFIG_PATH=build
FW_INCLUDES := -I$${prefix}/firmware/include -I$${prefix}/uapi/wse -I$${prefix}/uapi/wse/gen
$(B)/libwse.pc: libwse/libwse.pc.in libwse/build.mk firmware/build.mk $(B)/where
	$(call short,GEN,$@)sed $(pc_values) -e 's|@prefix@|$(CURDIR)|; s|^libdir=.*|libdir=$(abspath $(B))|' \
		-e 's|^firmwaredir=.*|firmwaredir=$${libdir}/firmware|; s|^kerneldir=.*|kerneldir=$${prefix}/firmware/runtime|' \
		-e 's|-I$${kerneldir}|$(FW_INCLUDES)|; s|^includedir=.*|includedir=$${prefix}/libwse/include|' \
		-e 's|^Libs: .*|& -Wl,-rpath,$${libdir}|; s|^Cflags: .*|& -I$${prefix}/uapi|' $< > $@

# ---- MPI, where it is: a plug-in that is opened under mpirun and srun ----
MPICC := $(shell command -v mpicc)
ifneq ($(MPICC),)
# what mpicc adds, for our compiler
MPI_CFLAGS := $(patsubst -I%,-isystem %,$(shell $(MPICC) --showme:compile))
# PMIx, which Open MPI's packages bring: what the launcher knows of ranks that have ended
PMIX_LIBS := $(shell pkg-config --libs pmix 2>/dev/null)
ifneq ($(PMIX_LIBS),)
MPI_CFLAGS += -DWSE_PMIX $(patsubst -I%,-isystem %,$(shell pkg-config --cflags pmix))
endif
MPI_SOURCES := libwse/plugins/link_mpi.c $(if $(PMIX_LIBS),libwse/plugins/ended_pmix.c)
$(B)/wse-mpi.so: $(MPI_SOURCES) libwse/plugins/ended_pmix.h libwse/swarmx/link.h \
		uapi/wse/wse_release.h
	$(call short,LINK,$@)$(CC) $(CPPFLAGS) $(CFLAGS) $(HIDDEN) $(MPI_CFLAGS) -fPIC -shared \
		-o $@ $(MPI_SOURCES) $(shell $(MPICC) --showme:link) $(PMIX_LIBS)
MPI_PLUGIN := $(B)/wse-mpi.so
# the same link, on which a rank stops where a test says
LINK_STOPS := $(B)/libwse/tests/train/link_stops.so
$(LINK_STOPS): libwse/tests/train/link_stops.c $(wildcard libwse/swarmx/*.h) | $(MPI_PLUGIN)
	@mkdir -p $(@D)
	$(call short,LINK,$@)$(CC) $(CPPFLAGS) $(CFLAGS) $(HIDDEN) -fPIC -shared -o $@ $< -ldl
ALL += $(LINK_STOPS)
endif

# ---- HDF5, where it is: a plug-in that is opened for such data ----
HDF5_LIBS := $(shell pkg-config --libs hdf5-serial 2>/dev/null || pkg-config --libs hdf5 \
	2>/dev/null)
ifneq ($(HDF5_LIBS),)
HDF5_CFLAGS := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags hdf5-serial 2>/dev/null || \
	pkg-config --cflags hdf5))
$(B)/wse-hdf5.so: libwse/plugins/hdf5.c libwse/input/hdf5.h uapi/wse/wse_release.h
	$(call short,LINK,$@)$(CC) $(CPPFLAGS) $(CFLAGS) $(HIDDEN) $(HDF5_CFLAGS) -fPIC -shared \
		-o $@ $< $(HDF5_LIBS)
HDF5_PLUGIN := $(B)/wse-hdf5.so
endif

# ---- what is installed: the same objects without the build's paths, tools on the shared library
# ----
INSTALLED := $(B)/install
$(INSTALLED)/libwse.pc: libwse/libwse.pc.in libwse/build.mk firmware/build.mk
	@mkdir -p $(@D)
	$(call short,GEN,$@)sed $(pc_values) -e 's|@prefix@|/usr/local|' $< > $@
INSTALLED_OBJS := $(patsubst %/device/firmware.o,$(INSTALLED)/firmware.o,$(LIBWSE_SRC:%.c=$(B)/%.o))
$(INSTALLED)/firmware.o: libwse/device/firmware.c
	@mkdir -p $(@D)
	$(call short,CC,$@)$(CC) $(CPPFLAGS) $(CFLAGS) $(HIDDEN) -fPIC -pthread -MMD -MP -c -o $@ $<
$(INSTALLED)/libwse.so: $(INSTALLED_OBJS) $(LIBWSE_HW) libwse/libwse.map
	$(link_so)
	@ln -sf libwse.so $(@D)/libwse.so.1
TRAIN_SRC := $(wildcard libwse/tools/wse-train*.c) libwse/tools/launch.c
# as any user would: public headers, -lwse; found from where it lies
$(INSTALLED)/wse-train: $(TRAIN_SRC) $(INSTALLED)/libwse.so
	$(call short,CC,$@)$(CC) $(CFLAGS) -MMD -MP $(shell pkg-config --cflags libdrm) \
		-Ilibwse/include -Iuapi -o $@ $(TRAIN_SRC) \
		-L$(@D) -lwse -Wl,-rpath,'$$ORIGIN/../lib'
# this one looks behind the library: it has it in itself
$(INSTALLED)/wse-info: $(patsubst %.c,$(B)/%.o,$(wildcard libwse/tools/*info*.c)) \
	$(INSTALLED)/firmware.o $(LIBWSE)
	$(call short,LINK,$@)$(call c_link,,-Wl$(comma)--start-group $(filter %.a,$^) \
		-Wl$(comma)--end-group $(LIBWSE_LINK) -lpci)
$(INSTALLED)/wse-top: $(patsubst %.c,$(B)/%.o,$(wildcard libwse/tools/wse-top*.c)) \
	$(INSTALLED)/firmware.o $(LIBWSE)
	$(call short,LINK,$@)$(call c_link,,-Wl$(comma)--start-group $(filter %.a,$^) \
		-Wl$(comma)--end-group $(LIBWSE_LINK) $(TOP_LIBS))
-include $(wildcard $(INSTALLED)/*.d)

INSTALL_NEEDS := $(INSTALLED)/libwse.so $(INSTALLED)/wse-info $(INSTALLED)/wse-top \
	$(INSTALLED)/wse-train $(INSTALLED)/libwse-pci.a $(INSTALLED)/libwse-pci.pc \
	$(INSTALLED)/libwse.pc $(FW)/wse-fw.bin $(FW_PROGRAMS) \
	$(B)/wse-emu $(B)/wse-run $(MPI_PLUGIN) $(HDF5_PLUGIN)
ALL += $(INSTALL_NEEDS)

.PHONY: install uninstall
install: $(INSTALL_NEEDS) ## library, headers, tools, firmware and man pages to DESTDIR/PREFIX \
	(/usr/local)
	DESTDIR='$(DESTDIR)' PREFIX='$(or $(PREFIX),/usr/local)' VERSION=$(LIBWSE_VERSION) \
		scripts/install install
uninstall: ## what `make install` put there
	DESTDIR='$(DESTDIR)' PREFIX='$(or $(PREFIX),/usr/local)' VERSION=$(LIBWSE_VERSION) \
		scripts/install uninstall

# ---- tools and benches ----
$(eval $(call c_program,wse-info,$(wildcard libwse/tools/*info*.c),$(LIBWSE),$(LIBWSE_LINK) -lpci))
$(eval $(call c_program,wse-top,$(wildcard libwse/tools/wse-top*.c),$(LIBWSE),$(LIBWSE_LINK) \
	$(TOP_LIBS)))
$(eval $(call c_program,wse-train,$(TRAIN_SRC),$(LIBWSE),$(LIBWSE_LINK)))
$(eval $(call c_program,wse-bench,$(wildcard libwse/bench/*.c) $(REF_SRC),$(LIBWSE),$(LIBWSE_LINK) \
	-lopenblas))
$(eval $(call c_program,gpt-ref-train,libwse/tools/gpt-ref-train.c \
	$(REF_SRC),$(B)/libwse.a,-lopenblas -lm))
$(eval $(call c_program,gpt-shards,libwse/tools/gpt-shards.c $(REF_SRC),$(LIBWSE),$(LIBWSE_LINK) \
	-lopenblas))
$(eval $(call c_program,gpt-beside,libwse/tools/gpt-beside.c $(REF_SRC),$(LIBWSE),$(LIBWSE_LINK) \
	-lopenblas))

$(eval $(call c_program,gpt-slice,libwse/tools/gpt-slice.c $(REF_SRC),$(LIBWSE),$(LIBWSE_LINK) \
	-lopenblas))

# large models, hours of them: `make big BIG="111m-file neox-block"` makes some. In no test
.PHONY: big
big: $(B)/wse-train $(B)/gpt-slice $(FW)/wse-fw.bin $(FW_PROGRAMS) ## large \
	models' memory and time, into libwse/bench/big.md
	libwse/bench/big $(BIG)

# the RTL's cycles: `make test` holds what takes seconds against the file, a change of them writes
# it anew
CYCLES := libwse/bench/cycles.baseline
.PHONY: bench-baseline
bench-baseline: $(B)/wse-bench $(FW)/wse-fw.bin $(FW_PROGRAMS) ## record the \
	RTL's cycles in libwse/bench/cycles.baseline
	$< --cycles > $(B)/cycles.new && mv $(B)/cycles.new $(CYCLES)
SUITES += "$(B)/wse-bench --check-cycles $(CYCLES)"

# wide tiles take minutes to build, so `make test` has small ones alone
WIDE_TILES := 1x48g4 2x48g4 2x8 16x2 16x12g4 1x2
WIDE_CYCLES := libwse/bench/wide.baseline
.PHONY: wide wide-baseline wide-tiles
wide-tiles:
	$(MAKE) $(call job_tiles,2x2 4x4 2x4g2 $(WIDE_TILES)) $(B)/wse-bench \
		$(B)/libwse/tests/train/test-cycles \
		$(FW)/wse-fw.bin $(FW_PROGRAMS)

wide: wide-tiles ## wide tiles of the RTL: cycles as recorded, planned against counted
	$(B)/wse-bench --wide --check-cycles $(WIDE_CYCLES)
	$(B)/libwse/tests/train/test-cycles --wide

wide-baseline: wide-tiles ## record the RTL's cycles on wide tiles in libwse/bench/wide.baseline
	$(B)/wse-bench --wide --cycles > $(B)/wide.new && mv $(B)/wide.new $(WIDE_CYCLES)

ALL += $(B)/libwse.a $(B)/libwse.so.1 $(B)/libwse.so $(B)/libwse.pc $(B)/wse-info $(B)/wse-top \
	$(B)/wse-train $(B)/wse-bench $(B)/gpt-ref-train $(B)/gpt-beside $(B)/gpt-shards \
	$(B)/gpt-slice

# one reference for Python's ctypes: a test holds it against PyTorch
$(B)/ref.so: $(patsubst %.c,$(B)/%.o,$(wildcard libwse/ref/decoder_*.c)) $(B)/libwse/num/num.o \
	$(B)/libwse/num/normal.o
	$(call short,LINK,$@)$(CC) $(CFLAGS) -shared -Wl,-z,defs -o $@ $^ -lopenblas -pthread -lm
ALL += $(B)/ref.so

# ---- tests: one program each, with and without sanitizers ----
DEVICE_TESTS := $(patsubst %.c,%,$(wildcard libwse/tests/device/test-*.c))
TRAIN_TESTS := $(patsubst %.c,%,$(wildcard libwse/tests/train/test-*.c))
# one has a model of its own, that misbehaves on demand
MOCK_TEST := libwse/tests/device/test-mock
$(eval $(call c_test,$(MOCK_TEST),libwse/tests/device/mock-model.c \
	$(addprefix hw/model/,wave.c waits.c print.c lines.c elf32.c),\
	$(B)/libwse.a $(GDB_STUB),$(LIBWSE_LIBS),$(B)/asan/libwse.a $(GDB_STUB)))
# one plays a debugger
SRCS_libwse/tests/device/test-gdb := hw/gdb/tests/gdb_client.c
# one plays a kernel of another release
LDFLAGS_libwse/tests/device/test-versions \
	:= -Wl,--wrap=drmGetVersion,--wrap=drmFreeVersion,--wrap=drmIoctl
LDFLAGS_asan/libwse/tests/device/test-versions := $(LDFLAGS_libwse/tests/device/test-versions)
# one has devices without LINEAR streams
LDFLAGS_libwse/tests/train/test-sparse := -Wl,--wrap=wse_device_info
LDFLAGS_asan/libwse/tests/train/test-sparse := $(LDFLAGS_libwse/tests/train/test-sparse)
# one looks over the executor's shoulder
LDFLAGS_libwse/tests/train/test-wafer := -Wl,--wrap=wse_exec_open_wafer
LDFLAGS_asan/libwse/tests/train/test-wafer := $(LDFLAGS_libwse/tests/train/test-wafer)
# one counts what is allocated
LDFLAGS_libwse/tests/train/test-ckpt-memory \
	:= -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=free
LDFLAGS_asan/libwse/tests/train/test-ckpt-memory := $(LDFLAGS_libwse/tests/train/test-ckpt-memory)
# one has no memory
LDFLAGS_libwse/tests/train/test-no-memory \
	:= -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=strndup
LDFLAGS_asan/libwse/tests/train/test-no-memory := $(LDFLAGS_libwse/tests/train/test-no-memory)
# one has disks that are full or fail
BAD_DISK := -Wl,--wrap=io_uring_queue_init,--wrap=fallocate,--wrap=fcntl,--wrap=pwrite
LDFLAGS_libwse/tests/train/test-store := $(BAD_DISK),--wrap=statfs
LDFLAGS_asan/libwse/tests/train/test-store := $(LDFLAGS_libwse/tests/train/test-store)
# one writes HDF5 files
CFLAGS_libwse/tests/train/test-hdf5.c := $(HDF5_CFLAGS)
LDFLAGS_libwse/tests/train/test-hdf5 := $(HDF5_LIBS)
LDFLAGS_asan/libwse/tests/train/test-hdf5 := $(HDF5_LIBS)
$(B)/libwse/tests/train/test-hdf5 $(B)/asan/libwse/tests/train/test-hdf5: | $(HDF5_PLUGIN)
LDFLAGS_libwse/tests/train/test-image-file := $(BAD_DISK)
LDFLAGS_libwse/tests/train/test-rank-faults := $(BAD_DISK)
LDFLAGS_asan/libwse/tests/train/test-rank-faults := $(BAD_DISK)
LDFLAGS_asan/libwse/tests/train/test-image-file := $(BAD_DISK)
LDFLAGS_libwse/tests/train/test-grad-file := $(BAD_DISK)
LDFLAGS_asan/libwse/tests/train/test-grad-file := $(BAD_DISK)
# one asks the twin behind a session
LDFLAGS_libwse/tests/train/test-tall := -Wl,--wrap=wse_device_open
LDFLAGS_asan/libwse/tests/train/test-tall := $(LDFLAGS_libwse/tests/train/test-tall)
# one has trainers that are ranks of each other, threads of a process
LDFLAGS_libwse/tests/train/test-rank-trainers := -Wl,--wrap=wse_link_find
LDFLAGS_asan/libwse/tests/train/test-rank-trainers := -Wl,--wrap=wse_link_find
# one has threads that are through before their maker goes on
LDFLAGS_libwse/tests/train/test-hosts := -Wl,--wrap=pthread_create
LDFLAGS_asan/libwse/tests/train/test-hosts := $(LDFLAGS_libwse/tests/train/test-hosts)
# one reads the counters beside the trainer
LDFLAGS_libwse/tests/train/test-live := $(LDFLAGS_libwse/tests/train/test-tall)
LDFLAGS_asan/libwse/tests/train/test-live := $(LDFLAGS_libwse/tests/train/test-tall)
# one cuts its submits into single commands
LDFLAGS_libwse/tests/train/test-cycles := -Wl,--wrap=wse_submit,--wrap=wse_fence_destroy
LDFLAGS_asan/libwse/tests/train/test-cycles := $(LDFLAGS_libwse/tests/train/test-cycles)
$(foreach t,$(filter-out $(MOCK_TEST),$(DEVICE_TESTS)),$(eval \
	$(call c_test,$(t),$(SRCS_$(t)),$(LIBWSE),$(LIBWSE_LINK),$(call asan_libwse,$(t)))))
$(foreach t,$(TRAIN_TESTS),$(eval $(call c_test,$(t),$(REF_SRC),$(LIBWSE),$(LIBWSE_LINK) \
	-lopenblas,$(call asan_libwse,$(t)))))
$(foreach t,$(DEVICE_TESTS) $(TRAIN_TESTS),$(B)/$(t) $(B)/asan/$(t)): | $(FW)/wse-fw.bin \
	$(FW_PROGRAMS)

# two have a kernel of their own
PRINT_KERNEL := $(B)/libwse/tests/device/print_kernel.elf
$(PRINT_KERNEL): libwse/tests/device/print_kernel.c firmware/runtime/program.ld $(FW_HDRS)
	@mkdir -p $(@D)
	$(call short,RVCC,$@)$(RVCC) $(RVFLAGS) -T firmware/runtime/program.ld $(RVLINK) -o $@ $<
$(foreach t,print gdb,$(B)/libwse/tests/device/test-$(t) $(B)/asan/libwse/tests/device/test-$(t)): \
	| $(PRINT_KERNEL)

# the same program on the shared library: every device and nothing but the exported names
$(B)/libwse/tests/device/test-linear-so: $(B)/libwse/tests/device/test-linear.o $(B)/libwse.so \
	| $(FW)/wse-fw.bin $(FW_PROGRAMS)
	$(call short,LINK,$@)$(CC) $(CFLAGS) -o $@ $< -L$(B) -lwse -Wl,-rpath,'$$ORIGIN/../../..' \
		-pthread -lm

ALL += $(B)/libwse/tests/device/test-linear-so

# the threads of ranks once more, for the race checker: all sources at once, they are few
TSAN_HOSTS := $(addprefix libwse/,$(addprefix swarmx/,reduce.c bank.c hosts.c hosts_serve.c \
	exchange.c row_sum.c link_pair.c lifeline.c) \
	memx/grad_file.c memx/records.c memx/disk.c \
	base/error.c base/pages.c num/num.c graph/rows.c \
	graph/graph.c graph/place.c)
TSAN_TESTS := $(addprefix $(B)/tsan/,test-hosts test-goodbye)
$(TSAN_TESTS): $(B)/tsan/%: libwse/tests/train/%.c $(TSAN_HOSTS) $(wildcard libwse/swarmx/*.h) \
		libwse/tests/train/ranks.h
	@mkdir -p $(@D)
	$(call short,CC,$@)$(CC) $(CPPFLAGS) $(CFLAGS) -fsanitize=thread -pthread -o $@ \
		$< $(TSAN_HOSTS) $(LDFLAGS_libwse/tests/train/$*) -luring -lm
ALL += $(TSAN_TESTS)
BESIDE += $(addprefix --waits ,$(TSAN_TESTS)) --waits libwse/tests/train/test-mpi --waits \
	libwse/tests/train/test-goodbye-mpi --waits libwse/tests/train/test-slurm
BESIDE += --waits libwse/tests/device/test-tools
LONG += --beside libwse/examples/labs/test-labs

# random models: a few of one seed with `make test`; many, on the RTL, too, with `make test-random`
BESIDE += --beside "libwse/tests/train/random-models 1 24 twin,resumed,ranks"
BESIDE += --beside "libwse/tests/train/random-torch 1 24"
# MODELS is what lockstep has, too, unless the caller says so many
RANDOM = $(or $(SEED),1) $(if $(filter command,$(origin MODELS)),$(MODELS),200)
.PHONY: test-random
test-random: $(B)/wse-train $(MPI_PLUGIN) $(FW)/wse-fw.bin $(FW_PROGRAMS) ## random models on random \
	tiles, on oracle, twin, RTL and ranks: the same bits; gradients by torch; SEED=1 MODELS=200
	libwse/tests/train/random-models $(RANDOM)
	libwse/tests/train/random-torch $(RANDOM)
.PHONY: test-kills
test-kills: $(B)/wse-train $(MPI_PLUGIN) $(LINK_STOPS) ## ranks killed at 20 random moments, and at \
	each message of their goodbye; minutes, no part of `make test`
	libwse/tests/train/test-kills
	libwse/tests/train/test-goodbye-mpi --all
.PHONY: test-rank-table
test-rank-table: $(B)/wse-train $(MPI_PLUGIN) $(B)/libwse/tests/train/test-ranks ## ranks x devices \
	x micro-batches, all of it: one hash; minutes, no part of `make test`
	$(B)/libwse/tests/train/test-ranks --table
	libwse/tests/train/test-rank-table
SUITES += $(addprefix libwse/tests/device/,test-symbols test-guest) \
	$(B)/libwse/tests/device/test-linear-so \
	$(addprefix libwse/tests/train/,test-cli test-profile test-waves test-top test-tokens \
	test-hashes test-zoo test-zoo-decoders test-install test-decoder-torch)

include libwse/python/build.mk
