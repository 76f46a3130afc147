/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_SYSTEM_LOG_H
#define SPATE_BASE_SYSTEM_LOG_H

/*
 * The system's log, syslog(3), for base/log alone: its header and ours have
 * names in common.  Any thread, once it is open.
 */
void system_log_open(const char *name); /* kept */
void system_log_line(int priority, const char *line);

#endif
