# SPDX-License-Identifier: MIT
# Debian packages of what `make install` installs.

# another one than the release: make deb DEB_VERSION=0.1.1~rc1
DEB_VERSION = $(LIBWSE_VERSION)

.PHONY: deb
deb: setup-if-missing ## Debian packages of driver, library, tools, firmware and Python package, in build/deb
	$(MAKE) $(JOBS) $(INSTALL_NEEDS)
	VERSION='$(DEB_VERSION)' scripts/deb

.PHONY: test-deb
test-deb: setup-if-missing ## the packages in a bare Debian 12: one apt command, driver by DKMS, a guest with it (minutes, network)
	$(MAKE) $(JOBS) deb
	selftests/packages-debian
