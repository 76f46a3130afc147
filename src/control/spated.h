/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTROL_SPATED_H
#define SPATE_CONTROL_SPATED_H

#include <jansson.h>

#include "base/fault.h"

/*
 * The connection of a program that outlives spated to its control socket.
 * spated answers each question from memory, so they are asked one at a time and
 * waited for:
 *
 *   away --question--> connected --it ends, or does not answer--> away
 *
 * spated may end and come back; the next question connects again.  If it does
 * not answer within spated_wishes::wait_ms, questions of the next
 * SPATED_REST_NS fail at once, so that a spated that hangs does not hold up each
 * command for long.  One thread.
 */
struct spated;

#define SPATED_REST_NS NS_SECOND

/* Texts must outlive the connection. */
struct spated_wishes {
	const char *socket;
	const char *subject; /* of its log lines */
	int wait_ms;	     /* for each answer */
};

/* Connects to nothing yet.  0 or -ENOMEM. */
int spated_open(struct spated **s, const struct spated_wishes *wishes);
void spated_close(struct spated *s); /* NULL is allowed */

/*
 * Asks as control_ask_with() does, and takes over `request`, which is NULL if
 * it could not be made: of a text that is no UTF-8.  *result is NULL after an
 * error.  0, or -errno with a fault.
 */
int spated_ask(struct spated *s, const char *verb, json_t *request, int fd,
	       json_t **result, struct fault *fault);

/* Asks the spated of that life (spated_life); -ESTALE if another one is there,
 * for which a number in the question means something else. */
int spated_ask_only(struct spated *s, unsigned life, const char *verb,
		    json_t *request, json_t **result, struct fault *fault);

/*
 * Returns why spated could not be asked since spated_begin(), the last
 * command's begin; NULL: it could.
 */
const char *spated_away(const struct spated *s);
void spated_begin(struct spated *s);

/*
 * Returns the number of the spated that answered last: it grows with each that
 * was started.  Transfers of an earlier one are gone.  0: none answered yet.
 */
unsigned spated_life(const struct spated *s);

/* Returns the socket to poll, or -1; readable: call spated_look(). */
int spated_fd(const struct spated *s);
void spated_look(struct spated *s);

#endif
