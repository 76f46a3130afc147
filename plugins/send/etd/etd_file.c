/* SPDX-License-Identifier: MIT */
/*
 * The server answers in lines; the last line of an answer begins with OK or
 * ERR:
 *
 *   write-file-Resume /data/x     AlreadyHave:4096
 *                                 UUID:3f2a...
 *                                 OK
 *   data-channel-addr             OK <tcp/0.0.0.0:8008>
 *                                 OK
 *   remove-uuid 3f2a...           OK
 *
 * Answers are read generously: a value may stand behind an OK, and an address
 * anywhere in its line.  If the address cannot be used (0.0.0.0, a name,
 * another protocol), bytes go to the peer of the control connection, at
 * data_port.
 */
#include "etd_file.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
talk_make(struct talk *t, const struct line_args *args)
{
	t->got = t->used = 0;
	line_make(&t->line, args);
}

int
talk_ask(struct talk *t, const char *format, ...)
{
	va_list args;
	int n, err;

	va_start(args, format);
	n = vsnprintf(t->out, sizeof t->out - 1, format, args);
	va_end(args);
	if (n < 0 || n >= (int)sizeof t->out - 1)
		return -EMSGSIZE;
	t->out[n++] = '\n';
	line_give(&t->line, t->out, (size_t)n);
	err = line_flush(&t->line, 0);
	return err == -EAGAIN ? 0 : err;
}

/* Returns the text without blanks around it. */
static char *
trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

char *
talk_line(struct talk *t, int *err)
{
	int got = 0;
	char *end;

	t->got -= t->used;
	memmove(t->in, t->in + t->used, t->got);
	t->used = 0;
	*err = line_flush(&t->line, 0);
	if (*err == -EAGAIN)
		*err = 0;
	end = memchr(t->in, '\n', t->got);
	if (!end && !*err)
		got = line_read(&t->line, t->in + t->got,
				(uint32_t)sizeof t->in - t->got);
	if (got < 0)
		*err = got;
	else
		t->got += (uint32_t)got;
	if (!end)
		end = memchr(t->in, '\n', t->got);
	if (!end) {
		if (t->got == sizeof t->in)
			*err = -EMSGSIZE;
		return NULL;
	}
	*end = '\0';
	t->used = (uint32_t)(end - t->in) + 1;
	return trim(t->in);
}

#define PATIENCE (30 * NS_SECOND) /* ns to wait for an answer */

void
etd_file_make(struct etd_file *f, const struct line_args *to)
{
	talk_make(&f->talk, to);
	f->state = ETD_DOWN;
}

void
etd_file_drop(struct etd_file *f)
{
	if (f->talk.line.state != LINE_DOWN)
		line_drop(&f->talk.line, -EPIPE, false);
	f->talk.got = f->talk.used = 0;
	f->state = ETD_DOWN;
}

static int __attribute__((format(printf, 3, 4)))
broken(struct etd_file *f, int err, const char *format, ...)
{
	char what[256];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	snprintf(f->why, f->why_bytes, "%s %s", f->talk.line.peer, what);
	etd_file_drop(f);
	return err;
}

/* ---- questions --------------------------------------------------------- */

static int
asked(struct etd_file *f, int err, enum etd_state next, int64_t now)
{
	if (err)
		return broken(f, err, "is gone: %s", strerror(-err));
	f->state = next;
	f->asked = now;
	return -EAGAIN;
}

static int
name_ask(struct etd_file *f, int64_t now)
{
	f->said = false;
	f->uuid[0] = '\0';
	f->have = 0;
	return asked(f,
		     talk_ask(&f->talk, "write-file-%s %s",
			      f->existed ? "Resume" : f->mode, f->path),
		     ETD_NAMES, now);
}

/* ---- answers ----------------------------------------------------------- */

/*
 * Returns the text behind `word` at the beginning of a line; NULL: the line
 * begins otherwise.
 */
static const char *
behind(const char *line, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(line, word, n) != 0)
		return NULL;
	line += n;
	while (*line == ' ')
		line++;
	return line;
}

static int
name_line(struct etd_file *f, const char *line, int64_t now)
{
	const char *text;
	char *end;

	text = behind(line, "AlreadyHave:");
	if (text) {
		errno = 0;
		f->have = strtoull(text, &end, 10);
		f->said = end > text && !*end && !errno && *text != '-';
		return f->said ? -EAGAIN
			       : broken(f, -EPROTO, "says '%.60s'", line);
	}
	text = behind(line, "UUID:");
	if (text && strlen(text) < sizeof f->uuid) {
		strcpy(f->uuid, text);
		return -EAGAIN;
	}
	if (*line || !f->uuid[0])
		return -EAGAIN;
	f->existed = true;
	return asked(f, talk_ask(&f->talk, "data-channel-addr"), ETD_ASKS, now);
}

static bool
is_any(const union endpoint *e)
{
	return e->any.sa_family == AF_INET
		   ? e->v4.sin_addr.s_addr == 0
		   : IN6_IS_ADDR_UNSPECIFIED(&e->v6.sin6_addr);
}

/*
 * Reads "<tcp/10.0.0.7:8008>", "tcp6://[fd00::7]:8008" and the like into *e;
 * false: no address of TCP.  If the host cannot be used, the host of *e stays.
 */
static bool
address_read(const char *text, union endpoint *e)
{
	const char *tcp = strstr(text, "tcp"), *colon = strrchr(text, ':');
	union endpoint found;
	char host[INET6_ADDRSTRLEN];
	size_t n = 0;
	long port;

	if (!tcp || !colon)
		return false;
	port = strtol(colon + 1, NULL, 10);
	if (port < 1 || port > 65535)
		return false;
	tcp += strcspn(tcp, "/:");
	for (tcp += strspn(tcp, "/:["); tcp < colon; tcp++)
		if (*tcp != ']' && n + 1 < sizeof host)
			host[n++] = *tcp;
	host[n] = '\0';
	if (endpoint_host(&found, host) && !is_any(&found))
		*e = found;
	endpoint_port_set(e, (uint16_t)port);
	return true;
}

static int
address_line(struct etd_file *f, const char *line)
{
	if (*line && !address_read(line, &f->data))
		return -EAGAIN; /* an address of UDT: one of TCP may follow */
	f->state = ETD_OPEN;
	line_was_good(&f->talk.line);
	return 0;
}

static int
error_line(struct etd_file *f, const char *said, int64_t now)
{
	bool before = f->existed;

	if (f->state == ETD_CLOSES) {
		f->state = ETD_SHUT;
		return 0;
	}
	if (f->state == ETD_ASKS)
		return address_line(f, "");
	(void)now;
	return broken(f, before ? -EBUSY : -EACCES,
		      "does not take %.100s: %.100s", f->path,
		      *said ? said : "it says not why");
}

static int
line_do(struct etd_file *f, const char *line, int64_t now)
{
	const char *text = behind(line, "ERR");

	if (text)
		return error_line(f, text, now);
	text = behind(line, "OK");
	switch (f->state) {
	case ETD_NAMES: return name_line(f, text ? text : line, now);
	case ETD_ASKS: return address_line(f, text ? text : line);
	case ETD_CLOSES:
		f->state = text ? ETD_SHUT : ETD_CLOSES;
		return text ? 0 : -EAGAIN;
	default: return f->state == ETD_OPEN ? 0 : -EAGAIN;
	}
}

/* ---- steps ----------------------------------------------------------- */

static int
call(struct etd_file *f, int64_t now)
{
	int err = line_call(&f->talk.line, now);

	f->state = ETD_CALLS;
	if (!err) {
		f->data = f->talk.line.a->to.at[f->talk.line.next];
		endpoint_port_set(&f->data, f->data_port);
		f->talk.got = f->talk.used = 0;
		return name_ask(f, now);
	}
	if (err == -EAGAIN)
		return err;
	snprintf(f->why, f->why_bytes, "%s does not answer: %s",
		 f->talk.line.peer, strerror(-err));
	f->state = ETD_DOWN;
	return err;
}

static int
answers_hear(struct etd_file *f, int64_t now)
{
	int err = 0, done = f->state == ETD_OPEN || f->state == ETD_SHUT;
	char *line;

	done = done ? 0 : -EAGAIN;
	while ((line = talk_line(&f->talk, &err))) {
		done = line_do(f, line, now);
		if (done && done != -EAGAIN)
			return done;
	}
	if (err == -ENODATA)
		return broken(f, -EPIPE, "closed the connection");
	if (err)
		return broken(f, err, "is gone: %s", strerror(-err));
	if (done == -EAGAIN && now - f->asked > PATIENCE)
		return broken(f, -ETIMEDOUT,
			      "does not answer as an etransfer server does");
	return done;
}

int
etd_file_step(struct etd_file *f, bool shut, int64_t now)
{
	int err;

	if (f->state <= ETD_CALLS)
		return call(f, now);
	err = answers_hear(f, now);
	if (err)
		return err;
	if (shut && f->state == ETD_OPEN)
		return asked(f, talk_ask(&f->talk, "remove-uuid %s", f->uuid),
			     ETD_CLOSES, now);
	if (!shut && f->state == ETD_SHUT)
		return name_ask(f, now);
	return 0;
}
