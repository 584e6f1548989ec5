// SPDX-License-Identifier: MIT
/* fw-pack HEADER CODE OUT: joins both and fills in the CRC-32 (IEEE 802.3) of the code. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "wse_crc.h"
#include "wse_regs.h"

static size_t slurp(const char *name, unsigned char *buf, size_t max)
{
	FILE *f = fopen(name, "rb");
	size_t n = f ? fread(buf, 1, max, f) : 0;

	if (f)
		fclose(f);
	return n;
}

int main(int argc, char **argv)
{
	static unsigned char img[sizeof(struct wse_fw) + WSE_SRAM_BYTES];
	unsigned char *code = img + sizeof(struct wse_fw);
	size_t hdr, n, out;
	uint32_t bytes, crc;
	FILE *f;

	if (argc != 4) {
		fprintf(stderr, "usage: fw-pack HEADER CODE OUT\n");
		return 2;
	}
	hdr = slurp(argv[1], img, sizeof(struct wse_fw));
	n = slurp(argv[2], code, WSE_SRAM_BYTES);
	memcpy(&bytes, img + offsetof(struct wse_fw, bytes), sizeof(bytes));
	if (hdr != sizeof(struct wse_fw) || !n || n != bytes || n % 8) {
		fprintf(stderr, "fw-pack: %s and %s do not fit together\n", argv[1], argv[2]);
		return 1;
	}
	crc = wse_crc32(code, n);
	memcpy(img + offsetof(struct wse_fw, crc), &crc, sizeof(crc));
	f = fopen(argv[3], "wb");
	out = f ? fwrite(img, 1, hdr + n, f) : 0;
	if (!f || fclose(f) || out != hdr + n) {
		fprintf(stderr, "fw-pack: cannot write %s\n", argv[3]);
		return 1;
	}
	return 0;
}
