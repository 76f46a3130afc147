/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_FAULT_H
#define SPATE_BASE_FAULT_H

/*
 * A fault is an error told to a person: what happened and to which object, why,
 * and what would work.  Functions close to the user return -errno and fill one;
 * functions below them return -errno alone.
 *
 * `code` is a stable word for programs: "usage", "exists", "not-found",
 * "no-memory", "no-disk", "busy", "bad-name", "io", "conf", "cancelled",
 * "internal".
 */
struct fault {
	const char *code; /* static text; NULL: no error */
	char what[320];	  /* "cannot record r4123_wz: the name is taken" */
	char why[320];	  /* may be empty */
	char hint[320];	  /* what would work; may be empty */
};

/*
 * Sets `what` and clears the rest; returns err, so that a caller can return it
 * at once.
 */
int fault_set(struct fault *f, int err, const char *code, const char *what, ...)
    __attribute__((format(printf, 4, 5)));
/* Sets "out of memory"; returns -ENOMEM. */
int fault_no_memory(struct fault *f);
void fault_why(struct fault *f, const char *why, ...)
    __attribute__((format(printf, 2, 3)));
void fault_hint(struct fault *f, const char *hint, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes "what: why; hint" in one line; returns its length. */
int fault_line(const struct fault *f, char *line, unsigned long bytes);

#endif
