/* SPDX-License-Identifier: MIT */
/*
 * A log line is put together on the stack and leaves in one write(2), so
 * that lines of many threads never mix and no lock is needed:
 *
 *   2026-11-20T10:00:00.000Z warn  r4123_wz: the text
 *   <4>r4123_wz: the text                            to the journal
 *   r4123_wz: the text                               to syslog
 *
 * Whether stderr is the journal is looked up for every line: it costs a
 * microsecond where lines are rare, and stays right after a redirection.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/system_log.h"
#include "base/units.h"

enum { LINE = 1024 };

static const struct {
	const char *word;
	int priority; /* syslog's */
} levels[] = {
	[LOG_ERROR] = { "error", 3 },
	[LOG_WARN] = { "warn", 4 },
	[LOG_INFO] = { "info", 6 },
	[LOG_DEBUG] = { "debug", 7 },
};

static enum log_level most = LOG_INFO; /* constant once threads run */
static _Atomic bool by_syslog;	       /* set once, seen some time */

void
log_level_set(enum log_level level)
{
	most = level;
}

void
log_to_syslog(const char *name)
{
	system_log_open(name);
	by_syslog = true;
}

/* systemd names the file that the journal reads: "device:inode". */
static bool
to_journal(void)
{
	const char *text = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return text && sscanf(text, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device &&
	       st.st_ino == inode;
}

static int
put_head(char *line, enum log_level level, const char *subject)
{
	char time[UNITS_TEXT];
	const char *colon = subject ? ": " : "";

	subject = subject ? subject : "";
	if (by_syslog)
		return snprintf(line, LINE / 2, "%s%s", subject, colon);
	if (to_journal())
		return snprintf(line, LINE / 2, "<%d>%s%s",
				levels[level].priority, subject, colon);
	units_show_time(time, clock_now());
	return snprintf(line, LINE / 2, "%s %-5s %s%s", time,
			levels[level].word, subject, colon);
}

/* Text of others must not look like a line of its own. */
static void
strip_controls(char *text, int length)
{
	for (int i = 0; i < length; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			text[i] = ' ';
}

static void
put_line(enum log_level level, const char *subject, const char *format,
	 va_list args)
{
	char line[LINE + 1];
	int saved = errno;
	int head, length;

	head = put_head(line, level, subject);
	if (head >= LINE / 2)
		head = LINE / 2 - 1;
	errno = saved; /* for %m */
	length = head + vsnprintf(line + head, LINE - head, format, args);
	if (length >= LINE)
		length = LINE - 1;
	strip_controls(line, length);
	line[length] = by_syslog ? '\0' : '\n';
	/* There is nobody left to tell when stderr fails. */
	if (by_syslog)
		system_log_line(levels[level].priority, line);
	else if (write(STDERR_FILENO, line, (size_t)length + 1) < 0)
		errno = saved;
	errno = saved;
}

void
log_line(enum log_level level, const char *subject, const char *format, ...)
{
	va_list args;

	if (level > most)
		return;
	va_start(args, format);
	put_line(level, subject, format, args);
	va_end(args);
}

static void __attribute__((format(printf, 3, 4)))
host_log(void *ctx, enum log_level level, const char *format, ...)
{
	va_list args;

	if (level > most)
		return;
	va_start(args, format);
	put_line(level, ctx, format, args);
	va_end(args);
}

static int64_t
host_now(void *ctx)
{
	(void)ctx;
	return clock_now();
}

struct host
log_host(const char *subject)
{
	return (struct host){
		.ctx = (void *)subject,
		.log = host_log,
		.now = host_now,
		.crc32c = crc32c,
		.hmac_sha256 = hmac_sha256,
		.secret = secret_host,
	};
}
