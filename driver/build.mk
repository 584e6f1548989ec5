# SPDX-License-Identifier: GPL-2.0
# wse.ko for the guest's kernel, of another flavour (make driver KERNEL=next, see
# selftests/vm/fetch), or for any other kernel: make driver KDIR=/lib/modules/$(uname -r)/build
#
# Kbuild writes next to its sources, so each kernel gets a tree of links in build/. The guest's
# module is build/wse.ko (build/wse-next.ko, ...), that for KDIR is build/kmod-RELEASE/wse.ko.

KERNEL ?= backports
KO_SRC := $(wildcard driver/*.c driver/*.h)
KO_DEPS := Kbuild $(KO_SRC) $(addprefix uapi/,wse/wse_cmd.h wse/wse_ring.h wse/wse_scope.h \
	wse/gen/wse_regs.h drm/wse_accel.h) driver/build.mk
ifneq ($(KDIR),)
# only for targets of the module: others ignore KDIR
ifneq ($(filter driver lint-driver install-driver,$(MAKECMDGOALS)),)
KRELEASE := $(shell cat '$(KDIR)/include/config/kernel.release' 2>/dev/null)
ifeq ($(wildcard $(KDIR)/Makefile),)
$(error KDIR=$(KDIR) is no build tree of a kernel: \
	install linux-headers-RELEASE and give /lib/modules/RELEASE/build)
endif
ifeq ($(KRELEASE),)
$(error KDIR=$(KDIR) has no include/config/kernel.release: \
	it was never configured, run `make modules_prepare` there)
endif
endif
KO_TREE := $(B)/kmod-$(or $(KRELEASE),unknown)
KO := $(KO_TREE)/wse.ko
else
KO_TREE := $(B)/kmod$(filter-out -backports,-$(KERNEL))
KO := $(B)/wse$(filter-out -backports,-$(KERNEL)).ko
endif
# make -n runs recipes that pass job slots on, too: this keeps them from that
dry-run = $(findstring n,$(filter-out -%,$(firstword $(MAKEFLAGS))))
ko-tool = $(if $(KDIR),$(MAKE) -C $(KDIR),selftests/vm/kbuild --kernel $(KERNEL))
ko-make = $(if $(dry-run),: )$(ko-tool) \
	M=$(abspath $(KO_TREE)) W=1 --no-print-directory

$(KO_TREE)/.tree: $(KO_DEPS) $(B)/where # the links
	@rm -rf $(KO_TREE) && mkdir -p $(KO_TREE)/driver
	@ln -s $(abspath Kbuild uapi) $(KO_TREE)/
	@ln -s $(abspath $(KO_SRC)) $(KO_TREE)/driver/
	@touch $@

# for another kernel with its own debug information, and KCFLAGS of the environment
KO_CFLAGS := KCFLAGS='-Werror $(if $(KDIR),$(KCFLAGS),$(G))'
$(KO): $(KO_TREE)/.tree
	+@$(ko-make) $(KO_CFLAGS) modules
	@$(if $(KDIR),echo "for kernel $(KRELEASE): $@",cp $(KO_TREE)/wse.ko $@)

ALL += $(if $(KDIR),,$(B)/wse.ko)

.PHONY: driver lint-driver install-driver
driver: $(KO) ## the kernel module build/wse.ko; of another kernel: make driver KDIR=/lib/modules/RELEASE/build

# as root; DESTDIR=... for packages
install-driver: $(if $(KDIR),$(KO) $(B)/firmware/wse-fw.bin) ## module, firmware and udev rule for the kernel of KDIR=...
	@[ -n "$(KDIR)" ] || { echo "install-driver: for which kernel?" \
		"make install-driver KDIR=/lib/modules/$$(uname -r)/build" >&2; exit 1; }
	@! ls $(DESTDIR)/lib/modules/$(KRELEASE)/updates/dkms/wse.ko* 2>/dev/null || { echo \
		"install-driver: DKMS has installed that one: apt remove wse-dkms first" >&2; exit 1; }
	install -D -m 644 $(KO) $(DESTDIR)/lib/modules/$(KRELEASE)/updates/wse.ko
	install -D -m 644 $(B)/firmware/wse-fw.bin $(DESTDIR)/lib/firmware/wse/wse-fw.bin
	install -D -m 644 driver/60-wse.rules $(DESTDIR)/lib/udev/rules.d/60-wse.rules
	$(if $(DESTDIR),,depmod $(KRELEASE))
	@echo "installed; now: modprobe wse. With secure boot the module must be signed first," \
		"see driver/dkms.conf"

# as root, or with DESTDIR; then `dkms install wse/VERSION`
DKMS_VERSION = $(LIBWSE_VERSION)
DKMS_SRC = $(DESTDIR)/usr/src/wse-$(DKMS_VERSION)
.PHONY: install-dkms
install-dkms: ## the driver's sources to /usr/src/wse-VERSION, from which DKMS builds it for each kernel
	@for f in $(filter-out driver/build.mk,$(KO_DEPS)); do \
		install -D -m 644 $$f $(DKMS_SRC)/$$f || exit; done
	@sed 's/#MODULE_VERSION#/$(DKMS_VERSION)/' driver/dkms.conf >$(DKMS_SRC)/dkms.conf

# the list of ioctls is a macro, which checkpatch judges as an expression
LIST := driver/wse_ioctl.h
LIST_IGNORE := COMPLEX_MACRO,MACRO_ARG_REUSE,MACRO_ARG_UNUSED,TRAILING_SEMICOLON
lint-driver: $(KO) ## sparse and checkpatch over the driver
	+@$(ko-make) $(KO_CFLAGS) C=2 CF="-Wsparse-error" modules # compiles nothing anew
	@set -e; eval "$$(selftests/vm/fetch source || echo exit 1)"; \
	check() { "$$CHECKPATCH" --strict --no-tree --quiet --terse --max-line-length=100 \
		--show-types --ignore "$$@"; }; \
	check SPDX_LICENSE_TAG,$(LIST_IGNORE) -f $(LIST); \
	check SPDX_LICENSE_TAG -f $(filter-out $(LIST),$(KO_SRC)) \
		uapi/wse/wse_cmd.h uapi/wse/wse_ring.h uapi/wse/wse_scope.h; \
	for p in driver/upstream/*.patch driver/upstream/6.12/*.patch; do \
		"$$CHECKPATCH" --strict --no-tree --quiet --terse --show-types - <$$p; \
	done

SERIES := $(B)/upstream
series-kbuild = $(if $(dry-run),: )selftests/vm/kbuild --kernel next \
	M=$(abspath $(SERIES)/tree/drivers/accel/wse) CONFIG_DRM_ACCEL_WSE=m W=1 \
	--no-print-directory \
	KCFLAGS='-Werror -I$(abspath $(SERIES)/tree/include/uapi) -I$$(srctree)/include/uapi/drm'
.PHONY: upstream-series
upstream-series: ## the driver as patches for the newest kernel, in build/upstream; checkpatch --strict is silent, each builds
	@set -e; eval "$$(selftests/vm/fetch upstream || echo exit 1)"; \
	driver/upstream/series "$$UPSTREAM" $(SERIES); \
	mkdir $(SERIES)/core; cp -r "$$UPSTREAM"/drivers $(SERIES)/core; \
	for p in driver/upstream/*.patch; do patch -d $(SERIES)/core -p1 -s -F0 <$$p; done
	+@set -e; git=$(SERIES)/tree; last=$$(git -C $$git rev-parse HEAD); \
	for c in $$(git -C $$git log --reverse --format=%h -- drivers/accel/wse/Makefile); do \
		git -C $$git checkout -q $$c; git -C $$git log -1 --format='compiles: %s'; \
		$(series-kbuild) CONFIG_DRM_ACCEL_WSE_KUNIT_TEST= wse.o; \
	done; git -C $$git checkout -q $$last; $(series-kbuild) modules
	@set -e; eval "$$(selftests/vm/fetch source || echo exit 1)"; \
	ln -sf "$$KSELFTEST"/kselftest*.h $(SERIES)/tree/tools/testing/selftests/; \
	for t in $(SERIES)/tree/tools/testing/selftests/drivers/accel/wse/*.c; do \
		$(CC) -D_GNU_SOURCE -O2 -I$(SERIES)/tree/include/uapi -I/usr/include/libdrm \
			-I$(SERIES)/tree/drivers/accel/wse -include assert.h -o $${t%.c} $$t; done
	@echo "patches: $(SERIES)/*.patch;" \
		"the module they make: $(SERIES)/tree/drivers/accel/wse/wse.ko"

LONG += --beside driver/test-build

include selftests/driver/build.mk
