/* SPDX-License-Identifier: MIT */
/*
 * spate rehearse: records test traffic on this machine and its disks as they are
 * now, at the rate of tonight's schedule and above, and says what holds.
 *
 *             rate, x 1.5, x 2, ...        up to the first that does not hold
 *   network   n runs   n runs
 *   disks     n runs   n runs    ...       a rate holds if all its runs are clean
 *   both      n runs   n runs
 *
 * A run is clean if every packet that was sent is in the recording, and the disks
 * were not behind at its end.  Sender and recorder share this machine, so the
 * ceiling of the network may be the sender's; then it says so.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/rehearse/bench.h"
#include "cli/show/cli.h"
#include "cli/show/field.h"
#include "cli/show/site.h"
#include "cli/show/table.h"
#include "cli/show/terminal.h"
#include "store/disk/file.h"

enum {
	STEPS = 7,
	RUNS_MOST = 100,
	PORTS_MOST = 1024,
	SLOW = 70 /* percent of the middle disk */
};

/* Tenths of the rate. */
static const unsigned step_tenths[STEPS] = { 10, 15, 20, 30, 40, 60, 80 };

static const char *const way_name[BENCH_WAYS] = { "network", "disks", "both" };

struct rehearse_args {
	const char *schedule;
	uint64_t rate, runs, payload, ports;
	int64_t span_ns;
	bool once;
};

/* The configuration, or NULL where there is none. */
static const char *
conf_path(const struct cli *cli)
{
	if (cli->conf)
		return cli->conf;
	return access(SPATE_CONF, R_OK) == 0 ? SPATE_CONF : NULL;
}

/* The results of all runs of one way at one rate. */
struct rung {
	unsigned runs, clean, voids;
	char why[300]; /* of the first that was not clean */
};

struct rehearsal {
	const struct cli *cli;
	const struct rehearse_args *args;
	struct disks disks;
	struct traffic traffic;
	struct rung rung[STEPS][BENCH_WAYS];
	unsigned steps;	       /* that were climbed */
	bool over[BENCH_WAYS]; /* a rate did not hold */
	json_t *speeds;	       /* disks, after their runs at the rate */
	struct progress_bar bar;
	uint64_t done;
};

static volatile sig_atomic_t stopped;

static void
stop(int number)
{
	(void)number;
	stopped = 1;
}

/* ---- what is rehearsed ------------------------------------------------- */

static int
traffic_find(struct rehearsal *r, struct fault *fault)
{
	const struct rehearse_args *a = r->args;
	const struct traffic_stream one = {
		.rate = a->rate,
		.payload = (uint32_t)a->payload,
		.prefix = TRAFFIC_PREFIX,
		.ports = (unsigned)a->ports,
	};

	if (!a->rate)
		return traffic_of_schedule(&r->traffic, r->cli, a->schedule,
					   fault);
	traffic_one(&r->traffic, &one);
	return 0;
}

/* The disks are busy enough with a recording. */
static int
idle_check(struct rehearsal *r, struct fault *fault)
{
	json_t *status, *running;
	struct fault away;
	int err = 0;

	if (site_ask(r->cli, "status", NULL, &status, &away))
		return 0;
	running = json_object_get(status, "recordings");
	if (json_array_size(running)) {
		err = fault_set(fault, -EBUSY, "busy",
				"cannot rehearse while %s is recorded",
				field_text(json_array_get(running, 0), "name"));
		fault_hint(fault, "wait for its end");
	}
	json_decref(status);
	return err;
}

static unsigned
seconds_of(const struct rehearsal *r)
{
	return (unsigned)((r->args->span_ns + NS_SECOND - 1) / NS_SECOND);
}

/* A run at a rate has to fit on the disks. */
static bool
has_room(const struct rehearsal *r, uint64_t rate)
{
	double need = (double)rate / 8 * seconds_of(r), has = 0;

	for (unsigned i = 0; i < r->disks.n; i++) {
		struct statvfs s;

		int fd = disk_folder_open(r->disks.disk[i].path);

		if (fd >= 0 && file_space(fd, &s) == 0)
			has += (double)s.f_bavail * (double)s.f_frsize;
		if (fd >= 0)
			file_close(fd);
	}
	return need < has * 0.9;
}

static int
room_check(const struct rehearsal *r, struct fault *fault)
{
	char need[UNITS_TEXT];

	if (has_room(r, r->traffic.rate))
		return 0;
	fault_set(fault, -ENOSPC, "no-disk",
		  "the disks have no room for a run, which takes %s",
		  units_show_bytes(need, r->traffic.rate / 8 * seconds_of(r)));
	fault_hint(fault, "make runs shorter with --for");
	return -ENOSPC;
}

/* ---- runs ---------------------------------------------------------------- */

static int
runs_make(struct rehearsal *r, struct bench *b, struct rung *rung,
	  struct fault *fault)
{
	unsigned again = (unsigned)r->args->runs;

	while (rung->runs < r->args->runs) {
		struct bench_run run;
		int err = bench_run(b, seconds_of(r), &stopped, &run, fault);

		if (err)
			return err;
		/* Says nothing about who records. */
		if (run.result == BENCH_VOID && again) {
			again--;
			continue;
		}
		rung->runs++;
		rung->clean += run.result == BENCH_CLEAN;
		rung->voids += run.result == BENCH_VOID;
		if (!rung->why[0])
			memcpy(rung->why, run.why, sizeof rung->why);
		progress_show(&r->bar, ++r->done);
	}
	return 0;
}

static uint64_t
rate_at(const struct rehearsal *r, unsigned tenths)
{
	return r->traffic.rate / 10 * tenths;
}

static int
rung_climb(struct rehearsal *r, unsigned step, enum bench_way way,
	   struct fault *fault)
{
	struct rung *rung = &r->rung[step][way];
	const struct bench_args args = {
		.way = way,
		.conf = conf_path(r->cli),
		.disks = &r->disks,
		.traffic = &r->traffic,
		.tenths = step_tenths[step],
	};
	struct bench b;
	int err = bench_open(&b, &args, fault);

	if (!err)
		err = runs_make(r, &b, rung, fault);
	if (!err && way == BENCH_DISKS && step == 0)
		r->speeds = bench_disks(&b);
	bench_close(&b);
	if (rung->clean < r->args->runs)
		r->over[way] = true;
	return err;
}

static bool
is_over(const struct rehearsal *r)
{
	return r->over[BENCH_NETWORK] && r->over[BENCH_DISKS] &&
	       r->over[BENCH_BOTH];
}

static int
ladder_climb(struct rehearsal *r, struct fault *fault)
{
	unsigned steps = r->args->once ? 1 : STEPS;
	int err = 0;

	r->bar = (struct progress_bar){
		.what = "rehearsal",
		.total = steps * BENCH_WAYS * r->args->runs,
		.quiet = r->cli->quiet || r->cli->json,
	};
	progress_start(&r->bar);
	for (; !err && r->steps < steps && !is_over(r); r->steps++) {
		if (!has_room(r, rate_at(r, step_tenths[r->steps])))
			break;
		for (int way = 0; way < BENCH_WAYS && !err; way++) {
			if (!r->over[way])
				err = rung_climb(r, r->steps,
						 (enum bench_way)way, fault);
		}
	}
	progress_hide(&r->bar);
	return err;
}

/* ---- the report ------------------------------------------------------------ */

/* Returns the highest rate that held, in tenths of the rate; 0: none. */
static unsigned
ceiling(const struct rehearsal *r, enum bench_way way)
{
	unsigned tenths = 0;

	for (unsigned i = 0; i < r->steps; i++) {
		if (r->rung[i][way].clean == r->args->runs)
			tenths = step_tenths[i];
	}
	return tenths;
}

/* Returns the first rung of a way that did not hold, or NULL. */
static const struct rung *
broken(const struct rehearsal *r, enum bench_way way)
{
	for (unsigned i = 0; i < r->steps; i++) {
		const struct rung *g = &r->rung[i][way];

		if (g->runs && g->clean < r->args->runs)
			return g;
	}
	return NULL;
}

/* Returns the way that holds least alone; BENCH_BOTH: neither is the one. */
static enum bench_way
weakest(const struct rehearsal *r)
{
	unsigned network = ceiling(r, BENCH_NETWORK);
	unsigned disks = ceiling(r, BENCH_DISKS);

	if (network < disks)
		return BENCH_NETWORK;
	return disks < network ? BENCH_DISKS : BENCH_BOTH;
}

static bool
holds(const struct rehearsal *r)
{
	for (int way = 0; way < BENCH_WAYS; way++) {
		if (!ceiling(r, (enum bench_way)way))
			return false;
	}
	return true;
}

static void
rungs_print(const struct rehearsal *r)
{
	static const struct table_column columns[] = {
		{ "rate", true },  { "", true },     { "network", true },
		{ "disks", true }, { "both", true },
	};
	struct table *t = table_open(columns, 5);
	char rate[UNITS_TEXT];

	for (unsigned i = 0; i < r->steps; i++) {
		table_cell(
		    t, "%s",
		    units_show_rate(rate, (double)rate_at(r, step_tenths[i])));
		table_cell(t, "x %.1f", step_tenths[i] / 10.0);
		for (int way = 0; way < BENCH_WAYS; way++) {
			const struct rung *g = &r->rung[i][way];

			if (g->runs)
				table_cell(t, "%u of %u", g->clean, g->runs);
			else
				table_cell(t, "-");
		}
	}
	table_print(t, 2, stdout);
	table_close(t);
}

static int
by_speed(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
middle_speed(const json_t *disks)
{
	size_t n = json_array_size(disks), i;
	double *speed = calloc(n + 1, sizeof *speed), middle;
	const json_t *disk;

	if (!speed)
		return 0;
	json_array_foreach(disks, i, disk)
		speed[i] = field_real(disk, "speed");
	qsort(speed, n, sizeof *speed, by_speed);
	middle = speed[n / 2];
	free(speed);
	return middle;
}

static bool
is_slow(const json_t *disk, double middle)
{
	double speed = field_real(disk, "speed");

	return speed > 0 && speed * 100 < middle * SLOW;
}

static double
fullness(const json_t *disk)
{
	double total = field_real(disk, "total");

	return total > 0 ? 100 - 100 * field_real(disk, "free") / total : 0;
}

static void
speeds_print(const struct rehearsal *r)
{
	static const struct table_column columns[] = {
		{ "disk", false },  { "full", true }, { "speed", true },
		{ "p99 ms", true }, { "", false },
	};
	double middle = middle_speed(r->speeds);
	struct table *t = table_open(columns, 5);
	const json_t *disk;
	char speed[UNITS_TEXT];
	size_t i;

	json_array_foreach(r->speeds, i, disk) {
		bool known = field_known(disk, "speed");

		table_cell(t, "%s", field_text(disk, "path"));
		table_cell(t, "%.0f %%", fullness(disk));
		table_cell(t, "%s%s",
			   known ? units_show_bytes(speed, (uint64_t)field_real(
							       disk, "speed"))
				 : "",
			   known ? "/s" : "");
		table_cell(t, "%.1f", field_real(disk, "latency_p99_ms"));
		table_cell(t, "%s", is_slow(disk, middle) ? "slow" : "");
	}
	table_print(t, 2, stdout);
	table_close(t);
}

static void
verdict_print(const struct rehearsal *r)
{
	unsigned tenths = ceiling(r, BENCH_BOTH);
	const struct rung *g = broken(r, BENCH_BOTH);
	enum bench_way way = weakest(r);
	char rate[UNITS_TEXT];

	if (!tenths)
		printf("It does not record what is needed: %s.\n",
		       g ? g->why : "not all runs were made");
	else
		printf("It records %s, %.1f times what is needed%s.\n",
		       units_show_rate(rate, (double)rate_at(r, tenths)),
		       tenths / 10.0, g ? "" : ", and more was not tried");
	if (tenths && g)
		printf("Above that: %s.\n", g->why);
	if (way != BENCH_BOTH && broken(r, way))
		printf("Alone, the %s %s first: %s.\n", way_name[way],
		       way == BENCH_DISKS ? "give up" : "gives up",
		       broken(r, way)->why);
}

/* Says what the streams are, one in a line. */
static void
streams_print(const struct traffic *t)
{
	char rate[UNITS_TEXT];

	for (unsigned i = 0; i < t->n; i++) {
		const struct traffic_stream *s = &t->stream[i];

		printf("  %s%s%s in packets of %u bytes to %u port%s\n",
		       s->name, *s->name ? ": " : "",
		       units_show_rate(rate, (double)s->rate), s->payload,
		       s->ports, s->ports == 1 ? "" : "s");
	}
}

static json_t *
streams_json(const struct traffic *t)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < t->n; i++) {
		const struct traffic_stream *s = &t->stream[i];

		json_array_append_new(
		    list, json_pack("{s:s, s:I, s:i, s:i}", "name", s->name,
				    "rate", (json_int_t)s->rate, "payload",
				    (int)s->payload, "ports", (int)s->ports));
	}
	return list;
}

static void
report_print(const struct rehearsal *r)
{
	char rate[UNITS_TEXT];

	printf("%s, %s; %" PRIu64 " run%s of %u s at each rate, which holds if "
	       "all are clean\n",
	       units_show_rate(rate, (double)r->traffic.rate), r->traffic.of,
	       r->args->runs, r->args->runs == 1 ? "" : "s", seconds_of(r));
	streams_print(&r->traffic);
	rungs_print(r);
	speeds_print(r);
	verdict_print(r);
}

static void
report_json(const struct rehearsal *r)
{
	json_t *line;

	for (unsigned i = 0; i < r->steps; i++) {
		for (int way = 0; way < BENCH_WAYS; way++) {
			const struct rung *g = &r->rung[i][way];

			if (!g->runs)
				continue;
			line = json_pack("{s:s, s:I, s:i, s:i, s:i, s:s}",
					 "way", way_name[way], "rate",
					 (json_int_t)rate_at(r, step_tenths[i]),
					 "runs", (int)g->runs, "clean",
					 (int)g->clean, "void", (int)g->voids,
					 "why", g->why);
			cli_print_json(line);
			json_decref(line);
		}
	}
	line = json_pack("{s:b, s:I, s:o, s:f, s:O?}", "holds", (int)holds(r),
			 "rate", (json_int_t)r->traffic.rate, "streams",
			 streams_json(&r->traffic), "head_room",
			 ceiling(r, BENCH_BOTH) / 10.0, "disks", r->speeds);
	cli_print_json(line);
	json_decref(line);
}

/* ---- the command ------------------------------------------------------------- */

static int
rehearse(struct rehearsal *r, struct fault *fault)
{
	struct sigaction action = { .sa_handler = stop };
	int err = idle_check(r, fault);

	if (!err)
		err = traffic_find(r, fault);
	if (!err)
		err = site_disks(r->cli, &r->disks, fault);
	if (!err)
		err = room_check(r, fault);
	if (err)
		return err;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	return ladder_climb(r, fault);
}

static int
run(const struct cli *cli, const void *values, char **operand)
{
	struct rehearsal r = { .cli = cli, .args = values };
	struct fault fault;
	int status;

	(void)operand;
	if (!r.args->runs || r.args->runs > RUNS_MOST || r.args->payload < 64 ||
	    r.args->payload > 9000 || !r.args->ports ||
	    r.args->ports > PORTS_MOST) {
		fault_set(&fault, -EINVAL, "usage",
			  "--runs is 1 to %d, --payload 64 to 9000, and "
			  "--ports 1 to %d",
			  RUNS_MOST, PORTS_MOST);
		return cli_fail(&fault);
	}
	if (rehearse(&r, &fault)) {
		status = cli_fail(&fault);
	} else {
		if (cli->json)
			report_json(&r);
		else
			report_print(&r);
		status = holds(&r) ? CLI_DONE : CLI_FAILED;
	}
	json_decref(r.speeds);
	disks_clear(&r.disks);
	return status;
}

static const struct args_option options[] = {
	{ "rate", 'r', ARGS_RATE, offsetof(struct rehearse_args, rate), "RATE",
	  "of one stream, that has to hold (default the most that is "
	  "scheduled, of its streams)" },
	{ "schedule", 0, ARGS_TEXT, offsetof(struct rehearse_args, schedule),
	  "FILE", "take streams from the schedule as it would be with FILE" },
	{ "for", 0, ARGS_SPAN, offsetof(struct rehearse_args, span_ns), "SPAN",
	  "length of a run (default 10s)" },
	{ "runs", 0, ARGS_COUNT, offsetof(struct rehearse_args, runs), "N",
	  "runs at each rate (default 3)" },
	{ "payload", 0, ARGS_COUNT, offsetof(struct rehearse_args, payload),
	  "BYTES", "of each packet, with --rate (default 8032)" },
	{ "ports", 0, ARGS_COUNT, offsetof(struct rehearse_args, ports), "N",
	  "that the packets go to, with --rate (default 1)" },
	{ "once", 0, ARGS_FLAG, offsetof(struct rehearse_args, once), NULL,
	  "only this rate, and none above" },
	{ .name = NULL },
};

static const struct rehearse_args defaults = {
	.runs = 3,
	.payload = 8032,
	.ports = 1,
	.span_ns = 10 * NS_SECOND,
};

const struct command command_rehearse = {
	.name = "rehearse",
	.operands = "",
	.help = "Try whether tonight's rate can be recorded here, and how much "
		"more",
	.options = options,
	.defaults = &defaults,
	.bytes = sizeof(struct rehearse_args),
	.run = run,
};
