// SPDX-License-Identifier: MIT
/*
 * wse-info: which wafers there are, and for each what is wrong, if anything, with the fix on the
 * same line. Exit status: 0 all found devices are usable, 1 something is wrong, 2 wrong usage.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pci/pci.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <wse/wse.h>

#include "device/device.h"
#include "info_counters.h"
#include "machine.h"
#include "wse_regs.h"
#include "wse_release.h"
#include "wse_said.h"

struct report {
	int problems;
	int counters; /* --counters */
};

static void __attribute__((format(printf, 2, 3))) problem(struct report *r, const char *fmt, ...)
{
	va_list ap;

	printf("  WRONG: ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	r->problems++;
}

static void print_info(const struct drm_wse_info *i)
{
	uint32_t group = (i->features & WSE_FEATURES_GROUP_MASK) >> WSE_FEATURES_GROUP_SHIFT;

	printf("  %u x %u cores, %u lanes, %u KiB SRAM, %u colors, %u I/O queues, ABI %u.%u%s\n",
	       i->rows, i->cols, i->lanes, i->sram_kib, i->colors, i->queues, i->abi_major,
	       i->abi_minor, i->features & WSE_FEATURES_HOSTFP_MASK ? ", host floating point" : "");
	if (group)
		printf("  a bus to the host's memory for each %u columns, and one for rings and copies\n",
		       group);
}

static void print_firmware(struct report *r, const struct drm_wse_info *i, const char *fix)
{
	if (i->fw_end)
		printf("  firmware version %u, %u bytes\n", i->fw_version, i->fw_end);
	else
		problem(r, "no firmware: %s", fix);
	if (i->resets)
		printf("  %llu resets since it was found\n", (unsigned long long)i->resets);
}

static void print_permissions(const char *node)
{
	struct stat st;
	struct passwd *pw;
	struct group *gr;

	if (stat(node, &st))
		return;
	pw = getpwuid(st.st_uid);
	gr = getgrgid(st.st_gid);
	printf("  node %s, mode %03o, owner %s, group %s\n", node,
	       (unsigned int)(st.st_mode & 0777), pw ? pw->pw_name : "?", gr ? gr->gr_name : "?");
}

/* The accel node of a PCI device, from sysfs. 0 if there is one. */
static int find_node(const char *slot, char *node, size_t len)
{
	char path[PATH_MAX];
	struct dirent *e;
	int ret = -ENOENT;
	DIR *d;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/accel", slot);
	d = opendir(path);
	if (!d)
		return -errno;
	while (ret && (e = readdir(d))) {
		if (strncmp(e->d_name, "accel", 5))
			continue;
		snprintf(node, len, "/dev/accel/%.32s", e->d_name);
		ret = 0;
	}
	closedir(d);
	return ret;
}

static int find_driver(const char *slot, char *driver, size_t len)
{
	char path[PATH_MAX], link[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver", slot);
	n = readlink(path, link, sizeof(link) - 1);
	if (n < 0)
		return -errno;
	link[n] = 0;
	snprintf(driver, len, "%.60s", strrchr(link, '/') ? strrchr(link, '/') + 1 : link);
	return 0;
}

static void query_node(struct report *r, const char *node)
{
	struct wse_device *dev;
	struct drm_wse_info info;
	char uri[128], who[200];

	if (access(node, F_OK)) {
		problem(r, "%s does not exist though the driver has made it: is udev running?",
			node);
		return;
	}
	print_permissions(node);
	if (!wse_accel_holder(node, who, sizeof(who)))
		printf("  leased by %s\n", who);
	snprintf(uri, sizeof(uri), "accel:%.100s", node);
	if (wse_device_open(uri, &dev)) {
		problem(r, "%s", wse_error());
		return;
	}
	if (wse_device_info(dev, &info)) {
		problem(r, "%s", wse_error());
	} else {
		printf("  versions: driver interface %u.%u, device ABI %u.%u, this library %u.%u\n",
		       WSE_UAPI_MAJOR, WSE_UAPI_MINOR, info.abi_major, info.abi_minor,
		       WSE_ABI_MAJOR, WSE_ABI_MINOR);
		print_info(&info);
		print_firmware(r, &info,
			       "put this release's wse-fw.bin into /lib/firmware/wse; if there "
			       "is one, dmesg says what is wrong with it");
		if (r->counters && print_counters(dev, &info))
			problem(r, "%s", wse_error());
	}
	wse_device_close(dev);
}

static void print_pci(struct pci_dev *p)
{
	struct pci_cap *cap;
	int i;

	pci_fill_info(p, PCI_FILL_IDENT | PCI_FILL_BASES | PCI_FILL_SIZES | PCI_FILL_CAPS |
				 PCI_FILL_IRQ);
	for (i = 0; i < 6; i++)
		if (p->base_addr[i] && p->size[i])
			printf("  BAR%d at %#llx, %llu KiB\n", i,
			       (unsigned long long)(p->base_addr[i] & PCI_ADDR_MEM_MASK),
			       (unsigned long long)p->size[i] / 1024);
	printf("  capabilities:");
	for (cap = p->first_cap; cap; cap = cap->next) {
		if (cap->type != PCI_CAP_NORMAL)
			continue;
		if (cap->id == PCI_CAP_ID_MSIX)
			printf(" MSI-X with %d vectors",
			       1 + (pci_read_word(p, cap->addr + 2) & 0x7ff));
		else
			printf(" %s", cap->id == PCI_CAP_ID_EXP	 ? "PCIe"
				      : cap->id == PCI_CAP_ID_PM ? "power"
								 : "other");
	}
	putchar('\n');
}

static void check_device(struct report *r, struct pci_dev *p)
{
	char slot[32], driver[64], node[64];
	uint16_t command;

	snprintf(slot, sizeof(slot), "%04x:%02x:%02x.%u", (unsigned int)p->domain, p->bus, p->dev,
		 p->func);
	printf("wafer at %s\n", slot);
	print_pci(p);
	command = pci_read_word(p, PCI_COMMAND);
	if (command == 0xffff) {
		problem(r, "it does not answer (all ones): is its server (wse-emu) running?");
		return;
	}
	if (find_driver(slot, driver, sizeof(driver))) {
		problem(r, "no driver is bound: `modprobe wse` (or insmod build/wse.ko); dmesg "
			   "says why a probe failed");
		return;
	}
	printf("  driver %s, bus mastering %s\n", driver,
	       command & PCI_COMMAND_MASTER ? "on" : "off");
	if (strcmp(driver, "wse")) {
		problem(r,
			"the driver %s has it: echo %s > /sys/bus/pci/drivers/%s/unbind, then bind "
			"wse",
			driver, slot, driver);
		return;
	}
	if (find_node(slot, node, sizeof(node))) {
		problem(r, "the driver made no node: dmesg says why its probe failed");
		return;
	}
	query_node(r, node);
}

static void quiet(char *fmt, ...)
{
	(void)fmt;
}

static void check_pci(struct report *r)
{
	struct pci_access *acc;
	struct pci_dev *p;
	int n = 0;

	if (access("/sys/bus/pci/devices", R_OK)) {
		printf("no PCI bus is visible here\n");
		return;
	}
	acc = pci_alloc();
	acc->method = PCI_ACCESS_SYS_BUS_PCI;
	acc->warning = quiet;
	acc->debug = quiet;
	pci_init(acc);
	pci_scan_bus(acc);
	for (p = acc->devices; p; p = p->next) {
		pci_fill_info(p, PCI_FILL_IDENT);
		if (p->vendor_id != WSE_PCI_VENDOR || p->device_id != WSE_PCI_DEVICE)
			continue;
		check_device(r, p);
		n++;
	}
	pci_cleanup(acc);
	if (!n)
		printf("no wafer on the PCI bus (vendor %04x, device %04x)\n", WSE_PCI_VENDOR,
		       WSE_PCI_DEVICE);
}

/* 0, or what opening it gave */
static int try_model(struct report *r, const char *name, unsigned int size)
{
	struct wse_device *dev;
	struct drm_wse_info info;
	char uri[64];
	int ret;

	snprintf(uri, sizeof(uri), "sim:%s,rows=%u,cols=%u", name, size, size);
	ret = wse_device_open(uri, &dev);
	if (ret)
		return ret;
	printf("in process: %s\n", uri);
	if (!wse_device_info(dev, &info)) {
		print_info(&info);
		print_firmware(r, &info, "`make` builds it; or set WSE_FIRMWARE to a wse-fw.bin");
		if (r->counters)
			print_counters(dev, &info);
	}
	wse_device_close(dev);
	return 0;
}

static void check_model(struct report *r, const char *name)
{
	int ret;

	if (!wse_machine_find(name)) {
		printf("model %s is not linked in\n", name);
		return;
	}
	/* the usual tile; a build with other ones has at least the smallest */
	ret = try_model(r, name, 4);
	if (ret == -ENOTSUP)
		ret = try_model(r, name, 2);
	if (ret)
		problem(r, "%s", wse_error());
}

int main(int argc, char **argv)
{
	struct report r = {0};

	wse_std_open();
	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		printf("usage: wse-info [--counters | --version | --help]\nLists wafers on the PCI "
		       "bus and in-process models, and what is wrong with them.\n"
		       "  --counters   and all counters: of the device, of each queue, core and link\n");
		return wse_said("wse-info", 1);
	}
	if (argc == 2 && !strcmp(argv[1], "--version")) {
		printf("wse-info " WSE_RELEASE "\n");
		return wse_said("wse-info", 1);
	}
	r.counters = argc == 2 && !strcmp(argv[1], "--counters");
	if (argc != 1 && !r.counters) {
		fprintf(stderr,
			"wse-info: \"%s\" is no option, or one too many (wse-info --help)\n",
			argv[argc - 1]);
		return 2;
	}
	check_pci(&r);
	check_model(&r, "func");
	check_model(&r, "rtl");
	return wse_said("wse-info", 1) || r.problems;
}
