/* SPDX-License-Identifier: MIT */
#include "contract/send_tcp_bench.h"

struct from from;
struct send_args ask;
struct way way;

static void
from_make(struct from *f, const char *options)
{
	char file[4096];
	void *object;
	struct fault fault = { 0 };
	struct conf_part part;

	snprintf(file, sizeof file, "%s/send-" BENCH_BY ".so",
		 getenv("SPATE_PLUGINS"));
	object = dlopen(file, RTLD_NOW);
	ck_assert_msg(object, "%s", dlerror());
	memset(f, 0, sizeof *f);
	f->stride = PACKET;
	f->ops = dlsym(object, "spate_send");
	ck_assert_int_eq(conf_open_text(&f->conf, options, "test", &fault), 0);
	f->options = calloc(1, f->ops->head.options_bytes);
	part = (struct conf_part){ f->ops->head.options, f->options };
	ck_assert_int_eq(
	    conf_fill(f->conf, conf_root(f->conf), &part, 1, NULL, &fault), 0);
}

int
from_try(struct from *f, const char *options, uint16_t to)
{
	static struct host host;
	struct send_args a = ask;
	char url[64];

	from_make(f, options);
	now_ns += 1000; /* another sender */
	host = (struct host){ .ctx = &b,
			      .log = keep_log,
			      .now = fake_now,
			      .crc32c = crc32c,
			      .hmac_sha256 = hmac_sha256 };
	snprintf(url, sizeof url, BENCH_BY "://127.0.0.1:%u", to);
	a.host = &host;
	a.options = f->options;
	a.to = a.to ? a.to : url;
	a.data_bytes = a.data_bytes ? a.data_bytes : PACKET;
	a.subs = a.subs ? a.subs : 1;
	a.transfer = a.transfer ? a.transfer : 5;
	a.name = "test";
	a.why = f->why;
	a.why_bytes = sizeof f->why;
	return f->ops->open(&f->state, &a);
}

void
from_open(struct from *f, const char *options, uint16_t to)
{
	ck_assert_msg(from_try(f, options, to) == 0, "%s", f->why);
}

void
from_close(struct from *f)
{
	f->ops->close(f->state);
	free(f->options);
	conf_close(f->conf);
}

static void
data_make(struct from *f, uint64_t to)
{
	for (; f->made < to; f->made++) {
		make(0, f->made);
		noise_fill(f->made, 0, f->data + f->made * f->stride, PACKET);
	}
}

void
data_spoil(struct from *f)
{
	uint64_t gone = f->ops->release(f->state);

	ck_assert_uint_ge(gone, f->spoiled);
	ck_assert_uint_le(gone, f->taken);
	while (f->spoiled < gone) {
		memset(f->data + f->first * f->stride, 0xee, PACKET);
		f->first++;
		f->spoiled++;
	}
}

void
from_back(struct from *f)
{
	uint32_t run;
	uint64_t first;

	ck_assert_uint_eq(f->ops->release(f->state), f->taken);
	data_spoil(f);
	f->ops->back(f->state, &run, &first);
	ck_assert_uint_eq(run, 0);
	ck_assert_uint_le(first, MOST);
	f->at = f->first = f->made = first;
	f->restarts++;
}

int
from_give(struct from *f, uint64_t end)
{
	uint64_t n = end - f->at, taken = 99;
	struct send_run run = { .data_bytes = PACKET,
				.data_stride = f->stride,
				.first = f->at };
	int err;

	if (f->step && n > f->step)
		n = f->step;
	data_make(f, f->at + n);
	run.data = f->data + f->at * f->stride;
	run.packets = (uint32_t)n;
	err = f->ops->send(f->state, &run, n > 0, &taken);
	if (err) {
		ck_assert_uint_eq(taken, 0);
		if (err == -ERESTART)
			from_back(f);
		return err;
	}
	ck_assert_uint_le(taken, n);
	f->at += taken;
	f->taken += taken;
	data_spoil(f);
	return 0;
}

void
from_wait(struct from *f, int64_t ms)
{
	struct pollfd fd[8];
	int64_t until = INT64_MAX;
	unsigned n = f->ops->poll(f->state, fd, 8, &until);

	ck_assert_uint_le(n, 8);
	poll(fd, n, (int)ms);
}

void
facts_of(struct from *f, struct send_facts *facts)
{
	f->ops->facts(f->state, facts);
	ck_assert_uint_le(facts->packets, f->taken);
	ck_assert_ptr_nonnull(facts->way);
}

void
way_make(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof a;

	memset(&way, 0, sizeof way);
	way.door = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(bind(way.door, (void *)&a, length), 0);
	ck_assert_int_eq(listen(way.door, 16), 0);
	ck_assert_int_eq(getsockname(way.door, (void *)&a, &length), 0);
	way.port = ntohs(a.sin_port);
}

void
way_break(unsigned i)
{
	const struct linger away = { .l_onoff = 1 };

	if (way.pair[i].near < 0)
		return;
	setsockopt(way.pair[i].near, SOL_SOCKET, SO_LINGER, &away, sizeof away);
	close(way.pair[i].near);
	close(way.pair[i].far);
	way.pair[i].near = way.pair[i].far = -1;
}

void
way_free(void)
{
	for (unsigned i = 0; i < way.n; i++)
		way_break(i);
	close(way.door);
}

static unsigned
way_seat(void)
{
	for (unsigned i = 0; i < way.n; i++)
		if (way.pair[i].near < 0)
			return i;
	ck_assert_uint_lt(way.n, WAYS);
	return way.n++;
}

/* At most so much of what has come, of one direction; false: it has ended. */
static bool
way_carry(int in, int out, size_t most)
{
	uint8_t bytes[65536];
	ssize_t n = recv(in, bytes, most < sizeof bytes ? most : sizeof bytes,
			 MSG_DONTWAIT);

	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	way.bytes += (uint64_t)n;
	return send(out, bytes, (size_t)n, MSG_NOSIGNAL) == n;
}

void
way_flow(size_t most)
{
	int fd = accept4(way.door, NULL, NULL, SOCK_CLOEXEC);
	unsigned i;

	if (fd >= 0 && way.shut) {
		close(fd);
	} else if (fd >= 0) {
		i = way_seat();
		way.pair[i].near = fd;
		way.pair[i].far = caller();
	}
	for (i = 0; i < way.n; i++) {
		if (way.pair[i].near < 0)
			continue;
		if (!way_carry(way.pair[i].near, way.pair[i].far, most) ||
		    !way_carry(way.pair[i].far, way.pair[i].near, 65536))
			way_break(i);
	}
}
