/* SPDX-License-Identifier: MIT */
/*
 * spate gen: test traffic, with losses that are known.
 *
 *   plan -> frames -> train -> socket
 *
 * The plan says which packet is next, frames make it, a train carries some
 * of them to the kernel.  What was sent, and what was lost on the way to
 * the socket on purpose, is counted by the plan and printed at the end.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/gen_format.h"
#include "cli/gen_sender.h"

#define SECOND INT64_C(1000000000)
#define GRACE  SECOND /* in which a sender that was held up may catch up */

struct gen_args {
	const char *to, *format, *sequence, *threads, *dump;
	uint64_t rate, packets, fps, prefix, payload, first, displace, seed;
	int64_t run_ns, start_ns;
	double loss, reorder, duplicate;
	struct args_texts options;
};

struct gen {
	const struct gen_args *args;
	struct gen_format format;
	struct gen_plan plan;
	struct gen_frames frames;
	struct gen_socket socket;
	struct gen_sender sender;
};

static volatile sig_atomic_t stop;

static void
stop_set(int number)
{
	(void)number;
	stop = 1;
}

static void
signals_catch(void)
{
	const struct sigaction action = { .sa_handler = stop_set };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static int
refuse(struct fault *fault, const char *what, const char *hint)
{
	fault_set(fault, -EINVAL, "usage", "%s", what);
	fault_hint(fault, "%s", hint);
	return -EINVAL;
}

static int
args_check(const struct gen_args *a, struct fault *fault)
{
	if (!a->to || !a->format)
		return refuse(fault, "gen needs an address and a format",
			      "spate gen --to udp://127.0.0.1:46227 "
			      "--format vdif --for 10s");
	if (!a->run_ns && !a->packets)
		return refuse(fault, "gen does not run without end",
			      "say how long with --for, or how many with "
			      "--packets");
	if (a->prefix > UINT16_MAX || a->payload > UINT16_MAX || !a->payload)
		return refuse(fault, "this is no size of a datagram",
			      "--prefix and --payload are at most 65507 "
			      "bytes together");
	if (a->fps > UINT32_MAX || a->displace > UINT16_MAX || !a->displace)
		return refuse(fault, "a number is out of bounds",
			      "--fps is below 2^32, --displace from 1 to "
			      "65535");
	return 0;
}

/* The end is known by --packets, by rate and time, or when it comes. */
static uint64_t
packets_planned(const struct gen_args *a)
{
	double bits = 8.0 * (double)(a->prefix + a->payload);
	uint64_t n = a->packets ? a->packets : UINT64_MAX;
	double in_time;

	if (!a->run_ns || !a->rate)
		return n;
	in_time = (double)a->rate * (double)a->run_ns / SECOND / bits;
	if (in_time < (double)n)
		n = in_time < 1 ? 1 : (uint64_t)in_time;
	return n;
}

static void
plan_make(struct gen *g)
{
	const struct gen_chances chances = {
		.loss = g->args->loss,
		.reorder = g->args->reorder,
		.duplicate = g->args->duplicate,
		.displace = (uint32_t)g->args->displace,
		.seed = g->args->seed,
	};

	gen_plan_init(&g->plan, &chances, packets_planned(g->args));
}

static int64_t
start_ns(const struct gen_args *a)
{
	if (a->start_ns)
		return a->start_ns;
	return (clock_now() / SECOND + 1) * SECOND;
}

static int
frames_make(struct gen *g, int64_t start, struct fault *fault)
{
	const struct format_shape *s = &g->format.shape;

	g->frames = (struct gen_frames){
		.format = g->format.ops,
		.shape = s,
		.seed = g->args->seed,
		.first = g->args->first,
		.second = start / SECOND,
		.frame = (uint32_t)((double)(start % SECOND) * s->fps / SECOND),
	};
	if (gen_frames_init(&g->frames) < 0)
		return fault_set(fault, -ENOMEM, "no-memory", "no memory");
	return 0;
}

static int
gen_open(struct gen *g, struct fault *fault)
{
	const struct gen_args *a = g->args;
	int64_t start = start_ns(a);
	const struct gen_wish wish = {
		.format = a->format,
		.sequence = a->sequence,
		.threads = a->threads,
		.options = &a->options,
		.prefix = (uint32_t)a->prefix,
		.payload = (uint32_t)a->payload,
		.fps = (uint32_t)a->fps,
		.rate = a->rate,
		.around = start / SECOND,
	};
	int err = gen_format_open(&g->format, &wish, fault);

	if (err)
		return err;
	err = frames_make(g, start, fault);
	if (err)
		goto close_format;
	err = gen_socket_open(&g->socket, a->to, g->frames.bytes, fault);
	if (err)
		goto finish_frames;
	plan_make(g);
	return 0;

finish_frames:
	gen_frames_finish(&g->frames);
close_format:
	gen_format_close(&g->format);
	return err;
}

static void
gen_close(struct gen *g)
{
	gen_socket_close(&g->socket);
	gen_frames_finish(&g->frames);
	gen_format_close(&g->format);
}

static int
gen_send(struct gen *g, struct fault *fault)
{
	int err;

	g->sender = (struct gen_sender){
		.plan = &g->plan,
		.frames = &g->frames,
		.socket = &g->socket,
		.rate = g->args->rate,
		.stop = &stop,
	};
	if (g->args->run_ns)
		g->sender.most_ns =
		    g->args->run_ns + (g->args->rate ? GRACE : 0);
	signals_catch();
	err = gen_sender_run(&g->sender);
	if (!err)
		return 0;
	fault_set(fault, err, "io", "cannot send to %s", g->args->to);
	fault_why(fault, "%s", strerror(-err));
	return err;
}

/* The payloads of all packets that the plan has numbered, as if none had
 * been lost: what a recording of them should be. */
static int
gen_dump(struct gen *g, struct fault *fault)
{
	const struct format_shape *s = &g->format.shape;
	FILE *to = fopen(g->args->dump, "we");
	int err = to ? 0 : -errno;

	for (uint64_t i = 0; !err && i < g->plan.next; i++) {
		const uint8_t *datagram = gen_frames_make(&g->frames, i);

		if (fwrite(datagram + s->prefix, s->payload, 1, to) != 1)
			err = -errno;
	}
	if (to && fclose(to) != 0 && !err)
		err = -errno;
	if (!err)
		return 0;
	fault_set(fault, err, "io", "cannot write %s", g->args->dump);
	fault_why(fault, "%s", strerror(-err));
	return err;
}

static double
seconds(const struct gen *g)
{
	return (double)g->sender.elapsed_ns / SECOND;
}

static double
rate(const struct gen *g)
{
	return g->sender.elapsed_ns ? 8.0 * (double)g->sender.bytes / seconds(g)
				    : 0;
}

/* Sequences are text: they may be larger than JSON's readers can count. */
static void
print_json(struct gen *g, uint64_t first, uint64_t last)
{
	const struct gen_plan *p = &g->plan;
	char from[24], to[24];
	json_t *line;

	snprintf(from, sizeof from, "%" PRIu64, first);
	snprintf(to, sizeof to, "%" PRIu64, last);
	line =
	    json_pack("{s:I s:I s:I s:I s:I s:I s:f s:f s:s s:s}", "packets",
		      (json_int_t)p->next, "sent", (json_int_t)p->sent, "lost",
		      (json_int_t)p->lost, "swapped", (json_int_t)p->swapped,
		      "duplicated", (json_int_t)p->duplicated, "bytes",
		      (json_int_t)g->sender.bytes, "seconds", seconds(g),
		      "rate", rate(g), "first", from, "last", to);
	cli_print_json(line);
	json_decref(line);
}

static void
print_text(struct gen *g, uint64_t first, uint64_t last)
{
	const struct gen_plan *p = &g->plan;
	char text[UNITS_TEXT];

	printf("sent        %" PRIu64 " packets, %s in %.2f s", p->sent,
	       units_show_bytes(text, g->sender.bytes), seconds(g));
	printf(", %s\n", units_show_rate(text, rate(g)));
	printf("lost        %" PRIu64 " on purpose\n", p->lost);
	printf("swapped     %" PRIu64 "\n", p->swapped);
	printf("duplicated  %" PRIu64 "\n", p->duplicated);
	printf("sequence    %" PRIu64 " to %" PRIu64 "\n", first, last);
}

static void
report(const struct cli *cli, struct gen *g)
{
	uint64_t first = gen_frames_sequence(&g->frames, 0);
	uint64_t last = g->plan.next ? g->plan.next - 1 : 0;

	last = gen_frames_sequence(&g->frames, last);
	if (g->socket.refused && !cli->quiet)
		fprintf(stderr,
			"spate: nobody was listening at %s for some of the "
			"time\n",
			g->args->to);
	if (cli->json)
		print_json(g, first, last);
	else
		print_text(g, first, last);
}

static int
run(const struct cli *cli, const void *values, char **operand)
{
	struct gen g = { .args = values };
	struct fault fault;
	int err = args_check(g.args, &fault);

	(void)operand;
	if (!err)
		err = gen_open(&g, &fault);
	if (err)
		return cli_fail(&fault);
	err = gen_send(&g, &fault);
	if (!err && g.args->dump)
		err = gen_dump(&g, &fault);
	if (!err)
		report(cli, &g);
	gen_close(&g);
	return err ? cli_fail(&fault) : CLI_DONE;
}

#define AT(field) offsetof(struct gen_args, field)

static const struct args_option options[] = {
	{ "to", 0, ARGS_TEXT, AT(to), "URL",
	  "where to: udp://host:port, IPv6 in brackets, or a multicast group" },
	{ "format", 0, ARGS_TEXT, AT(format), "FORMAT",
	  "of the packets, as vdif or raw" },
	{ "rate", 0, ARGS_RATE, AT(rate), "RATE",
	  "bits of prefix and payload per second, or max (default 1Gbps)" },
	{ "for", 0, ARGS_SPAN, AT(run_ns), "SPAN", "how long" },
	{ "packets", 0, ARGS_COUNT, AT(packets), "N",
	  "how many, with those that are lost on purpose" },
	{ "loss", 0, ARGS_SHARE, AT(loss), "SHARE",
	  "of the packets are not sent" },
	{ "reorder", 0, ARGS_SHARE, AT(reorder), "SHARE",
	  "of the packets are sent after the next one" },
	{ "displace", 0, ARGS_COUNT, AT(displace), "N",
	  "reordered packets come up to N packets late (default 1)" },
	{ "duplicate", 0, ARGS_SHARE, AT(duplicate), "SHARE",
	  "of the packets are sent twice" },
	{ "prefix", 0, ARGS_COUNT, AT(prefix), "BYTES",
	  "before the payload, for the counter (default 8)" },
	{ "payload", 0, ARGS_COUNT, AT(payload), "BYTES",
	  "of each packet, frame header included (default 8032)" },
	{ "sequence", 0, ARGS_TEXT, AT(sequence), "PLACE",
	  "of the counter: le64@0, le32@4, be64@0, edv2, time ..." },
	{ "first", 0, ARGS_COUNT, AT(first), "N",
	  "what the counter begins with (default 0)" },
	{ "start", 0, ARGS_TIME, AT(start_ns), "TIME",
	  "of the first frame's data (default the next whole second)" },
	{ "threads", 0, ARGS_TEXT, AT(threads), "LIST",
	  "thread numbers in the order of sending (default 0)" },
	{ "fps", 0, ARGS_COUNT, AT(fps), "N",
	  "frames per second of each thread's data time (default by rate)" },
	{ "seed", 0, ARGS_COUNT, AT(seed), "N",
	  "of the data and of what happens to it (default 1)" },
	{ "option", 'o', ARGS_TEXTS, AT(options), "KEY=VALUE",
	  "an option of the format; see spate.conf(5)" },
	{ "dump", 0, ARGS_TEXT, AT(dump), "FILE",
	  "write the payloads there as if nothing had been lost" },
	{ .name = NULL },
};

static const struct gen_args defaults = {
	.rate = 1000000000,
	.prefix = 8,
	.payload = 8032,
	.displace = 1,
	.seed = 1,
};

const struct command command_gen = {
	.name = "gen",
	.operands = "",
	.help = "Send test traffic, with known losses if wanted",
	.options = options,
	.defaults = &defaults,
	.bytes = sizeof defaults,
	.run = run,
};
