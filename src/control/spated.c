/* SPDX-License-Identifier: MIT */
/*
 * A question is repeated only if it did not leave this process (EPIPE): one
 * that was sent may have been carried out, and two recordings would be worse
 * than an error.
 */
#include "control/spated.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "control/control.h"

struct spated {
	struct spated_wishes wishes;
	struct control *control; /* NULL: not connected */
	char began[64];		 /* pid and start of the last spated */
	unsigned life;
	unsigned only; /* questions are for the spated of that life; 0: any */
	int64_t rest;  /* steady ns until when nothing is asked; 0: no rest */
	bool said;     /* the log says that it is away */
	char away[1024];
};

int
spated_open(struct spated **spated, const struct spated_wishes *wishes)
{
	struct spated *s = calloc(1, sizeof *s);

	if (!s)
		return -ENOMEM;
	s->wishes = *wishes;
	*spated = s;
	return 0;
}

void
spated_close(struct spated *s)
{
	if (!s)
		return;
	control_close(s->control);
	free(s);
}

static void
hang_up(struct spated *s)
{
	control_close(s->control);
	s->control = NULL;
}

/* Notes why it could not be asked, and logs the first time. */
static void
away(struct spated *s, const struct fault *fault)
{
	fault_line(fault, s->away, sizeof s->away);
	if (!s->said)
		log_line(LEVEL_WARN, s->wishes.subject, "%s", s->away);
	s->said = true;
}

/* Tells whether the answer never came, other than an error that is one. */
static bool
is_broken(int err)
{
	static const int answers[] = { -EIO,	-EINVAL, -EEXIST, -ENOENT,
				       -ENOMEM, -ENOSPC, -EBUSY,  -EAGAIN };

	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
		if (err == answers[i])
			return false;
	}
	return err;
}

/* Finds out whether this spated is the one of before. */
static int
life_look(struct spated *s, struct fault *fault)
{
	char began[sizeof s->began];
	const char *started;
	json_t *status;
	int err = control_ask(s->control, "status", NULL, &status, fault);

	if (err)
		return err;
	started = json_string_value(json_object_get(status, "started"));
	snprintf(began, sizeof began, "%lld %s",
		 (long long)json_integer_value(json_object_get(status, "pid")),
		 started ? started : "");
	json_decref(status);
	if (strcmp(began, s->began)) {
		s->life++;
		log_line(LEVEL_INFO, s->wishes.subject,
			 "connected to spated at %s%s", s->wishes.socket,
			 s->began[0] ? ", which was started anew" : "");
	} else if (s->said) {
		log_line(LEVEL_INFO, s->wishes.subject, "spated answers again");
	}
	memcpy(s->began, began, sizeof began);
	s->said = false;
	return 0;
}

static int
connect_to(struct spated *s, struct fault *fault)
{
	int err = control_open_within(&s->control, s->wishes.socket,
				      s->wishes.wait_ms, fault);

	if (err) {
		s->control = NULL;
		return err;
	}
	return life_look(s, fault);
}

/* Asks once.  Takes a reference to `request` only. */
static int
ask(struct spated *s, const char *verb, json_t *request, int fd,
    json_t **result, struct fault *fault)
{
	bool was = s->control;
	int err = was ? 0 : connect_to(s, fault);
	bool asked = !err;

	if (!err && s->only && s->only != s->life)
		return fault_set(fault, -ESTALE, "not-found",
				 "spated was started anew");
	if (!err)
		err = control_ask_with(s->control, verb, json_incref(request),
				       fd, result, fault);
	if (err && (!asked || is_broken(err))) {
		hang_up(s);
		if (err == -ETIMEDOUT)
			s->rest = clock_steady() + SPATED_REST_NS;
		if (err == -EPIPE && was)
			return err;
		away(s, fault);
		return -ENOTCONN;
	}
	return err;
}

int
spated_ask(struct spated *s, const char *verb, json_t *request, int fd,
	   json_t **result, struct fault *fault)
{
	int err = -ENOTCONN;

	*result = NULL;
	if (!request)
		return fault_set(fault, -EINVAL, "usage",
				 "spated cannot be asked for that text");
	if (clock_steady() < s->rest) {
		fault_set(fault, err, "io", "spated at %s does not answer",
			  s->wishes.socket);
		away(s, fault);
	} else {
		err = ask(s, verb, request, fd, result, fault);
		if (err == -EPIPE)
			err = ask(s, verb, request, fd, result, fault);
	}
	json_decref(request);
	return err;
}

int
spated_ask_only(struct spated *s, unsigned life, const char *verb,
		json_t *request, json_t **result, struct fault *fault)
{
	int err;

	s->only = life;
	err = spated_ask(s, verb, request, -1, result, fault);
	s->only = 0;
	return err;
}

const char *
spated_away(const struct spated *s)
{
	return s->away[0] ? s->away : NULL;
}

void
spated_begin(struct spated *s)
{
	s->away[0] = '\0';
}

unsigned
spated_life(const struct spated *s)
{
	return s->life;
}

int
spated_fd(const struct spated *s)
{
	return s->control ? control_fd(s->control) : -1;
}

/* spated says nothing unasked: it has ended, or closed the connection. */
void
spated_look(struct spated *s)
{
	hang_up(s);
	log_line(LEVEL_WARN, s->wishes.subject,
		 "spated closed the connection; the next question connects "
		 "again");
	s->said = true;
}
