/* SPDX-License-Identifier: MIT */
/*
 * Every key has one type, and another type is an error: a request that was only
 * partly understood would send the wrong data.
 *
 * A send plugin inside the core that writes plain bytes to a file.  It is no
 * loadable plugin, because the client opened the file, with its own rights, and
 * no URL may name one.  A disk that hangs blocks the sender's thread, and the
 * closer's, only.
 */
#include "daemon/transfers/transfer.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "store/disk/layout.h"

struct transfer_file {
	int fd;
	struct closer *closer;
};

struct send_state {
	int fd; /* belongs to the order */
	uint64_t packets, bytes, calls;
	char why[SEND_SENTENCE];
};

struct transfer_file *
transfer_file_make(int fd, struct closer *closer)
{
	struct transfer_file *file = malloc(sizeof *file);

	if (file)
		*file = (struct transfer_file){ fd, closer };
	return file;
}

static void
transfer_file_free(struct transfer_file *file)
{
	if (file)
		closer_close(file->closer, file->fd);
	free(file);
}

static int
file_check(const struct send_args *args)
{
	(void)args;
	return 0;
}

static int
file_open(struct send_state **state, const struct send_args *args)
{
	const struct transfer_file *file = args->options;

	*state = calloc(1, sizeof **state);
	if (!*state)
		return -ENOMEM;
	(*state)->fd = file->fd;
	return 0;
}

static int
failed(struct send_state *s)
{
	int err = -errno;

	snprintf(s->why, sizeof s->why, "cannot write: %s", strerror(-err));
	return err;
}

static int
put(struct send_state *s, const uint8_t *data, uint64_t bytes)
{
	while (bytes) {
		ssize_t n = write(s->fd, data, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return failed(s);
		data += n;
		bytes -= (uint64_t)n;
		s->bytes += (uint64_t)n;
	}
	return 0;
}

static int
run_put(struct send_state *s, const struct send_run *r)
{
	int err = 0;

	if (!r->head_bytes && r->data_stride == r->data_bytes)
		return put(s, r->data, (uint64_t)r->packets * r->data_bytes);
	for (uint32_t i = 0; i < r->packets && !err; i++) {
		if (r->head_bytes)
			err = put(s, r->head + (size_t)i * r->head_stride,
				  r->head_bytes);
		if (!err)
			err = put(s, r->data + (size_t)i * r->data_stride,
				  r->data_bytes);
	}
	return err;
}

static int
file_send(struct send_state *s, const struct send_run *run, unsigned n,
	  uint64_t *taken)
{
	int err = 0;

	*taken = 0;
	s->calls += n > 0;
	for (unsigned i = 0; i < n && !err; i++) {
		err = run_put(s, &run[i]);
		if (!err)
			*taken += run[i].packets;
	}
	s->packets += *taken;
	return err;
}

static unsigned
file_poll(struct send_state *s, struct pollfd *fd, unsigned most,
	  int64_t *until)
{
	(void)s;
	(void)fd;
	(void)most;
	(void)until;
	return 0;
}

static uint64_t
file_release(struct send_state *s)
{
	return s->packets;
}

static void
file_detach(struct send_state *s)
{
	(void)s;
}

/* Makes the file durable; a device that cannot be synced (EINVAL) is fine. */
static int
file_finish(struct send_state *s)
{
	return fdatasync(s->fd) < 0 && errno != EINVAL ? failed(s) : 0;
}

static void
file_facts(struct send_state *s, struct send_facts *facts)
{
	*facts = (struct send_facts){ .packets = s->packets,
				      .bytes = s->bytes,
				      .calls = s->calls,
				      .connections = 1,
				      .way = "file",
				      .peer = "file" };
	memcpy(facts->why, s->why, sizeof facts->why);
}

static void
file_shut(struct send_state *s)
{
	free(s);
}

const struct send_ops transfer_file_ops = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct send_ops),
		  .name = "file",
		  .help = "writes to a file",
		  .flags = SEND_PLAIN | SEND_BLOCKS },
	.check = file_check,
	.open = file_open,
	.send = file_send,
	.poll = file_poll,
	.release = file_release,
	.detach = file_detach,
	.finish = file_finish,
	.facts = file_facts,
	.close = file_shut,
};

/* ---- requests -------------------------------------------------------- */

enum {
	URL_MOST = 1024,
	CONNECTIONS_MOST = 64,
	THREADS_MOST = 1024,
	SUBS_MOST = 65535,
	STRIP_MOST = 65535,
	PACKET_LEAST = 512,
	PACKET_MOST = 65000,
};
#define SPAN_MOST (365 * 86400 * NS_SECOND)

static int usage(struct fault *fault, const char *what, ...)
    __attribute__((format(printf, 2, 3)));

static int
usage(struct fault *fault, const char *what, ...)
{
	char text[sizeof fault->what];
	va_list args;

	va_start(args, what);
	vsnprintf(text, sizeof text, what, args);
	va_end(args);
	return fault_set(fault, -EINVAL, "usage", "%s", text);
}

/* ---- values ---------------------------------------------------------- */

/* A request while it is read. */
struct order_reading {
	const json_t *request;
	struct transfer_order *o;
	struct fault *fault;
};

/* Returns the value of a key; NULL if it is missing or null. */
static const json_t *
value_of(const struct order_reading *r, const char *key)
{
	const json_t *value = json_object_get(r->request, key);

	return value && !json_is_null(value) ? value : NULL;
}

static int
text_read(const struct order_reading *r, const char *key, const char **text)
{
	const json_t *value = value_of(r, key);

	*text = json_string_value(value);
	return !value || *text ? 0
			       : usage(r->fault, "`%s` has to be a text", key);
}

static int
flag_read(const struct order_reading *r, const char *key, bool *flag)
{
	const json_t *value = value_of(r, key);

	if (!value)
		return 0;
	*flag = json_is_true(value);
	return json_is_boolean(value)
		   ? 0
		   : usage(r->fault, "`%s` has to be true or false", key);
}

struct bounds {
	long long least, most;
};

/* Reads a whole number; leaves `n` as it is if the key is missing. */
static int
number_read(const struct order_reading *r, const char *key, struct bounds b,
	    long long *n)
{
	const json_t *value = value_of(r, key);

	if (!value)
		return 0;
	*n = json_integer_value(value);
	if (json_is_integer(value) && *n >= b.least && *n <= b.most)
		return 0;
	return usage(r->fault,
		     "`%s` has to be a whole number from %lld to %lld", key,
		     b.least, b.most);
}

static int
span_read(const struct order_reading *r, const char *key, int64_t *ns)
{
	const char *text;
	int err = text_read(r, key, &text);

	if (err || !text)
		return err;
	if (units_span(text, ns) == 0 && *ns > 0 && *ns <= SPAN_MOST)
		return 0;
	usage(r->fault, "`%s`: '%.80s' is no span of time", key, text);
	fault_hint(r->fault, "write it as 30s, 5m or 1h30m");
	return -EINVAL;
}

/* ---- ranges ---------------------------------------------------------- */

/*
 * Splits "A..B"; either may be empty, not both.  1; 0 if the key is missing; or
 * -EINVAL.
 */
static int
range_split(const struct order_reading *r, const char *key, char half[2][80])
{
	const char *text, *dots;
	int err = text_read(r, key, &text);
	size_t n;

	half[0][0] = half[1][0] = '\0';
	if (err || !text)
		return err;
	dots = strstr(text, "..");
	n = dots ? (size_t)(dots - text) : 0;
	if (dots && n < 80 && strlen(dots + 2) < 80 && (n || dots[2])) {
		memcpy(half[0], text, n);
		half[0][n] = '\0';
		strcpy(half[1], dots + 2);
		return 1;
	}
	usage(r->fault, "`%s`: '%.80s' is no range", key, text);
	fault_hint(r->fault, "write it as A..B, A.. or ..B");
	return -EINVAL;
}

/* Reads an absolute time of the data; "now" and "+30s" are refused. */
static int
time_read(const struct order_reading *r, const char *text, int64_t *ns)
{
	if (!*text)
		return 0;
	if (*text != '+' && strcmp(text, "now") &&
	    units_time(text, 0, ns) == 0 && *ns > 0)
		return 0;
	usage(r->fault, "`range`: '%s' is no time", text);
	fault_hint(r->fault,
		   "write it as 2026-11-20T10:00:00Z or 2026y324d10h00m00s");
	return -EINVAL;
}

static int
range_read(const struct order_reading *r)
{
	struct send_choice *c = &r->o->choice;
	char half[2][80];
	int err = range_split(r, "range", half);

	if (err <= 0)
		return err;
	err = time_read(r, half[0], &c->from_ns);
	if (!err)
		err = time_read(r, half[1], &c->to_ns);
	if (!err && c->to_ns && c->to_ns <= c->from_ns)
		err = usage(r->fault, "`range`: it ends before it begins");
	return err;
}

static int
bytes_read(const struct order_reading *r)
{
	struct send_choice *c = &r->o->choice;
	char half[2][80];
	int err = range_split(r, "bytes", half);

	if (err <= 0)
		return err;
	if ((*half[0] && units_bytes(half[0], &c->from_byte) < 0) ||
	    (*half[1] && units_bytes(half[1], &c->to_byte) < 0)) {
		usage(r->fault, "`bytes`: '%s..%s' are no bytes of the file",
		      half[0], half[1]);
		fault_hint(r->fault, "write it as 0..64M or 1G..");
		return -EINVAL;
	}
	if (*half[1] && c->to_byte <= c->from_byte)
		return usage(r->fault, "`bytes`: it ends before it begins");
	if (c->from_ns || c->to_ns)
		return usage(r->fault, "either `range` or `bytes`, not both");
	return 0;
}

/* ---- choices --------------------------------------------------------- */

static int
threads_read(const struct order_reading *r)
{
	const json_t *list = value_of(r, "threads"), *one;
	size_t i, n = json_array_size(list);

	if (!list)
		return 0;
	if (!n || n > THREADS_MOST)
		return usage(r->fault, "`threads` has to be a list of numbers");
	r->o->threads = calloc(n, sizeof *r->o->threads);
	if (!r->o->threads)
		return fault_no_memory(r->fault);
	json_array_foreach(list, i, one) {
		json_int_t id = json_integer_value(one);

		if (!json_is_integer(one) || id < 0 || id > 1023)
			return usage(r->fault, "a thread is 0 to 1023");
		r->o->threads[i] = (uint32_t)id;
	}
	r->o->choice.threads = r->o->threads;
	r->o->choice.threads_n = (unsigned)n;
	return 0;
}

static int
strip_read(const struct order_reading *r)
{
	const char *word = json_string_value(value_of(r, "strip"));
	long long n = 0;
	int err;

	if (word && !strcmp(word, "header")) {
		r->o->choice.headers_off = true;
		return 0;
	}
	err = number_read(r, "strip", (struct bounds){ 0, STRIP_MOST }, &n);
	if (err && word)
		return usage(r->fault, "`strip` is bytes, or \"header\"");
	r->o->choice.strip = (uint32_t)n;
	return err;
}

static int
choice_read(const struct order_reading *r)
{
	struct send_choice *c = &r->o->choice;
	long long sub = -1, packet = 0;
	bool bare = false;
	int err = r->o->relay ? 0 : range_read(r);

	if (!err && !r->o->relay)
		err = bytes_read(r);
	if (!err)
		err = threads_read(r);
	if (!err)
		err = strip_read(r);
	if (!err)
		err = number_read(r, "sub", (struct bounds){ 0, SUBS_MOST },
				  &sub);
	if (!err)
		err = number_read(r, "packet",
				  (struct bounds){ PACKET_LEAST, PACKET_MOST },
				  &packet);
	if (!err)
		err = flag_read(r, "no_prefix", &bare);
	c->sub = (int)sub;
	c->packet = (uint32_t)packet;
	c->prefix = bare ? SEND_PREFIX_NONE : SEND_PREFIX_MADE;
	return err;
}

/* ---- how ------------------------------------------------------------- */

static int
rate_read(const struct order_reading *r)
{
	const char *text;
	int err = text_read(r, "rate", &text);

	if (err || !text || !setup_send_rate(text, &r->o->rate))
		return err;
	usage(r->fault, "'%.80s' is no rate", text);
	fault_hint(r->fault, "write it as 8Gbps or 500Mbps; \"data\" is as "
			     "fast as the data came, \"free\" as fast as it "
			     "goes");
	return -EINVAL;
}

static int
how_read(const struct order_reading *r)
{
	struct transfer_order *o = r->o;
	long long connections = 0, priority = 0;
	int64_t span = 0;
	int err = rate_read(r);

	if (!err)
		err = number_read(r, "connections",
				  (struct bounds){ 1, CONNECTIONS_MOST },
				  &connections);
	if (!err)
		err = number_read(r, "priority",
				  (struct bounds){ -1000000, 1000000 },
				  &priority);
	if (!err)
		err = flag_read(r, "plain", &o->plain);
	if (!err)
		err = span_read(r, "patience", &o->patience);
	if (!err)
		err = span_read(r, "for", &span);
	o->connections = (unsigned)connections;
	o->priority = (int)priority;
	o->until = span ? clock_steady() + span : 0;
	return err;
}

/* ---- what and where to ----------------------------------------------- */

static int
name_read(const struct order_reading *r)
{
	const char *key = r->o->relay ? "stream" : "name", *name;
	int err = text_read(r, key, &name);

	if (err)
		return err;
	if (!name || !*name)
		return usage(r->fault, "`%s` is missing", key);
	if (strlen(name) >= sizeof r->o->name || strchr(name, '/'))
		return fault_set(r->fault, -ENOENT, "not-found",
				 "there is no %s '%.80s'",
				 r->o->relay ? "stream" : "recording", name);
	strcpy(r->o->name, name);
	return 0;
}

static int
to_read(const struct order_reading *r)
{
	const char *to;
	int err = text_read(r, "to", &to);

	if (err)
		return err;
	if (!to || !*to || strlen(to) > URL_MOST) {
		usage(r->fault, "send it where? `to` is missing, or no URL");
		fault_hint(r->fault, "tcp://correlator:2631");
		return -EINVAL;
	}
	r->o->to = strdup(to);
	return r->o->to ? 0 : fault_no_memory(r->fault);
}

/* Reads the name that a copy gets at the receiver. */
static int
as_read(const struct order_reading *r)
{
	const char *as;
	int err = text_read(r, "as", &as);

	if (err || !as)
		return err;
	if (!layout_folder_good(as))
		return usage(r->fault, "no recording can be called '%.80s'",
			     as);
	r->o->as = strdup(as);
	return r->o->as ? 0 : fault_no_memory(r->fault);
}

void
transfer_order_init(struct transfer_order *o, const struct setup_send *send)
{
	*o = (struct transfer_order){
		.rate = send->rate,
		.patience = send->o.patience,
		.choice = { .sub = -1 },
	};
}

int
transfer_order_read(struct transfer_order *o, const json_t *request,
		    const struct setup_send *send, struct fault *fault)
{
	const struct order_reading r = { request, o, fault };
	bool relay = o->relay;
	int err;

	transfer_order_init(o, send);
	o->relay = relay;
	err = name_read(&r);
	if (!err)
		err = to_read(&r);
	if (!err && !relay)
		err = flag_read(&r, "follow", &o->follow);
	if (!err && !relay)
		err = as_read(&r);
	if (!err)
		err = how_read(&r);
	if (!err)
		err = choice_read(&r);
	if (err)
		transfer_order_clear(o);
	return err;
}

void
transfer_order_clear(struct transfer_order *o)
{
	free(o->to);
	free(o->as);
	free(o->threads);
	transfer_file_free(o->file);
	o->file = NULL;
	o->to = o->as = NULL;
	o->threads = NULL;
	o->choice.threads = NULL;
	o->choice.threads_n = 0;
}
