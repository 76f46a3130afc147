/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_LOG_H
#define SPATE_BASE_LOG_H

#include <stdarg.h>
#include <stdbool.h>

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

/*
 * From here on no caller of log_line waits for whoever reads the log: a thread
 * of its own writes (log_queue.c).  Lines that it could not write are counted,
 * and the log says how many where they are missing.  Once, and after the last
 * fork; 0 or -errno, and then callers go on writing themselves.
 */
int log_queue_start(void);

/* Waits until what was logged is written, for two seconds at most: before the
 * process ends.  Without a queue: nothing to wait for. */
void log_queue_flush(void);

/* subject: the session, disk or stream it is about; NULL for the daemon. */
void log_line(enum log_level level, const char *subject, const char *format,
	      ...) __attribute__((format(printf, 3, 4)));

/* A host whose lines carry `subject`, which is not copied. */
struct host log_host(const char *subject);

/* ---- between log.c and log_queue.c ------------------------------------ */

enum { LOG_LINE = 1024 };

/* A line as it leaves, with its newline; or with a NUL, for syslog. */
struct log_text {
	enum log_level level;
	bool to_system;
	unsigned length;
	char text[LOG_LINE + 1];
};

void log_compose(struct log_text *t, enum log_level level, const char *subject,
		 const char *format, va_list args);
/* Waits for whoever reads.  0 or -errno. */
int log_write(const struct log_text *t);

/* Every line goes there, which must not wait; it stays for ever. */
typedef void log_sink(const struct log_text *t);
void log_sink_set(log_sink *to);

#endif
