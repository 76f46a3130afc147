/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_RM_EACH_H
#define SPATE_CLI_RM_EACH_H

#include "cli/show/listing.h"
#include "control/control.h"

/*
 * Removes recordings: the daemon does it, with its rights; without a daemon
 * this process does.
 */
struct remover {
	struct control *control; /* NULL: there is no daemon */
	struct disks disks;
};

/*
 * Connects to the daemon, or else finds the disks.  Returns 0, or -errno with a
 * fault; the caller calls remover_close() in either case.
 */
int remover_open(struct remover *r, const struct cli *cli, struct fault *fault);
void remover_close(struct remover *r);

/*
 * Gets what a removal would remove, as removal_json() says; the caller drops
 * *facts.  Returns 0, or -errno with a fault.
 */
int remover_look(struct remover *r, const char *name, json_t **facts,
		 struct fault *fault);
/* Removes a recording; *facts gets what was removed. */
int remover_remove(struct remover *r, const char *name, bool force,
		   json_t **facts, struct fault *fault);

/* Protects a recording, or ends its protection. */
int remover_protect(struct remover *r, const char *name, bool on, json_t **done,
		    struct fault *fault);

/*
 * Returns the names that operands stand for, as a new array; NULL with a fault.
 * A pattern stands for all that match.  A name stands for itself, or, if there
 * is no recording of that name, for its streams <name>_ds<stream>. An unknown
 * name is kept; removing it will report that.  *patterns: an operand was a
 * pattern.
 */
json_t *names_meant(const struct cli *cli, char **operand, bool *patterns,
		    struct fault *fault);

#endif
