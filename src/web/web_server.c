/* SPDX-License-Identifier: MIT */
/*
 * An answer is made once for all who ask within the same second: a response of
 * libmicrohttpd counts its users, and goes when the slowest client has it.
 */
#include "web/web_server.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "control/listener.h"
#include "net/allow.h"
#include "net/endpoint.h"
#include "web/events.h"
#include "web/history.h"
#include "web/metrics.h"
#include "web/page.h"
#include "web/web_host.h"

enum { HEADERS_BYTES = 16 << 10 }; /* memory of a connection */

struct web_server {
	const struct web_conf *conf;
	struct figures *figures;
	struct metrics_web web;
	struct events *events;
	struct history history;
	struct MHD_Response *page;
	struct MHD_Daemon *daemon[WEB_SOCKETS];
	unsigned n;
	/* [1] is OpenMetrics; NULL: none were asked for */
	struct MHD_Response *metrics[2];
	uint64_t metrics_of; /* figures::asked of these */
};

/* ---- answers --------------------------------------------------------- */

/* Makes a response of a text that it frees, or, if it `stays`, only points to;
 * NULL without memory. */
static struct MHD_Response *
response_make(char *text, size_t bytes, const char *type, bool stays)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(
	    bytes, text,
	    stays ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_FREE);

	if (!r) {
		if (!stays)
			free(text);
		return NULL;
	}
	MHD_add_response_header(r, "Content-Type", type);
	MHD_add_response_header(r, "Cache-Control", "no-store");
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	return r;
}

/* Refuses with a sentence, which is a static text. */
static enum MHD_Result
refuse(struct web_server *s, struct MHD_Connection *c, unsigned status,
       const char *sentence)
{
	struct MHD_Response *r =
	    response_make((char *)sentence, strlen(sentence),
			  "text/plain; charset=utf-8", true);
	enum MHD_Result result;

	s->web.refused++;
	if (!r)
		return MHD_NO;
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, "Allow", "GET, HEAD");
	result = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return result;
}

static void
metrics_forget(struct web_server *s)
{
	for (int i = 0; i < 2; i++) {
		if (s->metrics[i])
			MHD_destroy_response(s->metrics[i]);
		s->metrics[i] = NULL;
	}
}

static void
metrics_make(struct web_server *s, bool open)
{
	static const char *const type[] = {
		"text/plain; version=0.0.4; charset=utf-8",
		"application/openmetrics-text; version=1.0.0; charset=utf-8",
	};
	size_t bytes;
	char *text = metrics_text(s->figures, &s->web, open, &bytes);

	if (text)
		s->metrics[open] =
		    response_make(text, bytes, type[open], false);
}

static enum MHD_Result
metrics_answer(struct web_server *s, struct MHD_Connection *c)
{
	const char *accept =
	    MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Accept");
	bool open = accept && strstr(accept, "application/openmetrics-text");

	figures_refresh(s->figures);
	/* A page or the history may have asked spated meanwhile. */
	if (s->metrics_of != s->figures->asked)
		metrics_forget(s);
	s->metrics_of = s->figures->asked;
	if (!s->metrics[open])
		metrics_make(s, open);
	if (!s->metrics[open])
		return MHD_NO;
	s->web.answered++;
	return MHD_queue_response(c, MHD_HTTP_OK, s->metrics[open]);
}

/* Makes the page, which may run its own script, and ask here alone. */
static int
page_make(struct web_server *s)
{
	s->page = response_make((char *)page_html, strlen(page_html),
				"text/html; charset=utf-8", true);
	if (!s->page)
		return -ENOMEM;
	MHD_add_response_header(
	    s->page, "Content-Security-Policy",
	    "default-src 'none'; script-src 'unsafe-inline'; style-src "
	    "'unsafe-inline'; connect-src 'self'; base-uri 'none'; "
	    "form-action 'none'; frame-ancestors 'none'");
	MHD_add_response_header(s->page, "Referrer-Policy", "no-referrer");
	return 0;
}

static enum MHD_Result
page_answer(struct web_server *s, struct MHD_Connection *c)
{
	s->web.answered++;
	return MHD_queue_response(c, MHD_HTTP_OK, s->page);
}

static enum MHD_Result
events_begin(struct web_server *s, struct MHD_Connection *c)
{
	if (events_answer(s->events, c) != MHD_YES)
		return refuse(s, c, MHD_HTTP_SERVICE_UNAVAILABLE,
			      "Too many pages are open.\n");
	s->web.answered++;
	return MHD_YES;
}

/* The last ten minutes, for a page that has just been opened. */
static enum MHD_Result
history_answer(struct web_server *s, struct MHD_Connection *c)
{
	char *text = history_text(&s->history);
	struct MHD_Response *r =
	    text ? response_make(text, strlen(text), "application/json", false)
		 : NULL;
	enum MHD_Result result;

	if (!r)
		return MHD_NO;
	s->web.answered++;
	result = MHD_queue_response(c, MHD_HTTP_OK, r);
	MHD_destroy_response(r);
	return result;
}

/* ---- requests -------------------------------------------------------- */

/* Tells whether the request's Host means the address that it came to. */
static bool
is_for_us(struct web_server *s, struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	const char *host =
	    MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host");
	union endpoint here = { 0 };
	socklen_t bytes = sizeof here;

	return info && getsockname(info->connect_fd, &here.any, &bytes) == 0 &&
	       web_host_is_here(host, &here, &s->conf->hosts);
}

/* The pages. */
static const struct {
	const char *url;
	enum MHD_Result (*answer)(struct web_server *s,
				  struct MHD_Connection *c);
} pages[] = {
	{ "/", page_answer },
	{ "/events", events_begin },
	{ "/history", history_answer },
	{ "/metrics", metrics_answer },
};
enum { PAGES = sizeof pages / sizeof *pages };

/* Called with each request once its headers are there, with each piece of its
 * body, and when it is whole.  An answer before that closes the connection. */
static enum MHD_Result
asked(void *arg, struct MHD_Connection *c, const char *url, const char *method,
      const char *version, const char *data, size_t *bytes, void **seen)
{
	struct web_server *s = arg;
	int i = 0;

	(void)version;
	(void)data;
	while (i < PAGES && strcmp(url, pages[i].url) != 0)
		i++;
	if (*seen) {
		if (!*bytes)
			return i < PAGES ? pages[i].answer(s, c) : MHD_NO;
		*bytes = 0;
		return MHD_YES;
	}
	*seen = s;
	if (!is_for_us(s, c))
		return refuse(s, c, MHD_HTTP_FORBIDDEN,
			      "This is no name of this recorder: ask for its "
			      "address, or add the name to web.hosts in "
			      "spate.conf.\n");
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return refuse(s, c, MHD_HTTP_METHOD_NOT_ALLOWED,
			      "Nothing can be changed here.\n");
	if (i < PAGES)
		return MHD_YES;
	return refuse(s, c, MHD_HTTP_NOT_FOUND,
		      "There is nothing but /, /metrics, /events and "
		      "/history.\n");
}

static enum MHD_Result
may_come(void *arg, const struct sockaddr *from, socklen_t bytes)
{
	static const char *const here[] = { "127.0.0.0/8", "::1" };
	static const struct option_texts loopback = { here, 2 };
	const struct web_server *s = arg;
	const struct option_texts *allow =
	    s->conf->allow.n ? &s->conf->allow : &loopback;

	(void)bytes;
	return allow_texts_have(allow, from) ? MHD_YES : MHD_NO;
}

/* Anybody can send garbage: whoever wants to know asks for a longer log. */
__attribute__((format(printf, 2, 0))) static void
say(void *arg, const char *format, va_list values)
{
	char text[256];

	(void)arg;
	vsnprintf(text, sizeof text, format, values);
	text[strcspn(text, "\n")] = 0;
	log_line(LEVEL_DEBUG, "web", "%s", text);
}

/* ---- the sockets ----------------------------------------------------- */

static int
address_refuse(struct fault *fault, int err, const char *text)
{
	fault_set(fault, err, err == -EADDRINUSE ? "busy" : "io",
		  "cannot listen on %s", text);
	fault_why(fault, "%s", strerror(-err));
	if (err == -EADDRINUSE)
		fault_hint(fault, "stop the other spate-web, or set web.listen "
				  "to another port");
	return err;
}

static int
address_add(struct web_server *s, const char *text, struct fault *fault)
{
	int fd = listener_bind(text);
	struct MHD_Daemon *d;

	if (fd < 0)
		return address_refuse(fault, fd, text);
	if (listen(fd, WEB_CONNECTIONS) < 0) {
		int err = -errno;

		close(fd);
		return address_refuse(fault, err, text);
	}
	d = MHD_start_daemon(
	    MHD_USE_EPOLL | MHD_USE_ERROR_LOG | MHD_ALLOW_SUSPEND_RESUME, 0,
	    may_come, s, asked, s, MHD_OPTION_EXTERNAL_LOGGER, say, NULL,
	    MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
	    (unsigned)WEB_CONNECTIONS, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
	    (unsigned)WEB_OF_ONE, MHD_OPTION_CONNECTION_TIMEOUT,
	    (unsigned)WEB_IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
	    (size_t)HEADERS_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1,
	    MHD_OPTION_END);
	if (!d) {
		close(fd);
		return address_refuse(fault, -ENOMEM, text);
	}
	s->daemon[s->n++] = d;
	return 0;
}

int
web_server_open(struct web_server **server, const struct web_conf *conf,
		struct figures *figures, struct fault *fault)
{
	struct web_server *s = calloc(1, sizeof *s);
	int err = 0;

	if (!s)
		return fault_no_memory(fault);
	s->conf = conf;
	s->figures = figures;
	if (events_open(&s->events, figures) || page_make(s))
		err = fault_no_memory(fault);
	if (!err && conf->listen.n > WEB_SOCKETS)
		err = fault_set(fault, -E2BIG, "conf",
				"web: these are more than %d addresses",
				WEB_SOCKETS);
	for (unsigned i = 0; i < conf->listen.n && !err; i++)
		err = address_add(s, conf->listen.text[i], fault);
	if (err) {
		web_server_close(s);
		return err;
	}
	*server = s;
	return 0;
}

void
web_server_close(struct web_server *s)
{
	if (!s)
		return;
	if (s->events)
		events_stop(s->events);
	/* MHD closes the listening socket, too. */
	for (unsigned i = 0; i < s->n; i++)
		MHD_stop_daemon(s->daemon[i]);
	events_close(s->events);
	history_clear(&s->history);
	if (s->page)
		MHD_destroy_response(s->page);
	metrics_forget(s);
	free(s);
}

/* ---- the loop -------------------------------------------------------- */

unsigned
web_server_poll(struct web_server *s, struct pollfd *fd, int *wait_ms)
{
	int tick = events_wait(s->events), moment = history_wait(&s->history);
	MHD_UNSIGNED_LONG_LONG ms;

	if (tick < 0 || moment < tick)
		tick = moment;
	if (*wait_ms < 0 || tick < *wait_ms)
		*wait_ms = tick;
	for (unsigned i = 0; i < s->n; i++) {
		fd[i] =
		    (struct pollfd){ MHD_get_daemon_info(
					 s->daemon[i], MHD_DAEMON_INFO_EPOLL_FD)
					 ->epoll_fd,
				     POLLIN, 0 };
		if (MHD_get_timeout(s->daemon[i], &ms) == MHD_YES &&
		    (*wait_ms < 0 || ms < (unsigned)*wait_ms))
			*wait_ms = (int)ms;
	}
	return s->n;
}

void
web_server_run(struct web_server *s)
{
	events_step(s->events);
	history_step(&s->history, s->figures);
	for (unsigned i = 0; i < s->n; i++)
		MHD_run(s->daemon[i]);
}
