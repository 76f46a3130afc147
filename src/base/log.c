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
 * After log_queue_start() one thread writes the log, so that no other thread
 * waits for its reader: a receiver or the event loop that stops because a pager
 * at the other end of stderr was stopped loses an observation.  In a program
 * without that thread, and before it starts, the caller writes.
 *
 *   log_line -> queue of LINES -> this thread -> write(2) or syslog(3)
 *
 * Nothing but a thread protects the callers for every kind of stderr.
 * O_NONBLOCK belongs to the open file, which the shell that started us shares:
 * its terminal would become non-blocking too.  poll(POLLOUT) before a write
 * says nothing about a file on a server that is away, about syslog(3), or about
 * a terminal that was stopped; and another process that writes to the same pipe
 * may fill it between the two calls.
 *
 * A line is queued under a mutex that is held for the copy of one line.  The
 * thread writes without the mutex, straight from the queue: no other thread
 * touches the entry at its head.  When the queue is full a line is dropped and
 * counted in the newest entry, so the log says how many lines are missing, and
 * where.
 *
 * A process that is killed may lose what it logged in its last moment: some ten
 * microseconds' worth while the reader keeps up.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/units.h"

static const struct {
	const char *word;
	int priority; /* priority of syslog(3) */
} levels[] = {
	[LEVEL_ERROR] = { "error", LOG_ERR },
	[LEVEL_WARN] = { "warn", LOG_WARNING },
	[LEVEL_INFO] = { "info", LOG_INFO },
	[LEVEL_DEBUG] = { "debug", LOG_DEBUG },
};

static enum log_level most = LEVEL_INFO; /* constant once threads run */
static _Atomic bool by_syslog;		 /* set once; threads may see it a
					* little later */
/* Set once: release in log_queue_start, acquire in put_line. */
static _Atomic bool queued; /* the thread writes; else the caller does */

enum { LINE_MOST = 1024 };

/* A formatted line: ends with a newline, or with a NUL if it goes to syslog. */
struct log_text {
	enum log_level level;
	bool to_system;
	unsigned length;
	char text[LINE_MOST + 1];
};

void
log_level_set(enum log_level level)
{
	most = level;
}

void
log_to_syslog(const char *name)
{
	openlog(name, LOG_PID | LOG_NDELAY, LOG_DAEMON);
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
		return snprintf(line, LINE_MOST / 2, "%s%s", subject, colon);
	if (to_journal())
		return snprintf(line, LINE_MOST / 2, "<%d>%s%s",
				levels[level].priority, subject, colon);
	units_show_time(time, clock_now());
	return snprintf(line, LINE_MOST / 2, "%s %-5s %s%s", time,
			levels[level].word, subject, colon);
}

static void
compose(struct log_text *t, enum log_level level, const char *subject,
	const char *format, va_list args)
{
	int saved = errno;
	int head, length;

	t->level = level;
	t->to_system = by_syslog;
	head = put_head(t->text, level, subject);
	if (head >= LINE_MOST / 2)
		head = LINE_MOST / 2 - 1;
	errno = saved; /* %m needs errno */
	length =
	    head + vsnprintf(t->text + head, LINE_MOST - head, format, args);
	if (length >= LINE_MOST)
		length = LINE_MOST - 1;
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

/* Writes a line; blocks as long as the reader does.  0, or -errno. */
static int
write_line(const struct log_text *t)
{
	unsigned done = 0;

	if (t->to_system) {
		syslog(levels[t->level].priority, "%s", t->text);
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

/* ---- the queue ------------------------------------------------------- */

enum {
	LINES = 512,
	FLUSH_S = 2,
};

struct log_entry {
	struct log_text text;
	unsigned missing; /* lines dropped right behind this one */
};

static struct {
	pthread_mutex_t lock; /* protects all fields below */
	pthread_cond_t come;  /* signalled when a line is queued */
	pthread_cond_t done;  /* broadcast when the queue is empty */
	struct log_entry *entry;
	unsigned head, n;
} queue = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.come = PTHREAD_COND_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
};

static void
enqueue(const struct log_text *t)
{
	pthread_mutex_lock(&queue.lock);
	if (queue.n == LINES) {
		queue.entry[(queue.head + LINES - 1) % LINES].missing++;
	} else {
		struct log_entry *e =
		    &queue.entry[(queue.head + queue.n) % LINES];

		e->text.level = t->level;
		e->text.to_system = t->to_system;
		e->text.length = t->length;
		memcpy(e->text.text, t->text, t->length);
		e->missing = 0;
		queue.n++;
		pthread_cond_signal(&queue.come);
	}
	pthread_mutex_unlock(&queue.lock);
}

static int __attribute__((format(printf, 1, 2))) warn(const char *format, ...)
{
	struct log_text t;
	va_list args;

	va_start(args, format);
	compose(&t, LEVEL_WARN, NULL, format, args);
	va_end(args);
	return write_line(&t);
}

/* Waits for an entry at the head of the queue and returns it. */
static const struct log_entry *
wait_for_one(void)
{
	const struct log_entry *e;

	pthread_mutex_lock(&queue.lock);
	while (!queue.n)
		pthread_cond_wait(&queue.come, &queue.lock);
	e = &queue.entry[queue.head];
	pthread_mutex_unlock(&queue.lock);
	return e;
}

/* Removes the head; returns how many lines are missing behind it. */
static unsigned
drop_head(void)
{
	unsigned missing;

	pthread_mutex_lock(&queue.lock);
	missing = queue.entry[queue.head].missing;
	queue.head = (queue.head + 1) % LINES;
	queue.n--;
	pthread_mutex_unlock(&queue.lock);
	return missing;
}

static void
note_empty(void)
{
	pthread_mutex_lock(&queue.lock);
	if (!queue.n)
		pthread_cond_broadcast(&queue.done);
	pthread_mutex_unlock(&queue.lock);
}

static void *
run(void *arg)
{
	unsigned missing = 0; /* lines that were dropped or could not be
			       * written, as on a full disk */

	(void)arg;
	pthread_setname_np(pthread_self(), "spate-log");
	for (;;) {
		const struct log_entry *e = wait_for_one();

		if (write_line(&e->text))
			missing++;
		missing += drop_head();
		if (missing &&
		    !warn(
			"%u lines of the log are missing here: they could not "
			"be written",
			missing))
			missing = 0;
		note_empty();
	}
	return NULL;
}

int
log_queue_start(void)
{
	pthread_t thread;
	sigset_t all, before;
	int err;

	queue.entry = calloc(LINES, sizeof *queue.entry);
	if (!queue.entry)
		return -ENOMEM;
	/*
	 * The thread takes no signals: they are for threads that expect them.
	 */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		free(queue.entry);
		queue.entry = NULL;
		return -err;
	}
	pthread_detach(thread);
	atomic_store_explicit(&queued, true, memory_order_release);
	return 0;
}

void
log_queue_flush(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += FLUSH_S;
	pthread_mutex_lock(&queue.lock);
	while (queue.n &&
	       !pthread_cond_timedwait(&queue.done, &queue.lock, &until))
		;
	pthread_mutex_unlock(&queue.lock);
}

/* ---- one line -------------------------------------------------------- */

static void
put_line(enum log_level level, const char *subject, const char *format,
	 va_list args)
{
	int saved = errno;
	struct log_text t;

	compose(&t, level, subject, format, args);
	/* A failure of stderr cannot be reported anywhere. */
	if (atomic_load_explicit(&queued, memory_order_acquire))
		enqueue(&t);
	else
		write_line(&t);
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
