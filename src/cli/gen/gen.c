/* SPDX-License-Identifier: MIT */
/*
 * spate gen: sends test traffic with known losses.
 *
 * The plan of each port says which packet is next, frames or heaps make it, and
 * a train of packets goes to the kernel with one call.  The plans count what
 * was sent and what was left out on purpose; the sums are printed at the end.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "cli/gen/gen_priv.h"
#include "wire/frame.h"

/* ns for a sender that was held up to catch up */
#define GRACE NS_SECOND

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

static bool
is_word(const char *word, const char *const *words)
{
	while (*words && strcmp(word, *words) != 0)
		words++;
	return *words;
}

static int
heap_args_check(const struct gen_args *a, struct fault *fault)
{
	static const char *const descriptors[] = { "none", "first", "all",
						   NULL };
	static const char *const control[] = { "none", "start", "stop", "both",
					       NULL };
	static const char *const turns[] = { "train", "heap", NULL };

	if (!is_word(a->descriptors, descriptors))
		return gen_refuse(fault, "which heaps have descriptors?",
				  "--descriptors none, first or all");
	if (!is_word(a->control, control))
		return gen_refuse(fault, "which control heaps are to be sent?",
				  "--control none, start, stop or both");
	if (!is_word(a->turn, turns))
		return gen_refuse(fault, "how do ports take turns?",
				  "--turn train or heap");
	if (a->flavour != 40 && a->flavour != 48)
		return gen_refuse(fault, "this is no flavour of SPEAD",
				  "--flavour 40 or 48");
	if (!a->heap_bytes || a->heap_bytes > UINT32_MAX)
		return gen_refuse(fault, "this is no size of a heap",
				  "--heap-bytes is from 1 to less than 4G");
	if (a->packet < 8 || a->packet > UINT16_MAX || !a->step)
		return gen_refuse(fault, "a number is out of bounds",
				  "--packet is from 88 to 65507, --step at "
				  "least 1");
	return 0;
}

static int
tcp_args_check(const struct gen_args *a, struct fault *fault)
{
	static const char *const frames[] = { "plain", "spt1", NULL };
	bool framed = strcmp(a->frames, "spt1") == 0;

	if (!is_word(a->frames, frames))
		return gen_refuse(fault, "what are the frames?",
				  "--frames plain or spt1");
	if (framed && strncmp(a->to, "tcp://", 6) != 0)
		return gen_refuse(fault, "spate's frames go over TCP",
				  "--to tcp://127.0.0.1:2630");
	if (!a->connections || a->connections > WIRE_CONNECTIONS ||
	    (a->connections > 1 && !framed))
		return gen_refuse(fault, "this is no number of connections",
				  "--connections is from 1 to 256, and 1 "
				  "without --frames spt1");
	if (framed && (a->reorder > 0 || a->duplicate > 0))
		return gen_refuse(fault, "frames keep the order of packets",
				  "--reorder and --duplicate are for UDP");
	return 0;
}

static int
args_check(const struct gen_args *a, struct fault *fault)
{
	int err;

	if (!a->to || !a->format)
		return gen_refuse(fault, "gen needs an address and a format",
				  "spate gen --to udp://127.0.0.1:46227 "
				  "--format vdif --for 10s");
	if (!a->run_ns && !a->packets && !a->heaps)
		return gen_refuse(fault, "gen does not run without end",
				  "say how long with --for, or how many with "
				  "--packets or --heaps");
	if (a->prefix > UINT16_MAX || a->payload > UINT16_MAX || !a->payload)
		return gen_refuse(fault, "this is no size of a datagram",
				  "--prefix and --payload are at most 65507 "
				  "bytes together");
	if (a->fps > UINT32_MAX || a->displace > UINT16_MAX || !a->displace ||
	    a->segment > UINT16_MAX)
		return gen_refuse(fault, "a number is out of bounds",
				  "--fps is below 2^32, --displace from 1 to "
				  "65535, --segment at most 65535");
	err = heap_args_check(a, fault);
	return err ? err : tcp_args_check(a, fault);
}

static int
gen_send(struct gen *g, struct fault *fault)
{
	int err;

	g->sender = (struct gen_sender){
		.port = g->port,
		.ports = g->socket.ports,
		.source = g->source,
		.socket = &g->socket,
		.by_heap = strcmp(g->args->turn, "heap") == 0,
		.rate = g->args->rate,
		.stop = &stop,
	};
	if (g->args->run_ns)
		g->sender.most_ns =
		    g->args->run_ns + (g->args->rate ? GRACE : 0);
	signals_catch();
	err = gen_sender_run(&g->sender);
	if (!err)
		err = gen_socket_end(&g->socket);
	if (!err)
		return 0;
	fault_set(fault, err, "io", "cannot send to %s", g->args->to);
	fault_why(fault, "%s", strerror(-err));
	return err;
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
		gen_report(cli, &g);
	gen_close(&g);
	return err ? cli_fail(&fault) : CLI_DONE;
}

#define AT(field) offsetof(struct gen_args, field)

static const struct args_option options[] = {
	{ "to", 0, ARGS_TEXT, AT(to), "URL",
	  "where to: udp://host:port or host:41000-41431, tcp://host:port, "
	  "IPv6 in brackets" },
	{ "format", 0, ARGS_TEXT, AT(format), "FORMAT",
	  "of the packets, as vdif, spead or raw" },
	{ "rate", 0, ARGS_RATE, AT(rate), "RATE",
	  "bits of datagrams per second, of all ports, or max (default "
	  "1Gbps)" },
	{ "for", 0, ARGS_SPAN, AT(run_ns), "SPAN", "how long" },
	{ "packets", 0, ARGS_COUNT, AT(packets), "N",
	  "how many to each port, with those that are lost on purpose" },
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
	  "what the counter begins with (default 0; of heaps 1)" },
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
	  "write what a recording should be; of ports to FILE.0, FILE.1 ..." },
	{ "segment", 0, ARGS_COUNT, AT(segment), "N",
	  "packets that the kernel cuts from one piece at most; 0: none "
	  "(default 64)" },
	{ "frames", 0, ARGS_TEXT, AT(frames), "KIND",
	  "tcp: plain bytes, or spt1, spate's own frames, without prefix "
	  "(default plain)" },
	{ "connections", 0, ARGS_COUNT, AT(connections), "N",
	  "tcp: with spt1, over how many (default 1)" },
	{ "heaps", 0, ARGS_COUNT, AT(heaps), "N",
	  "spead: how many heaps to each port" },
	{ "heap-bytes", 0, ARGS_BYTES, AT(heap_bytes), "SIZE",
	  "spead: of item 0x600A in each (default 4M)" },
	{ "packet", 0, ARGS_COUNT, AT(packet), "BYTES",
	  "spead: of a datagram, rounded down to 8 (default 8972)" },
	{ "flavour", 0, ARGS_COUNT, AT(flavour), "BITS",
	  "spead: of an address, 40 or 48 (default 48)" },
	{ "descriptors", 0, ARGS_TEXT, AT(descriptors), "WHICH",
	  "spead: none, first or all heaps have them (default first)" },
	{ "control", 0, ARGS_TEXT, AT(control), "WHICH",
	  "spead: control heaps, none, start, stop or both (default both)" },
	{ "step", 0, ARGS_COUNT, AT(step), "N",
	  "spead: of the count, from heap to heap (default 1)" },
	{ "time", 0, ARGS_COUNT, AT(time), "N",
	  "spead: item 0x1600 of the first heap (default 0)" },
	{ "time-step", 0, ARGS_COUNT, AT(time_step), "N",
	  "spead: of that, from heap to heap (default 1048576)" },
	{ "turn", 0, ARGS_TEXT, AT(turn), "BY",
	  "ports take turns by train or by heap (default train)" },
	{ .name = NULL },
};

static const struct gen_args defaults = {
	.rate = 1000000000,
	.prefix = 8,
	.payload = 8032,
	.displace = 1,
	.seed = 1,
	.segment = GEN_TRAIN,
	.connections = 1,
	.frames = "plain",
	.heap_bytes = 4 << 20,
	.packet = 8972,
	.flavour = 48,
	.step = 1,
	.time_step = 1 << 20,
	.descriptors = "first",
	.control = "both",
	.turn = "train",
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
