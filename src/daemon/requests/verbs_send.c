/* SPDX-License-Identifier: MIT */
/*
 * `send` and `relay` are answered when the transfer is in the queue.  Faults
 * that can be seen by then are refused; faults of a disk or the peer show in
 * the transfer's state.  `stop` of a transfer, and `send` with `wait`, add a
 * waiter that is answered when the transfer has ended.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/transfers/transfer.h"
#include "daemon/requests/verbs.h"

static int
usage(struct fault *fault, const char *what)
{
	return fault_set(fault, -EINVAL, "usage", "%s", what);
}

static int
wait_add(struct daemon *d, struct server_ticket ticket, const unsigned *id,
	 unsigned n, struct fault *fault)
{
	return transfer_wait(&d->transfers, ticket, id, n)
		   ? fault_no_memory(fault)
		   : 0;
}

bool
verb_is_vsi(const json_t *request)
{
	const char *by = json_string_value(json_object_get(request, "by"));

	return by && !strncmp(by, "vsi", 3) && (!by[3] || by[3] == ' ');
}

/* ---- send and relay -------------------------------------------------- */

/* Takes the descriptor that came with the request, to write to. */
static int
file_take(struct daemon *d, struct server_ticket ticket,
	  struct transfer_order *o, struct fault *fault)
{
	int fd = server_fd_take(d->r.server, ticket);

	if (fd >= 0)
		o->file = transfer_file_make(fd, d->r.closer);
	if (o->file)
		return 0;
	transfer_order_clear(o);
	if (fd < 0)
		return usage(fault, "no descriptor came with `fd`");
	closer_close(d->r.closer, fd);
	return fault_no_memory(fault);
}

static int
begin(struct daemon *d, struct server_ticket ticket, const json_t *request,
      struct transfer_order *o, struct fault *fault)
{
	bool wait = json_is_true(json_object_get(request, "wait"));
	struct transfer *t;
	int err = transfer_order_read(o, request, d->r.setup.send, fault);

	if (!err && json_is_true(json_object_get(request, "fd")))
		err = file_take(d, ticket, o, fault);
	if (!err)
		err = transfer_add(&d->transfers, o, &t, fault);
	if (!err && wait)
		return wait_add(d, ticket, &t->id, 1, fault);
	if (!err)
		server_answer(d->r.server, ticket,
			      json_pack("{s:[o]}", "sends",
					transfer_json(&d->transfers, t)));
	return err;
}

int
verb_send(struct daemon *d, struct server_ticket ticket, const json_t *request,
	  struct fault *fault)
{
	struct transfer_order o = { .relay = false };

	return begin(d, ticket, request, &o, fault);
}

int
verb_relay(struct daemon *d, struct server_ticket ticket, const json_t *request,
	   struct fault *fault)
{
	struct transfer_order o = { .relay = true };

	return begin(d, ticket, request, &o, fault);
}

/* ---- looking --------------------------------------------------------- */

static unsigned
id_of(const json_t *request)
{
	const json_t *id = json_object_get(request, "send");
	json_int_t n = json_integer_value(id);

	return n > 0 && n <= UINT_MAX ? (unsigned)n : 0;
}

static json_t *
ended_find(const struct daemon *d, unsigned id)
{
	json_t *send;
	size_t i;

	json_array_foreach(d->transfers.ended, i, send) {
		if (json_integer_value(json_object_get(send, "id")) == id)
			return send;
	}
	return NULL;
}

static int
not_found(struct fault *fault, unsigned id)
{
	fault_set(fault, -ENOENT, "not-found",
		  "there is no transfer with the number %u", id);
	fault_hint(fault, "'spate sends' lists them");
	return -ENOENT;
}

static int
one_answer(struct daemon *d, struct server_ticket ticket, unsigned id,
	   struct fault *fault)
{
	struct transfer *t = transfer_find(&d->transfers, id);
	json_t *send = t ? transfer_json(&d->transfers, t)
			 : json_incref(ended_find(d, id));

	if (!send)
		return not_found(fault, id);
	server_answer(d->r.server, ticket, json_pack("{s:[o]}", "sends", send));
	return 0;
}

int
verb_sends(struct daemon *d, struct server_ticket ticket, const json_t *request,
	   struct fault *fault)
{
	const json_t *id = json_object_get(request, "send");
	json_t *list;

	if (id && !json_is_integer(id))
		return usage(fault, "`send` has to be a number");
	if (id)
		return one_answer(d, ticket, id_of(request), fault);
	list = json_is_true(json_object_get(request, "all"))
		   ? json_copy(d->transfers.ended)
		   : json_array();
	for (struct transfer *t = d->transfers.list; t; t = t->next)
		json_array_append_new(list, transfer_json(&d->transfers, t));
	server_answer(d->r.server, ticket, json_pack("{s:o}", "sends", list));
	return 0;
}

/* ---- orders ---------------------------------------------------------- */

/* Finds the transfer of a request, which must not have ended. */
static int
find(struct daemon *d, const json_t *request, struct transfer **t,
     struct fault *fault)
{
	unsigned id = id_of(request);

	if (!id)
		return usage(fault, "`send` has to be a number");
	*t = transfer_find(&d->transfers, id);
	if (*t)
		return 0;
	if (!ended_find(d, id))
		return not_found(fault, id);
	fault_set(fault, -ENOENT, "not-found", "transfer %u has ended", id);
	fault_hint(fault, "'spate sends --all' says how");
	return -ENOENT;
}

int
verb_rate(struct daemon *d, struct server_ticket ticket, const json_t *request,
	  struct fault *fault)
{
	const char *text = json_string_value(json_object_get(request, "rate"));
	struct transfer *t = NULL;
	uint64_t rate;
	int err = find(d, request, &t, fault);

	if (err)
		return err;
	if (!text || setup_send_rate(text, &rate)) {
		fault_set(fault, -EINVAL, "usage", "'%.80s' is no rate",
			  text ? text : "?");
		fault_hint(fault, "write it as 8Gbps or 500Mbps; \"data\" or "
				  "\"free\"");
		return -EINVAL;
	}
	transfer_rate(t, rate);
	return one_answer(d, ticket, t->id, fault);
}

static int
pause_set(struct daemon *d, struct server_ticket ticket, const json_t *request,
	  bool pause, struct fault *fault)
{
	struct transfer *t = NULL;
	int err = find(d, request, &t, fault);

	if (err)
		return err;
	transfer_pause(&d->transfers, t, pause);
	return one_answer(d, ticket, t->id, fault);
}

int
verb_pause(struct daemon *d, struct server_ticket ticket, const json_t *request,
	   struct fault *fault)
{
	return pause_set(d, ticket, request, true, fault);
}

int
verb_resume_send(struct daemon *d, struct server_ticket ticket,
		 const json_t *request, struct fault *fault)
{
	return pause_set(d, ticket, request, false, fault);
}

/* ---- stop ------------------------------------------------------------ */

static bool
is_meant(const struct daemon *d, const struct transfer *t, const char *which)
{
	const struct scan *scan = schedule_find(d->host.schedule, t->o.scan);
	char *end;
	unsigned long id = strtoul(which, &end, 10);

	if (*which && !*end)
		return t->id == id;
	return !strcmp(t->o.name, which) ||
	       (scan && !strcmp(scan->name, which));
}

int
verb_stop_send(struct daemon *d, struct server_ticket ticket, const char *which)
{
	struct fault fault = { 0 };
	unsigned *id, n = 0;

	for (const struct transfer *t = d->transfers.list; t; t = t->next)
		n += is_meant(d, t, which);
	if (!n)
		return -ENOENT;
	id = calloc(n, sizeof *id);
	n = 0;
	for (struct transfer *t = d->transfers.list; t; t = t->next) {
		if (!is_meant(d, t, which))
			continue;
		transfer_stop(&d->transfers, t, "stopped by hand");
		if (id)
			id[n++] = t->id;
	}
	fault_no_memory(&fault);
	if (!id || transfer_wait(&d->transfers, ticket, id, n))
		server_refuse(d->r.server, ticket, &fault);
	free(id);
	return 0;
}

int
verb_stop_one(struct daemon *d, struct server_ticket ticket,
	      const json_t *request, struct fault *fault)
{
	struct transfer *t = NULL;
	int err = find(d, request, &t, fault);

	if (err)
		return err;
	transfer_stop(&d->transfers, t,
		      verb_is_vsi(request) ? "it was ended over VSI-S"
					   : "stopped by hand");
	if (!json_is_false(json_object_get(request, "wait")))
		return wait_add(d, ticket, &t->id, 1, fault);
	server_answer(d->r.server, ticket,
		      json_pack("{s:[], s:[o]}", "recordings", "sends",
				transfer_json(&d->transfers, t)));
	return 0;
}
