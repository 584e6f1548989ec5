// SPDX-License-Identifier: MIT
/* The public calls: what all transports have in common, then on to the transport. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/handle.h"
#include "device.h"
#include "wse_regs.h"

int wse_device_init(struct wse_device *dev, const struct wse_transport *ops, const char *uri)
{
	dev->ops = ops;
	atomic_init(&dev->refs, 1);
	dev->uri = strdup(uri);
	if (!dev->uri)
		return -ENOMEM;
	pthread_mutex_init(&dev->lost_lock, NULL);
	return 0;
}

void wse_device_fini(struct wse_device *dev)
{
	pthread_mutex_destroy(&dev->lost_lock);
	free(dev->uri);
}

void wse_device_get(struct wse_device *dev)
{
	atomic_fetch_add(&dev->refs, 1);
}

void wse_device_put(struct wse_device *dev)
{
	if (atomic_fetch_sub(&dev->refs, 1) == 1)
		dev->ops->close(dev);
}

/*
 * A transport that leaves no words of its own: what was asked, and the errno. before:
 * wse_failures() of before it.
 */
static int own_words(struct wse_device *dev, unsigned int before, int ret, const char *what)
{
	return wse_fail_since(before, ret, "%s: %s: %s", dev->uri, what, strerror(-ret));
}

/* one that is lost has one cause: the first */
static void set_lost(struct wse_device *dev, char lost[WSE_LOST], const char *fmt, va_list ap)
{
	pthread_mutex_lock(&dev->lost_lock);
	if (!lost[0])
		vsnprintf(lost, WSE_LOST, fmt, ap);
	pthread_mutex_unlock(&dev->lost_lock);
}

void wse_context_lose(struct wse_context *ctx, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_lost(ctx->dev, ctx->lost, fmt, ap);
	va_end(ap);
}

void wse_device_lose(struct wse_device *dev, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_lost(dev, dev->lost, fmt, ap);
	va_end(ap);
}

static int open_uri(const char *uri, struct wse_device **dev)
{
	unsigned int before = wse_failures();
	struct wse_uri parsed;
	int ret = wse_uri_parse(uri, &parsed);

	if (ret)
		return ret;
	if (parsed.sim)
		ret = wse_sim_open(uri, &parsed, dev);
	else
		ret = wse_accel_open(uri, &parsed, dev);
	if (!ret)
		return 0;
	wse_fail_since(before, ret, "%s", strerror(-ret));
	return wse_fail_in(ret, "device %.100s cannot be opened: ", uri);
}

int wse_device_open(const char *uri, struct wse_device **dev)
{
	struct wse_device *new;
	int ret = open_uri(uri, &new);

	if (ret)
		return ret;
	ret = wse_handle_add(WSE_HANDLE_DEVICE, new);
	if (ret)
		wse_device_put(new);
	else
		*dev = new;
	return ret;
}

void wse_device_close(struct wse_device *dev)
{
	if (dev && !wse_handle_remove(WSE_HANDLE_DEVICE, dev))
		wse_device_put(dev);
}

int wse_device_info(struct wse_device *dev, struct drm_wse_info *info)
{
	int ret = wse_handle_check(WSE_HANDLE_DEVICE, dev);
	unsigned int before = wse_failures();

	return ret ? ret : own_words(dev, before, dev->ops->info(dev, info), "its state");
}

const char *wse_device_uri(const struct wse_device *dev)
{
	return wse_handle_check(WSE_HANDLE_DEVICE, dev) ? "" : dev->uri;
}

int wse_device_mmio_read(struct wse_device *dev, uint32_t offset, uint32_t *value)
{
	int ret = wse_handle_check(WSE_HANDLE_DEVICE, dev);
	unsigned int before = wse_failures();

	if (ret)
		return ret;
	if (!dev->ops->mmio_read)
		return wse_fail(-ENOTSUP, "%s: registers cannot be read through the driver",
				dev->uri);
	if (offset & 3 || offset >= WSE_BAR0_SIZE)
		return wse_fail(-EINVAL,
				"%s: there is no register at %#x: multiples of 4 below %#x are",
				dev->uri, offset, WSE_BAR0_SIZE);
	return own_words(dev, before, dev->ops->mmio_read(dev, &offset, 1, value), "a register");
}

void wse_buffer_init(struct wse_buffer *buf, struct wse_device *dev)
{
	buf->dev = dev;
	atomic_init(&buf->refs, 1);
	wse_device_get(dev);
}

void wse_buffer_get(struct wse_buffer *buf)
{
	atomic_fetch_add(&buf->refs, 1);
}

/* a new buffer becomes a handle */
static int publish(struct wse_buffer *new, struct wse_buffer **buf)
{
	int ret = wse_handle_add(WSE_HANDLE_BUFFER, new);

	if (ret)
		wse_buffer_put(new);
	else
		*buf = new;
	return ret;
}

int wse_buffer_create(struct wse_device *dev, size_t size, struct wse_buffer **buf)
{
	struct wse_buffer *new;
	int ret = wse_handle_check(WSE_HANDLE_DEVICE, dev);
	unsigned int before = wse_failures();

	if (ret)
		return ret;
	if (!size)
		return wse_fail(-EINVAL, "a buffer cannot have 0 bytes");
	ret = own_words(dev, before, dev->ops->buffer_create(dev, size, &new), "a buffer");
	return ret ? ret : publish(new, buf);
}

int wse_buffer_share(struct wse_device *dev, struct wse_buffer *buf, struct wse_buffer **shared)
{
	struct wse_buffer *new;
	int ret = wse_handle_check(WSE_HANDLE_DEVICE, dev);
	unsigned int before = wse_failures();

	ret = ret ? ret : wse_handle_check(WSE_HANDLE_BUFFER, buf);
	if (ret)
		return ret;
	ret = own_words(dev, before, dev->ops->buffer_share(dev, buf, &new), "sharing a buffer");
	return ret ? ret : publish(new, shared);
}

void wse_buffer_destroy(struct wse_buffer *buf)
{
	if (buf && !wse_handle_remove(WSE_HANDLE_BUFFER, buf))
		wse_buffer_put(buf);
}

void wse_buffer_put(struct wse_buffer *buf)
{
	struct wse_device *dev;

	if (!buf || atomic_fetch_sub(&buf->refs, 1) != 1)
		return;
	dev = buf->dev;
	dev->ops->buffer_free(buf);
	wse_device_put(dev);
}

void *wse_buffer_map(const struct wse_buffer *buf)
{
	return wse_handle_check(WSE_HANDLE_BUFFER, buf) ? NULL : buf->ptr;
}

size_t wse_buffer_size(const struct wse_buffer *buf)
{
	return wse_handle_check(WSE_HANDLE_BUFFER, buf) ? 0 : buf->size;
}

uint32_t wse_buffer_handle(const struct wse_buffer *buf)
{
	return wse_handle_check(WSE_HANDLE_BUFFER, buf) ? 0 : buf->handle;
}

int wse_context_create(struct wse_device *dev, uint32_t flags, struct wse_context **ctx)
{
	int ret = wse_handle_check(WSE_HANDLE_DEVICE, dev);

	if (ret)
		return ret;
	if (flags & ~WSE_CONTEXT_WAIT)
		return wse_fail(-EINVAL, "unknown context flags %#x: only WSE_CONTEXT_WAIT exists",
				flags);
	return wse_context_lease(dev, dev->wait ? flags | WSE_CONTEXT_WAIT : flags, ctx);
}

int wse_context_lease(struct wse_device *dev, uint32_t flags, struct wse_context **ctx)
{
	unsigned int before = wse_failures();
	struct wse_context *new;
	int ret;

	ret = own_words(dev, before, dev->ops->context_create(dev, flags, &new), "a context");
	if (ret)
		return ret;
	new->dev = dev;
	atomic_init(&new->refs, 1);
	wse_device_get(dev);
	ret = wse_handle_add(WSE_HANDLE_CONTEXT, new);
	if (ret) {
		dev->ops->context_end(new);
		wse_context_put(new);
	} else {
		*ctx = new;
	}
	return ret;
}

void wse_context_get(struct wse_context *ctx)
{
	atomic_fetch_add(&ctx->refs, 1);
}

void wse_context_put(struct wse_context *ctx)
{
	struct wse_device *dev = ctx->dev;

	if (atomic_fetch_sub(&ctx->refs, 1) != 1)
		return;
	for (uint32_t i = 0; i < WSE_CODES; i++)
		wse_code_put(ctx->code[i]);
	dev->ops->context_free(ctx);
	wse_device_put(dev);
}

void wse_context_destroy(struct wse_context *ctx)
{
	if (!ctx || wse_handle_remove(WSE_HANDLE_CONTEXT, ctx))
		return;
	ctx->dev->ops->context_end(ctx);
	wse_context_put(ctx);
}

struct wse_device *wse_context_device(const struct wse_context *ctx)
{
	return wse_handle_check(WSE_HANDLE_CONTEXT, ctx) ? NULL : ctx->dev;
}

int wse_context_fault(struct wse_context *ctx, struct drm_wse_fault *fault)
{
	int ret = wse_handle_check(WSE_HANDLE_CONTEXT, ctx);
	unsigned int before = wse_failures();

	if (ret)
		return ret;
	return own_words(ctx->dev, before, ctx->dev->ops->context_fault(ctx, fault),
			 "a fault of the context");
}

void wse_fence_init(struct wse_fence *fence, struct wse_context *ctx)
{
	fence->dev = ctx->dev;
	fence->ctx = ctx;
	wse_context_get(ctx);
}

static void fence_put(struct wse_fence *fence)
{
	struct wse_context *ctx = fence->ctx;

	fence->dev->ops->fence_free(fence);
	wse_context_put(ctx);
}

int wse_submit(struct wse_context *ctx, const struct drm_wse_cmd *cmds, uint32_t n,
	       struct wse_fence *const *in, uint32_t nin, struct wse_fence **fence)
{
	struct wse_fence *new = NULL;
	struct wse_device *dev;
	uint32_t i;
	int ret = wse_handle_check(WSE_HANDLE_CONTEXT, ctx);

	if (!ret && ((n && !cmds) || (nin && !in)))
		ret = wse_fail(-EINVAL, "%u commands and %u fences to wait for, and no array of %s",
			       n, nin, cmds ? "fences" : "commands");
	for (i = 0; !ret && i < nin; i++)
		ret = wse_handle_check(WSE_HANDLE_FENCE, in[i]);
	if (ret)
		return ret;
	dev = ctx->dev;
	if (!n)
		return wse_fail(-EINVAL, "a submit needs at least one command");
	if (n > dev->info.max_cmds)
		return wse_fail(-EINVAL, "a submit of %u commands: %s takes %u, split it", n,
				dev->uri, dev->info.max_cmds);
	/* before: commands that run cannot be taken back */
	ret = fence ? wse_handle_reserve() : 0;
	if (ret)
		return ret;
	ret = dev->ops->submit(ctx, cmds, n, in, nin, fence ? &new : NULL);
	if (fence)
		wse_handle_add_reserved(WSE_HANDLE_FENCE, ret ? NULL : new);
	if (ret)
		return wse_explain_submit(ctx, cmds, n, ret);
	if (fence)
		*fence = new;
	return 0;
}

int wse_fence_wait(struct wse_fence *fence, int64_t timeout_ns)
{
	int ret = wse_handle_check(WSE_HANDLE_FENCE, fence);

	if (ret)
		return ret;
	ret = fence->dev->ops->fence_wait(fence, timeout_ns < 0 ? 0 : timeout_ns);
	if (ret == -ETIMEDOUT)
		return wse_fail(ret, "%s: the fence has not signalled yet", fence->dev->uri);
	return ret ? wse_explain_loss(fence->ctx, ret) : 0;
}

int wse_fence_poll(struct wse_fence *fence)
{
	return wse_fence_wait(fence, 0);
}

int wse_fence_cycles(struct wse_fence *fence, uint32_t *start, uint32_t *end)
{
	int ret = wse_handle_check(WSE_HANDLE_FENCE, fence);
	unsigned int before = wse_failures();

	if (ret)
		return ret;
	if (!fence->dev->ops->fence_cycles)
		return wse_fail(-ENOTSUP, "%s: the driver does not tell the cycles of a command",
				fence->dev->uri);
	return own_words(fence->dev, before, fence->dev->ops->fence_cycles(fence, start, end),
			 "the cycles of a fence");
}

void wse_fence_destroy(struct wse_fence *fence)
{
	if (fence && !wse_handle_remove(WSE_HANDLE_FENCE, fence))
		fence_put(fence);
}

int wse_submit_wait(struct wse_context *ctx, const struct drm_wse_cmd *cmds, uint32_t n,
		    int64_t timeout_ns)
{
	struct wse_fence *fence;
	int ret;

	ret = wse_submit(ctx, cmds, n, NULL, 0, &fence);
	if (ret)
		return ret;
	ret = wse_fence_wait(fence, timeout_ns);
	wse_fence_destroy(fence);
	return ret;
}
