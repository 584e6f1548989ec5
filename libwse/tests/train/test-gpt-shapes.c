// SPDX-License-Identifier: MIT
/*
 * Which forms of GPTs there are: what is refused and in which sentence, which program of the cores
 * a form takes, operations that no form has, and narrower models of a form.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "gpt_form.h"
#include "model/gpt_sizes.h"
#include "ops/ops.h"
#include "ops/rope.h"
#include "tap.h"

/* heads that lie on one column, where a planner has them, and not on four */
static void on_four_columns(void)
{
	const struct wse_tile tile = {.rows = 2, .cols = 4, .lanes = 8, .sram = 48 * 1024};
	const struct wse_gpt m = {.vocab = 256,
				  .positions = 32,
				  .seq = 32,
				  .hidden = 64,
				  .layers = 1,
				  .heads = 4,
				  .kv_heads = 1,
				  .head_dim = 12,
				  .filter = 256,
				  .learned = 1};
	const struct wse_tile two = {.rows = 2, .cols = 2, .lanes = 8, .sram = 48 * 1024};
	struct wse_gpt padded = {.vocab = 256,
				 .positions = 32,
				 .seq = 32,
				 .hidden = 36,
				 .layers = 1,
				 .heads = 6,
				 .filter = 144,
				 .learned = 1};
	struct wse_model model;

	/* on two columns heads of 6 features, which none has in fours, are padded: 1 and 2 go */
	padded.kv_heads = 3;
	ok(!wse_gpt_init(&model, &padded) && wse_gpt_sizes(&model, &two, 1) == -EINVAL &&
		   strstr(wse_error(), "num_kv_groups 3 is neither a multiple nor a divisor of the "
				       "2 columns: choose 2"),
	   "%s", wse_error());
	padded.kv_heads = 2;
	ok(!wse_gpt_init(&model, &padded) && !wse_gpt_sizes(&model, &two, 1), "and 2 are taken");
	ok(!wse_gpt_init(&model, &m) && wse_gpt_sizes(&model, &tile, 1) == -EINVAL &&
		   strstr(wse_error(), "attention_inner_dim 48 is not a multiple of 64: 4 heads "
				       "(num_heads), each over 4 columns, have 4 features or more "
				       "on each: choose 64"),
	   "%s", wse_error());
}

/* a vocabulary is taken whatever a core's tokens are, which its chunks depend on, as advised */
static void widest_vocab(void)
{
	for (uint32_t cols = 1; cols <= 8; cols++) {
		const struct wse_tile tile = {
			.rows = 2, .cols = cols, .lanes = 8, .sram = 48 * 1024};
		struct wse_gpt m = {.vocab = 200000,
				    .positions = 8,
				    .seq = 8,
				    .hidden = 4 * cols,
				    .layers = 1,
				    .heads = 1,
				    .filter = 64 * cols,
				    .learned = 1};
		const char *at = NULL;
		struct wse_model model;
		int good = 1;

		if (cols < 2)
			m.hidden = 8;
		if (!wse_gpt_init(&model, &m) && wse_gpt_sizes(&model, &tile, 1) == -EINVAL)
			at = strstr(wse_error(), ": choose ");
		m.vocab = at ? (uint32_t)strtoul(at + 9, NULL, 10) : 0;
		for (uint32_t t = 8; t <= WSE_TOKENS_MAX; t += 8)
			good &= wse_gpt_head_width(m.vocab, cols, t) <= WSE_COLUMN_MAX;
		ok(at && good && m.vocab > 16200 * cols && !wse_gpt_init(&model, &m) &&
			   !wse_gpt_sizes(&model, &tile, 1),
		   "a vocabulary on %u columns: %s", cols, wse_error());
	}
}

/* what no form has is refused in a sentence */
static void refused(void)
{
	static const struct {
		struct wse_gpt m;
		const char *words;
	} all[] = {
		{{.rotary = 7}, "rotary_dim 7 is odd: features turn in pairs: choose 6 or 8"},
		{{.rotary = 18}, "rotary_dim 18 is more than the 16 features of a head: choose 16"},
		{{.rotary = 8, .rotary_base = -1},
		 "rope_theta -1 is not a base of angles: choose 1 or more (10000)"},
		{{.rotary = 8, .rotary_scale = NAN},
		 "pos_scaling_factor nan does not scale positions: choose 0.001 or more (1)"},
		{{.heads = 8, .kv_heads = 3},
		 "num_kv_groups 3 does not divide num_heads 8: choose 2 or 4"},
		{{.rotary = 18, .head_dim = 8},
		 "rotary_dim 18 is more than the 8 features of a head: choose 8"},
		{{.learned = 1, .head_dim = 1},
		 "attention_inner_dim 4 is not a multiple of 16: 4 heads (num_heads), each over 1 "
		 "columns, have 4 features or more on each: choose 16"},
		{{.learned = 1, .head_dim = 1u << 20},
		 "4 heads of 1048576 features are more than 1048576: choose 262144"},
		{{.heads = 4, .kv_heads = 8},
		 "num_kv_groups 8 does not divide num_heads 4: choose 4"},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const struct form f = {"", all[i].m};
		const struct run r = {"oracle:rows=2,cols=4", 1, {0}, 0};
		struct wse_session s;
		int ret = open_run(&r, &f, &s);

		ok(ret == -EINVAL && strstr(wse_error(), all[i].words), "%s",
		   ret ? wse_error() : "not refused");
		if (!ret)
			wse_session_close(&s);
	}
	on_four_columns();
	widest_vocab();
	for (int gated = 0; gated < 2; gated++) {
		const struct wse_gpt m = {.vocab = 256,
					  .positions = 32,
					  .seq = 32,
					  .hidden = 64,
					  .layers = 1,
					  .heads = 4,
					  .filter = 256,
					  .gated = (uint32_t)gated,
					  .act = gated ? WSE_GELU : WSE_SILU};
		struct wse_model model;

		ok(wse_gpt_init(&model, &m) == -EINVAL &&
			   strstr(wse_error(), gated ? "a gate of another activation than SiLU"
						     : "SiLU without a gate"),
		   "%s", wse_error());
	}
}

/* which program a form's graph names */
static void programs(void)
{
	static const struct {
		struct wse_gpt m;
		const char *file;
	} all[] = {{{.learned = 1}, "train.elf"},
		   {{.learned = 1, .head_bias = 1, .no_qkv_bias = 1}, "train.elf"},
		   {{.learned = 1, .kv_heads = 1}, "full.elf"},
		   {{.rotary = 8}, "full.elf"},
		   {{.alibi = 1}, "slopes.elf"},
		   {{.learned = 1, .norm = WSE_GPT_NORM_BIASLESS}, "full.elf"},
		   {{.alibi = 1, .kv_heads = 1, .norm = WSE_GPT_NORM_RMS}, "slopes.elf"},
		   {{.learned = 1, .kv_heads = 1, .drop_residual = 0.1f}, "drop.elf"},
		   {{.alibi = 1, .kv_heads = 1, .drop_attention = 0.1f}, "drop.elf"}};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const struct form f = {"", all[i].m};
		const struct run r = {"oracle:rows=2,cols=4", 1, {0}, 0};
		struct wse_session s;
		int ret = open_run(&r, &f, &s);

		ok(!ret && s.plan.graph.nprograms == 1 &&
			   !strcmp(s.plan.graph.programs[0].file, all[i].file) &&
			   s.plan.graph.base == s.plan.graph.programs[0].end,
		   "form %zu is in %s%s%s", i, all[i].file, ret ? ": " : "",
		   ret ? wse_error() : "");
		if (!ret)
			wse_session_close(&s);
	}
}

/* operations of graphs of one's own that none of these models has */
static void bad_operations(void)
{
	static const char *const words[] = {
		"4 heads of queries do not share 3 of keys",
		"9 pairs of a head of 16 features on each of 1 columns",
		"its result does not lie at its sums",
		"the pass's second operand (value 1) has 16 features a column where 32 are needed",
	};
	const struct wse_tile tile = {.rows = 2, .cols = 2, .lanes = 8, .sram = 48 * 1024};

	for (uint32_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		struct wse_linear_op l = {.post = WSE_POST_MUL2, .bias = WSE_NO_BIAS};
		struct wse_attn_op a = {.d = 16, .heads = 4, .group = 1, .kv = 3};
		struct wse_rope_op r = {.d = 16, .heads = 8, .pairs = 9, .group = 1};
		struct wse_graph g;
		uint32_t x, y;
		int ret;

		wse_graph_init(&g, &tile, 8);
		wse_graph_sequence(&g, 16);
		wse_graph_kernels(&g);
		wse_graph_in(&g, "x", 160 * 2ul * 16 * 2);
		wse_graph_in(&g, "y", 16 * 2ul * 16 * 2);
		x = wse_op_in(&g, "x", 0, WSE_TYPE_BF16, WSE_SHAPE_TOKENS, 160);
		y = wse_op_in(&g, "y", 1, WSE_TYPE_BF16, WSE_SHAPE_TOKENS, 16);
		a.qkv = r.qkv = x;
		r.table = l.x = l.aux = y;
		if (i == 0)
			wse_op_attn(&g, &a);
		if (i == 1)
			wse_op_rope(&g, &r);
		if (i >= 2) {
			l.unit = wse_graph_unit(&g, 0, i == 2 ? 16 : 32, 32, 1);
			l.aux = i == 2 ? wse_op_in(&g, "y", 1, WSE_TYPE_BF16, WSE_SHAPE_TOKENS, 16)
				       : y;
			l.over = i == 3;
			wse_op_linear(&g, &l, NULL);
		}
		ret = wse_ops_finish(&g);
		ok(ret == -EINVAL && strstr(wse_error(), words[i]), "%s",
		   ret ? wse_error() : "not refused");
		wse_graph_fini(&g);
	}
}

/* narrower models of a form: each is one, lies on the tile, and is what the words say */
static void resized(void)
{
	static const struct {
		struct wse_gpt m;
		uint32_t cols, n;
		const char *words;
	} all[] = {
		{{LLAMA, .kv_heads = 2},
		 4,
		 1,
		 "hidden_size 32 and filter_size 128 and rotary_dim 8"},
		{{LLAMA, .kv_heads = 2}, 3, 2, "num_heads 3 and num_kv_groups 3"},
		{{GPTJ, .heads = 8}, 3, 2, "num_heads"},
		{{NEOX}, 4, 2, "rotary_dim 4"},
		{{.learned = 1, .head_dim = 24}, 4, 2, "hidden_size 32 and filter_size 128"},
		{{.learned = 1, .head_dim = 24}, 3, 5, "num_heads 3"},
		/* keys that say what would be so without them stand in the file, and stay there */
		{{LLAMA, .named_kv = 1}, 3, 2, "num_heads 3 and num_kv_groups 3 and hidden_size"},
		{{.learned = 1, .named_inner = 1},
		 4,
		 2,
		 "hidden_size 32 and attention_inner_dim 32 and filter_size 128"},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const struct wse_tile tile = {
			.rows = 2, .cols = all[i].cols, .lanes = 8, .sram = 48 * 1024};
		struct wse_model model, to = {0};
		struct wse_gpt m = all[i].m;
		const struct wse_gpt *got;
		char what[256];
		int ret;

		m.vocab = 256;
		m.positions = m.seq = 32;
		m.hidden = 64;
		m.layers = 2;
		m.heads = m.heads ? m.heads : 4;
		m.filter = 256;
		m.act = m.gated ? WSE_SILU : WSE_GELU;
		ret = wse_gpt_init(&model, &m);
		if (!ret)
			wse_gpt_resize(&model, &tile, all[i].n, &to, what, sizeof(what));
		got = wse_gpt(&to);
		m = *got;
		ok(!ret && strstr(what, all[i].words) && !wse_gpt_init(&model, &m) &&
			   !wse_gpt_sizes(&to, &tile, 1),
		   "on %u columns, %u units wide: %s%s%s", all[i].cols, all[i].n, what,
		   ret ? ": " : "", ret ? wse_error() : "");
	}
}

int main(void)
{
	if (write_text())
		return 1;
	refused();
	resized();
	programs();
	bad_operations();
	unlink(text);
	return tap_end();
}
