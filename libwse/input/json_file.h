/* SPDX-License-Identifier: MIT */
/* Whole files, and JSON in them. */
#ifndef WSE_INPUT_JSON_FILE_H
#define WSE_INPUT_JSON_FILE_H

#include <json-c/json.h>
#include <stddef.h>

#define WSE_FILE_MAX (256u << 20)

/*
 * The file and a NUL behind it; *text is for free(). name: what sentences call the file. -EINVAL:
 * it is none, or larger than WSE_FILE_MAX
 */
int wse_file_read(const char *path, const char *name, char **text, size_t *n);
/* a JSON object, for json_object_put(). -EINVAL: which line is none */
int wse_json_read(const char *path, const char *name, json_object **root);

#endif
