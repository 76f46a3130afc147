/* SPDX-License-Identifier: MIT */
/*
 * Asks the daemon twice a second and waits for a signal in between, as follow.c
 * does.  A lost terminal ends this program and leaves the scan in the schedule.
 */
#include "cli/show/await.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/show/field.h"
#include "cli/show/terminal.h"

static bool
is_interrupted(void)
{
	const struct timespec half = { .tv_nsec = NS_SECOND / 2 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	return sigtimedwait(&set, NULL, &half) > 0;
}

static void
show(struct await *a, const json_t *scan)
{
	int64_t now = clock_steady();
	double s = field_real(scan, "next_s");
	char text[UNITS_TEXT];

	if (a->cli->json ||
	    (!a->terminal && (a->cli->quiet || now < a->next_ns)))
		return;
	a->next_ns = now + 60 * NS_SECOND;
	if (a->terminal)
		terminal_do(stdout, ERASE_LINE);
	printf("%s %s for %s, in %s%s%s", field_text(scan, "name"),
	       !strcmp(field_text(scan, "state"), "armed") ? "is armed"
							   : "waits",
	       field_text(scan, "start"),
	       units_show_span(text, s > 0 ? (int64_t)(s * 1e9) : 0),
	       *field_text(scan, "why") ? ": " : "", field_text(scan, "why"));
	if (!a->terminal)
		putchar('\n');
	fflush(stdout);
}

static int
cancel(struct await *a, const json_t *scan, struct fault *fault)
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
ask(struct await *a, json_int_t id, json_t **scan, struct fault *fault)
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
	const char *state = field_text(scan, "state");

	return !strcmp(state, "waiting") || !strcmp(state, "armed");
}

/*
 * Gets the recordings of a scan that has begun, or the reason why there are
 * none.
 */
static int
begun(struct await *a, const json_t *scan, struct fault *fault)
{
	const char *name = field_text(scan, "recording");
	const char *state = field_text(scan, "state");
	json_t *result;
	int err;

	if (!*name || (strcmp(state, "running") && strcmp(state, "done"))) {
		fault_set(fault, -EIO, "io", "%s was not recorded: it is %s",
			  field_text(scan, "name"), state);
		fault_why(fault, "%s", field_text(scan, "why"));
		return -EIO;
	}
	snprintf(a->recording, sizeof a->recording, "%s", name);
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
		err = ask(a, id, &is, fault);
		if (err || !is_ahead(is))
			break;
		show(a, is);
		if (is_interrupted())
			err = cancel(a, is, fault);
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
