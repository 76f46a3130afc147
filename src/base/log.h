/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_LOG_H
#define SPATE_BASE_LOG_H

#include "contract/log.h"

/*
 * The log consists of lines on stderr: time, level, subject, text.  Under
 * systemd (JOURNAL_STREAM) the level becomes the journal's priority, the subject
 * its field SPATE_SUBJECT, and the journal adds the time.  Any thread may log; errno is preserved; a line is one
 * write(2).
 */
void log_level_set(enum log_level most); /* call before threads start */

/* Makes each line a JSON object with the keys time, level, subject (or null) and
 * text.  Call before threads start. */
void log_json_set(void);

/*
 * Sends all further lines to syslog, for a program in the background.  `name`
 * is not copied and must stay valid.
 */
void log_to_syslog(const char *name);

/*
 * Starts a thread that writes the log, so that from then on no caller of
 * log_line() waits for a slow reader of the log.  Lines that
 * could not be written are counted, and the log says how many where they are
 * missing.  A flood of like lines becomes one a second, with their number.
 * Call it once, after the last fork.  0, or -errno, and then callers
 * go on writing themselves.
 */
int log_queue_start(void);

/*
 * Waits until all logged lines are written, for two seconds at most; for the
 * end of the process.  Returns at once if the queue was not started.
 */
void log_queue_flush(void);

/*
 * Logs a line.  `subject` is the session, disk or stream it is about; NULL for
 * the daemon itself.
 */
void log_line(enum log_level level, const char *subject, const char *format,
	      ...) __attribute__((format(printf, 3, 4)));

/*
 * Returns a struct host for a plugin whose log lines carry `subject`; the text
 * is not copied.
 */
struct host log_host(const char *subject);

#endif
