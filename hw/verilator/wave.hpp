// SPDX-License-Identifier: MIT
// A window of waves of a tile that was built with `make tile TRACE=fst`: an FST file with the
// signals of one core and its router, or of the whole tile, and beside it what gtkwave shows first.
//
// In the file a cycle is a nanosecond, and cycle 0 is wave_begin: 1200 ns is the cycle 1200 that
// the user asked for. Its values are those behind the clock's rising edge.
#ifndef WAVE_HPP
#define WAVE_HPP

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "gtkwave/fstapi.h"
#include "verilated_fst_c.h"
extern "C" {
#include "machine.h"
}

class Wave {
public:
	Wave(const struct wse_wave &w, uint32_t rows, uint32_t cols, uint64_t now)
		: path(w.path), from(w.from), to(w.to), core(w.core), rows(rows), cols(cols),
		  start(now)
	{
	}
	~Wave()
	{
		if (opened)
			drop();
	}

	uint64_t begin() const { return start; }

	template <class Top> int open(Top &top)
	{
		// what Verilator opens next: it does not say why it cannot
		std::FILE *f = std::fopen(path.c_str(), "wb");
		int err;

		if (!f)
			return -errno;
		std::fclose(f);
		err = room();
		if (err) {
			remove();
			return err;
		}
		fst->set_time_unit("1ns");
		fst->set_time_resolution("1ps");
		if (core != ~0u)
			fst->dumpvars(99, "tile." + cell(core));
		top.trace(fst.get(), 99);
		fst->open(path.c_str());
		opened = true;
		err = fst->isOpen() ? write_view() : -EIO;
		if (err)
			drop();
		return err;
	}

	void rise(uint64_t now)
	{
		const uint64_t at = now - start;

		if (at >= from && at < to)
			fst->dump(1000 * at);
	}

	// only the clock changes here, for most designs
	void fall(uint64_t now)
	{
		const uint64_t at = now - start;

		if (at >= from && at < to)
			fst->dump(1000 * at + 500);
	}

	int close(uint64_t now)
	{
		int err;

		if (now - start <= from) {
			drop();
			return -ENODATA;
		}
		err = room();
		if (err) {
			fst.release();	// a writer that ends here writes, and may die of it
			opened = false;
			remove();
			return err;
		}
		fst->close();
		opened = false;
		err = whole();
		if (err)
			remove();
		return err;
	}

private:
	std::unique_ptr<VerilatedFstC> fst{new VerilatedFstC};
	const std::string path;
	const uint64_t from, to;
	const uint32_t core, rows, cols;
	const uint64_t start;
	bool opened = false;

	std::string cell(uint32_t i) const
	{
		const std::string r = std::to_string(i / cols), c = std::to_string(i % cols);

		return "wse_top.u_wafer.g_row[" + r + "].g_col[" + c + "]";
	}

	std::string view() const
	{
		const size_t n = path.size();

		return (n > 4 && path.substr(n - 4) == ".fst" ? path.substr(0, n - 4) : path) +
		       ".gtkw";
	}

	void remove() const
	{
		unlink(path.c_str());
		unlink(view().c_str());
	}

	void drop()
	{
		fst->close();
		opened = false;
		remove();
	}

	// Is there room for the names of the signals, at most so many bytes a core? The writer maps
	// the file of names that it believes to have written, and dies of SIGBUS where that is
	// shorter.
	int room() const
	{
		const std::string file = path + ".room";
		const off_t bytes = (off_t(rows * cols) << 18) + (1 << 20);
		int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
		int err = fd < 0 ? errno : posix_fallocate(fd, 0, bytes);

		if (fd >= 0)
			::close(fd);
		unlink(file.c_str());
		return err == EFBIG ? -ENOSPC : -err;
	}

	// kinds of sections, with all their ways of compression
	static constexpr unsigned ValueChanges = 1u << FST_BL_VCDATA |
						 1u << FST_BL_VCDATA_DYN_ALIAS |
						 1u << FST_BL_VCDATA_DYN_ALIAS2;
	static constexpr unsigned Geometry = 1u << FST_BL_GEOM;
	static constexpr unsigned Hierarchy = 1u << FST_BL_HIER | 1u << FST_BL_HIER_LZ4 |
					      1u << FST_BL_HIER_LZ4DUO;

	// The writer does not look at what write() says. A file that is whole is a chain of
	// sections, a byte of kind and 8 of length each, with value changes, the geometry and the
	// hierarchy among them.
	int whole() const
	{
		std::FILE *f = std::fopen(path.c_str(), "rb");
		uint8_t head[1 + 8 + 16];
		uint64_t at = 0, size, length;
		unsigned seen = 0;
		struct stat st;
		bool good = f && !fstat(fileno(f), &st);

		size = good ? uint64_t(st.st_size) : 0;
		while (good && at < size) {
			good = !std::fseek(f, long(at), SEEK_SET) &&
			       std::fread(head, 1, 9, f) == 9 && head[0] < 32;
			length = 0;
			for (unsigned i = 1; i < 9 && good; i++)
				length = length << 8 | head[i];
			good = good && length >= 8 && length < size - at;
			seen |= good ? 1u << head[0] : 0;
			at += 1 + length;
		}
		if (f)
			std::fclose(f);
		return good && seen & ValueChanges && seen & Geometry && seen & Hierarchy ? 0
											  : -ENOSPC;
	}

	// a group of a core: signals below its cell, with their ranges as gtkwave names them
	struct Group {
		const char *name, *const *signals;
	};

	void write_core(std::FILE *f, uint32_t i) const
	{
		static const char *const scalar[] = {"u_core.u_rv32.pc[31:0]",
			"u_core.u_rv32.tr_valid",
			"u_core.u_rv32.tr_insn[31:0]", "u_core.run", "u_core.faulted",
			"u_core.wait_cause_o[31:0]", "u_core.wait_color_o[31:0]", nullptr};
		static const char *const tasks[] = {"u_core.u_tasks.ready[31:0]",
			"u_core.u_tasks.blocked[31:0]", "u_core.u_tasks.start",
			"u_core.u_rv32.tr_pick", "u_core.u_rv32.tr_task[7:0]", nullptr};
		static const char *const engines[] = {"u_core.busy[2:0]", "u_core.iq_pending[2:0]",
			"u_core.mac[3:0]", "u_core.lwait", "u_core.m0_wait", "u_core.m1_wait",
			"u_core.dq_count[4:0]", nullptr};
		static const char *const colors[] = {"u_core.rx_valid_i", "u_core.rx_ctrl_i",
			"u_core.rx_color_i[4:0]", "u_core.rx_data_i[31:0]", "u_core.rn_valid_i",
			"u_core.rn_ctrl_i", "u_core.rn_color_i[4:0]", "u_core.rn_data_i[31:0]",
			"u_core.tx_valid_o",
			"u_core.tx_ctrl_o", "u_core.tx_color_o[4:0]", "u_core.tx_data_o[31:0]",
			"u_core.some[23:0]", "u_core.claim[23:0]", nullptr};
		static const Group groups[] = {{"scalar side", scalar}, {"tasks", tasks},
			{"engines L, M0, M1", engines}, {"colors", colors}};

		for (const Group &g : groups) {
			std::fprintf(f, "@200\n-core %u.%u: %s\n", i % cols, i / cols, g.name);
			for (const char *const *s = g.signals; *s; s++)
				std::fprintf(f, "@%s\ntile.%s.%s\n",
					     std::strchr(*s, '[') ? "22" : "28",
					     cell(i).c_str(), *s);
		}
	}

	int write_view() const
	{
		std::FILE *f = std::fopen(view().c_str(), "w");
		const uint32_t first = core == ~0u ? 0 : core;
		const uint32_t last = core == ~0u ? rows * cols - 1 : core;
		bool failed;

		if (!f)
			return -errno;
		std::fprintf(f, "[dumpfile] \"%s\"\n[timestart] %llu\n", path.c_str(),
			     1000ull * from);
		// some forty cycles of the window at first
		std::fprintf(f, "*-13.5 %llu\n", 1000ull * from);
		std::fputs("[size] 1400 900\n[signals_width] 320\n", f);
		for (uint32_t i = first; i <= last; i++)
			write_core(f, i);
		failed = std::ferror(f);
		failed |= std::fclose(f) != 0;
		return failed ? -EIO : 0;
	}
};

#endif
