/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_MADE_SCHEDULE_H
#define SPATE_TESTS_MADE_SCHEDULE_H

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "daemon/schedule/schedule.h"
#include "lib/scratch.h"
#include "lib/suite.h"

/*
 * A schedule whose hooks are sessions that only keep their times, and whose
 * clocks go when the test says so.  It begins on 2026-11-20 at 10:00 UTC.
 */
#define S	INT64_C(1000000000)
#define HOUR	(3600 * S)
#define TEN	INT64_C(1795168800000000000) /* 2026-11-20T10:00:00Z */
#define STEADY0 (1000 * S)

enum { MADE_SESSIONS = 4096 };

struct made_session {
	unsigned scan;
	int64_t start, stop;
	bool data, begun, ended, resume;
	char name[SCAN_NAME];
	const char *why; /* it was told to stop */
};

struct made {
	struct schedule *s;
	struct schedule_now now;
	struct made_session session[MADE_SESSIONS];
	unsigned sessions;
	int arm_err;	     /* what arming says */
	bool at_once;	     /* arming begins what is late at once */
	const char *streams; /* "s,t": those that there are */
	struct scratch scratch;
	char folder[256], state[256];
	bool with_folder, with_state;
	struct schedule_hooks hooks;
	unsigned moves;
};

void made_stop(void *arg, struct scan *scan, const char *why);

struct made_session *made_session(struct made *m, unsigned scan);

void made_reopen(struct made *m);

/* Another daemon begins, in the state that this one left. */
void made_restart(struct made *m);

struct made *made_new(bool with_folder, bool with_state);

void made_free(struct made *m);

/* What sessions do by themselves. */
void made_sessions(struct made *m);

/* Time goes by, in steps of a tenth of a second; the daemon wakes up when it
 * was told to. */
void made_pass(struct made *m, int64_t ns);

/* Somebody sets the clock; timerfd says so at once. */
void made_set_clock(struct made *m, int64_t by);

struct scan *made_scan(int64_t from, int64_t to, const char *name);

unsigned made_add(struct made *m, int64_t from, int64_t to, const char *name);

const char *made_state(const struct made *m, unsigned id);

#define made_is(m, id, word)                                                   \
	do {                                                                   \
		const struct scan *is_ = schedule_find((m)->s, id);            \
		ck_assert_msg(!strcmp(made_state(m, id), word),                \
			      "%s is %s, expected %s: %s",                     \
			      is_ ? is_->name : "?", made_state(m, id), word,  \
			      is_ ? is_->why : "");                            \
	} while (0)

/* By its name: the only one of it that is not gone; NULL: there is none. */
struct scan *made_find(const struct made *m, const char *name);

/* As an editor that writes in place. */
void made_scan_file(const struct made *m, const char *file, const char *text);

void made_file(struct made *m, const char *file, const char *text);

void made_unlink(struct made *m, const char *file);

/* "name : { stream = "s"; start ...; duration ...; more };" */
const char *made_entry(char text[512], const char *name, int64_t from,
		       int64_t span, const char *more);

#endif
