/* SPDX-License-Identifier: MIT */
/*
 * A client reads the text of an event that all share: it holds a reference until
 * it has sent the last byte.  Between events its connection is suspended, so
 * libmicrohttpd neither polls it nor counts it as idle.
 */
#include "web/events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { EVENT_BLOCK = 16 << 10 }; /* bytes that are sent at a time */

struct web_event {
	unsigned users;
	size_t bytes;
	char *text;
};

struct event_client {
	struct event_client *next; /* events::clients */
	struct events *events;
	struct MHD_Connection *connection;
	struct web_event *event; /* that it is being sent; NULL: none */
	size_t at;		 /* bytes of that which are sent */
	uint64_t seen;		 /* figures::asked of the last event */
	bool waits;		 /* its connection is suspended */
};

struct events {
	struct figures *figures;
	struct event_client *clients;
	unsigned n;
	struct web_event *newest; /* NULL: none yet */
	uint64_t made;		  /* figures::asked of the newest */
	bool stopping;
};

/* ---- an event -------------------------------------------------------- */

static void
event_drop(struct web_event *e)
{
	if (!e || --e->users)
		return;
	free(e->text);
	free(e);
}

/* Writes what the page shows. */
static char *
figures_text(const struct figures *f)
{
	json_t *all =
	    json_pack("{s:b, s:O?, s:O?, s:O?}", "up", f->up, "status",
		      f->status, "streams", f->streams, "scans", f->scans);
	char *text =
	    all ? json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;

	json_decref(all);
	return text;
}

static void
event_make(struct events *v)
{
	struct web_event *e = calloc(1, sizeof *e);
	char *text = figures_text(v->figures);
	int bytes = text ? asprintf(&e->text, "data: %s\n\n", text) : -1;

	free(text);
	if (!e || bytes < 0) {
		free(e);
		return;
	}
	e->bytes = (size_t)bytes;
	e->users = 1;
	event_drop(v->newest);
	v->newest = e;
}

/* ---- clients --------------------------------------------------------- */

/* Gives the next bytes, or suspends the connection until there are some. */
static ssize_t
client_read(void *arg, uint64_t position, char *to, size_t room)
{
	struct event_client *c = arg;
	struct events *v = c->events;
	size_t bytes;

	(void)position;
	if (v->stopping)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (!c->event) {
		if (!v->newest || c->seen == v->made) {
			c->waits = true;
			MHD_suspend_connection(c->connection);
			return 0;
		}
		c->event = v->newest;
		c->event->users++;
		c->seen = v->made;
		c->at = 0;
	}
	bytes = c->event->bytes - c->at;
	bytes = bytes < room ? bytes : room;
	memcpy(to, c->event->text + c->at, bytes);
	c->at += bytes;
	if (c->at == c->event->bytes) {
		event_drop(c->event);
		c->event = NULL;
	}
	return (ssize_t)bytes;
}

static void
client_gone(void *arg)
{
	struct event_client *c = arg, **at = &c->events->clients;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->events->n--;
	event_drop(c->event);
	free(c);
}

enum MHD_Result
events_answer(struct events *v, struct MHD_Connection *connection)
{
	struct event_client *c;
	struct MHD_Response *r;
	enum MHD_Result result;

	c = v->n < EVENTS_CLIENTS ? calloc(1, sizeof *c) : NULL;
	if (!c)
		return MHD_NO;
	*c = (struct event_client){ .next = v->clients,
				    .events = v,
				    .connection = connection };
	r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, EVENT_BLOCK,
					      client_read, c, client_gone);
	if (!r) {
		free(c);
		return MHD_NO;
	}
	v->clients = c;
	v->n++;
	MHD_add_response_header(r, "Content-Type", "text/event-stream");
	MHD_add_response_header(r, "Cache-Control", "no-store");
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	events_step(v);
	result = MHD_queue_response(connection, MHD_HTTP_OK, r);
	MHD_destroy_response(r);
	return result;
}

/* ---- steps ----------------------------------------------------------- */

static void
clients_wake(struct events *v)
{
	for (struct event_client *c = v->clients; c; c = c->next) {
		if (c->waits)
			MHD_resume_connection(c->connection);
		c->waits = false;
	}
}

int
events_wait(const struct events *v)
{
	int64_t left = v->figures->at + FIGURES_REST_NS - clock_steady();

	if (!v->n)
		return -1;
	return left > 0 && v->figures->at ? (int)(left / 1000000) + 1 : 0;
}

void
events_step(struct events *v)
{
	if (!v->n)
		return;
	figures_refresh(v->figures);
	if (v->made == v->figures->asked)
		return;
	event_make(v);
	v->made = v->figures->asked;
	clients_wake(v);
}

int
events_open(struct events **events, struct figures *figures)
{
	struct events *v = calloc(1, sizeof *v);

	if (!v)
		return -ENOMEM;
	v->figures = figures;
	*events = v;
	return 0;
}

void
events_stop(struct events *v)
{
	v->stopping = true;
	clients_wake(v);
}

void
events_close(struct events *v)
{
	if (!v)
		return;
	event_drop(v->newest);
	free(v);
}
