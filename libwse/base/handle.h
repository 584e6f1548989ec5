/* SPDX-License-Identifier: MIT */
/*
 * Which objects of the public API exist, and which are in a call: a handle that was destroyed, or
 * is another kind of object, or is used by two threads at once, is an error of the caller's that
 * has a sentence (as libdrm's handle table).
 */
#ifndef WSE_BASE_HANDLE_H
#define WSE_BASE_HANDLE_H

enum wse_handle {
	WSE_HANDLE_MODEL,
	WSE_HANDLE_PARAMS,
	WSE_HANDLE_TRAINER,
	WSE_HANDLE_DEVICE,
	WSE_HANDLE_BUFFER,
	WSE_HANDLE_CONTEXT,
	WSE_HANDLE_FENCE,
	WSE_HANDLE_PROGRAM,
	WSE_HANDLE_TOKENIZER,
};

/* -ENOMEM */
int wse_handle_add(enum wse_handle kind, const void *object);
/*
 * The same in two steps, of which the first alone can fail: for what cannot be undone when the
 * object is there. object NULL: there is none, the room is given back.
 */
int wse_handle_reserve(void);
void wse_handle_add_reserved(enum wse_handle kind, const void *object);
/* -EBADF, -EBUSY, with a sentence */
int wse_handle_enter(enum wse_handle kind, const void *object);
void wse_handle_leave(const void *object);
/* as enter; the object is no handle any more */
int wse_handle_remove(enum wse_handle kind, const void *object);
/* -EBADF; for what any number of threads may use */
int wse_handle_check(enum wse_handle kind, const void *object);

#endif
