/* SPDX-License-Identifier: MIT */
/*
 * spate gen: sends test traffic with known losses.
 *
 *   plan -> frames or heaps -> train -> socket         one plan for each port
 *
 * The plan of each port says which packet is next, frames or heaps make it, and
 * a train of packets goes to the kernel with one call.  The plans count what
 * was sent and what was left out on purpose; the sums are printed at the end.
 *
 * Which options have a meaning depends on whether the format has heaps, which
 * is known when its plugin is loaded.  The rate is that of all ports together;
 * packets and heaps are counted for each port.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/gen/gen_frames.h"
#include "cli/gen/gen_heaps.h"
#include "cli/gen/gen_sender.h"
#include "cli/gen/gen_signal.h"
#include "cli/show/cli.h"
#include "wire/frame.h"

struct gen_args {
	const char *to, *format, *sequence, *threads, *dump;
	uint64_t rate, packets, fps, prefix, payload, first, displace, seed;
	uint64_t segment, connections;
	const char *frames;
	int64_t run_ns, start_ns;
	double loss, reorder, duplicate;
	struct args_texts options;
	bool on_time, with_signal;
	int64_t behind_ns, ahead_ns, step_ns;
	double drift;
	struct gen_signal_args signal;

	/* Options of formats with heaps. */
	uint64_t heaps, heap_bytes, packet, flavour, step, time, time_step;
	const char *descriptors, *control, *turn;
};

struct gen {
	const struct gen_args *args;
	struct gen_format format;
	bool of_heaps;
	struct gen_frames frames;  /* used if the format has no heaps */
	struct gen_signal *signal; /* what is in them; NULL: random bytes */
	struct gen_heaps heaps;
	struct gen_source *source; /* one of the two above */
	struct gen_socket socket;
	struct gen_port *port;
	struct gen_sender sender;
};

/* Makes a fault about the command line; returns -EINVAL. */
static int
gen_refuse(struct fault *fault, const char *what, const char *hint)
{
	fault_set(fault, -EINVAL, "usage", "%s", what);
	fault_hint(fault, "%s", hint);
	return -EINVAL;
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
		return fault_no_memory(fault);
	for (unsigned i = 0; i < g->socket.ports; i++) {
		chances.seed = g->args->seed + i * UINT64_C(0x10000);
		gen_plan_init(&g->port[i].plan, &chances, packets);
		if (g->of_heaps)
			gen_heaps_plan(&g->heaps, i, packets);
	}
	return 0;
}

/* ---- sources ----------------------------------------------------------- */

static bool
by_clock(const struct gen_args *a)
{
	return a->on_time || a->behind_ns || a->ahead_ns || a->step_ns ||
	       a->drift > 0;
}

/* Returns how long after the time of its data a packet is to be sent. */
static int64_t
behind(const struct gen_args *a)
{
	return a->behind_ns - a->ahead_ns;
}

#define READY (NS_SECOND / 2) /* to open everything */
#define NEAR  (650 * NS_MS)   /* so that data are hardly ever behind */

static int64_t
start_ns(const struct gen_args *a)
{
	if (a->start_ns)
		return a->start_ns;
	if (by_clock(a))
		return ((clock_now() + READY - behind(a)) / NS_SECOND + 1) *
		       NS_SECOND;
	/* Data that are near now, and a second that begins with them. */
	return (clock_now() + NEAR) / NS_SECOND * NS_SECOND;
}

static bool
has_signal(const struct gen_args *a)
{
	return a->with_signal || a->signal.tones || a->signal.defects.n;
}

static int
frames_make(struct gen *g, int64_t start, struct fault *fault)
{
	const struct format_shape *s = &g->format.shape;
	int err = 0;

	if (g->args->heaps)
		return gen_refuse(fault, "this format has no heaps",
				  "say how many with --packets, or how long "
				  "with --for");
	if (has_signal(g->args))
		err = gen_signal_open(&g->signal, &g->args->signal,
				      g->format.ops, s, g->args->seed, fault);
	if (err)
		return err;
	g->frames = (struct gen_frames){
		.format = g->format.ops,
		.signal = g->signal,
		.shape = s,
		.seed = g->args->seed,
		.first = g->args->first,
		.second = start / NS_SECOND,
		.frame = (uint32_t)((double)(start % NS_SECOND) * s->fps /
				    NS_SECOND),
	};
	g->source = &g->frames.source;
	return gen_frames_init(&g->frames) < 0 ? fault_no_memory(fault) : 0;
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

	if (has_signal(a))
		return gen_refuse(fault, "heaps have no signal",
				  "--signal is for vdif and mark5b");
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
		return gen_refuse(fault,
				  "the size of a packet is out of bounds",
				  "--packet is from 88 to 65507 bytes, as 1472 "
				  "or 8968");
	return err ? fault_no_memory(fault) : 0;
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

static void
gen_close(struct gen *g)
{
	free(g->port);
	if (g->of_heaps)
		gen_heaps_finish(&g->heaps);
	else
		gen_frames_finish(&g->frames);
	gen_signal_close(g->signal);
	gen_socket_close(&g->socket);
	gen_format_close(&g->format);
}

/*
 * Makes everything that is needed to send.  Returns 0, or -errno with a fault.
 */
static int
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

/* ---- the dump ---------------------------------------------------------- */

/*
 * A dump is what a recording should contain: all packets that a port's plan
 * numbered, as if none had been lost.
 *
 *   frames         their payloads
 *   heaps          each as one packet with all its items
 *   heaps, a cube  the data of each
 */

static bool
put(FILE *to, const void *data, size_t bytes)
{
	return !bytes || fwrite(data, bytes, 1, to) == 1;
}

static bool
frame_dump(struct gen *g, unsigned port, uint64_t packet, FILE *to)
{
	const struct format_shape *s = &g->format.shape;
	const uint8_t *datagram = gen_frames_make(&g->frames, port, packet);

	return put(to, datagram + s->prefix, s->payload);
}

/* Writes a packet without its first `skip` bytes. */
static bool
rest_dump(struct gen *g, unsigned port, uint64_t packet, size_t skip, FILE *to)
{
	struct iovec piece[GEN_PIECES];
	unsigned n = g->source->ops->make(g->source, port, packet, piece);
	bool good = true;

	for (unsigned i = 0; i < n && good; i++) {
		size_t less = skip < piece[i].iov_len ? skip : piece[i].iov_len;

		good = put(to, (uint8_t *)piece[i].iov_base + less,
			   piece[i].iov_len - less);
		skip -= less;
	}
	return good;
}

static bool
heap_dump(struct gen *g, unsigned port, uint64_t packet, FILE *to)
{
	bool cube = g->format.shape.store == HEAP_CUBE;
	uint8_t header[GEN_HEAD];
	struct gen_piece p;
	uint64_t skip = 0;

	gen_heaps_find(&g->heaps, port, packet, &p);
	if (cube && !p.data)
		return true;
	if (cube && p.offset < p.kind->front_bytes)
		skip = p.kind->front_bytes - p.offset;
	if (!cube && p.packet == 0 &&
	    !put(to, header, gen_heaps_header(&g->heaps, &p, header)))
		return false;
	if (skip > p.bytes)
		skip = p.bytes;
	return rest_dump(g, port, packet, p.header + skip, to);
}

static int
port_dump(struct gen *g, unsigned port, const char *file)
{
	FILE *to = fopen(file, "we");
	int err = to ? 0 : -errno;
	bool good;

	for (uint64_t i = 0; !err && i < g->port[port].plan.next; i++) {
		if (g->of_heaps)
			good = heap_dump(g, port, i, to);
		else
			good = frame_dump(g, port, i, to);
		if (!good)
			err = -errno;
	}
	if (to && fclose(to) != 0 && !err)
		err = -errno;
	return err;
}

/*
 * Writes what a recording of each port should contain: `file` for a single
 * port; file.0, file.1 ... for a range.  Returns 0, or -errno with a fault.
 */
static int
gen_dump(struct gen *g, struct fault *fault)
{
	char *file = NULL;
	int err = 0;

	for (unsigned i = 0; !err && i < g->socket.ports; i++) {
		free(file);
		if (asprintf(&file, g->socket.ports > 1 ? "%s.%u" : "%s",
			     g->args->dump, i) < 0)
			return fault_no_memory(fault);
		err = port_dump(g, i, file);
	}
	if (err) {
		fault_set(fault, err, "io", "cannot write %s", file);
		fault_why(fault, "%s", strerror(-err));
	}
	free(file);
	return err;
}

/* ---- the report -------------------------------------------------------- */

struct gen_sums {
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
sum(struct gen *g, struct gen_sums *s)
{
	const struct gen_plan *p = &g->port[0].plan;

	*s = (struct gen_sums){ .first = number(g, 0) };
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

/* Returns the list of times in which the sender was late. */
static json_t *
late_json(const struct gen_sender *s)
{
	int64_t utc = clock_now() - clock_steady();
	char from[UNITS_TEXT], to[UNITS_TEXT];
	json_t *list = json_array();

	for (unsigned i = 0; i < s->lates; i++) {
		const struct gen_late *l = &s->late[i];

		json_array_append_new(
		    list, json_pack("{s:s s:s s:f}", "from",
				    units_show_time(from, utc + l->from), "to",
				    units_show_time(to, utc + l->to), "late_s",
				    (double)l->most_ns / NS_SECOND));
	}
	return list;
}

/* Sequences are printed as text: they may be too large for readers of JSON. */
static void
print_json(const struct gen *g, const struct gen_sums *s)
{
	char from[24], to[24];
	json_t *line;

	snprintf(from, sizeof from, "%" PRIu64, s->first);
	snprintf(to, sizeof to, "%" PRIu64, s->last);
	line = json_pack(
	    "{s:I s:I s:I s:I s:I s:I s:f s:f s:f s:s s:s s:I}", "packets",
	    (json_int_t)s->packets, "sent", (json_int_t)s->sent, "lost",
	    (json_int_t)s->lost, "swapped", (json_int_t)s->swapped,
	    "duplicated", (json_int_t)s->duplicated, "bytes",
	    (json_int_t)g->sender.bytes, "seconds", seconds(g), "late_s",
	    (double)g->sender.late_ns / NS_SECOND, "rate", rate(g), "first",
	    from, "last", to, "ports", (json_int_t)g->socket.ports);
	json_object_set_new(line, "late", late_json(&g->sender));
	if (g->of_heaps)
		json_object_set_new(line, "heaps",
				    json_integer((json_int_t)s->heaps));
	cli_print_json(line);
	json_decref(line);
}

static void
print_text(const struct gen *g, const struct gen_sums *s)
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

/* Prints what was sent, or one JSON line with --json. */
static void
gen_report(const struct cli *cli, struct gen *g)
{
	struct gen_sums s;

	sum(g, &s);
	if (g->socket.refused && !cli->quiet)
		fprintf(stderr,
			"spate: no program listened at %s for some of the "
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

/* ---- the command -------------------------------------------------------- */

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
		return gen_refuse(fault, "SPEAD has no such flavour",
				  "--flavour 40 or 48");
	if (!a->heap_bytes || a->heap_bytes > UINT32_MAX)
		return gen_refuse(fault, "the size of a heap is out of bounds",
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
		return gen_refuse(fault, "which frames are to be sent?",
				  "--frames plain or spt1");
	if (framed && strncmp(a->to, "tcp://", 6) != 0)
		return gen_refuse(fault, "spate's frames go over TCP",
				  "--to tcp://127.0.0.1:2630");
	if (!a->connections || a->connections > WIRE_CONNECTIONS ||
	    (a->connections > 1 && !framed))
		return gen_refuse(fault,
				  "the number of connections is out of bounds",
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
		return gen_refuse(fault,
				  "the size of a datagram is out of bounds",
				  "--prefix and --payload are at most 65507 "
				  "bytes together");
	if (by_clock(a) && (a->start_ns || strcmp(a->format, "spead") == 0))
		return gen_refuse(fault, "the clock says when packets go",
				  "--on-time, --behind, --ahead, --clock-step "
				  "and --clock-drift without --start, for "
				  "vdif and mark5b");
	if (a->fps > UINT32_MAX || a->displace > UINT16_MAX || !a->displace ||
	    a->segment > UINT16_MAX)
		return gen_refuse(fault, "a number is out of bounds",
				  "--fps is below 2^32, --displace from 1 to "
				  "65535, --segment at most 65535");
	err = heap_args_check(a, fault);
	return err ? err : tcp_args_check(a, fault);
}

/* Makes each packet due at the time of its data, or at a wrong one. */
static void
clock_set(struct gen *g)
{
	const struct format_shape *s = &g->format.shape;
	int64_t due = g->frames.second * NS_SECOND +
		      (int64_t)g->frames.frame * NS_SECOND / s->fps +
		      behind(g->args);

	g->sender.exact_ns = (double)NS_SECOND / s->fps / s->threads_n /
			     s->parts / g->socket.ports;
	g->sender.begin_ns = clock_steady() + due - clock_now();
	g->sender.step_ns = g->args->step_ns;
	g->sender.drift = g->args->drift;
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
	if (by_clock(g->args))
		clock_set(g);
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
	  "of the first frame's data (default a whole second near now)" },
	{ "on-time", 0, ARGS_FLAG, AT(on_time), NULL,
	  "send each frame at the time of its data" },
	{ "behind", 0, ARGS_SPAN, AT(behind_ns), "SPAN",
	  "send each frame so long after the time of its data" },
	{ "ahead", 0, ARGS_SPAN, AT(ahead_ns), "SPAN", "... or before it" },
	{ "clock-step", 0, ARGS_SPAN, AT(step_ns), "SPAN",
	  "the data's time falls behind by this every 5 seconds" },
	{ "clock-drift", 0, ARGS_SHARE, AT(drift), "SHARE",
	  "the data's seconds are longer by this share, as 1e-6" },
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
	{ "signal", 0, ARGS_FLAG, AT(with_signal), NULL,
	  "data is noise of a receiver, in samples of 2 bits" },
	{ "tones", 0, ARGS_COUNT, AT(signal.tones), "HZ",
	  "a signal with phase-cal tones, so far apart" },
	{ "tone-phase", 0, ARGS_COUNT, AT(signal.tone_phase), "DEGREES",
	  "of the tones at the beginning of a second (default 0)" },
	{ "tone-delay", 0, ARGS_SPAN, AT(signal.tone_delay), "SPAN",
	  "of the tones, as 0.012us (default 0)" },
	{ "tone-drift", 0, ARGS_SHARE, AT(signal.tone_drift), "SHARE",
	  "of the time by which that delay grows from 0:00 UTC on, as 1e-9 "
	  "(default 0)" },
	{ "tone-level", 0, ARGS_SHARE, AT(signal.tone_level), "SHARE",
	  "amplitude of a tone, of the noise's rms (default 0.05)" },
	{ "defect", 0, ARGS_TEXTS, AT(signal.defects), "NAME=THREAD/CHANNEL",
	  "a signal that spate info --quality finds, as dead=0/3" },
	{ "channels", 0, ARGS_COUNT, AT(signal.channels), "N",
	  "mark5b: of a signal (default 16)" },
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
	.signal = { .channels = 16, .tone_level = 0.05 },
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
