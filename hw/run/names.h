/* SPDX-License-Identifier: MIT */
/* What events are called, in texts and pictures. */
#ifndef WSE_RUN_NAMES_H
#define WSE_RUN_NAMES_H

#include <stdint.h>

/* the operation of a tensor instruction's control word: "VRSUM"; what a core waits for: "recv" */
const char *ev_operation(uint32_t tcw);
const char *ev_wait(uint32_t cause);

#endif /* WSE_RUN_NAMES_H */
