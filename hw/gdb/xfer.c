// SPDX-License-Identifier: MIT
/* The documents that gdb reads by pieces (qXfer): registers, threads, processes, the program. */
#include <string.h>

#include "stub.h"

static void threads_xml(struct gdb_stub *g)
{
	gdb_text(g, "<?xml version=\"1.0\"?><threads>");
	for (uint32_t i = 0; i < g->ncores; i++) {
		if (!g->core[i].attached)
			continue;
		gdb_text(g,
			 g->multi ? "<thread id=\"p%x.1\" name=\"core %u,%u\"/>"
				  : "<thread id=\"%x\" name=\"core %u,%u\"/>",
			 i + 1, core_col(g, i), core_row(g, i));
	}
	gdb_text(g, "</threads>");
}

static void osdata_xml(struct gdb_stub *g)
{
	gdb_text(g, "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"osdata.dtd\">"
		    "<osdata type=\"types\"><item><column name=\"Type\">processes</column>"
		    "<column name=\"Description\">cores, and what they wait for</column>"
		    "<column name=\"Title\">Cores</column></item></osdata>");
}

/* OBJECT:read:ANNEX:OFFSET,LENGTH. A document is made when its beginning is asked for. */
void gdb_xfer(struct gdb_stub *g, const char *p)
{
	static const struct {
		const char *head;
		void (*make)(struct gdb_stub *g);
	} doc[] = {
		{"features:read:target.xml:", gdb_target_xml},
		{"threads:read::", threads_xml},
		{"osdata:read:processes:", gdb_processes_xml},
		{"osdata:read::", osdata_xml},
	};
	uint64_t offset, len;
	void (*make)(struct gdb_stub * g) = NULL;
	bool program = false;
	size_t i;

	for (i = 0; i < sizeof(doc) / sizeof(doc[0]) && !make; i++) {
		if (!strncmp(p, doc[i].head, strlen(doc[i].head))) {
			make = doc[i].make;
			p += strlen(doc[i].head);
		}
	}
	if (!make && g->program && !strncmp(p, "exec-file:read:", 15)) {
		program = true;
		p = strchr(p + 15, ':');
		p = p ? p + 1 : "";
	}
	if (!make && !program)
		return; /* not supported */
	if (!gdb_number(&p, &offset) || *p++ != ',' || !gdb_number(&p, &len) || *p)
		return gdb_error(g);
	if (!offset) {
		gdb_text_begin(g);
		if (make)
			make(g);
		else
			gdb_text(g, "%s", g->program);
	}
	if (g->text_short || offset > g->ntext)
		return gdb_error(g);
	/* half: what is escaped takes two bytes */
	if (len > PACKET_MAX / 2)
		len = PACKET_MAX / 2;
	gdb_say(g, offset + len < g->ntext ? "m" : "l");
	if (len > g->ntext - offset)
		len = g->ntext - offset;
	memcpy(g->reply + g->nreply, g->text + offset, len);
	g->nreply += len;
}
