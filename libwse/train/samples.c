// SPDX-License-Identifier: MIT
/* Text from a model into the log of a run. */
#include "samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "input/bpe.h"

/*
 * Lines of text, which is UTF-8 as far as it goes; what a terminal should not see is shown as dots.
 * text [n + 1] is changed
 */
static void show_sample(const struct wse_exec_cfg *log, char *text, size_t n)
{
	char *next;

	for (size_t j = 0; j < n;) {
		const unsigned char *c = (const unsigned char *)text + j;
		int len = wse_utf8_char(c, n - j);

		/* U+0080 to U+009F control a terminal, too */
		if (len > 1 && !(c[0] == 0xc2 && c[1] < 0xa0)) {
			j += (size_t)len;
			continue;
		}
		if (*c >= 127 || (*c < 32 && *c != '\n'))
			text[j] = text[j] == '\t' ? ' ' : '.';
		j++;
	}
	text[n] = 0;
	for (char *p = text; p; p = next) {
		next = strchr(p, '\n');
		if (next)
			*next++ = 0;
		wse_logf(log, WSE_LOG_INFO, "    %s", p);
	}
}

int wse_session_sample(struct wse_session *s, const struct wse_config *cfg, uint32_t streams,
		       const struct wse_exec_cfg *log)
{
	struct wse_prompt prompts[WSE_PROMPTS] = {{cfg->sample_prompt, cfg->sample_prompt_len}};
	uint32_t n = cfg->nprompts ? cfg->nprompts : 1;
	struct wse_sampling how = {
		.prompts = prompts,
		.nprompts = cfg->nprompts,
		.prompt = cfg->nprompts ? NULL : cfg->sample_prompt,
		.prompt_len = cfg->nprompts ? 0 : cfg->sample_prompt_len,
		.n = cfg->sample_tokens,
		.temperature = cfg->sample_temperature,
		.top_k = cfg->sample_top_k,
		.top_p = cfg->sample_top_p,
		.seed = cfg->sample_seed,
		.streams = cfg->samples ? cfg->samples : streams,
	};
	size_t room = wse_session_text_room(s, how.n), at = 0;
	char *made = malloc(n * how.streams * room), *text = malloc(WSE_PROMPT + room);
	int ret;

	for (uint32_t i = 0; i < cfg->nprompts; i++) {
		prompts[i] = (struct wse_prompt){cfg->prompts + at, cfg->prompt_len[i]};
		at += cfg->prompt_len[i] + 1;
	}
	if (made && text)
		ret = wse_session_generate(s, &how, made);
	else
		ret = wse_fail(-ENOMEM, "no memory for the samples");
	for (uint32_t i = 0; i < n * how.streams && !ret; i++) {
		const struct wse_prompt *prompt = &prompts[i / how.streams];
		/* bytes may be NUL, too; of a tokenizer a text ends there */
		size_t len = s->bpe ? strlen(made + i * room) : how.n;

		memcpy(text, prompt->text, prompt->len);
		memcpy(text + prompt->len, made + i * room, len);
		if (n == 1)
			wse_logf(log, WSE_LOG_INFO, "| Sample %u:", i + 1);
		else
			wse_logf(log, WSE_LOG_INFO, "| Prompt %u, sample %u:", i / how.streams + 1,
				 i % how.streams + 1);
		show_sample(log, text, prompt->len + len);
	}
	free(made);
	free(text);
	return ret;
}
