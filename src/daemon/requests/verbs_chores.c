/* SPDX-License-Identifier: MIT */
/*
 * `rm` and `protect` are answered when the change is durable.  `rm` of a
 * recording that runs is refused at once: its folders may not be there yet.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "daemon/disks/chores.h"
#include "daemon/requests/verbs.h"
#include "store/recording/foreign.h"

static int
refuse_live(const struct daemon *d, const struct chore *c, struct fault *fault)
{
	for (const struct session *s = d->r.sessions; s; s = s->next) {
		if (strcmp(s->name, c->name))
			continue;
		fault_set(fault, -EBUSY, "busy", "%s is not removed", c->name);
		fault_why(fault, "it is being recorded");
		fault_hint(fault, "spate stop %s ends that", s->group);
		return -EBUSY;
	}
	return 0;
}

/* Refuses to remove a recording that is being sent, or with `force` stops the
 * transfer.  The transfer would end with its data, but only with an error. */
static int
refuse_sent(struct daemon *d, const struct chore *c, struct fault *fault)
{
	struct transfer *t = NULL;

	while ((t = transfer_of(&d->transfers, c->name, t))) {
		if (c->force) {
			transfer_stop(&d->transfers, t, "it was removed");
			continue;
		}
		fault_set(fault, -EBUSY, "busy", "%s is not removed", c->name);
		fault_why(fault, t->step == TRANSFER_RUNNING
				     ? "it is being sent"
				     : "it waits to be sent");
		fault_hint(fault,
			   "spate stop %u ends that; --force does so, and "
			   "removes it",
			   t->id);
		return -EBUSY;
	}
	return 0;
}

static int
chore_begin(struct daemon *d, struct chore *c, const json_t *request,
	    struct fault *fault)
{
	const char *name = json_string_value(json_object_get(request, "name"));

	if (!name || strlen(name) >= sizeof c->name)
		return fault_set(fault, -EINVAL, "usage",
				 "`name` is missing, or too long");
	strcpy(c->name, name);
	if (c->kind == CHORE_REMOVE &&
	    (refuse_live(d, c, fault) || refuse_sent(d, c, fault)))
		return -EBUSY;
	if (chores_add(d->chores, c, &d->r.fleet))
		return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
	return 0;
}

int
verb_rm(struct daemon *d, struct server_ticket ticket, const json_t *request,
	struct fault *fault)
{
	struct chore c = {
		.kind = json_is_true(json_object_get(request, "look"))
			    ? CHORE_LOOK
			    : CHORE_REMOVE,
		.force = json_is_true(json_object_get(request, "force")),
		.ticket = ticket,
	};

	return chore_begin(d, &c, request, fault);
}

int
verb_protect(struct daemon *d, struct server_ticket ticket,
	     const json_t *request, struct fault *fault)
{
	struct chore c = {
		.kind = json_is_true(json_object_get(request, "off"))
			    ? CHORE_UNPROTECT
			    : CHORE_PROTECT,
		.ticket = ticket,
	};

	return chore_begin(d, &c, request, fault);
}

/* Handles `look`: another program changed the recording, so the catalogue reads
 * it again. */
int
verb_look(struct daemon *d, struct server_ticket ticket, const json_t *request,
	  struct fault *fault)
{
	const char *name = json_string_value(json_object_get(request, "name"));

	if (!name || (!layout_folder_good(name) && !foreign_name_good(name)))
		return fault_set(fault, -EINVAL, "usage",
				 "`name` is missing, or none");
	for (const struct session *s = d->r.sessions; s; s = s->next) {
		if (!strcmp(s->name, name))
			goto out; /* it is read at its end anyway */
	}
	keeper_touch(d->r.keeper, name);
out:
	server_answer(d->r.server, ticket, json_object());
	return 0;
}

static void
chore_end(struct daemon *d, struct chore *c)
{
	if (!c->err && c->kind == CHORE_REMOVE) {
		log_line(LEVEL_INFO, c->name, "removed, as was asked for");
		catalogue_forget(keeper_catalogue(d->r.keeper), c->name);
		recorder_forget(&d->r, c->name);
		keeper_poke(d->r.keeper);
	} else if (c->kind != CHORE_LOOK) {
		keeper_touch(d->r.keeper, c->name);
	}
	if (c->err)
		server_refuse(d->r.server, c->ticket, &c->fault);
	else
		server_answer(d->r.server, c->ticket, json_incref(c->result));
	chore_free(c);
}

void
daemon_chores(struct daemon *d)
{
	struct chore *c;

	while ((c = chores_take(d->chores)))
		chore_end(d, c);
}
