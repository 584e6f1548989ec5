/* SPDX-License-Identifier: MIT */
/* Inside of libwse: objects that all transports have in common, and what a transport provides. */
#ifndef WSE_DEVICE_H
#define WSE_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wse/wse.h>

#define WSE_CODES 16u /* programs that a context knows */
#define WSE_LOST 512 /* bytes of the sentence why something is lost, terminated */

struct wse_code;
struct wse_uri;
struct wse_watch;
struct wse_wave_window;

struct wse_transport {
	const char *name;

	/* The last reference is gone. */
	void (*close)(struct wse_device *dev);
	int (*info)(struct wse_device *dev, struct drm_wse_info *info);
	/* n registers one after the other. NULL: -ENOTSUP. */
	int (*mmio_read)(struct wse_device *dev, const uint32_t *offset, uint32_t n,
			 uint32_t *value);

	/* NULL: it has no waves; w NULL: as wse_device_wave() */
	int (*wave)(struct wse_device *dev, const struct wse_wave_window *w);
	/* with wave; seen NULL: look from here on, else what was seen until the first failure */
	int (*watch)(struct wse_device *dev, struct wse_watch *seen);

	/* NULL: it has no debugger's view. Bytes of a core, without a cycle, -EINVAL if outside. */
	int (*peek)(struct wse_device *dev, uint32_t core, uint32_t addr, void *buf, size_t len);

	/*
	 * An ioctl that needs no buffer and no context, with its struct. -EINVAL: it is unknown,
	 * for callers have checked what they ask.
	 */
	int (*ask)(struct wse_device *dev, unsigned long request, void *arg);

	/* These fill an object whose common part is set up; they set ptr, size, handle of a buffer.
	 */
	int (*buffer_create)(struct wse_device *dev, size_t size, struct wse_buffer **buf);
	int (*buffer_share)(struct wse_device *dev, struct wse_buffer *src,
			    struct wse_buffer **buf);
	void (*buffer_free)(struct wse_buffer *buf);

	int (*context_create)(struct wse_device *dev, uint32_t flags, struct wse_context **ctx);
	void (*context_end)(struct wse_context *ctx); /* the lease is over; memory stays */
	void (*context_free)(struct wse_context *ctx);
	int (*context_fault)(struct wse_context *ctx, struct drm_wse_fault *fault);

	/* Bytes of the buffer of that handle, for checks; 0 if there is none. */
	uint64_t (*handle_size)(struct wse_device *dev, uint32_t handle);
	/* n is not 0, fences are all of any device. fence may be NULL. */
	int (*submit)(struct wse_context *ctx, const struct drm_wse_cmd *cmds, uint32_t n,
		      struct wse_fence *const *in, uint32_t nin, struct wse_fence **fence);
	/*
	 * Instead of peek, where there is a driver: a COPY_OUT, also of a context that a command of
	 * its own has lost, and waits for it. Without a sentence where the driver does not do that.
	 */
	int (*look)(struct wse_context *ctx, const struct drm_wse_cmd *copy);
	int (*fence_wait)(struct wse_fence *fence, int64_t timeout_ns);
	/* NULL: a transport that does not tell */
	int (*fence_cycles)(struct wse_fence *fence, uint32_t *start, uint32_t *end);
	/* the same of one command of its submit */
	int (*command_cycles)(struct wse_fence *fence, uint32_t command, uint32_t *start,
			      uint32_t *end);
	void (*fence_free)(struct wse_fence *fence);
};

/* The first member of every transport's own struct. */
struct wse_device {
	const struct wse_transport *ops;
	atomic_uint refs;
	char *uri;
	struct drm_wse_info info; /* as it was when the device was opened */
	bool wait;		  /* its URI says that contexts wait for it */
	const char *gdb; /* its time stands until a debugger has come to this address, or NULL */
	/*
	 * A transport's thread says here why the device, or a context, is lost; who calls reads it.
	 */
	pthread_mutex_t lost_lock;
	char lost[WSE_LOST]; /* lost_lock; "": it is not, or nothing is known */
};

struct wse_buffer {
	struct wse_device *dev;
	void *ptr;
	size_t size;
	uint32_t handle;
	atomic_uint refs; /* the user's, and those who share its memory */
};

struct wse_context {
	struct wse_device *dev;
	atomic_uint refs;    /* the user's, fences, programs */
	char lost[WSE_LOST]; /* as that of dev */
	struct wse_code *code[WSE_CODES]; /* lost_lock; the newest first */
};

struct wse_fence {
	struct wse_device *dev;
	struct wse_context *ctx;
};

/*
 * ---- device.c ----
 * What users hold are handles (base/handle.h): public functions look whether theirs exists. Inside,
 * objects are counted; one may live on when its handle is gone, so here a context's device is used
 * by its ops and wse_buffer_put() alone.
 */
int wse_device_init(struct wse_device *dev, const struct wse_transport *ops, const char *uri);
void wse_device_fini(struct wse_device *dev);
void wse_device_get(struct wse_device *dev);
void wse_device_put(struct wse_device *dev);
/*
 * From any thread: ctx (dev) is lost, and why. The first sentence stays: what is refused for the
 * loss says it. These are not failures of the thread that finds out.
 */
void wse_context_lose(struct wse_context *ctx, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void wse_device_lose(struct wse_device *dev, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

void wse_buffer_init(struct wse_buffer *buf, struct wse_device *dev);
void wse_buffer_get(struct wse_buffer *buf);
void wse_buffer_put(struct wse_buffer *buf);
/* wse_context_create() with these flags alone, whatever the URI says */
int wse_context_lease(struct wse_device *dev, uint32_t flags, struct wse_context **ctx);
void wse_context_get(struct wse_context *ctx);
void wse_context_put(struct wse_context *ctx);
void wse_fence_init(struct wse_fence *fence, struct wse_context *ctx);

/* ---- program.c ---- */
/* The ELF file of a program: its formats, functions and lines are there alone. */
struct wse_code {
	atomic_uint refs;
	uint32_t start, end;  /* SRAM offsets, multiples of 8, of what is copied to the cores */
	unsigned char *image; /* end - start bytes */
	size_t size;
	char bytes[];
};

/* The program's; valid as long as that. Its name for sentences. */
const struct wse_code *wse_program_code(const struct wse_program *prog, const char **name);
void wse_code_get(struct wse_code *code);
void wse_code_put(struct wse_code *code); /* NULL is ignored */
/* A context knows the latest of its programs, for the sentence of its loss. */
void wse_context_knows(struct wse_context *ctx, struct wse_code *code);
/*
 * "sum at product.c:9": where pc is, of the program of which `near` is a part: n bytes of a core's
 * SRAM from offset at on. "" if that is no program of the context, or it has no symbols. From any
 * thread.
 */
#define WSE_PLACE 192u
void wse_context_place(struct wse_context *ctx, uint32_t pc, uint32_t at, const void *near,
		       size_t n, char text[WSE_PLACE]);
/*
 * The library's kernels run on the tile's first so many columns, once the program is copied to the
 * cores again. For one that wse_program_create() made. -ERANGE, -ENOTSUP with words
 */
int wse_program_columns(struct wse_program *prog, uint32_t cols);
/*
 * The same of rows. Where a model of other rows ran before, rows.elf comes first: weights that are
 * ahead of their start would take the old way
 */
int wse_program_rows(struct wse_program *prog, uint32_t rows);

/* ---- counters.c ---- */
/* How many objects a scope has; 0: no such scope. */
uint32_t wse_counter_objects(const struct drm_wse_info *info, uint32_t scope);

/* ---- explain.c: errors in words ---- */
const char *wse_op_name(uint32_t op);
/* The sentence: why err came of a submit of these commands. Returns err. */
int wse_explain_submit(struct wse_context *ctx, const struct drm_wse_cmd *cmds, uint32_t n,
		       int err);
/* The same for what ended with err because its context is lost, or with it. */
int wse_explain_loss(struct wse_context *ctx, int err);
/* -ENODEV: the device is gone, and why as far as that is known. */
int wse_explain_gone(struct wse_device *dev);
/* One sentence about a fault record; err is the fence's. */
void wse_explain_fault(const struct drm_wse_fault *fault, int err, char *buf, size_t len);
/* The same without a record. */
void wse_explain_fence(int err, char *buf, size_t len);

/* ---- uri.c ---- */
struct wse_uri {
	bool sim;
	char node[64];	/* accel: path */
	bool wait;	/* accel: contexts wait */
	char model[16]; /* sim: "func", "rtl" */
	uint32_t rows, cols;
	uint64_t seed;
	uint32_t threads, hostfp, races, shuffle, exact, latency, pages, group, waves;
	char gdb[108]; /* sim: a port or a socket's path, where a debugger may come; "": none */
};

int wse_uri_parse(const char *text, struct wse_uri *uri);

/* ---- firmware.c ---- */
struct wse_firmware_image {
	void *bytes; /* for SRAM offset 0 on; free() */
	uint32_t size;
	uint32_t entry; /* absolute */
	uint32_t version;
};

/* -ENOENT, -ENOEXEC, -EOPNOTSUPP as wse_context_create(). abi_minor: of the device. */
int wse_firmware_read(uint32_t abi_minor, struct wse_firmware_image *image);
/*
 * The path of a file that belongs to the library: $env/name (or $env itself if it is a file), where
 * the library was built, wse/ beside libwse.so, /lib/firmware/wse. -ENOENT; -ENAMETOOLONG.
 */
int wse_find_file(const char *env, const char *name, size_t len, char *path);
/*
 * The path, without links, of a parameter file of an installed copy that has this name, which must
 * have no folder. -ENOENT; -ENAMETOOLONG.
 */
int wse_find_config(const char *name, size_t len, char *path);
/* A whole file. free(*bytes). -EFBIG over max. */
int wse_read_file(const char *path, size_t max, void **bytes, size_t *size);

/* ---- transports ---- */
int wse_accel_open(const char *text, const struct wse_uri *uri, struct wse_device **dev);
int wse_sim_open(const char *text, const struct wse_uri *uri, struct wse_device **dev);
/*
 * who: a sentence's part that names the process which has the lease. -ENOENT: none that may be
 * seen.
 */
struct wse_accel_use {
	char who[90];	  /* as wse_accel_holder() says it */
	uint64_t busy_ns; /* in which its queues had commands, added over all queues */
};

int wse_accel_use(const char *node, struct wse_accel_use *use);
int wse_accel_holder(const char *node, char *who, size_t len);
extern const struct wse_transport wse_accel_transport, wse_sim_transport;

#endif
