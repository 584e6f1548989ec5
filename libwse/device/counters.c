// SPDX-License-Identifier: MIT
/* Counters: the list of uapi/wse/wse.regs with names, and their values from any transport. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/handle.h"
#include "device.h"
#include "wse_regs.h"
#include "wse_scope.h"

_Static_assert(DRM_WSE_SCOPE_TILE == WSE_SCOPE_TILE && DRM_WSE_SCOPE_CORE == WSE_SCOPE_CORE &&
		       DRM_WSE_SCOPE_LINK == WSE_SCOPE_LINK &&
		       DRM_WSE_SCOPE_QUEUE == WSE_SCOPE_QUEUE,
	       "scopes of the user API are those of the device");

#define COUNTER(id, scope, name, unit, minor, exact, what) {name, unit, what, scope, minor, exact},
static const struct wse_counter list[] = {WSE_COUNTERS(COUNTER)};

const struct wse_counter *wse_counter(uint32_t scope, uint32_t i)
{
	uint32_t id;

	for (id = 0; id < WSE_CNT_COUNT; id++)
		if ((scope == DRM_WSE_SCOPE_TILE || scope == list[id].scope) && !i--)
			return &list[id];
	return NULL;
}

uint32_t wse_counter_objects(const struct drm_wse_info *info, uint32_t scope)
{
	return (uint32_t)wse_scope_objects(info->rows, info->cols, info->queues, scope);
}

int wse_device_counters(struct wse_device *dev, uint32_t scope, uint32_t object, uint64_t *values,
			uint32_t room, uint32_t *n)
{
	static const char *const what[] = {"tiles", "cores", "links", "queues"};
	struct drm_wse_counters arg = {
		.scope = scope, .object = object, .ptr = (uintptr_t)values, .count = room};
	uint32_t objects;
	int ret = wse_handle_check(WSE_HANDLE_DEVICE, dev);

	if (ret)
		return ret;
	objects = wse_counter_objects(&dev->info, scope);
	if (!objects)
		return wse_fail(
			-EINVAL,
			"%u is no scope of counters: DRM_WSE_SCOPE_TILE, CORE, LINK and QUEUE are",
			scope);
	if (object >= objects)
		return wse_fail(-EINVAL, "%s has %u %s: there is no number %u", dev->uri, objects,
				what[scope], object);
	ret = dev->ops->ask(dev, DRM_IOCTL_WSE_COUNTERS, &arg);
	if (ret == -EINVAL)
		return wse_fail(
			-ENOTSUP,
			"%s: its driver tells no counters: use driver and library of one release",
			dev->uri);
	if (ret)
		return wse_fail(ret, "%s: its counters cannot be read: %s", dev->uri,
				strerror(-ret));
	*n = arg.count;
	return 0;
}
