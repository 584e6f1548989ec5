/* SPDX-License-Identifier: MIT */
/* CRC-32 (IEEE 802.3) of a firmware image, as struct wse_fw has it; the kernel has its own. */
#ifndef WSE_CRC_H
#define WSE_CRC_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t wse_crc32(const void *bytes, size_t n)
{
	const unsigned char *p = (const unsigned char *)bytes;
	uint32_t c = ~0u;
	int i;

	while (n--) {
		c ^= *p++;
		for (i = 0; i < 8; i++)
			c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
	}
	return ~c;
}

#endif
