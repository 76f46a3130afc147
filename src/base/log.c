/* SPDX-License-Identifier: MIT */
/*
 * A log line is put together on the stack and leaves in one write(2), so that
 * lines of different threads never mix:
 *
 *   2026-11-20T10:00:00.000Z warn  r4123_wz: the text
 *   <4>r4123_wz: the text                            to the journal
 *   r4123_wz: the text                               to syslog
 *
 * Whether stderr is the journal is checked for every line: it costs a
 * microsecond where lines are rare, and stays right after a redirection.
 *
 * A program that must not wait for the log's reader starts a thread that does
 * (log_queue.c); in other programs, and before that thread starts, the caller
 * writes.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
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
#include "base/text.h"
#include "base/units.h"

static const struct {
	const char *word;
	int priority; /* priority of syslog(3) */
} levels[] = {
	[LEVEL_ERROR] = { "error", 3 },
	[LEVEL_WARN] = { "warn", 4 },
	[LEVEL_INFO] = { "info", 6 },
	[LEVEL_DEBUG] = { "debug", 7 },
};

static enum log_level most = LEVEL_INFO; /* constant once threads run */
static _Atomic bool by_syslog;		 /* set once; threads may see it a
					* little later */
static _Atomic(log_sink *) sink;	 /* set once, release pairs with
					* acquire; NULL: the caller writes */

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

/*
 * Compares stderr with the file that systemd says the journal reads:
 * "device:inode".
 */
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
		return snprintf(line, LOG_LINE / 2, "%s%s", subject, colon);
	if (to_journal())
		return snprintf(line, LOG_LINE / 2, "<%d>%s%s",
				levels[level].priority, subject, colon);
	units_show_time(time, clock_now());
	return snprintf(line, LOG_LINE / 2, "%s %-5s %s%s", time,
			levels[level].word, subject, colon);
}

void
log_compose(struct log_text *t, enum log_level level, const char *subject,
	    const char *format, va_list args)
{
	int saved = errno;
	int head, length;

	t->level = level;
	t->to_system = by_syslog;
	head = put_head(t->text, level, subject);
	if (head >= LOG_LINE / 2)
		head = LOG_LINE / 2 - 1;
	errno = saved; /* %m needs errno */
	length =
	    head + vsnprintf(t->text + head, LOG_LINE - head, format, args);
	if (length >= LOG_LINE)
		length = LOG_LINE - 1;
	/*
	 * Foreign text must not look like a log line of its own, nor contain
	 * control sequences that a terminal obeys.
	 */
	text_clean(t->text);
	t->text[length] = t->to_system ? '\0' : '\n';
	t->length = (unsigned)length + 1;
}

/*
 * Waits and returns true if a write may be repeated: another process that
 * shares our stderr may have made it O_NONBLOCK.
 */
static bool
may_try_again(void)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };

	return errno == EINTR || (errno == EAGAIN && poll(&p, 1, -1) >= 0);
}

int
log_write(const struct log_text *t)
{
	unsigned done = 0;

	if (t->to_system) {
		system_log_line(levels[t->level].priority, t->text);
		return 0;
	}
	while (done < t->length) {
		ssize_t n =
		    write(STDERR_FILENO, t->text + done, t->length - done);

		if (n < 0 && !may_try_again())
			return -errno;
		done += n > 0 ? (unsigned)n : 0;
	}
	return 0;
}

void
log_sink_set(log_sink *to)
{
	atomic_store_explicit(&sink, to, memory_order_release);
}

static void
put_line(enum log_level level, const char *subject, const char *format,
	 va_list args)
{
	log_sink *to = atomic_load_explicit(&sink, memory_order_acquire);
	int saved = errno;
	struct log_text t;

	log_compose(&t, level, subject, format, args);
	/* A failure of stderr cannot be reported anywhere. */
	if (to)
		to(&t);
	else
		log_write(&t);
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
