// SPDX-License-Identifier: MIT
#include "json_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

int wse_file_read(const char *path, const char *name, char **text, size_t *n)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), ret = 0;
	struct stat sb;
	ssize_t got;

	*text = NULL;
	*n = 0;
	if (fd < 0)
		return wse_fail(-errno, "%s: %s", name, strerror(errno));
	if (fstat(fd, &sb))
		ret = wse_fail(-errno, "%s: %s", name, strerror(errno));
	else if (!S_ISREG(sb.st_mode) || sb.st_size > WSE_FILE_MAX)
		ret = wse_fail(-EINVAL, "%s is no file of up to %u MiB", name, WSE_FILE_MAX >> 20);
	if (!ret)
		*text = malloc((size_t)sb.st_size + 1);
	if (!ret && !*text)
		ret = wse_fail(-ENOMEM, "%s: no memory", name);
	while (!ret && *n < (size_t)sb.st_size) {
		got = read(fd, *text + *n, (size_t)sb.st_size - *n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			ret = wse_fail(got ? -errno : -EIO, "%s: %s", name,
				       got ? strerror(errno)
					   : "it became shorter while it was read");
		else
			*n += (size_t)got;
	}
	close(fd);
	if (*text)
		(*text)[*n] = 0;
	if (ret) {
		free(*text);
		*text = NULL;
	}
	return ret;
}

int wse_json_read(const char *path, const char *name, json_object **root)
{
	struct json_tokener *tok = json_tokener_new();
	enum json_tokener_error err;
	size_t n, at, line = 1;
	char *text;
	int ret = tok ? wse_file_read(path, name, &text, &n) : wse_fail(-ENOMEM, "no memory");

	if (ret) {
		json_tokener_free(tok);
		return ret;
	}
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	/* the NUL ends it: a number at the end of the file would go on */
	*root = json_tokener_parse_ex(tok, text, (int)n + 1);
	err = json_tokener_get_error(tok);
	at = json_tokener_get_parse_end(tok);
	if (err != json_tokener_success) {
		for (size_t i = 0; i < at && i < n; i++)
			line += text[i] == '\n';
		ret = wse_fail(-EINVAL, "%s: line %zu: %s: is the download complete?", name, line,
			       json_tokener_error_desc(err));
	} else if (!json_object_is_type(*root, json_type_object)) {
		ret = wse_fail(-EINVAL, "%s is no JSON object { ... }", name);
	}
	if (ret) {
		json_object_put(*root);
		*root = NULL;
	}
	json_tokener_free(tok);
	free(text);
	return ret;
}
