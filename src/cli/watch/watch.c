/* SPDX-License-Identifier: MIT */
#include "cli/watch/watch.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/show/site.h"
#include "cli/watch/page.h"
#include "cli/watch/screen.h"
#include "control/spated.h"
#include "store/disk/configured.h"

/* spated answers from memory; the keyboard waits as long. */
enum { ANSWER_MS = 1000 };

/* Asks for the status, and for a screen for the streams. */
static int
ask(struct spated *spated, json_t **status, json_t **streams,
    struct fault *fault)
{
	json_t *answer = NULL;
	int err;

	spated_begin(spated);
	err = spated_ask(spated, "status", json_object(), -1, status, fault);
	if (err || !streams)
		return err;
	err = spated_ask(spated, "streams", json_object(), -1, &answer, fault);
	if (err) {
		json_decref(*status);
		return err;
	}
	*streams = json_incref(json_object_get(answer, "streams"));
	json_decref(answer);
	return 0;
}

static void
wait_until(int64_t until)
{
	struct timespec t = { .tv_sec = until / NS_SECOND,
			      .tv_nsec = until % NS_SECOND };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) ==
	       EINTR)
		;
}

/* The second after the last one; seconds that were missed are not made up for. */
static int64_t
next_second(int64_t last)
{
	int64_t now = clock_steady();

	return last + NS_SECOND > now ? last + NS_SECOND : now + NS_SECOND;
}

static void
lines_run(struct spated *spated)
{
	int64_t at = clock_steady();
	struct fault fault;
	json_t *status;
	bool reader = true;

	log_level_set(LEVEL_WARN);
	while (reader) {
		if (ask(spated, &status, NULL, &fault) == 0) {
			cli_print_json(status);
			json_decref(status);
			reader = fflush(stdout) == 0;
		}
		at = next_second(at);
		if (reader)
			wait_until(at);
	}
}

static int
screen_run(struct spated *spated, struct fault *fault)
{
	int64_t at = clock_steady();
	struct screen *screen;
	struct page *page;
	json_t *status, *streams;
	int err = screen_open(&screen, fault);

	if (err)
		return err;
	/* the page says what the connection would log */
	log_level_set(LEVEL_ERROR);
	err = page_open(&page, screen_utf8(screen));
	if (err) {
		screen_close(screen);
		return fault_set(fault, err, "no-memory", "no memory");
	}
	do {
		struct fault away;

		if (ask(spated, &status, &streams, &away)) {
			page_away(page, away.what, clock_now());
		} else {
			page_take(page, status, streams, clock_now());
			json_decref(status);
			json_decref(streams);
		}
		at = next_second(at);
	} while (screen_show(screen, page, at));
	page_close(page);
	screen_close(screen);
	return 0;
}

int
watch_run(const struct cli *cli)
{
	char socket[CONFIGURED_SOCKET];
	struct spated_wishes wishes = { .socket = socket,
					.subject = "status",
					.wait_ms = ANSWER_MS };
	struct control *control;
	struct spated *spated = NULL;
	struct fault fault;
	int err;

	if (!cli->json && (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))) {
		fault_set(&fault, -ENOTTY, "terminal",
			  "--watch needs a terminal, and this is none");
		fault_hint(&fault, "--watch --json prints a line each second");
		return cli_fail(&fault);
	}
	err = site_socket(cli, socket, &fault);
	if (!err)
		err = control_open(&control, socket, &fault);
	if (err)
		return cli_fail(&fault);
	control_close(control);
	err = spated_open(&spated, &wishes);
	if (err)
		fault_set(&fault, err, "no-memory", "no memory");
	else if (cli->json)
		lines_run(spated);
	else
		err = screen_run(spated, &fault);
	spated_close(spated);
	return err ? cli_fail(&fault) : CLI_DONE;
}
