/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_SYSTEM_LOG_H
#define SPATE_BASE_SYSTEM_LOG_H

/*
 * Calls syslog(3) for base/log: in a file of its own because <syslog.h> and
 * contract/log.h define the same names.  Any thread may call system_log_line()
 * after system_log_open().
 */
void system_log_open(const char *name); /* not copied */
void system_log_line(int priority, const char *line);

#endif
