/* SPDX-License-Identifier: MIT */
/*
 * Prints what was sent, and what was left out on purpose: the sums of all
 * ports.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/gen/gen_priv.h"

struct sums {
	uint64_t packets, sent, lost, swapped, duplicated, heaps;
	uint64_t first, last; /* sequences, or counts of heaps, of port 0 */
};

/* Returns how many heaps with data a port has sent, as far as its plan got. */
static uint64_t
heaps_of(const struct gen *g, unsigned port, uint64_t packets)
{
	struct gen_piece p;

	gen_heaps_find(&g->heaps, port, packets - 1, &p);
	return p.heap + p.data - g->heaps.start;
}

static uint64_t
number(struct gen *g, uint64_t packet)
{
	struct gen_piece p;

	if (!g->of_heaps)
		return gen_frames_sequence(&g->frames, packet);
	gen_heaps_find(&g->heaps, 0, packet, &p);
	return g->heaps.count + p.heap * g->heaps.count_step;
}

static void
sum(struct gen *g, struct sums *s)
{
	const struct gen_plan *p = &g->port[0].plan;

	*s = (struct sums){ .first = number(g, 0) };
	s->last = number(g, p->next ? p->next - 1 : 0);
	for (unsigned i = 0; i < g->socket.ports; i++) {
		p = &g->port[i].plan;
		s->packets += p->next;
		s->sent += p->sent;
		s->lost += p->lost;
		s->swapped += p->swapped;
		s->duplicated += p->duplicated;
		if (g->of_heaps && p->next)
			s->heaps += heaps_of(g, i, p->next);
	}
}

static double
seconds(const struct gen *g)
{
	return (double)g->sender.elapsed_ns / NS_SECOND;
}

static double
rate(const struct gen *g)
{
	return g->sender.elapsed_ns ? 8.0 * (double)g->sender.bytes / seconds(g)
				    : 0;
}

/* Sequences are printed as text: they may be too large for readers of JSON. */
static void
print_json(const struct gen *g, const struct sums *s)
{
	char from[24], to[24];
	json_t *line;

	snprintf(from, sizeof from, "%" PRIu64, s->first);
	snprintf(to, sizeof to, "%" PRIu64, s->last);
	line = json_pack(
	    "{s:I s:I s:I s:I s:I s:I s:f s:f s:s s:s s:I}", "packets",
	    (json_int_t)s->packets, "sent", (json_int_t)s->sent, "lost",
	    (json_int_t)s->lost, "swapped", (json_int_t)s->swapped,
	    "duplicated", (json_int_t)s->duplicated, "bytes",
	    (json_int_t)g->sender.bytes, "seconds", seconds(g), "rate", rate(g),
	    "first", from, "last", to, "ports", (json_int_t)g->socket.ports);
	if (g->of_heaps)
		json_object_set_new(line, "heaps",
				    json_integer((json_int_t)s->heaps));
	cli_print_json(line);
	json_decref(line);
}

static void
print_text(const struct gen *g, const struct sums *s)
{
	char text[UNITS_TEXT];

	printf("sent        %" PRIu64 " packets, %s in %.2f s", s->sent,
	       units_show_bytes(text, g->sender.bytes), seconds(g));
	printf(", %s\n", units_show_rate(text, rate(g)));
	if (g->socket.ports > 1)
		printf("ports       %u\n", g->socket.ports);
	if (g->of_heaps)
		printf("heaps       %" PRIu64 "\n", s->heaps);
	printf("lost        %" PRIu64 " on purpose\n", s->lost);
	printf("swapped     %" PRIu64 "\n", s->swapped);
	printf("duplicated  %" PRIu64 "\n", s->duplicated);
	printf("%s    %" PRIu64 " to %" PRIu64 "\n",
	       g->of_heaps ? "counts  " : "sequence", s->first, s->last);
}

void
gen_report(const struct cli *cli, struct gen *g)
{
	struct sums s;

	sum(g, &s);
	if (g->socket.refused && !cli->quiet)
		fprintf(stderr,
			"spate: nobody was listening at %s for some of the "
			"time\n",
			g->args->to);
	if (g->socket.tcp && gen_tcp_broken(g->socket.tcp) && !cli->quiet)
		fprintf(stderr, "spate: %u of %u connections broke\n",
			gen_tcp_broken(g->socket.tcp),
			(unsigned)g->args->connections);
	if (cli->json)
		print_json(g, &s);
	else
		print_text(g, &s);
}
