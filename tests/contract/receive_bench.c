/* SPDX-License-Identifier: MIT */
#include "contract/receive_bench.h"

struct receive_args wish;
int64_t now_ns;

int64_t
fake_now(void *ctx)
{
	(void)ctx;
	return now_ns;
}

void __attribute__((format(printf, 3, 4)))
keep_log(void *ctx, enum log_level level, const char *format, ...)
{
	struct bench *b = ctx;
	va_list args;

	(void)level;
	va_start(args, format);
	vsnprintf(b->log, sizeof b->log, format, args);
	va_end(args);
	b->lines++;
}

const struct receive_ops *
plugin(const char *name)
{
	char file[4096];
	void *object;

	snprintf(file, sizeof file, "%s/receive-%s.so", getenv("SPATE_PLUGINS"),
		 name);
	object = dlopen(file, RTLD_NOW);
	ck_assert_msg(object, "%s", dlerror());
	return dlsym(object, "spate_receive");
}

void
options_fill(struct bench *b, const char *text)
{
	struct fault fault = { 0 };
	char line[1024];
	struct conf_part part;

	ck_assert_int_eq(conf_open_text(&b->conf, text, "test", &fault), 0);
	b->options = calloc(1, b->ops->head.options_bytes);
	part = (struct conf_part){ b->ops->head.options, b->options };
	if (conf_fill(b->conf, conf_root(b->conf), &part, 1, NULL, &fault)) {
		fault_line(&fault, line, sizeof line);
		ck_abort_msg("%s", line);
	}
}

void
bench_make(struct bench *b, const char *name, const char *options,
	   uint32_t prefix, uint32_t payload)
{
	memset(b, 0, sizeof *b);
	b->from = -1;
	b->host = (struct host){
		.ctx = b,
		.log = keep_log,
		.now = fake_now,
		.crc32c = crc32c,
		.hmac_sha256 = hmac_sha256,
		.secret = secret_host,
	};
	b->ops = plugin(name);
	b->prefix = prefix;
	b->payload = payload;
	b->longest =
	    wish.longest > prefix + payload ? wish.longest : prefix + payload;
	b->senders = wish.senders;
	b->step = (size_t)prefix + payload + 2 * GUARD;
	b->memory = malloc(RECEIVE_BATCH * b->step);
	b->before = malloc(RECEIVE_BATCH * b->step);
	noise_fill(0, 0, b->before, RECEIVE_BATCH * b->step);
	b->want[0] = b->want[1] = RECEIVE_BATCH;
	options_fill(b, options);
}

int
bench_try(struct bench *b, const char *name, const char *options,
	  const struct format_ops *format, struct format_shape *shape)
{
	struct receive_args args = wish;

	bench_make(b, name, options, shape->prefix, shape->payload);
	args.host = &b->host;
	args.prefix = b->prefix;
	args.payload = b->payload;
	args.longest = b->longest;
	args.format = format;
	args.shape = shape;
	args.why = b->why;
	args.why_bytes = sizeof b->why;
	args.options = b->options;
	return b->ops->open(&b->state, &args);
}

void
bench_free(struct bench *b)
{
	if (b->from >= 0)
		close(b->from);
	free(b->memory);
	free(b->before);
	free(b->options);
	conf_close(b->conf);
}

void
bench_close(struct bench *b)
{
	b->ops->close(b->state);
	bench_free(b);
}

void
pairs_make(struct bench *b, unsigned pairs)
{
	memcpy(b->memory, b->before, RECEIVE_BATCH * b->step);
	for (unsigned i = 0; i < RECEIVE_BATCH; i++) {
		struct receive_pair *p = &b->pair[i];

		p->prefix_bytes = b->prefix;
		p->payload_bytes = b->payload;
		if (b->lengths)
			b->lengths(b, i, p);
		ck_assert_uint_le(p->prefix_bytes + p->payload_bytes,
				  b->prefix + b->payload);
		p->prefix = b->memory + i * b->step + GUARD;
		p->payload = p->prefix + p->prefix_bytes + GUARD;
	}
	b->batch.pair = b->pair;
	b->batch.pairs = b->batch.want = b->batch.room = pairs;
	b->batch.packets = 99;
	b->batch.stamps = b->stamps;
	b->batch.empty = b->batch.known = b->batch.again = false;
}

static bool
untouched(const struct bench *b, const uint8_t *from, const uint8_t *end)
{
	return !memcmp(from, b->before + (from - b->memory),
		       (size_t)(end - from));
}

void
guards_check(const struct bench *b)
{
	for (unsigned i = 0; i < RECEIVE_BATCH; i++) {
		const struct receive_pair *p = &b->pair[i];
		const uint8_t *at = b->memory + i * b->step;
		bool good =
		    untouched(b, at, p->prefix) &&
		    untouched(b, p->prefix + p->prefix_bytes, p->payload) &&
		    untouched(b, p->payload + p->payload_bytes, at + b->step);

		if (i >= b->batch.pairs)
			good = good && untouched(b, at, at + b->step);
		if (!good)
			ck_abort_msg("memory around pair %u was written", i);
	}
}

void
pair_check(const struct bench *b, unsigned i)
{
	const struct receive_packet *k = &b->batch.packet[i];
	size_t off = (size_t)(k->payload - b->memory);

	if (k->payload < b->memory || off >= RECEIVE_BATCH * b->step)
		return;
	if (off / b->step != i)
		ck_abort_msg("packet %u lies in pair %zu", i, off / b->step);
}

int
receive(struct bench *b, unsigned source)
{
	unsigned *want = &b->want[source < 2 ? source : 0];
	int err;

	pairs_make(b, *want);
	err = b->ops->receive(b->state, source, &b->batch);
	guards_check(b);
	if (err)
		return err;
	ck_assert_uint_le(b->batch.packets, RECEIVE_BATCH);
	ck_assert_uint_ge(b->batch.want, 1);
	ck_assert_uint_le(b->batch.want, RECEIVE_BATCH);
	*want = b->batch.want;
	for (unsigned i = 0; i < b->batch.packets; i++)
		pair_check(b, i);
	return (int)b->batch.packets;
}

void
connect_to(struct bench *b, unsigned source)
{
	struct sockaddr_storage to;
	socklen_t length = sizeof to;

	ck_assert_int_eq(
	    getsockname(b->ops->fd(b->state, source), (void *)&to, &length), 0);
	if (b->from < 0)
		b->from = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(b->from, 0);
	ck_assert_int_eq(connect(b->from, (void *)&to, length), 0);
}

void
udp_open(struct bench *b, const char *options, uint32_t prefix,
	 uint32_t payload)
{
	struct format_shape shape = { .prefix = prefix, .payload = payload };

	ck_assert_msg(bench_try(b, "udp", options, NULL, &shape) == 0, "%s",
		      b->why);
	connect_to(b, 0);
}

static void
send_bytes(struct bench *b, uint32_t bytes, uint32_t segment)
{
	static uint8_t data[65536];
	uint32_t done = 0;
	int gso = (int)segment;

	do {
		uint32_t n = bytes - done < segment ? bytes - done : segment;
		uint32_t seed = b->sents;

		ck_assert_uint_lt(b->sents, SENT);
		b->sent[b->sents++] = (struct sent){ n, seed, false };
		noise_fill(seed, 0, data + done, n);
		done += n;
	} while (done < bytes);
	if (bytes <= segment)
		gso = 0;
	ck_assert_int_eq(
	    setsockopt(b->from, IPPROTO_UDP, UDP_SEGMENT, &gso, sizeof gso), 0);
	ck_assert_int_eq(send(b->from, data, bytes, 0), bytes);
}

void
send_one(struct bench *b, uint32_t bytes)
{
	send_bytes(b, bytes, bytes ? bytes : 1);
}

void
send_train(struct bench *b, uint32_t segment, unsigned n, uint32_t tail)
{
	send_bytes(b, n * segment + tail, segment);
}

/* Is it as it was sent? */
static void
packet_check(struct bench *b, unsigned i)
{
	const struct receive_packet *k = &b->batch.packet[i];
	const struct sent *s = &b->sent[b->told++];
	uint32_t prefix =
	    k->prefix_bytes < k->bytes ? k->prefix_bytes : k->bytes;

	ck_assert_uint_le(b->told, b->sents);
	ck_assert_uint_eq((k->flags & RECEIVE_FOREIGN) != 0, s->foreign);
	/* beside stamps a plugin tells them if it knows them */
	if (b->senders || !b->stamps)
		ck_assert_uint_eq(k->sender != 0, b->senders);
	if (s->bytes > b->longest) {
		if (!(k->flags & RECEIVE_CUT))
			ck_abort_msg("datagram %u of %u bytes is not cut",
				     b->told - 1, s->bytes);
		return;
	}
	if (k->bytes != s->bytes || k->flags & RECEIVE_CUT)
		ck_abort_msg("datagram %u of %u bytes was told as %u bytes",
			     b->told - 1, s->bytes, k->bytes);
	if (!noise_is(s->seed, 0, k->prefix, prefix) ||
	    !noise_is(s->seed, prefix, k->payload, k->bytes - prefix))
		ck_abort_msg("datagram %u is not as it was sent", b->told - 1);
}

int
receive_told(struct bench *b, unsigned source)
{
	int n = receive(b, source);

	ck_assert_int_ge(n, 0);
	for (int i = 0; i < n; i++)
		packet_check(b, (unsigned)i);
	b->calls += n > 0;
	return n;
}

void
take_all(struct bench *b)
{
	struct receive_counts c;

	while (b->told < b->sents) {
		struct pollfd p = { b->ops->fd(b->state, 0), POLLIN, 0 };

		if (receive_told(b, 0) == 0)
			ck_assert_msg(poll(&p, 1, PATIENCE) == 1,
				      "%u of %u datagrams came", b->told,
				      b->sents);
	}
	ck_assert_int_eq(receive_told(b, 0), 0);
	b->ops->counts(b->state, 0, &c);
	ck_assert_uint_eq(c.datagrams, b->told);
	ck_assert_uint_eq(c.calls, b->calls);
	ck_assert_uint_eq(c.overruns, 0);
}

bool
gro_is_on(struct bench *b)
{
	int on = 0;
	socklen_t length = sizeof on;

	getsockopt(b->ops->fd(b->state, 0), IPPROTO_UDP, UDP_GRO, &on, &length);
	return on != 0;
}

void
singles(struct bench *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		send_one(b, b->prefix + b->payload);
		take_all(b);
	}
}
