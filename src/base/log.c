/* SPDX-License-Identifier: MIT */
/*
 * A log line is put together on the stack and leaves in one write(2), so that
 * lines of different threads never mix:
 *
 *   2026-11-20T10:00:00.000Z warn  r4123_wz: the text
 *   <4>r4123_wz: the text                            to the journal's stream
 *   PRIORITY, SPATE_SUBJECT, MESSAGE...              to the journal's socket
 *   r4123_wz: the text                               to syslog
 *   {"time": "...", "level": "warn", "subject": "r4123_wz", "text": "the text"}
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
 * A flood is a line that is logged again and again, with the same format and
 * subject: the first FLOOD of a second are written, and from then on one a second,
 * the last one, with how many more there were.  Only a program with the thread
 * counts them, because somebody has to write what is left at the end.
 *
 * A process that is killed may lose what it logged in its last moment: some ten
 * microseconds' worth while the reader keeps up.
 */
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
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

static bool as_json; /* constant once threads run */

enum {
	LINE_MOST = 1024,
	LINE_ROOM = 2 * LINE_MOST + 256, /* as JSON, which escapes */
};

/* A formatted line: ends with a newline, or with a NUL if it goes to syslog. */
struct log_text {
	enum log_level level;
	bool to_system;
	/* To the journal: bytes before the message, as "<4>r4123: "; else 0. */
	unsigned journal_head;
	unsigned length;
	char text[LINE_ROOM + 1];
};

void
log_level_set(enum log_level level)
{
	most = level;
}

void
log_json_set(void)
{
	as_json = true;
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
put_head(char *line, enum log_level level, const char *subject, bool journal)
{
	char time[UNITS_TEXT];
	const char *colon = subject ? ": " : "";

	subject = subject ? subject : "";
	if (by_syslog)
		return snprintf(line, LINE_MOST / 2, "%s%s", subject, colon);
	if (journal)
		return snprintf(line, LINE_MOST / 2, "<%d>%s%s",
				levels[level].priority, subject, colon);
	units_show_time(time, clock_now());
	return snprintf(line, LINE_MOST / 2, "%s %-5s %s%s", time,
			levels[level].word, subject, colon);
}

/* Makes a line of JSON.  Returns its length; 0 if it could not be made. */
static unsigned
compose_json(struct log_text *t, const char *subject, const char *format,
	     va_list args)
{
	char text[LINE_MOST], time[UNITS_TEXT];
	json_t *line;
	size_t length;

	vsnprintf(text, sizeof text, format, args);
	text_clean(text);
	line = json_pack("{s:s, s:s, s:o, s:o}", "time",
			 units_show_time(time, clock_now()), "level",
			 levels[t->level].word, "subject",
			 subject ? text_json(subject) : json_null(), "text",
			 text_json(text));
	length = json_dumpb(line, t->text, LINE_ROOM, 0);
	json_decref(line);
	if (!length || length > LINE_ROOM)
		return 0;
	t->text[length] = '\n';
	return (unsigned)length + 1;
}

static void
compose(struct log_text *t, enum log_level level, const char *subject,
	const char *format, va_list args)
{
	int saved = errno;
	int head, length;
	va_list again;
	bool journal;

	t->level = level;
	t->to_system = by_syslog;
	t->journal_head = 0;
	if (as_json && !by_syslog) {
		va_copy(again, args);
		t->length = compose_json(t, subject, format, again);
		va_end(again);
		if (t->length)
			return;
	}
	journal = !by_syslog && to_journal();
	head = put_head(t->text, level, subject, journal);
	if (head >= LINE_MOST / 2)
		head = LINE_MOST / 2 - 1;
	t->journal_head = journal ? (unsigned)head : 0;
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

/* Adds a field of the journal: text has no control characters. */
static void
add_field(char *fields, size_t room, const char *name, const char *text,
	  size_t length)
{
	size_t at = strlen(fields);

	snprintf(fields + at, room - at, "%s=%.*s\n", name, (int)length, text);
}

/*
 * Gives a line to the journal as fields, so that `journalctl SPATE_SUBJECT=r4123`
 * finds all that was said of a recording.  The message is what the stream would
 * have.  False if the journal does not take fields: it takes the line.
 */
static bool
write_fields(const struct log_text *t)
{
	enum { LEVEL = 3 }; /* bytes of "<4>" */
	struct sockaddr_un to = { .sun_family = AF_UNIX,
				  .sun_path = "/run/systemd/journal/socket" };
	char fields[2 * LINE_MOST + 256] = "", priority[2] = { t->text[1], 0 };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ssize_t sent;

	if (fd < 0)
		return false;
	add_field(fields, sizeof fields, "PRIORITY", priority, 1);
	add_field(fields, sizeof fields, "SYSLOG_IDENTIFIER",
		  program_invocation_short_name, 64);
	/* one that is too long has lost the colon behind it */
	if (t->journal_head > LEVEL + 2 && t->text[t->journal_head - 2] == ':')
		add_field(fields, sizeof fields, "SPATE_SUBJECT",
			  t->text + LEVEL, t->journal_head - LEVEL - 2);
	add_field(fields, sizeof fields, "MESSAGE", t->text + LEVEL,
		  t->length - 1 - LEVEL);
	do {
		sent = sendto(fd, fields, strlen(fields), MSG_NOSIGNAL,
			      (struct sockaddr *)&to, sizeof to);
	} while (sent < 0 && errno == EINTR);
	close(fd);
	return sent >= 0;
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
	if (t->journal_head && write_fields(t))
		return 0;
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
	FLOODS = 32,
	FLOOD = 10,   /* lines in a second */
	SUBJECT = 80, /* bytes of it that count */
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
	/* Formats and subjects that were logged lately. */
	struct flood {
		const char *format; /* NULL: free */
		char subject[SUBJECT];
		int64_t since; /* steady ns: of the second that is counted */
		unsigned lines;
		unsigned left_out;	 /* since a line of it was written */
		enum log_level level;	 /* of the last one... */
		char message[LINE_MOST]; /* ...and its text */
	} flood[FLOODS];
	bool ends; /* what was left out is written now */
} queue = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.come = PTHREAD_COND_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
};

/* ---- floods: all of these hold the lock ------------------------------- */

/* Returns the entry of a format and subject, perhaps that of another one which
 * was not seen for a second; NULL: all are in use. */
static struct flood *
flood_find(const char *format, const char *subject, int64_t now)
{
	struct flood *old = NULL;

	for (unsigned i = 0; i < FLOODS; i++) {
		struct flood *f = &queue.flood[i];

		if (f->format == format &&
		    !strncmp(f->subject, subject, SUBJECT - 1))
			return f;
		if (!f->format || (!f->left_out && now - f->since > NS_SECOND))
			old = f;
	}
	if (!old)
		return NULL;
	*old = (struct flood){ .format = format, .since = now };
	snprintf(old->subject, SUBJECT, "%s", subject);
	return old;
}

/* Counts a line.  True if it is one too many in its second. */
static bool
flood_count(struct flood *f, int64_t now)
{
	if (now - f->since > NS_SECOND && !f->left_out) {
		f->since = now;
		f->lines = 0;
	}
	return ++f->lines > FLOOD;
}

/* Returns a flood of which a line is due, or NULL, and then *wait is how long the
 * next one is not; unchanged if there is none. */
static struct flood *
flood_due(int64_t now, int64_t *wait)
{
	for (unsigned i = 0; i < FLOODS; i++) {
		struct flood *f = &queue.flood[i];
		int64_t left = f->since + NS_SECOND - now;

		if (!f->left_out)
			continue;
		if (left <= 0 || queue.ends)
			return f;
		if (left < *wait)
			*wait = left;
	}
	return NULL;
}

static bool
flood_is_over(void)
{
	for (unsigned i = 0; i < FLOODS; i++) {
		if (queue.flood[i].left_out)
			return false;
	}
	return true;
}

static void __attribute__((format(printf, 4, 5)))
compose_text(struct log_text *t, enum log_level level, const char *subject,
	     const char *format, ...)
{
	va_list args;

	va_start(args, format);
	compose(t, level, subject, format, args);
	va_end(args);
}

/* Makes the line of a flood, and begins its next second. */
static void
flood_line(struct flood *f, struct log_text *t, int64_t now)
{
	const char *subject = f->subject[0] ? f->subject : NULL;

	if (f->left_out > 1)
		compose_text(t, f->level, subject, "%s (and %u more like it)",
			     f->message, f->left_out - 1);
	else
		compose_text(t, f->level, subject, "%s", f->message);
	f->left_out = 0;
	f->since = now;
	f->lines = FLOOD;
}

/* ---- lines ------------------------------------------------------------- */

/* True if a line was one too many, and is counted instead. */
static bool
leave_out(enum log_level level, const char *subject, const char *format,
	  va_list args)
{
	int saved = errno;
	int64_t now = clock_steady();
	struct flood *f;
	va_list again;
	bool out;

	pthread_mutex_lock(&queue.lock);
	f = flood_find(format, subject ? subject : "", now);
	out = f && flood_count(f, now);
	if (out) {
		errno = saved;
		va_copy(again, args);
		vsnprintf(f->message, sizeof f->message, format, again);
		va_end(again);
		f->level = level;
		f->left_out++;
		pthread_cond_signal(&queue.come);
	}
	pthread_mutex_unlock(&queue.lock);
	errno = saved;
	return out;
}

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
		e->text.journal_head = t->journal_head;
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

/* Waits for a line, or until that of a flood is due. */
static void
come_wait(int64_t ns)
{
	struct timespec until;

	if (ns == INT64_MAX) {
		pthread_cond_wait(&queue.come, &queue.lock);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	ns += until.tv_nsec;
	until.tv_sec += ns / NS_SECOND;
	until.tv_nsec = ns % NS_SECOND;
	pthread_cond_timedwait(&queue.come, &queue.lock, &until);
}

/* Waits for an entry at the head of the queue and returns it; or NULL, and the
 * line of a flood in `flooded`. */
static const struct log_entry *
wait_for_one(struct log_text *flooded)
{
	const struct log_entry *e = NULL;
	struct flood *f = NULL;

	pthread_mutex_lock(&queue.lock);
	for (;;) {
		int64_t wait = INT64_MAX, now = clock_steady();

		f = flood_due(now, &wait);
		/* Lines that wait are older, unless there is no end of them. */
		if (queue.n && !(f && now - f->since > 2 * NS_SECOND)) {
			e = &queue.entry[queue.head];
			break;
		}
		if (f) {
			flood_line(f, flooded, now);
			break;
		}
		come_wait(wait);
	}
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
	if (!queue.n && flood_is_over())
		pthread_cond_broadcast(&queue.done);
	pthread_mutex_unlock(&queue.lock);
}

static void *
run(void *arg)
{
	unsigned missing = 0; /* lines that were dropped or could not be
			       * written, as on a full disk */

	struct log_text flooded = { .length = 0 };

	(void)arg;
	pthread_setname_np(pthread_self(), "spate-log");
	for (;;) {
		const struct log_entry *e = wait_for_one(&flooded);

		if (write_line(e ? &e->text : &flooded))
			missing++;
		if (e)
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
	queue.ends = true;
	pthread_cond_signal(&queue.come);
	while ((queue.n || !flood_is_over()) &&
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

	if (atomic_load_explicit(&queued, memory_order_acquire) &&
	    leave_out(level, subject, format, args))
		return;
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
