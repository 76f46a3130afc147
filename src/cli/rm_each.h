/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_RM_EACH_H
#define SPATE_CLI_RM_EACH_H

#include "cli/show/listing.h"
#include "control/control.h"

/*
 * Who removes: the daemon, with its rights, where there is one; else this
 * process.
 */
struct remover {
	struct control *control; /* NULL: this process */
	struct disks disks;
};

int remover_open(struct remover *r, const struct cli *cli, struct fault *fault);
void remover_close(struct remover *r);

/* What would be removed, as removal_json() says; a new reference. */
int remover_look(struct remover *r, const char *name, json_t **facts,
		 struct fault *fault);
/* Removes it, and says what that was. */
int remover_remove(struct remover *r, const char *name, bool force,
		   json_t **facts, struct fault *fault);

/* Protects it, or not any more. */
int remover_protect(struct remover *r, const char *name, bool on, json_t **done,
		    struct fault *fault);

/*
 * The recordings that these names and patterns mean: a name means itself and,
 * where there is none of that name, its streams <name>_ds<stream>.  A name
 * that nobody knows (yet) is kept: who looks will say so.  *patterns: there is
 * one among them.  A new array of names; NULL with a fault.
 */
json_t *names_meant(const struct cli *cli, char **operand, bool *patterns,
		    struct fault *fault);

#endif
