/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_LOG_H
#define SPATE_BASE_LOG_H

#include "contract/log.h"

/*
 * The log is lines on stderr: time, level, subject, text; under systemd
 * (JOURNAL_STREAM) the level becomes the journal's priority and the time is
 * left to it.  Any thread; errno is preserved; a line is one write(2).
 */
void log_level_set(enum log_level most); /* before threads start */

/* Lines go to syslog from now on, for a program in the background; `name` is
 * kept. */
void log_to_syslog(const char *name);

/* subject: the session, disk or stream it is about; NULL for the daemon. */
void log_line(enum log_level level, const char *subject, const char *format,
	      ...) __attribute__((format(printf, 3, 4)));

/* A host whose lines carry `subject`, which is not copied. */
struct host log_host(const char *subject);

#endif
