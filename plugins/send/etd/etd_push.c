/* SPDX-License-Identifier: MIT */
/*
 * A load is N bytes over a connection of their own.  All packets that were
 * given are remembered (given.h).  If the server has fewer bytes than were
 * sent, they tell which packet it needs; if it has more, those are skipped.
 *
 *   OPENS -> STANDS -> LOADS -> CLOSING -> RESTS -> OPENS ...
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "etd.h"

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

int
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

int
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
