/* SPDX-License-Identifier: MIT */
/*
 * Both wait the same way: they ask the daemon twice a second and wait for a
 * signal in between.  SIGINT and SIGTERM are blocked and taken by sigtimedwait,
 * so there is no signal handler, and no signal can be missed.
 *
 * SIGHUP is left alone: a lost terminal ends this program, not the recording,
 * which is the daemon's, and leaves a scan in the schedule.
 *
 * The most important numbers of a line come first, because a narrow terminal
 * cuts the end off.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/show/cli.h"
#include "cli/show/field.h"
#include "cli/show/follow.h"
#include "cli/show/show.h"
#include "cli/show/terminal.h"
#include "control/answer.h"
#include "control/control.h"

/* ---- the line ------------------------------------------------------ */

struct sum {
	double left_s; /* the longest of all; negative: no end is set */
	double elapsed_s;
	double rate;
	uint64_t packets, lost, heaps, blocks, free;
	size_t subs, silent;
};

static void
sum_make(struct sum *s, const json_t *infos)
{
	const json_t *info, *blocks;
	size_t i, n;

	*s = (struct sum){ .left_s = -1 };
	json_array_foreach(infos, i, info) {
		double left = field_real(info, "left_s");
		double elapsed = field_real(info, "elapsed_s");

		if (field_known(info, "left_s") && left > s->left_s)
			s->left_s = left;
		if (elapsed > s->elapsed_s)
			s->elapsed_s = elapsed;
		blocks = json_object_get(info, "blocks");
		s->rate += field_real(info, "rate");
		s->packets += field_number(info, "packets");
		s->lost += field_number(info, "packets_lost");
		s->heaps += field_number(info, "heaps");
		s->silent += subs_silent(info, &n);
		s->subs += n;
		s->blocks += field_number(blocks, "total");
		s->free += field_number(blocks, "free");
	}
}

/* Writes whole seconds, down to "0s". */
static const char *
span(char text[UNITS_TEXT], double seconds)
{
	if (seconds < 0.5)
		return strcpy(text, "0s");
	return units_show_span(text, (int64_t)(seconds + 0.5) * 1000000000);
}

static const char *
last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void
disks_add(const json_t *disks, char *line, size_t bytes, size_t at)
{
	char text[UNITS_TEXT];
	const json_t *disk;
	size_t i;

	json_array_foreach(disks, i, disk) {
		if (at >= bytes)
			return;
		units_show_bytes(text, field_number(disk, "rate"));
		at +=
		    (size_t)snprintf(line + at, bytes - at, "  %s %s/s",
				     last_part(field_text(disk, "path")), text);
	}
}

/* Adds what only some streams have: heaps, and silent substreams. */
static size_t
rest_add(const struct sum *s, char *line, size_t bytes, size_t at)
{
	if (s->heaps && at < bytes)
		at += (size_t)snprintf(line + at, bytes - at,
				       "  %" PRIu64 " heaps", s->heaps);
	if (s->subs > 1 && s->silent && at < bytes)
		at +=
		    (size_t)snprintf(line + at, bytes - at,
				     "  %zu of %zu silent", s->silent, s->subs);
	return at;
}

void
live_line(const json_t *infos, const json_t *disks, char *line, size_t bytes)
{
	char time[UNITS_TEXT], rate[UNITS_TEXT];
	struct sum s;
	size_t at;

	sum_make(&s, infos);
	if (s.left_s >= 0)
		span(time, s.left_s);
	else
		span(time, s.elapsed_s);
	at = (size_t)snprintf(
	    line, bytes, "%s %s  %s  %" PRIu64 " packets  %" PRIu64 " lost",
	    time, s.left_s >= 0 ? "left" : "so far",
	    units_show_rate(rate, s.rate), s.packets, s.lost);
	at = rest_add(&s, line, bytes, at);
	if (at < bytes)
		at += (size_t)snprintf(line + at, bytes - at,
				       "  buffers %" PRIu64 "/%" PRIu64,
				       s.blocks - s.free, s.blocks);
	disks_add(disks, line, bytes, at);
}

enum { LINE = 512 };

/* ---- recordings ---------------------------------------------------- */

static void
signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
}

void
follow_prepare(void)
{
	sigset_t set;

	signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/*
 * Waits half a second; returns true if a signal came.  After the first signal
 * it never does: signals then end the program (signals_release()).
 */
static bool
is_interrupted(const struct follow *f)
{
	const struct timespec half = { .tv_nsec = NS_SECOND / 2 };
	sigset_t set;

	signals(&set);
	if (f->stopping) {
		nanosleep(&half, NULL);
		return false;
	}
	return sigtimedwait(&set, NULL, &half) > 0;
}

/* Unblocks the signals: the next one ends this program. */
static void
signals_release(void)
{
	sigset_t set;

	signals(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static json_t *
info_of(const json_t *infos, const char *name)
{
	json_t *info;
	size_t i;

	json_array_foreach(infos, i, info)
		if (strcmp(field_text(info, "name"), name) == 0)
			return info;
	return NULL;
}

/*
 * Asks for the followed recordings, in the order in which they were started.
 * An older recording whose name begins the same is left out.
 */
static int
ask(struct follow *f, const char *verb, json_t **infos, struct fault *fault)
{
	const json_t *all, *one;
	json_t *result;
	size_t i;
	int err =
	    control_ask(f->control, verb, json_pack("{s:s}", "name", f->name),
			&result, fault);

	if (err)
		return err;
	all = json_object_get(result, "recordings");
	*infos = json_array();
	json_array_foreach(f->started, i, one)
		json_array_append(*infos,
				  info_of(all, field_text(one, "name")));
	json_decref(result);
	return 0;
}

static bool
is_running(const json_t *info)
{
	const char *state = field_text(info, "state");

	return strcmp(state, "recording") == 0 ||
	       strcmp(state, "stopping") == 0;
}

static bool
is_any_running(const json_t *infos)
{
	const json_t *info;
	size_t i;

	json_array_foreach(infos, i, info)
		if (is_running(info))
			return true;
	return false;
}

static void
draw(const struct follow *f, const json_t *infos, const json_t *disks)
{
	char line[LINE];
	size_t width = terminal_width(STDOUT_FILENO);

	if (!f->terminal || width > sizeof line)
		width = sizeof line;
	live_line(infos, disks, line, width);
	if (f->terminal)
		terminal_do(stdout, ERASE_LINE);
	printf("%s%s", line, f->terminal ? "" : "\n");
	fflush(stdout);
}

/*
 * Shows the progress line.  A failure to get the disks is ignored; the next
 * request for the recordings reports it.
 */
static void
show(struct follow *f, const json_t *infos)
{
	int64_t now = clock_steady();
	struct fault fault;
	json_t *result;

	if (f->cli->json ||
	    (!f->terminal && (f->cli->quiet || now < f->next_ns)))
		return;
	f->next_ns = now + 5 * NS_SECOND;
	if (control_ask(f->control, "disks", NULL, &result, &fault) < 0)
		return;
	draw(f, infos, json_object_get(result, "disks"));
	json_decref(result);
}

static int
stop(struct follow *f, struct fault *fault)
{
	json_t *infos;
	int err;

	f->stopping = true;
	signals_release();
	if (f->terminal && !f->cli->json)
		terminal_do(stdout, ERASE_LINE);
	if (!f->cli->quiet)
		fprintf(stderr, "spate: stopping; a second signal leaves it to "
				"spated\n");
	fflush(stdout);
	control_wait(f->control, -1);
	err = ask(f, "stop", &infos, fault);
	if (!err)
		json_decref(infos);
	/* the recordings may have ended by themselves just now */
	return err == -ENOENT ? 0 : err;
}

int
follow_run(struct follow *f, json_t **ended, struct fault *fault)
{
	json_t *infos;
	int err;

	f->terminal = isatty(STDOUT_FILENO);
	f->next_ns = clock_steady() + 5 * NS_SECOND;
	for (;;) {
		err = ask(f, "info", &infos, fault);
		if (err || !is_any_running(infos))
			break;
		show(f, infos);
		json_decref(infos);
		if (is_interrupted(f))
			err = stop(f, fault);
		if (err)
			break;
	}
	if (f->terminal && !f->cli->json)
		terminal_do(stdout, ERASE_LINE);
	if (!err)
		*ended = infos;
	return err;
}

/* ---- a scan that has to come --------------------------------------- */

static bool
is_cancelled(void)
{
	const struct timespec half = { .tv_nsec = NS_SECOND / 2 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	return sigtimedwait(&set, NULL, &half) > 0;
}

static bool
has_state(const struct answer_scan *s, const char *state)
{
	return s->state && !strcmp(s->state, state);
}

static void
scan_show(struct await *a, const json_t *scan)
{
	int64_t now = clock_steady();
	struct answer_scan s = answer_scan(scan);
	char text[UNITS_TEXT];

	if (a->cli->json ||
	    (!a->terminal && (a->cli->quiet || now < a->next_ns)))
		return;
	a->next_ns = now + 60 * NS_SECOND;
	if (a->terminal)
		terminal_do(stdout, ERASE_LINE);
	printf(
	    "%s %s for %s, in %s%s%s", s.name,
	    has_state(&s, "armed") ? "is armed" : "waits",
	    field_text(scan, "start"),
	    units_show_span(text, s.next_s > 0 ? (int64_t)(s.next_s * 1e9) : 0),
	    s.why && *s.why ? ": " : "", s.why ? s.why : "");
	if (!a->terminal)
		putchar('\n');
	fflush(stdout);
}

static int
scan_cancel(struct await *a, const json_t *scan, struct fault *fault)
{
	json_t *result;
	int err =
	    control_ask(a->control, "stop",
			json_pack("{s:s}", "name", field_text(scan, "name")),
			&result, fault);

	if (err)
		return err;
	json_decref(result);
	return fault_set(fault, -ECANCELED, "cancelled", "%s was cancelled",
			 field_text(scan, "name"));
}

/* Gets the scan as it is now; the caller drops it. */
static int
scan_ask(struct await *a, json_int_t id, json_t **scan, struct fault *fault)
{
	json_t *result;
	int err = control_ask(a->control, "scan",
			      json_pack("{s:I}", "scan", id), &result, fault);

	if (err)
		return err;
	*scan = json_incref(json_object_get(result, "scan"));
	json_decref(result);
	return *scan ? 0 : -EPROTO;
}

static bool
is_ahead(const json_t *scan)
{
	struct answer_scan s = answer_scan(scan);

	return has_state(&s, "waiting") || has_state(&s, "armed");
}

/*
 * Gets the recordings of a scan that has begun, or the reason why there are
 * none.
 */
static int
begun(struct await *a, const json_t *scan, struct fault *fault)
{
	struct answer_scan s = answer_scan(scan);
	json_t *result;
	int err;

	if (!s.recording ||
	    (!has_state(&s, "running") && !has_state(&s, "done"))) {
		fault_set(fault, -EIO, "io", "%s was not recorded: it is %s",
			  s.name, s.state);
		fault_why(fault, "%s", s.why ? s.why : "");
		return -EIO;
	}
	snprintf(a->recording, sizeof a->recording, "%s", s.recording);
	err = control_ask(a->control, "info",
			  json_pack("{s:s}", "name", a->recording), &result,
			  fault);
	if (err)
		return err;
	a->started = json_incref(json_object_get(result, "recordings"));
	json_decref(result);
	return 0;
}

int
await_run(struct await *a, const json_t *scan, struct fault *fault)
{
	json_int_t id = (json_int_t)field_number(scan, "id");
	json_t *is = NULL;
	int err;

	a->terminal = isatty(STDOUT_FILENO);
	for (;;) {
		json_decref(is);
		is = NULL;
		err = scan_ask(a, id, &is, fault);
		if (err || !is_ahead(is))
			break;
		scan_show(a, is);
		if (is_cancelled())
			err = scan_cancel(a, is, fault);
		if (err)
			break;
	}
	if (a->terminal && !a->cli->json)
		terminal_do(stdout, ERASE_LINE);
	if (!err)
		err = begun(a, is, fault);
	json_decref(is);
	return err;
}
