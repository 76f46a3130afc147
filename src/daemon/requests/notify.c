/* SPDX-License-Identifier: MIT */
/* Talks to systemd, or to any service manager that speaks its protocol. */
#include "daemon/requests/notify.h"

#include <systemd/sd-daemon.h>

void
notify_say(const char *lines)
{
	sd_notify(0, lines);
}

int64_t
notify_patience(void)
{
	uint64_t us;

	if (sd_watchdog_enabled(0, &us) <= 0 || us > INT64_MAX / 1000)
		return 0;
	return (int64_t)us * 1000;
}
