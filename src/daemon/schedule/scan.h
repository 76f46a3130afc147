/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SCHEDULE_SCAN_H
#define SPATE_DAEMON_SCHEDULE_SCAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/conf.h"
#include "base/fault.h"
#include "control/answer.h"

/*
 * A scan is one entry of the schedule: what is done with which streams, from
 * when to when.
 *
 *   WAITING --> ARMED --> RUNNING --> DONE
 *      |  ^-------+--------' |
 *      |   tried again       +------> FAILED
 *      +--> MISSED   its end came before it could begin
 *      +--> REFUSED  it does not fit, or cannot be done; WAITING again when
 *      |             that has changed
 *      +--> CANCELLED  from ARMED and RUNNING, too
 *
 *   ARMED    sockets are open, packets are received and discarded; a
 *            transfer waits in its queue
 *   RUNNING  it has begun; from here on its end is a steady time, which a
 *            stepped clock does not move
 *
 * In JSON the enums appear as lower-case words.
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
	unsigned id;	      /* number in the daemon's schedule; 0: not in a
			       * schedule */
	char name[SCAN_NAME]; /* name of the recording to make or to send */
	enum scan_action action;
	char **stream; /* names of streams; NULL if it has none */
	unsigned streams;
	int64_t start, stop; /* UTC ns, by the data's own clock if `data`;
			      * stop INT64_MAX: no end of its own */
	bool data;
	int64_t backlog; /* ns before the start that are recorded, too */
	int64_t arm;	 /* ns before the start when it is armed */
	int priority;
	char *to, *send; /* `to` and `send` of the file, URLs; NULL: none */
	char *file;	 /* file name in the schedule's folder; NULL: entered
			  * by command */
	unsigned line;

	enum scan_state state;
	char why[SCAN_WHY]; /* reason for the state, or a note; may be empty */
	char *unsent; /* why its recording is not sent as `send` says; NULL: it
		       * is, as far as is known */
	char recording[SCAN_NAME]; /* the name that the recording really got;
				    * empty: none yet */

	int64_t arm_at; /* UTC ns; start - arm - backlog, or later if `admit`
			 * put it off */

	/* Private to the schedule. */
	bool gone;	    /* the scan's file is removed, or no longer lists
			     * it */
	bool taken;	    /* cancelled because of that: WAITING again if it
			     * comes back */
	bool wrong;	    /* the file's entry is invalid: `why` says how */
	bool barred;	    /* cannot be done now: unknown stream or URL, or
			     * a duplicate */
	bool any_time;	    /* data time that was over when it was added: any
			     * arrival time is right */
	bool resume;	    /* was running when the daemon ended */
	bool kept;	    /* matched with an entry of the file, during a
			     * merge */
	bool dropped;	    /* to be removed from the list by
			     * schedule_dropped() */
	unsigned asked;	    /* number in the last admission, from 1 */
	unsigned tries;	    /* failed attempts to arm it */
	int64_t again;	    /* steady ns, when to try again */
	int64_t begun;	    /* steady ns, when it last began */
	int64_t pause;	    /* ns between the last failure and the next try */
	int64_t over;	    /* UTC ns, since when it is over; 0: it is not */
	int64_t begin, end; /* steady ns, as it was armed; end INT64_MAX:
			     * none */
};

struct scan_list {
	struct scan **scan;
	unsigned n, room;
	unsigned others; /* entries of the file that are other stations', and
			  * not in the list */
};

/* Returns an empty scan; NULL without memory. */
struct scan *scan_new(void);
void scan_free(struct scan *s);

/*
 * Appends a scan, which the list then owns.  0, or -ENOMEM, and the caller
 * still owns it.
 */
int scan_list_add(struct scan_list *list, struct scan *s);
/* Frees the list and its scans. */
void scan_list_clear(struct scan_list *list);

/* Appends the name of a stream.  0 or -ENOMEM. */
int scan_stream_add(struct scan *s, const char *stream);

const char *scan_action_word(enum scan_action action);
const char *scan_state_word(enum scan_state state);
bool scan_action_parse(const char *word, enum scan_action *action);
bool scan_state_parse(const char *word, enum scan_state *state);

/*
 * Tells whether both entries do the same, whatever their times: action, name
 * and URL are equal.  So recording a scan, and sending it to each of several
 * places, are different entries.
 */
bool scan_is_entry(const struct scan *a, const struct scan *b);

/*
 * Tells whether the scan is WAITING, ARMED or RUNNING, so that something will
 * still come of it.
 */
bool scan_is_ahead(const struct scan *s);
/* Tells whether the scan is WAITING, or REFUSED for lack of room only. */
bool scan_is_candidate(const struct scan *s);

/*
 * Turns a foreign name into one that a recording may have: other characters
 * become '-'.  True if that changed it; `good` is empty if nothing is left.
 */
bool scan_name_mend(char good[SCAN_NAME], const char *name);

/*
 * Sets the keys of a scan as clients see it, but for those of ANSWER_CHECK; `utc`
 * is the present, for times to go.
 */
void scan_answer(struct answer_scan *a, const struct scan *s, int64_t utc);
/* Returns that as JSON: SCAN of verbs.h. */
json_t *scan_json(const struct scan *s, int64_t utc);

/*
 * Reads the text of a schedule file: groups, each a scan, and lists of such
 * groups.  Returns 0, or -EINVAL with a fault if the file cannot be parsed;
 * then no scan of it counts.  A scan that is invalid by itself is put into the
 * list as well, REFUSED and `wrong`, with file:line and the reason in `why`,
 * and does not affect the others.  `station` is this recorder's: entries that
 * name other stations alone are counted, whatever else they say.  With NULL a
 * recorder that does not know its station refuses every entry that names one,
 * because it can be neither recorded nor left out without asking.  Pure; any
 * thread may call.
 */
int scan_read(struct scan_list *list, const char *file, const char *text,
	      const char *station, struct fault *fault);

/* The keys of a scan; ends with a NULL name. */
extern const struct option_key scan_options[];

#endif
