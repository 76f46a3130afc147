/* SPDX-License-Identifier: MIT */
/*
 * Asks the daemon twice a second and waits for a signal in between: SIGINT and
 * SIGTERM are blocked and taken by sigtimedwait, so there is no signal handler,
 * and no signal can be missed.
 *
 * SIGHUP is left alone: a lost terminal ends this program, not the recording,
 * which is the daemon's.
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
		fprintf(stderr, "spate: stopping; once more to leave it to "
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
