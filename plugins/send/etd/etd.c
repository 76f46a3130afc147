/* SPDX-License-Identifier: MIT */
/*
 * etd: a client of an etransfer server, as correlators run it.  It sends the
 * bytes of a recording as one file.
 *
 * A file is opened (etd_file.h), its bytes are sent over a second connection
 * behind "{ uuid:U, sz:N}", and it is closed.  N has to be known before: for a
 * complete recording it is all that is missing; for others it is what there is
 * to send now, and the file is opened again for more.  At the end the file is
 * opened once more to check its length.  The protocol has no checksum and no
 * authentication.
 *
 * After a connection broke, the server says how much it has (AlreadyHave), and
 * the transfer goes on from there.
 *
 * A load is N bytes over a connection of their own.  All packets that were
 * given are remembered (given.h).  If the server has fewer bytes than were
 * sent, they tell which packet it needs; if it has more, those are skipped.
 *
 *   OPENS -> STANDS -> LOADS -> CLOSING -> RESTS -> OPENS ...
 */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract/send.h"
#include "etd_file.h"
#include "given.h"
#include "net/url.h"
#include "send/tcp/bytes.h"

/* The state of a transfer to an etransfer server. */
enum etd_phase {
	ETD_OPENS,   /* the file is being opened */
	ETD_STANDS,  /* the file is open; no load is on its way */
	ETD_LOADS,   /* a load of N bytes is on its way */
	ETD_CLOSING, /* the server has the load; the file is being closed */
	ETD_RESTS,   /* the file is closed */
};

struct send_state {
	struct line_args to, to_data;
	struct etd_file file;
	struct bytes bytes;
	struct given given;
	bool ordered;
	enum etd_phase phase;
	bool checked;  /* the file was found to be as long as what was given */
	uint64_t left; /* bytes of the load that were not given yet */
	/* bytes of the next packets that the server has already */
	uint64_t skip;
	uint64_t total; /* bytes of the whole recording; 0: unknown */
	/* bytes that the server had when it was asked last */
	uint64_t last_have;
	/* taken, and not sent because the server had them */
	uint64_t there_packets, there_bytes;
	unsigned stuck;	   /* times in a row that last_have did not grow */
	uint32_t back_run; /* after -ERESTART: packet that is wanted */
	uint64_t back_first;
	unsigned reconnects;
	char head[ETD_UUID + 64]; /* text before the bytes of a load */
	char path[1024];	  /* file on the server */
	char why[SEND_SENTENCE];
};

struct etd_options {
	const char *mode;
	int64_t vanish;
	uint32_t data_port;
};

static const struct option_key table[] = {
	{ .name = "mode",
	  .type = OPTION_CHOICE,
	  .offset = offsetof(struct etd_options, mode),
	  .choices = "new|resume|overwrite",
	  .fallback = "new",
	  .help = "a file that is there already: refuse it, go on behind what "
		  "it has, or write over it" },
	{ .name = "vanish",
	  .type = OPTION_SPAN,
	  .offset = offsetof(struct etd_options, vanish),
	  .fallback = "20s",
	  .min = NS_SECOND,
	  .max = INT64_C(3600000000000),
	  .help = "a peer that answers nothing for so long is gone" },
	{ .name = "data_port",
	  .type = OPTION_COUNT,
	  .offset = offsetof(struct etd_options, data_port),
	  .fallback = "8008",
	  .min = 1,
	  .max = 65535,
	  .help = "where bytes go to, if the server does not say" },
	{ .name = NULL },
};

/* ---- opening --------------------------------------------------------- */

static int
etd_check(const struct send_args *args)
{
	struct url url;
	int err = url_read(&url, args->to, args->why, args->why_bytes);

	if (err)
		return err;
	for (const char *c = url.path; *c && !err; c++)
		err = iscntrl((unsigned char)*c) ? -EINVAL : 0;
	if (url.scheme == URL_ETD && url.path[0] && !err)
		return 0;
	snprintf(args->why, args->why_bytes,
		 "'%.100s' is no file of an etransfer server: "
		 "etd://HOST/PATH/, or etd://HOST:PORT/PATH/FILE",
		 args->to);
	return -EINVAL;
}

static const char *
mode_of(const struct etd_options *o)
{
	return strcmp(o->mode, "new") == 0	? "New"
	       : strcmp(o->mode, "resume") == 0 ? "Resume"
						: "OverWrite";
}

static int
state_make(struct send_state *s, const struct send_args *a,
	   const struct etd_options *o)
{
	s->ordered = a->ordered;
	s->total = a->total;
	s->to.vanish = o->vanish;
	s->to_data = s->to;
	s->to_data.to.n = 1;
	etd_file_make(&s->file, &s->to);
	s->file.path = s->path;
	s->file.mode = mode_of(o);
	s->file.data_port = (uint16_t)o->data_port;
	s->file.why = s->why;
	s->file.why_bytes = sizeof s->why;
	return bytes_make(&s->bytes, &s->to_data,
			  a->head_bytes + a->data_bytes);
}

static int
etd_open(struct send_state **state, const struct send_args *a)
{
	struct send_state *s;
	struct url url;
	size_t n;
	int err = etd_check(a);

	if (err)
		return err;
	if (a->subs > 1) {
		snprintf(a->why, a->why_bytes,
			 "it has %u substreams, and a file is of one: --sub "
			 "says which",
			 a->subs);
		return -EINVAL;
	}
	s = calloc(1, sizeof *s);
	if (!s)
		return -ENOMEM;
	url_read(&url, a->to, a->why, a->why_bytes);
	n = strlen(url.path);
	snprintf(s->path, sizeof s->path, "%s%s", url.path,
		 url.path[n - 1] == '/' ? a->name : "");
	err = line_find(&s->to, a);
	if (!err)
		err = state_make(s, a, a->options);
	*state = s;
	if (err)
		free(s);
	return err;
}

static void
etd_close(struct send_state *s)
{
	etd_file_drop(&s->file);
	bytes_free(&s->bytes);
	given_free(&s->given);
	free(s);
}

/* ---- polling, memory, counters ----------------------------------------- */

static unsigned
etd_poll(struct send_state *s, struct pollfd *fd, unsigned most, int64_t *until)
{
	unsigned n = 0;

	if (most)
		n = line_poll(&s->file.talk.line, fd, until);
	if (n < most && s->bytes.line.state != LINE_DOWN)
		n += line_poll(&s->bytes.line, fd + n, until);
	return n;
}

static uint64_t
etd_release(struct send_state *s)
{
	return bytes_release(&s->bytes);
}

static void
etd_detach(struct send_state *s)
{
	bytes_detach(&s->bytes);
}

static void
etd_facts(struct send_state *s, struct send_facts *facts)
{
	const struct bytes *b = &s->bytes;

	*facts = (struct send_facts){
		.packets = b->taken - b->packets - s->there_packets,
		.bytes = s->given.bytes - s->there_bytes,
		.calls = b->line.calls,
		.connections = s->file.state > ETD_CALLS,
		.reconnects = s->reconnects,
		.way = "etransfer, no checksum",
	};
	facts->there_packets = s->there_packets;
	facts->there_bytes = s->there_bytes;
	memcpy(facts->why, s->why, sizeof facts->why);
	snprintf(facts->peer, sizeof facts->peer, "%s", s->file.talk.line.peer);
}

static void
etd_back(struct send_state *s, uint32_t *run, uint64_t *first)
{
	*run = s->back_run;
	*first = s->back_first;
}

/* most times in a row that nothing of what was sent arrived */
enum { STUCK = 5 };

/* ---- phases ------------------------------------------------------------ */

/*
 * Closes both connections, to be opened again.  Returns -EAGAIN, or -errno if
 * the transfer cannot go on.
 */
static int
broken(struct send_state *s, int err, const char *what)
{
	if (what)
		snprintf(s->why, sizeof s->why, "%s %s%s%s", s->bytes.line.peer,
			 what, err ? ": " : "", err ? strerror(-err) : "");
	if (s->bytes.line.state != LINE_DOWN)
		bytes_drop(&s->bytes, err, true);
	s->bytes.packets = 0;
	s->bytes.shut = false;
	s->bytes.ended = 0;
	etd_file_drop(&s->file);
	s->reconnects++;
	s->phase = ETD_OPENS;
	s->checked = false;
	if (s->ordered || !s->given.bytes)
		return -EAGAIN;
	return err ? err : -EPIPE;
}

/*
 * Compares what the server has with what was given.  Returns 0, -ERESTART or
 * -errno.
 */
static int
place_look(struct send_state *s)
{
	uint64_t have = s->file.have;

	s->phase = ETD_STANDS;
	s->why[0] = '\0';
	if (s->total && have > s->total) {
		snprintf(s->why, sizeof s->why,
			 "%.200s has %llu bytes already, more than the %llu of "
			 "the recording: it is another one",
			 s->path, (unsigned long long)have,
			 (unsigned long long)s->total);
		return -EEXIST;
	}
	if (have >= s->given.bytes) {
		s->skip = have - s->given.bytes;
		return 0;
	}
	s->stuck = have == s->last_have ? s->stuck + 1 : 0;
	s->last_have = have;
	if (s->stuck >= STUCK) {
		snprintf(s->why, sizeof s->why,
			 "%.200s stays at %llu bytes, whatever is sent: the "
			 "server's disk may be full",
			 s->path, (unsigned long long)have);
		return -EIO;
	}
	s->skip = given_find(&s->given, have, &s->back_run, &s->back_first);
	given_cut(&s->given, have);
	return -ERESTART;
}

/* Opens the file.  Returns 0: it is open; else as send_ops::send. */
static int
file_open(struct send_state *s, int64_t now)
{
	int err = etd_file_step(&s->file, false, now);

	if (!err)
		return s->phase == ETD_OPENS ? place_look(s) : 0;
	if (err == -EACCES || err == -EPROTO)
		return err;
	if (err != -EAGAIN && s->phase != ETD_OPENS)
		return broken(s, err, NULL);
	return -EAGAIN;
}

/*
 * Ends a load of which all bytes were given.  Returns 0: the server has them;
 * else as send_ops::send.
 */
static int
load_end(struct send_state *s, int64_t now)
{
	struct bytes *b = &s->bytes;
	int err = bytes_finish(b, now);

	if (err && err != -EAGAIN)
		return broken(s, err, "is gone");
	if (err)
		return err;
	bytes_drop(b, 0, false);
	line_was_good(&b->line);
	b->line.retry = 0;
	b->shut = false;
	b->ended = 0;
	s->phase = ETD_CLOSING;
	return 0;
}

/*
 * Ends a load and closes its file.  Returns 0: it is closed; else as
 * send_ops::send.
 */
static int
load_close(struct send_state *s, int64_t now)
{
	int err = 0;

	if (s->phase == ETD_LOADS)
		err = load_end(s, now);
	if (err || s->phase != ETD_CLOSING)
		return err;
	err = etd_file_step(&s->file, true, now);
	if (err && err != -EAGAIN)
		return broken(s, err, NULL);
	if (!err)
		s->phase = ETD_RESTS;
	return err;
}

/* ---- bytes ----------------------------------------------------------- */

/*
 * Opens the connection for bytes and announces a load: all that is missing if
 * the total is known, else `bytes`.  Returns 0: the load has begun; else as
 * send_ops::send.
 */
static int
load_begin(struct send_state *s, uint64_t bytes, int64_t now)
{
	struct bytes *b = &s->bytes;
	int err;

	if (s->phase == ETD_LOADS)
		return 0;
	s->to_data.to.at[0] = s->file.data;
	err = line_call(&b->line, now);
	if (err && err != -EAGAIN)
		snprintf(s->why, sizeof s->why, "%s does not take bytes: %s",
			 b->line.peer, strerror(-err));
	if (err)
		return -EAGAIN;
	s->left = s->total ? s->total - s->given.bytes - s->skip : bytes;
	snprintf(s->head, sizeof s->head, "{ uuid:%s, sz:%llu}", s->file.uuid,
		 (unsigned long long)s->left);
	line_give(&b->line, s->head, strlen(s->head));
	s->phase = ETD_LOADS;
	err = line_flush(&b->line, 0);
	return !err || err == -EAGAIN ? 0 : broken(s, err, "is gone");
}

static uint64_t
bytes_of(const struct send_run *run, unsigned n, uint64_t skip)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < n; i++)
		bytes += (uint64_t)run[i].packets *
			 (run[i].head_bytes + run[i].data_bytes);
	return bytes > skip ? bytes - skip : 0;
}

/*
 * Takes packets that the server has already, without sending them; returns how
 * many of a run.
 */
static uint32_t
packets_skip(struct send_state *s, const struct send_run *run)
{
	uint32_t size = run->head_bytes + run->data_bytes;
	uint64_t n = size ? s->skip / size : 0;

	if (n > run->packets)
		n = run->packets;
	s->skip -= n * size;
	s->bytes.taken += n;
	s->there_packets += n;
	s->there_bytes += n * size;
	return (uint32_t)n;
}

/*
 * Returns the part of a run that is to be sent, from packet `at` on: all that
 * fits in this load, or the rest of a packet whose beginning the server has.
 */
static struct send_run
part_of(const struct send_state *s, const struct send_run *run, uint32_t at)
{
	uint32_t size = run->head_bytes + run->data_bytes;
	struct send_run r = *run;

	r.data += (size_t)at * run->data_stride;
	if (run->head)
		r.head += (size_t)at * run->head_stride;
	r.packets -= at;
	if (s->skip) {
		r.data += s->skip;
		r.data_bytes -= (uint32_t)s->skip;
		r.data_stride = r.data_bytes;
		r.packets = 1;
	} else if (r.packets > s->left / size) {
		r.packets = (uint32_t)(s->left / size);
	}
	return r;
}

/* Sends as many packets of a run as there is room for; *taken says how many. */
static int
run_send(struct send_state *s, const struct send_run *run, uint64_t *taken)
{
	uint32_t at = packets_skip(s, run);
	struct send_run r = part_of(s, run, at);
	uint64_t n = 0;
	int err = 0;

	if (at < run->packets && r.packets)
		err = bytes_send(&s->bytes, &r, 1, &n);
	s->left -= n * (r.head_bytes + r.data_bytes);
	if (n) { /* the server had the beginning of the first packet */
		s->there_bytes += s->skip;
		s->skip = 0;
	}
	*taken = at + n;
	if (given_add(&s->given, run, 0, (uint32_t)*taken))
		return -ENOMEM;
	return err;
}

static int
runs_send(struct send_state *s, const struct send_run *run, unsigned n,
	  uint64_t *taken)
{
	uint64_t got = 0;
	int err = 0;

	for (unsigned i = 0; i < n && !err; i++) {
		err = run_send(s, &run[i], &got);
		*taken += got;
		if (got < run[i].packets)
			break;
	}
	if (err == -ENOMEM)
		return err;
	if (err)
		broken(s, err, "is gone");
	return 0;
}

static int
etd_send(struct send_state *s, const struct send_run *run, unsigned n,
	 uint64_t *taken)
{
	int64_t now = line_now();
	uint64_t bytes;
	int err = 0;

	*taken = 0;
	if ((s->phase == ETD_LOADS && !s->left) || s->phase == ETD_CLOSING)
		err = load_close(s, now);
	if (err == -EAGAIN && s->phase != ETD_OPENS)
		return 0;
	if (!err && s->phase == ETD_RESTS && n)
		s->phase = ETD_OPENS;
	if (!err && s->phase != ETD_RESTS)
		err = file_open(s, now);
	if (!err && s->phase == ETD_LOADS && (err = bytes_hear(&s->bytes)))
		return broken(s, err, "closed the connection");
	bytes = bytes_of(run, n, s->skip);
	if (!err && bytes)
		err = load_begin(s, bytes, now);
	if (err || !n)
		return err;
	s->checked = false;
	return runs_send(s, run, n, taken);
}

/*
 * Checks the length of the file, which is open: it must be what was given.
 * Returns 0 or -EEXIST.
 */
static int
length_check(struct send_state *s)
{
	if (s->skip) {
		snprintf(s->why, sizeof s->why,
			 "%.200s has %llu bytes more than the recording: it is "
			 "another one",
			 s->path, (unsigned long long)s->skip);
		return -EEXIST;
	}
	s->checked = true;
	s->phase = ETD_CLOSING;
	return 0;
}

static int
etd_finish(struct send_state *s)
{
	int64_t now = line_now();
	int err = 0;

	if (s->phase == ETD_LOADS && s->left) {
		snprintf(s->why, sizeof s->why,
			 "%.200s was told of %llu bytes more than there are",
			 s->path, (unsigned long long)s->left);
		return -EIO;
	}
	if (s->phase == ETD_LOADS || s->phase == ETD_CLOSING)
		err = load_close(s, now);
	if (!err && s->phase == ETD_RESTS && s->checked)
		return 0;
	if (!err && s->phase == ETD_RESTS)
		s->phase = ETD_OPENS;
	if (!err && s->phase == ETD_OPENS)
		err = file_open(s, now);
	if (!err && s->phase == ETD_STANDS)
		err = length_check(s);
	return err ? err : -EAGAIN;
}

SPATE_PLUGIN const struct send_ops spate_send = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct send_ops),
		  .name = "etd",
		  .help = "a file of an etransfer server",
		  .options = table,
		  .options_bytes = sizeof(struct etd_options),
		  .flags = SEND_BLOCKS | SEND_PLAIN },
	.check = etd_check,
	.open = etd_open,
	.send = etd_send,
	.poll = etd_poll,
	.release = etd_release,
	.detach = etd_detach,
	.finish = etd_finish,
	.facts = etd_facts,
	.close = etd_close,
	.back = etd_back,
};
