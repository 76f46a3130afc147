/* SPDX-License-Identifier: MIT */
/*
 * Asks the daemon twice a second and waits for a signal in between, as follow.c
 * does for recordings.  A lost terminal ends this program and not the transfer.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/show/field.h"
#include "cli/show/follow.h"
#include "cli/show/progress.h"
#include "cli/send/sends.h"
#include "cli/show/terminal.h"

enum { LINE = 400 };

struct following {
	const struct cli *cli;
	struct control *control;
	uint64_t id;
	bool terminal, stopping;
	/* steady ns of the next line when stderr is no terminal */
	int64_t next_ns;
};

void
sends_prepare(void)
{
	follow_prepare();
}

static int
ask(const struct following *f, json_t **send, struct fault *fault)
{
	json_t *result;
	int err = control_ask(f->control, "sends",
			      json_pack("{s:I}", "send", (json_int_t)f->id),
			      &result, fault);

	if (err)
		return err;
	*send =
	    json_incref(json_array_get(json_object_get(result, "sends"), 0));
	json_decref(result);
	return *send ? 0
		     : fault_set(fault, -EPROTO, "internal",
				 "spated says nothing of it");
}

static void
show(struct following *f, const json_t *send)
{
	int64_t now = clock_steady();
	char line[LINE];
	size_t width = terminal_width(STDERR_FILENO);

	if (f->cli->json || f->cli->quiet || (!f->terminal && now < f->next_ns))
		return;
	f->next_ns = now + 10 * NS_SECOND;
	if (!f->terminal || width > sizeof line)
		width = sizeof line;
	sends_line(send, line, width);
	if (f->terminal)
		terminal_do(stderr, ERASE_LINE);
	fprintf(stderr, "%s%s", line, f->terminal ? "" : "\n");
}

static void
erase(const struct following *f)
{
	if (f->terminal && !f->cli->json && !f->cli->quiet)
		terminal_do(stderr, ERASE_LINE);
}

/* Waits half a second; returns true if a signal came. */
static bool
is_interrupted(const struct following *f)
{
	const struct timespec half = { .tv_nsec = NS_SECOND / 2 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (!f->stopping)
		return sigtimedwait(&set, NULL, &half) > 0;
	nanosleep(&half, NULL);
	return false;
}

static int
stop(struct following *f, struct fault *fault)
{
	char id[24];
	sigset_t set;
	int err;

	f->stopping = true;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	erase(f);
	if (!f->cli->quiet)
		fprintf(stderr, "spate: stopping; once more to leave it to "
				"spated\n");
	snprintf(id, sizeof id, "%llu", (unsigned long long)f->id);
	err = control_ask(f->control, "stop", json_pack("{s:s}", "name", id),
			  NULL, fault);
	/* the transfer may have ended by itself just now */
	return err == -ENOENT ? 0 : err;
}

int
sends_follow(const struct cli *cli, struct control *control, const json_t *send,
	     json_t **ended, struct fault *fault)
{
	struct following f = { .cli = cli,
			       .control = control,
			       .id = field_number(send, "id"),
			       .terminal = isatty(STDERR_FILENO),
			       .next_ns = clock_steady() + 10 * NS_SECOND };
	int err;

	for (;;) {
		err = ask(&f, ended, fault);
		if (err || sends_ended(*ended))
			break;
		show(&f, *ended);
		json_decref(*ended);
		if (is_interrupted(&f))
			err = stop(&f, fault);
		if (err)
			break;
	}
	erase(&f);
	return err;
}
