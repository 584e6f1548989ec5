/* SPDX-License-Identifier: MIT */
/* The release of this tree, that every tool's --version says. */
#ifndef WSE_RELEASE_H
#define WSE_RELEASE_H

#define WSE_RELEASE "0.1.0"

#endif
