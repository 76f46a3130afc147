/* SPDX-License-Identifier: MIT */
/*
 * Turns the options into plans, a source of packets and a socket.  Which
 * options have a meaning depends on whether the format has heaps, which is
 * known when its plugin is loaded.
 *
 * The rate is that of all ports together; packets and heaps are counted for
 * each port.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/gen/gen_priv.h"

int
gen_refuse(struct fault *fault, const char *what, const char *hint)
{
	fault_set(fault, -EINVAL, "usage", "%s", what);
	fault_hint(fault, "%s", hint);
	return -EINVAL;
}

static int
no_memory(struct fault *fault)
{
	return fault_set(fault, -ENOMEM, "no-memory", "no memory");
}

/* ---- plans ------------------------------------------------------------- */

/* Returns how many packets of `bytes` fit in the time; UINT64_MAX: no limit. */
static uint64_t
fitting(const struct gen *g, double bytes)
{
	const struct gen_args *a = g->args;
	double n;

	if (!a->run_ns || !a->rate)
		return UINT64_MAX;
	n = (double)a->rate * (double)a->run_ns / NS_SECOND / 8 / bytes /
	    g->socket.ports;
	return n < 1 ? 1 : n < 0x1p63 ? (uint64_t)n : UINT64_MAX;
}

/*
 * Returns the packets of each port: limited by a number, by rate and time, or
 * not at all.
 */
static uint64_t
packets_planned(const struct gen *g)
{
	const struct gen_heaps *h = &g->heaps;
	double bytes = g->source->mean;
	uint64_t asked = g->of_heaps ? g->args->heaps : g->args->packets;
	uint64_t n;

	if (g->of_heaps)
		bytes *= (double)h->plain.packets;
	n = fitting(g, bytes);
	if (asked && asked < n)
		n = asked;
	if (g->of_heaps && n != UINT64_MAX)
		n = gen_heaps_packets(h, n);
	return n;
}

static int
plans_make(struct gen *g, struct fault *fault)
{
	struct gen_chances chances = {
		.loss = g->args->loss,
		.reorder = g->args->reorder,
		.duplicate = g->args->duplicate,
		.displace = (uint32_t)g->args->displace,
	};
	uint64_t packets = packets_planned(g);

	g->port = calloc(g->socket.ports, sizeof *g->port);
	if (!g->port)
		return no_memory(fault);
	for (unsigned i = 0; i < g->socket.ports; i++) {
		chances.seed = g->args->seed + i * UINT64_C(0x10000);
		gen_plan_init(&g->port[i].plan, &chances, packets);
		if (g->of_heaps)
			gen_heaps_plan(&g->heaps, i, packets);
	}
	return 0;
}

/* ---- sources ----------------------------------------------------------- */

static int64_t
start_ns(const struct gen_args *a)
{
	if (a->start_ns)
		return a->start_ns;
	return (clock_now() / NS_SECOND + 1) * NS_SECOND;
}

static int
frames_make(struct gen *g, int64_t start, struct fault *fault)
{
	const struct format_shape *s = &g->format.shape;

	if (g->args->heaps)
		return gen_refuse(fault, "this format has no heaps",
				  "say how many with --packets, or how long "
				  "with --for");
	g->frames = (struct gen_frames){
		.format = g->format.ops,
		.shape = s,
		.seed = g->args->seed,
		.first = g->args->first,
		.second = start / NS_SECOND,
		.frame = (uint32_t)((double)(start % NS_SECOND) * s->fps /
				    NS_SECOND),
	};
	g->source = &g->frames.source;
	return gen_frames_init(&g->frames) < 0 ? no_memory(fault) : 0;
}

static bool
is_one_of(const char *word, const char *a, const char *b)
{
	return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

static enum gen_describe
describe_read(const char *word)
{
	if (strcmp(word, "none") == 0)
		return DESCRIBE_NONE;
	return strcmp(word, "all") == 0 ? DESCRIBE_ALL : DESCRIBE_FIRST;
}

static int
heaps_make(struct gen *g, unsigned ports, struct fault *fault)
{
	const struct gen_args *a = g->args;
	int err;

	g->heaps = (struct gen_heaps){
		.bits = (unsigned)a->flavour,
		/* rounded down, as spead2 does */
		.packet = (uint32_t)a->packet / 8 * 8,
		.bytes = a->heap_bytes,
		.describe = describe_read(a->descriptors),
		.start = is_one_of(a->control, "start", "both"),
		.stop = is_one_of(a->control, "stop", "both"),
		.seed = a->seed,
		.count = a->first ? a->first : 1,
		.count_step = a->step,
		.time = a->time,
		.time_step = a->time_step,
		.ports = ports,
	};
	g->source = &g->heaps.source;
	err = gen_heaps_init(&g->heaps);
	if (err == -EMSGSIZE)
		return gen_refuse(fault, "this is no size of a packet",
				  "--packet is from 88 to 65507 bytes, as 1472 "
				  "or 8968");
	return err ? no_memory(fault) : 0;
}

/* ---- opening and closing ----------------------------------------------- */

static int
format_open(struct gen *g, int64_t start, struct fault *fault)
{
	const struct gen_args *a = g->args;
	const struct gen_wish wish = {
		.format = a->format,
		.sequence = a->sequence,
		.threads = a->threads,
		.options = &a->options,
		.prefix = (uint32_t)a->prefix,
		.payload = (uint32_t)a->payload,
		.heap = (uint32_t)a->heap_bytes,
		.fps = (uint32_t)a->fps,
		.rate = a->rate,
		.around = start / NS_SECOND,
	};
	int err = gen_format_open(&g->format, &wish, fault);

	if (err)
		return err;
	g->of_heaps = g->format.ops->piece;
	if (!g->of_heaps || !a->packets)
		return 0;
	gen_format_close(&g->format);
	return gen_refuse(fault, "this format counts heaps, not packets",
			  "say how many with --heaps, or how long with --for");
}

static uint32_t
datagram_bytes(const struct gen *g)
{
	if (g->of_heaps)
		return (uint32_t)g->args->packet / 8 * 8;
	return g->format.shape.prefix + g->format.shape.payload;
}

static int
source_make(struct gen *g, int64_t start, struct fault *fault)
{
	int err;

	if (g->of_heaps && g->socket.tcp)
		err = gen_refuse(fault, "heaps come in datagrams",
				 "spate gen --to udp://...");
	else if (g->of_heaps)
		err = heaps_make(g, g->socket.ports, fault);
	else
		err = frames_make(g, start, fault);
	if (!err)
		err = plans_make(g, fault);
	return err;
}

int
gen_open(struct gen *g, struct fault *fault)
{
	struct gen_to to = { .url = g->args->to,
			     .segment = (unsigned)g->args->segment };
	int64_t start = start_ns(g->args);
	int err = format_open(g, start, fault);

	if (err)
		return err;
	to.bytes = datagram_bytes(g);
	to.tcp = (struct gen_tcp_args){
		.framed = strcmp(g->args->frames, "spt1") == 0,
		.connections = (unsigned)g->args->connections,
		.prefix = g->format.shape.prefix,
		.payload = g->format.shape.payload,
	};
	err = gen_socket_open(&g->socket, &to, fault);
	if (err)
		goto close_format;
	err = source_make(g, start, fault);
	if (err)
		gen_close(g);
	return err;

close_format:
	gen_format_close(&g->format);
	return err;
}

void
gen_close(struct gen *g)
{
	free(g->port);
	if (g->of_heaps)
		gen_heaps_finish(&g->heaps);
	else
		gen_frames_finish(&g->frames);
	gen_socket_close(&g->socket);
	gen_format_close(&g->format);
}
