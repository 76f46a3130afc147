/* SPDX-License-Identifier: MIT */
/*
 * Packets through the two plugins for UCX, from one process to another: what
 * scripts/bench ucx puts beside ucx_perftest.
 *
 *   ucx_loop [-p PAYLOAD] [-m MESSAGE] [-n MESSAGES] [-c CONNECTIONS]
 *            [-s SECONDS] [-u] [-k] [-v] [-P PLUGIN]
 *
 *   -u  without checksums
 *   -k  the sender may not keep memory: it copies
 *   -v  each packet is looked at when it has come
 *   -P  tcp: the same through its plugins
 *
 * Both ends have memory as large as a pool: no cache has it.  The receiving
 * end stands in for the core: it says where the next packets belong, and
 * copies those that came elsewhere.  One JSON line: bytes, seconds, straight
 * (share of packets that needed no copy), restarts.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/conf.h"
#include "base/crc32c.h"
#include "base/module.h"
#include "base/secret.h"

enum { BLOCK = 8 << 20, BLOCKS = 32 };

static struct loop {
	uint32_t payload, slots; /* of a block */
	unsigned messages, connections;
	const char *message, *plugin;
	double seconds;
	bool unchecked, copies, looks;
	unsigned port;
	uint8_t *memory;
	uint64_t all; /* packets that memory has room for */
} loop = { 8192, 0, 4, 1, "512K", "ucx", 2, false, false, false, 0, NULL, 0 };

static void __attribute__((format(printf, 3, 4)))
say(void *ctx, enum log_level level, const char *format, ...)
{
	va_list args;

	(void)ctx;
	if (level > LEVEL_WARN && !getenv("UCX_LOOP_LOG"))
		return;
	va_start(args, format);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

static int64_t
now_ns(void *ctx)
{
	(void)ctx;
	return clock_now();
}

static const struct host host = {
	.log = say, .now = now_ns, .crc32c = crc32c, .hmac_sha256 = hmac_sha256
};

static void
die(const char *what, const char *why)
{
	fprintf(stderr, "ucx_loop: %s: %s\n", what, why);
	_exit(1);
}

/* Options of a plugin, from text. */
static void *
options_of(const struct plugin *head, const char *text)
{
	struct fault fault = { 0 };
	struct conf_part part = { head->options, NULL };
	struct conf *conf;
	char line[512];

	part.out = calloc(1, head->options_bytes + 1);
	if (!part.out || conf_open_text(&conf, text, "ucx_loop", &fault) ||
	    conf_fill(conf, conf_root(conf), &part, 1, NULL, &fault)) {
		fault_line(&fault, line, sizeof line);
		die("options", line);
	}
	return part.out;
}

static void
memory_make(bool full)
{
	uint64_t packet, bytes;

	loop.slots = BLOCK / loop.payload;
	loop.all = (uint64_t)loop.slots * BLOCKS;
	bytes = loop.all * loop.payload;
	loop.memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (loop.memory == MAP_FAILED)
		die("memory", strerror(errno));
	madvise(loop.memory, bytes, MADV_HUGEPAGE); /* as the arena is */
	for (uint64_t at = 0; at < bytes; at += 4096)
		loop.memory[at] = 0;
	for (packet = 0; full && packet < loop.all; packet++)
		for (uint32_t i = 0; i + 8 <= loop.payload; i += 8)
			memcpy(loop.memory + packet * loop.payload + i,
			       &(uint64_t){ packet * 1000003 + i }, 8);
}

/* ---- the receiving end ----------------------------------------------- */

struct taker {
	const struct receive_ops *ops;
	struct receive_state *state;
	struct receive_batch batch;
	struct receive_pair pair[RECEIVE_BATCH];
	bool known[64];
	uint64_t next[64];
	uint64_t packets, straight;
};

static void
taker_open(struct taker *t)
{
	static struct format_shape shape = { .parts = 1 };
	struct receive_args args = { .host = &host,
				     .payload = loop.payload,
				     .longest = loop.payload,
				     .shape = &shape,
				     .shares = 1 };
	struct fault fault = { 0 };
	static char why[512];
	char text[256];

	if (module_receive(loop.plugin, &t->ops, &fault))
		die("plugin", "is not there");
	shape.payload = loop.payload;
	snprintf(text, sizeof text,
		 "listen = [ \"127.0.0.1:%u\" ]; connections = %u; %s",
		 loop.port, loop.connections,
		 strcmp(loop.plugin, "tcp") ? "" : "frames = \"spt1\";");
	args.options = options_of(&t->ops->head, text);
	args.why = why;
	args.why_bytes = sizeof why;
	if (t->ops->open(&t->state, &args))
		die("receiver", why);
}

static uint8_t *
slot_of(uint64_t packet)
{
	return loop.memory + packet % loop.all * loop.payload;
}

static void
packet_look(const uint8_t *at, uint64_t packet)
{
	for (uint32_t i = 0; i + 8 <= loop.payload; i += 8) {
		uint64_t want = packet % loop.all * 1000003 + i, is;

		memcpy(&is, at + i, 8);
		if (is != want)
			die("data", "a packet is not as it was sent");
	}
}

static void
told(struct taker *t)
{
	for (unsigned i = 0; i < t->batch.packets; i++) {
		const struct receive_packet *k = &t->batch.packet[i];
		uint64_t packet = k->sequence & 0xffffffffffff;

		if (k->payload == slot_of(packet))
			t->straight++;
		else
			memcpy(slot_of(packet), k->payload, loop.payload);
		if (loop.looks)
			packet_look(slot_of(packet), packet);
	}
	t->packets += t->batch.packets;
}

/* One call; is there more to do? */
static bool
taker_call(struct taker *t, unsigned source)
{
	uint64_t at = t->known[source] ? t->next[source] & 0xffffffffffff : 0;

	for (unsigned i = 0; i < RECEIVE_BATCH; i++)
		t->pair[i] = (struct receive_pair){
			.payload = slot_of(at + i),
			.payload_bytes = loop.payload,
		};
	t->batch.pair = t->pair;
	t->batch.pairs = t->batch.room = RECEIVE_BATCH;
	t->batch.known = t->batch.again = false;
	if (t->ops->receive(t->state, source, &t->batch))
		die("receive", "failed");
	told(t);
	t->known[source] = t->batch.known;
	t->next[source] = t->batch.next;
	return t->batch.again || t->batch.packets;
}

static void
take(int ready)
{
	static struct taker t;
	struct pollfd fd[64];
	unsigned n;

	memory_make(false);
	taker_open(&t);
	n = t.ops->sources(t.state);
	for (unsigned i = 0; i < n; i++)
		fd[i] = (struct pollfd){ t.ops->fd(t.state, i), POLLIN, 0 };
	if (write(ready, "r", 1) != 1)
		die("pipe", strerror(errno));
	for (;;) {
		poll(fd, n, 100);
		for (unsigned i = 0; i < n; i++) {
			struct receive_counts counts;

			while (fd[i].revents && taker_call(&t, i))
				;
			t.ops->counts(t.state, i, &counts);
		}
		if (poll(&(struct pollfd){ ready, POLLERR, 0 }, 1, 0) > 0)
			break; /* the sender has gone */
	}
	t.ops->close(t.state);
	printf("\"took\":%llu,\"straight\":%.3f}\n",
	       (unsigned long long)t.packets * loop.payload,
	       t.packets ? (double)t.straight / (double)t.packets : 0.0);
	fflush(stdout);
	_exit(0);
}

/* ---- the sending end ------------------------------------------------- */

struct giver {
	const struct send_ops *ops;
	struct send_state *state;
	uint64_t at;
	unsigned restarts;
};

static void
giver_open(struct giver *g)
{
	static char why[SEND_SENTENCE], to[64], text[256];
	struct send_args args = { .host = &host,
				  .to = to,
				  .data_bytes = loop.payload,
				  .subs = 1,
				  .connections = loop.connections,
				  .ordered = true,
				  .transfer = 7,
				  .zerocopy_ok = !loop.copies,
				  .name = "bench",
				  .why = why,
				  .why_bytes = sizeof why };
	struct fault fault = { 0 };

	if (module_send(loop.plugin, &g->ops, &fault))
		die("plugin", "is not there");
	snprintf(to, sizeof to, "%s://127.0.0.1:%u", loop.plugin, loop.port);
	if (!strcmp(loop.plugin, "ucx"))
		snprintf(text, sizeof text,
			 "message = \"%s\"; messages = %u; checksum = %s;",
			 loop.message, loop.messages,
			 loop.unchecked ? "false" : "true");
	args.options = options_of(&g->ops->head, text);
	if (g->ops->open(&g->state, &args))
		die("sender", why);
}

static void
giver_wait(struct giver *g)
{
	int64_t until = clock_steady() + 100000000;
	struct pollfd fd[64];
	unsigned n = g->ops->poll(g->state, fd, 64, &until);
	int64_t left = until - clock_steady();

	poll(fd, n, left <= 0 ? 0 : (int)(left / 1000000) + 1);
}

/* What is left of the block that it is in. */
static int
give(struct giver *g)
{
	struct send_run run = { .data = slot_of(g->at),
				.data_bytes = loop.payload,
				.data_stride = loop.payload,
				.first = g->at };
	uint64_t taken = 0;
	uint32_t number;
	int err;

	run.packets = loop.slots - (uint32_t)(g->at % loop.slots);
	err = g->ops->send(g->state, &run, 1, &taken);
	g->at += taken;
	if (err == -ERESTART) {
		g->ops->back(g->state, &number, &g->at);
		g->restarts++;
		return 0;
	}
	if (err && err != -EAGAIN) {
		struct send_facts facts;

		g->ops->facts(g->state, &facts);
		die(strerror(-err), facts.why);
	}
	if (!taken)
		giver_wait(g);
	return err;
}

static void
finish(struct giver *g)
{
	int64_t end = clock_steady() + 10000000000;
	int err;

	do {
		err = g->ops->finish(g->state);
		if (err == -EAGAIN)
			giver_wait(g);
	} while (err == -EAGAIN && clock_steady() < end);
	if (err)
		die("finish", strerror(-err));
}

static void
send_all(void)
{
	struct giver g = { 0 };
	int64_t from;
	uint64_t first;

	giver_open(&g);
	while (g.at < loop.slots) /* until it is connected, and warm */
		give(&g);
	from = clock_steady();
	first = g.at;
	while (clock_steady() - from < (int64_t)(loop.seconds * 1e9))
		give(&g);
	finish(&g);
	printf("{\"bytes\":%llu,\"seconds\":%.4f,\"restarts\":%u,",
	       (unsigned long long)(g.at - first) * loop.payload,
	       (double)(clock_steady() - from) / 1e9, g.restarts);
	fflush(stdout);
	g.ops->close(g.state);
}

static void
options_read(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "p:m:n:c:s:ukvP:")) != -1) {
		switch (option) {
		case 'p': loop.payload = (uint32_t)atoi(optarg); break;
		case 'm': loop.message = optarg; break;
		case 'n': loop.messages = (unsigned)atoi(optarg); break;
		case 'c': loop.connections = (unsigned)atoi(optarg); break;
		case 's': loop.seconds = atof(optarg); break;
		case 'u': loop.unchecked = true; break;
		case 'k': loop.copies = true; break;
		case 'v': loop.looks = true; break;
		case 'P': loop.plugin = optarg; break;
		default: exit(2);
		}
	}
	loop.port = 20000 + (unsigned)getpid() % 20000;
}

int
main(int argc, char **argv)
{
	int ready[2], status;
	pid_t child;
	char byte;

	options_read(argc, argv);
	if (pipe(ready) < 0)
		return 1;
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ready[0]);
		take(ready[1]);
	}
	close(ready[1]);
	memory_make(true);
	if (read(ready[0], &byte, 1) != 1)
		return 1;
	send_all();
	close(ready[0]);
	waitpid(child, &status, 0);
	return status != 0;
}
