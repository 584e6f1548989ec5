// SPDX-License-Identifier: MIT
/* Streaming sum of rows over the left-balanced binary tree. */
#include "row_sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int wse_row_sum_init(struct wse_row_sum *s)
{
	memset(s, 0, sizeof(*s));
	return -pthread_mutex_init(&s->lock, NULL);
}

static void drop(struct wse_row_node *n)
{
	while (n) {
		struct wse_row_node *next = n->next;

		wse_rows_fini(&n->rows);
		free(n);
		n = next;
	}
}

void wse_row_sum_begin(struct wse_row_sum *s, uint32_t leaves)
{
	pthread_mutex_lock(&s->lock);
	drop(s->waiting);
	drop(s->root);
	s->waiting = s->root = NULL;
	s->leaves = leaves;
	pthread_mutex_unlock(&s->lock);
}

void wse_row_sum_fini(struct wse_row_sum *s)
{
	wse_row_sum_begin(s, 0);
	drop(s->held);
	pthread_mutex_destroy(&s->lock);
	memset(s, 0, sizeof(*s));
}

/* takes the node out of those that wait, NULL: it is not there yet */
static struct wse_row_node *take(struct wse_row_sum *s, uint32_t level, uint32_t pos)
{
	for (struct wse_row_node **at = &s->waiting; *at; at = &(*at)->next) {
		struct wse_row_node *n = *at;

		if (n->level == level && n->pos == pos) {
			*at = n->next;
			n->next = NULL;
			return n;
		}
	}
	return NULL;
}

/* left + right, in n, which is one of both */
static int join(struct wse_row_node *n, struct wse_row_node *other)
{
	int first = n->pos < other->pos;
	struct wse_rows sum;
	int ret = wse_rows_add(&sum, first ? &n->rows : &other->rows,
			       first ? &other->rows : &n->rows);

	drop(other);
	if (ret)
		return ret;
	wse_rows_fini(&n->rows);
	n->rows = sum;
	return 0;
}

int wse_row_sum_put(struct wse_row_sum *s, uint32_t leaf, struct wse_rows *rows)
{
	return wse_row_sum_put_node(s, 0, leaf, rows);
}

int wse_row_sum_put_node(struct wse_row_sum *s, uint32_t level, uint32_t pos, struct wse_rows *rows)
{
	struct wse_row_node *n = calloc(1, sizeof(*n)), *other;
	int ret = 0;

	if (!n || level >= 32 || (uint64_t)pos << level >= s->leaves) {
		wse_rows_fini(rows);
		free(n);
		return n ? -EINVAL : -ENOMEM;
	}
	n->rows = *rows;
	n->level = level;
	n->pos = pos;
	memset(rows, 0, sizeof(*rows));
	pthread_mutex_lock(&s->lock);
	while (!ret && (n->pos || (1ull << n->level) < s->leaves)) {
		uint32_t sibling = n->pos ^ 1;

		/* one beyond the last leaf: the node moves up as it is */
		if ((uint64_t)sibling << n->level < s->leaves) {
			other = take(s, n->level, sibling);
			if (!other) {
				n->next = s->waiting;
				s->waiting = n;
				pthread_mutex_unlock(&s->lock);
				return 0;
			}
			pthread_mutex_unlock(&s->lock);
			ret = join(n, other);
			pthread_mutex_lock(&s->lock);
		}
		n->level++;
		n->pos >>= 1;
	}
	if (ret)
		drop(n);
	else
		s->root = n;
	pthread_mutex_unlock(&s->lock);
	return ret;
}

uint32_t wse_row_sum_left(struct wse_row_sum *s, struct wse_part at[WSE_REDUCE_PARTS],
			  struct wse_rows rows[WSE_REDUCE_PARTS])
{
	struct wse_row_node *n, *next;
	uint32_t count = 0;

	pthread_mutex_lock(&s->lock);
	n = s->root ? s->root : s->waiting;
	for (; n && count < WSE_REDUCE_PARTS; n = next) {
		uint32_t i = count++;

		for (;
		     i && (uint64_t)at[i - 1].pos << at[i - 1].level > (uint64_t)n->pos << n->level;
		     i--) {
			at[i] = at[i - 1];
			rows[i] = rows[i - 1];
		}
		at[i] = (struct wse_part){n->level, n->pos};
		rows[i] = n->rows;
		next = n->next;
		free(n);
	}
	s->root = s->waiting = NULL;
	pthread_mutex_unlock(&s->lock);
	return count;
}

const struct wse_rows *wse_row_sum_take(struct wse_row_sum *s)
{
	const struct wse_rows *sum = NULL;

	pthread_mutex_lock(&s->lock);
	if (s->root) {
		drop(s->held);
		s->held = s->root;
		s->root = NULL;
		sum = &s->held->rows;
	}
	pthread_mutex_unlock(&s->lock);
	return sum;
}
