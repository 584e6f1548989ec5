/* SPDX-License-Identifier: MIT */
/* Files as Hugging Face's library writes them: by the script hf-file, with these arguments. */
#ifndef TEST_HF_FILE_H
#define TEST_HF_FILE_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 1, 2))) static int hf_file(const char *fmt, ...)
{
	char command[512] = "libwse/tests/train/hf-file ";
	size_t n = strlen(command);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command + n, sizeof(command) - n, fmt, ap);
	va_end(ap);
	return system(command);
}

#endif
