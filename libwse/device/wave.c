// SPDX-License-Identifier: MIT
/* Waves of a device: what the user names, then on to the transport. */
#include <errno.h>

#include "base/error.h"
#include "base/handle.h"
#include "device.h"
#include "wave.h"

int wse_device_wave(struct wse_device *dev, const char *window)
{
	struct wse_wave_window w;
	char why[400];
	int ret = wse_handle_check(WSE_HANDLE_DEVICE, dev);

	if (ret)
		return ret;
	if (window) {
		ret = wse_wave_parse(window, &w, why, sizeof(why));
		if (ret)
			return wse_fail(ret, "%s", why);
		if (w.step)
			return wse_fail(-EINVAL,
					"step= in \"%.200s\": a device knows no steps, a trainer's "
					"run does",
					window);
	}
	if (!dev->ops->wave)
		return wse_fail(-ENOTSUP,
				"%s has no waves: they are those of the RTL in process, "
				"sim:rtl,rows=4,cols=4,waves=1",
				dev->uri);
	return dev->ops->wave(dev, window ? &w : NULL);
}
