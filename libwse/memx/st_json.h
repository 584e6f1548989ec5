/* SPDX-License-Identifier: MIT */
/*
 * JSON where it lies: strings are decoded in place, nothing recurses. JSON libraries that are about
 * neither refuse a name that comes twice nor tell where a value stood.
 */
#ifndef WSE_MEMX_ST_JSON_H
#define WSE_MEMX_ST_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct st_json {
	char *text, *p, *end; /* of what is read; it is overwritten */
	const char *what;     /* "header", for sentences */
	size_t before;	      /* bytes of the file before text */
	int ret;	      /* the first fault; after it nothing is read */
};

/* the first fault and its sentence */
#define ST_JSON_FAULT(j, ...)                             \
	do {                                              \
		if (!(j)->ret)                            \
			(j)->ret = wse_fail(__VA_ARGS__); \
	} while (0)

void st_json_damaged(struct st_json *j);
int st_json_next(struct st_json *j, char c); /* takes c, if it comes next */
void st_json_expect(struct st_json *j, char c);
char *st_json_string(struct st_json *j); /* "" after a fault; control characters stay escapes */
/* any way of JSON to write a whole number: 12, 0e0, 1.20e1; 0 after a fault */
uint64_t st_json_whole(struct st_json *j);
/* passes over a value of any kind */
void st_json_skip(struct st_json *j);
void st_json_end(struct st_json *j); /* nothing may follow */

#endif
