// SPDX-License-Identifier: MIT
/* Registers of a core, and their description for gdb. */
#include <string.h>

#include "stub.h"

/* where a register is in struct wse_core_state; ~0: computed */
struct reg {
	const char *name;
	uint32_t offset;
	bool set;
};

#define STATE(member) (uint32_t) offsetof(struct wse_core_state, member)
#define UPPER(member) (STATE(member) + 4)
#define COMPUTED      ~0u

static const char *const x_name[32] = {
	"zero", "ra", "sp", "gp", "tp",	 "t0",	"t1", "t2", "fp", "s1", "a0",
	"a1",	"a2", "a3", "a4", "a5",	 "a6",	"a7", "s2", "s3", "s4", "s5",
	"s6",	"s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
};

static const struct reg csr[] = {
	{"mstatus", STATE(mstatus), true},   {"mtvec", STATE(mtvec), true},
	{"mscratch", STATE(mscratch), true}, {"mepc", STATE(mepc), true},
	{"mcause", STATE(mcause), true},     {"mtval", STATE(mtval), true},
	{"mcycle", STATE(mcycle), true},     {"mcycleh", UPPER(mcycle), true},
	{"minstret", STATE(minstret), true}, {"minstreth", UPPER(minstret), true},
	{"mhartid", COMPUTED, false},
};

static const struct reg own[] = {
	{"wse_wdata", STATE(wdata), true},
	{"wse_winfo", STATE(winfo), true},
	{"wse_id", COMPUTED, false},
	{"wse_dim", COMPUTED, false},
	{"wse_cfg", COMPUTED, false},
	{"run", STATE(run), false},
	{"fault_cause", STATE(fault_cause), false},
	{"fault_addr", STATE(fault_addr), false},
};

#define COUNT(a)  (sizeof(a) / sizeof((a)[0]))
#define REG_PC	  32u
#define REG_CSR	  33u
#define REG_OWN	  (REG_CSR + COUNT(csr))
#define REG_DSR	  (REG_OWN + COUNT(own))
#define REG_ACC	  (REG_DSR + WSE_NDSR)
#define REG_COUNT (REG_ACC + WSE_NACC / WSE_LANES)

static void word_xml(struct gdb_stub *g, const char *name, const char *more)
{
	gdb_text(g, "<reg name=\"%s\" bitsize=\"32\"%s/>", name, more);
}

void gdb_target_xml(struct gdb_stub *g)
{
	unsigned int i;

	gdb_text(g, "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target>"
		    "<architecture>riscv:rv32</architecture>"
		    "<feature name=\"org.gnu.gdb.riscv.cpu\">");
	for (i = 0; i < 32; i++)
		word_xml(g, x_name[i],
			 i == 1	  ? " type=\"code_ptr\""
			 : i == 2 ? " type=\"data_ptr\""
				  : "");
	word_xml(g, "pc", " type=\"code_ptr\"");
	gdb_text(g, "</feature><feature name=\"org.gnu.gdb.riscv.csr\">");
	for (i = 0; i < COUNT(csr); i++)
		word_xml(g, csr[i].name, "");
	gdb_text(g,
		 "</feature><feature name=\"wse.core\">"
		 "<struct id=\"dsr\"><field name=\"base\" type=\"uint32\"/>"
		 "<field name=\"len\" type=\"uint16\"/><field name=\"stride\" type=\"int16\"/>"
		 "<field name=\"len1\" type=\"uint16\"/><field name=\"stride1\" type=\"int16\"/>"
		 "<field name=\"kind\" type=\"uint32\"/></struct>"
		 "<vector id=\"lanes\" type=\"ieee_single\" count=\"%u\"/>",
		 WSE_LANES);
	for (i = 0; i < COUNT(own); i++)
		word_xml(g, own[i].name, " group=\"wse\"");
	for (i = 0; i < WSE_NDSR; i++)
		gdb_text(g, "<reg name=\"dsr%u\" bitsize=\"128\" type=\"dsr\" group=\"dsr\"/>", i);
	for (i = 0; i < WSE_NACC / WSE_LANES; i++)
		gdb_text(g, "<reg name=\"acc%u\" bitsize=\"%u\" type=\"lanes\" group=\"acc\"/>", i,
			 32 * WSE_LANES);
	gdb_text(g, "</feature></target>");
}

static uint32_t computed(const struct gdb_stub *g, uint32_t core, const char *name)
{
	if (!strcmp(name, "wse_id"))
		return core_row(g, core) << 16 | core_col(g, core);
	if (!strcmp(name, "wse_dim"))
		return g->cfg.rows << 16 | g->cfg.cols;
	if (!strcmp(name, "wse_cfg"))
		return WSE_SRAM_BYTES / 1024 << 16 | WSE_NCOLORS << 8 | WSE_LANES;
	return core; /* mhartid */
}

static void put_word(struct gdb_stub *g, uint32_t v)
{
	uint8_t b[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)};

	gdb_say_hex(g, b, 4);
}

static uint32_t word_of(const struct wse_core_state *st, uint32_t offset)
{
	uint32_t v;

	memcpy(&v, (const uint8_t *)st + offset, 4);
	return v;
}

/* x0 ... x31 and pc: what gdb reads at each stop; the others it asks for one by one */
void gdb_read_regs(struct gdb_stub *g, uint32_t core)
{
	struct wse_core_state st = {0};

	g->cfg.ops->get_state(g->cfg.machine, core, &st);
	for (unsigned int i = 0; i < 32; i++)
		put_word(g, st.x[i]);
	put_word(g, st.pc);
}

static const struct reg *scalar(uint32_t reg)
{
	return reg < REG_CSR   ? NULL
	       : reg < REG_OWN ? &csr[reg - REG_CSR]
	       : reg < REG_DSR ? &own[reg - REG_OWN]
			       : NULL;
}

bool gdb_read_reg(struct gdb_stub *g, uint32_t core, uint32_t reg)
{
	const struct reg *r = scalar(reg);
	struct wse_core_state st = {0};
	struct wse_core_units u;
	uint32_t acc[WSE_NACC];
	unsigned int i;

	if (reg >= REG_COUNT || g->cfg.ops->get_state(g->cfg.machine, core, &st))
		return false;
	if (reg < 32)
		put_word(g, st.x[reg]);
	else if (reg == REG_PC)
		put_word(g, st.pc);
	else if (r)
		put_word(g, r->offset == COMPUTED ? computed(g, core, r->name)
						  : word_of(&st, r->offset));
	else if (reg < REG_ACC) {
		if (g->cfg.ops->get_units(g->cfg.machine, core, &u))
			return false;
		for (i = 0; i < 4; i++)
			put_word(g, u.dsr[reg - REG_DSR][i]);
	} else {
		if (g->cfg.ops->get_acc(g->cfg.machine, core, acc))
			return false;
		for (i = 0; i < WSE_LANES; i++)
			put_word(g, acc[(reg - REG_ACC) * WSE_LANES + i]);
	}
	return true;
}

static bool get_word(const char **hex, uint32_t *v)
{
	uint8_t b[4];

	if (!gdb_bytes(hex, b, 4))
		return false;
	*v = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
	return true;
}

static bool store(struct gdb_stub *g, uint32_t core, const struct wse_core_state *st)
{
	g->core[core].told_pc = 1;
	return !g->cfg.ops->set_state(g->cfg.machine, core, st);
}

bool gdb_write_reg(struct gdb_stub *g, uint32_t core, uint32_t reg, const char *hex)
{
	const struct reg *r = scalar(reg);
	struct wse_core_state st;
	uint32_t v;

	if (g->cfg.ops->get_state(g->cfg.machine, core, &st) || !get_word(&hex, &v) || *hex)
		return false;
	if (reg < 32)
		st.x[reg] = v;
	else if (reg == REG_PC)
		st.pc = v;
	else if (r && r->set)
		memcpy((uint8_t *)&st + r->offset, &v, 4);
	else
		return false;
	return store(g, core, &st);
}

bool gdb_write_regs(struct gdb_stub *g, uint32_t core, const char *hex)
{
	struct wse_core_state st;

	if (g->cfg.ops->get_state(g->cfg.machine, core, &st))
		return false;
	for (unsigned int i = 0; i < 32; i++)
		if (!get_word(&hex, &st.x[i]))
			return false;
	if (!get_word(&hex, &st.pc))
		return false;
	return store(g, core, &st);
}
