// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of the device, in the list of uapi/wse/wse.regs. The driver passes their values on as
 * the device gives them.
 */
#include <drm/drm_drv.h>

#include "wse_dev.h"
#include "wse_ioctl.h"
#include "wse_scope.h"

/* the first ABI minor with CNT_SEL, and so with counters of cores, links and queues */
#define WSE_MINOR_SELECT 2

static_assert(DRM_WSE_SCOPE_TILE == WSE_SCOPE_TILE && DRM_WSE_SCOPE_CORE == WSE_SCOPE_CORE &&
	      DRM_WSE_SCOPE_LINK == WSE_SCOPE_LINK && DRM_WSE_SCOPE_QUEUE == WSE_SCOPE_QUEUE);

struct wse_counter {
	u8 scope;
	u8 minor; /* the first ABI minor that has it */
};

#define WSE_COUNTER(scope, minor) { scope, minor },
static const struct wse_counter wse_counters[] = { WSE_COUNTER_KINDS(WSE_COUNTER) };

/* Whether the device has the i-th counter of the list for objects of that scope. */
static bool wse_counter_there(const struct wse_device *wdev, unsigned int i, u32 scope)
{
	u32 minor = wdev->abi & WSE_ABI_MINOR_MASK;

	if (wse_counters[i].minor > minor)
		return false;
	return scope == DRM_WSE_SCOPE_TILE ||
	       (scope == wse_counters[i].scope && minor >= WSE_MINOR_SELECT);
}

static u64 wse_counter_read(struct wse_device *wdev, unsigned int i, u32 scope, u32 object)
{
	u32 reg = WSE_CNT_BASE + 8 * i, lo;

	lockdep_assert_held(&wdev->cycles_lock);
	if (scope != DRM_WSE_SCOPE_TILE) {
		wse_write(wdev, WSE_REG_CNT_SEL, i << WSE_CNT_SEL_ID_SHIFT | object);
		reg = WSE_REG_CNT_VAL_LO;
	}
	/* this order: the lower half latches the upper one */
	lo = wse_read(wdev, reg);
	return (u64)wse_read(wdev, reg + 4) << 32 | lo;
}

int wse_counters_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct wse_device *wdev = to_wse_device(drm);
	struct drm_wse_counters *args = data;
	u64 values[ARRAY_SIZE(wse_counters)];
	unsigned int i, n = 0;
	u32 room = args->count;
	bool gone;
	int idx;

	if (args->pad || args->object >= wse_scope_objects(wdev->geom.rows, wdev->geom.cols,
							   wdev->geom.queues, args->scope))
		return -EINVAL;
	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	/* a reset holds it until the device is ready, 10 s at most */
	if (mutex_lock_killable(&wdev->cycles_lock)) {
		drm_dev_exit(idx);
		return -EINTR;
	}
	for (i = 0; i < ARRAY_SIZE(wse_counters); i++) {
		if (!wse_counter_there(wdev, i, args->scope))
			continue;
		if (n < room)
			values[n] = wse_counter_read(wdev, i, args->scope, args->object);
		n++;
	}
	gone = wse_read(wdev, WSE_REG_MAGIC) != WSE_MAGIC;
	mutex_unlock(&wdev->cycles_lock);
	drm_dev_exit(idx);
	if (gone)
		return -ENODEV;
	args->count = n;
	if (copy_to_user(u64_to_user_ptr(args->ptr), values, min(room, n) * sizeof(*values)))
		return -EFAULT;
	return 0;
}
