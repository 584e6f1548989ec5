// SPDX-License-Identifier: MIT
/* Keys that are taken without being used, by all sections. */
#include "sections.h"

#include <stdio.h>
#include <string.h>

void wse_config_note(char *list, size_t size, const char *name)
{
	size_t n = strlen(list), len = strlen(name);
	const char *at = list;

	while ((at = strstr(at, name)) &&
	       ((at > list && at[-1] != ' ') || (at[len] && at[len] != ',')))
		at += len;
	if (!at)
		snprintf(list + n, size - n, "%s%s", n ? ", " : "", name);
}

void wse_config_ignore_as(struct sections *s, struct wse_yaml *y, const char *key, const char *name)
{
	struct wse_yaml *c = reader_want(&s->r, y, key, 0);

	if (!c)
		return;
	wse_yaml_use_all(c);
	wse_config_note(s->cfg->ignored, sizeof(s->cfg->ignored), name);
}

void wse_config_ignore(struct sections *s, struct wse_yaml *y, const char *key)
{
	wse_config_ignore_as(s, y, key, key);
}

void wse_config_refuse(struct sections *s, struct wse_yaml *y, const char *what, const char *name,
		       const char *remedy)
{
	char text[120];

	wse_yaml_use_all(y);
	snprintf(text, sizeof(text), "%s %.80s", what, name);
	if (s->src->plan)
		wse_config_note(s->cfg->unneeded, sizeof(s->cfg->unneeded), text);
	else
		reader_fail(&s->r, y, "is the %s, which is not available: %s", text, remedy);
}
