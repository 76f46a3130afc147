/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SCHEDULE_SCAN_H
#define SPATE_DAEMON_SCHEDULE_SCAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"

/*
 * A scan is one entry of the schedule: what is to be done with which streams,
 * from when to when.
 *
 *   WAITING --> ARMED --> RUNNING --> DONE
 *      |  ^-------+--------' |
 *      |   tried again       +------> FAILED
 *      +--> MISSED   its end came before it could begin
 *      +--> REFUSED  it does not fit, or cannot be done; WAITING again when
 *      |             that has changed
 *      +--> CANCELLED  also of what is armed, or ran
 *
 *   ARMED    sockets are open, and packets are received and passed over; what
 *            is sent waits in its queue
 *   RUNNING  it has begun; its end is a steady time from here on, which a
 *            stepped clock does not move
 *
 * The words in JSON are those of the enums in lower case.
 */
enum scan_action { SCAN_RECORD, SCAN_SEND, SCAN_RELAY };
enum scan_state {
	SCAN_WAITING,
	SCAN_ARMED,
	SCAN_RUNNING,
	SCAN_DONE,
	SCAN_FAILED,
	SCAN_MISSED,
	SCAN_CANCELLED,
	SCAN_REFUSED,
};
enum { SCAN_ACTIONS = SCAN_RELAY + 1, SCAN_STATES = SCAN_REFUSED + 1 };
enum { SCAN_NAME = 80, SCAN_WHY = 400, SCAN_STREAMS = 256 };

struct scan {
	unsigned id;	      /* of the daemon's; 0: not in the schedule */
	char name[SCAN_NAME]; /* of the recording, also of one that is sent */
	enum scan_action action;
	char **stream; /* NULL where there are none */
	unsigned streams;
	int64_t start, stop; /* UTC ns, of the data with `data`; stop INT64_MAX:
				when it is told */
	bool data;
	int64_t backlog; /* ns kept from before the start */
	int64_t arm;	 /* ns before the start that it is armed */
	int priority;
	char *to, *send; /* URLs; NULL: none */
	char *file;	 /* in the schedule's folder; NULL: it was typed */
	unsigned line;

	enum scan_state state;
	char why[SCAN_WHY]; /* of the state, or a note; may be empty */
	char
	    recording[SCAN_NAME]; /* the name that it really has; empty: none */

	int64_t arm_at; /* UTC; start - arm, or later, as `admit` says */

	/* The schedule's own. */
	bool gone;	    /* its file is there no more, or does not have it */
	bool taken;	    /* cancelled because of that: it may come back */
	bool wrong;	    /* what the file says cannot be: why says what */
	bool barred;	    /* it cannot be done as things are */
	bool any_time;	    /* its data are of the past, and were asked for */
	bool resume;	    /* ran when the daemon ended */
	bool kept;	    /* while a file is merged: has its entry */
	bool dropped;	    /* and is to be taken out of the list */
	unsigned asked;	    /* its number in the last admission, from 1 */
	unsigned tries;	    /* to arm it, in vain */
	int64_t again;	    /* steady, of the next try */
	int64_t begun;	    /* steady, when it began last */
	int64_t pause;	    /* ns that the last try was put off, after it */
	int64_t over;	    /* UTC, since when nothing comes of it; 0 */
	int64_t begin, end; /* steady, as armed; end INT64_MAX: none */
};

struct scan_list {
	struct scan **scan;
	unsigned n, room;
};

/* NULL: no memory. */
struct scan *scan_new(void);
void scan_free(struct scan *s);

/* 0 or -ENOMEM, then `s` is the caller's still. */
int scan_list_add(struct scan_list *list, struct scan *s);
/* Frees the scans, too. */
void scan_list_clear(struct scan_list *list);

/* 0 or -ENOMEM. */
int scan_stream_add(struct scan *s, const char *stream);

const char *scan_action_word(enum scan_action action);
const char *scan_state_word(enum scan_state state);
bool scan_action_parse(const char *word, enum scan_action *action);
bool scan_state_parse(const char *word, enum scan_state *state);

/* Do both say the same is done, whenever that is: one recording may be sent to
 * several places, and be recorded before. */
bool scan_is_entry(const struct scan *a, const struct scan *b);

/* WAITING, ARMED or RUNNING: something is to come of it. */
bool scan_is_ahead(const struct scan *s);
/* WAITING or REFUSED, where only room can be what it lacks. */
bool scan_is_candidate(const struct scan *s);

/* What is to be known of each action: whether it takes streams, and a URL to
 * send to. */
struct scan_kind {
	const char *word;
	bool streams, to;
};

extern const struct scan_kind scan_kinds[SCAN_ACTIONS];

/*
 * Makes a name that a recording may have of one that came from elsewhere:
 * other characters become '-'.  True where that changed it; an empty `good`
 * where nothing is left of it.
 */
bool scan_name_mend(char good[SCAN_NAME], const char *name);

/* SCAN of verbs.h, as it is at `utc`. */
json_t *scan_json(const struct scan *s, int64_t utc);

#endif
