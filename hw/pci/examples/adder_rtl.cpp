// SPDX-License-Identifier: MIT
/*
 * RTL as a PCI device: adder.sv by Verilator, behind libwse-pci.
 *
 *	verilator --cc --exe --build -CFLAGS "$(pkg-config --cflags libwse-pci)" \
 *		-LDFLAGS "$(pkg-config --libs libwse-pci)" adder.sv adder_rtl.cpp
 *	obj_dir/Vadder SOCKET [READY-FD]
 *
 * A thread gives the RTL its clock while busy_o says that it works, and answers what it asks of
 * memory; an access of the guest takes a cycle between two of that thread's.
 */
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include <verilated.h>
#include <wse_pci.h>

#include "Vadder.h"

namespace {

const char *const names[] = {"ID", "ADDRESS_LO", "ADDRESS_HI", "COUNT", "GO", "SUM", "STATUS"};

struct Device {
	wse_pci_dma *dma = nullptr;
	wse_pci_server *server = nullptr;
	VerilatedContext context;
	Vadder rtl{&context};
	std::mutex lock; // of rtl
	std::condition_variable wake;
	std::atomic<unsigned int> accesses{0}; // that wait for the lock: they go first
	bool stop = false;

	uint32_t tick() // what a read of this cycle's register gets
	{
		uint32_t word = 0, got;

		rtl.clk_i = 0;
		rtl.eval();
		got = rtl.rdata_o;
		rtl.ack_i = rtl.req_o;
		if (rtl.req_o && rtl.req_we_o) {
			word = rtl.req_wdata_o;
			rtl.ack_err_i = wse_pci_dma_write(dma, rtl.req_iova_o, &word, 4) != 0;
		} else if (rtl.req_o) {
			rtl.ack_err_i = wse_pci_dma_read(dma, rtl.req_iova_o, &word, 4) != 0;
			rtl.ack_rdata_i = word;
		}
		rtl.clk_i = 1;
		rtl.eval();
		if (rtl.irq_o)
			wse_pci_irq(server, 0);
		return got;
	}

	uint32_t access(uint32_t offset, bool write, uint32_t value)
	{
		uint32_t got;

		accesses++;
		std::unique_lock<std::mutex> held(lock);
		accesses--;
		rtl.reg_i = offset / 4;
		rtl.we_i = write;
		rtl.wdata_i = value;
		got = tick();
		rtl.we_i = 0;
		wake.notify_one();
		return got;
	}

	void run()
	{
		std::unique_lock<std::mutex> held(lock);

		for (;;) {
			wake.wait(held, [&] { return stop || (rtl.busy_o && !accesses); });
			if (stop)
				return;
			tick();
		}
	}
};

uint32_t dev_read(void *dev, uint32_t offset)
{
	return static_cast<Device *>(dev)->access(offset, false, 0);
}

void dev_write(void *dev, uint32_t offset, uint32_t value)
{
	static_cast<Device *>(dev)->access(offset, true, value);
}

void dev_reset(void *dev)
{
	Device *d = static_cast<Device *>(dev);
	std::lock_guard<std::mutex> held(d->lock);

	d->rtl.rst_ni = 0;
	d->rtl.master_i = 0;
	d->tick();
	d->rtl.rst_ni = 1;
}

void dev_master(void *dev, bool on)
{
	Device *d = static_cast<Device *>(dev);
	std::lock_guard<std::mutex> held(d->lock);

	d->rtl.master_i = on;
}

const char *dev_name(void *, uint32_t offset)
{
	return offset / 4 < sizeof(names) / sizeof(*names) ? names[offset / 4] : nullptr;
}

} // namespace

int main(int argc, char **argv)
{
	const wse_pci_ops ops = {dev_read, dev_write, dev_reset, dev_master, dev_name};
	wse_pci_id id = {};
	wse_pci_log log;
	int err;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: %s SOCKET [READY-FD]\n", argv[0]);
		return 2;
	}
	const int stop_fd = wse_pci_stop_signals(); // before any thread: Verilator has some, too
	Device d;

	id.vendor = 0x1234; // no vendor's
	id.device = 0xadd1;
	id.class_code = 0xff0000;
	id.bar0_bytes = 4096;
	id.vectors = 1;
	wse_pci_log_init(&log, stderr, "adder");
	err = stop_fd < 0 ? stop_fd : wse_pci_dma_catch_sigbus();
	if (!err)
		err = wse_pci_dma_create(&d.dma);
	if (!err)
		err = wse_pci_create(argv[1], &id, d.dma, &log, &d.server);
	if (!err)
		wse_pci_watch_spin(d.server, 10000);
	if (!err && argc > 2)
		err = wse_pci_ready(d.server, atoi(argv[2]));
	dev_reset(&d);
	std::thread clock(&Device::run, &d);
	if (!err)
		err = wse_pci_serve(d.server, &ops, &d, stop_fd);
	if (err)
		fprintf(stderr, "adder: %s: %s\n", argv[1], strerror(-err));
	d.lock.lock();
	d.stop = true;
	d.wake.notify_one();
	d.lock.unlock();
	clock.join();
	wse_pci_destroy(d.server);
	wse_pci_dma_destroy(d.dma);
	return err ? 1 : 0;
}
