/* SPDX-License-Identifier: MIT */
/*
 * The daemon is asked twice a second, and sleeping is waiting for a signal:
 * SIGINT and SIGTERM are blocked and taken by sigtimedwait, so there is no
 * handler, and no moment at which one could be missed.
 *
 * SIGHUP is left alone: a lost terminal ends this program and not the
 * recording, which is the daemon's.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/show/field.h"
#include "cli/show/follow.h"
#include "cli/show/live.h"
#include "cli/show/progress.h"
#include "cli/show/terminal.h"

#define SECOND INT64_C(1000000000)

enum { LINE = 512 };

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

/* True if one came within half a second.  Those that come after it end this
 * program: signals are released then. */
static bool
is_interrupted(const struct follow *f)
{
	const struct timespec half = { .tv_nsec = SECOND / 2 };
	sigset_t set;

	signals(&set);
	if (f->stopping) {
		nanosleep(&half, NULL);
		return false;
	}
	return sigtimedwait(&set, NULL, &half) > 0;
}

/* From now on a signal ends this program, as it does any other. */
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

/* In the order in which they were named; without an older recording whose
 * name begins as ours. */
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

/* The line is a comfort: what fails here is told by the next info. */
static void
show(struct follow *f, const json_t *infos)
{
	int64_t now = clock_steady();
	struct fault fault;
	json_t *result;

	if (f->cli->json ||
	    (!f->terminal && (f->cli->quiet || now < f->next_ns)))
		return;
	f->next_ns = now + 5 * SECOND;
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
		fprintf(stderr, "spate: stopping; once more to leave it to "
				"spated\n");
	fflush(stdout);
	control_wait(f->control, -1);
	err = ask(f, "stop", &infos, fault);
	if (!err)
		json_decref(infos);
	/* It may have ended by itself in this moment. */
	return err == -ENOENT ? 0 : err;
}

int
follow_run(struct follow *f, json_t **ended, struct fault *fault)
{
	json_t *infos;
	int err;

	f->terminal = isatty(STDOUT_FILENO);
	f->next_ns = clock_steady() + 5 * SECOND;
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
