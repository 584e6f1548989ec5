/* SPDX-License-Identifier: MIT */
/*
 * A device for tests of the layer above it: keeps the rings, copies, and does as it is told where a
 * real one computes. Found as the model "func" of the programs that link it.
 */
#ifndef MOCK_MODEL_H
#define MOCK_MODEL_H

#include <stdint.h>

/*
 * What a START does is its first argument word: a WSE_ST_* to end with, or MOCK_HOLD. A fault
 * record is written for any status but OK: its row is argument 1, its column 2, its cause 3, its
 * color 4.
 */
#define MOCK_HOLD 100u /* executes until mock_release() */

enum mock_fault {
	MOCK_GOOD,
	MOCK_SILENT,	/* executes nothing any more, idle */
	MOCK_HALT,	/* says HALTED */
	MOCK_WRONG_CID, /* the next completion names another command */
	MOCK_BAD_HEAD,	/* the next completion has an impossible SQHD */
	MOCK_BAD_DMA,	/* the next command reads outside of everything: DMA_ERROR */
	MOCK_DEAD,	/* as SILENT, and a reset does not help */
};

/* Of all mocks in the process; a reset of the device makes it GOOD again, except DEAD. */
void mock_set(enum mock_fault fault);
void mock_release(void);
/* Versions and sizes that the next device reports; 0: as usual. */
void mock_abi(uint32_t abi);

#endif
