/* SPDX-License-Identifier: MIT */
/*
 * Kernels of wse_kernel.h and programs made of them. A header of this folder defines a kernel as a
 * function NAME_kernel(args); a program includes headers and selects kernels with WSE_KERNEL. A
 * kernel that is not selected takes no space.
 */
#ifndef WSE_KERNEL_ENTRY_H
#define WSE_KERNEL_ENTRY_H

#include "wse_core.h"
#include "wse_kernel.h"

/* the start function of a kernel; WSE_KERNEL_OF for the lists of wse_kernel.h */
#define WSE_KERNEL_OF(kind, entry, args) WSE_KERNEL(entry, args)
#define WSE_KERNEL(entry, args)						\
	WSE_ENTRY void entry(uint32_t words, uint32_t info)		\
	{								\
		(void)info;						\
		entry##_kernel((const struct args *)words);		\
		wse_done(0);						\
	}

#endif /* WSE_KERNEL_ENTRY_H */
