/* SPDX-License-Identifier: MIT */
/*
 * libwse trains neural networks on wafers by weight streaming.
 *
 *   device.h	devices, buffers, contexts, commands, programs: what a wafer is
 *   model.h	models: ready-made ones, and one's own as a list of operations
 *   tokens.h	text to tokens and back
 *   train.h	training: MemoryX and SwarmX behind one handle; plans, runs, checkpoints, text
 *
 * Every function returns 0 or a negative errno unless it says otherwise, and sets its outputs
 * (last) only on success. Nothing prints or exits; whatever has to be said goes through a callback.
 * For an error that deserves more than an errno wse_error() has one sentence.
 *
 * Structs that a caller fills in begin as zeros: 0 is the default of every member, and the members
 * `resv` must stay 0. Structs that the library hands to a callback may grow at their end.
 *
 * wse(7) is the tutorial.
 */
#ifndef WSE_WSE_H
#define WSE_WSE_H

#include <wse/device.h>
#include <wse/error.h>
#include <wse/model.h>
#include <wse/tokens.h>
#include <wse/train.h>

#endif /* WSE_WSE_H */
