/* SPDX-License-Identifier: MIT */
#include "base/system_log.h"

#include <syslog.h>

void
system_log_open(const char *name)
{
	openlog(name, LOG_PID | LOG_NDELAY, LOG_DAEMON);
}

void
system_log_line(int priority, const char *line)
{
	syslog(priority, "%s", line);
}
