/* SPDX-License-Identifier: MIT */
/*
 * A peer that is gone is noticed on the TCP connection beside each worker,
 * whether libucx reports it or not.
 *
 * Variables of the environment (UCX_...) go before the settings made here.
 */
#include "worker.h"

#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GO = 64 }; /* most steps of one ucx_worker_go() */

/* ---- the library ----------------------------------------------------- */

static int
library_load(struct ucx_library *u, char *why, uint32_t why_bytes)
{
	static const char *const name[] = {
#define UCX_CALL(name) #name,
		UCX_CALLS(UCX_CALL)
#undef UCX_CALL
	};
	char *at = (char *)u + offsetof(struct ucx_library, ucp_config_read);

	/*
	 * The library is never unloaded, because it leaves threads and hooks
	 * behind.
	 */
	u->object = dlopen("libucp.so.0", RTLD_NOW | RTLD_NODELETE);
	if (!u->object) {
		snprintf(why, why_bytes,
			 "libucx is not here (%s); Debian's package is libucx0",
			 dlerror());
		return -ELIBACC;
	}
	for (unsigned i = 0; i < sizeof name / sizeof *name; i++) {
		void *call = dlsym(u->object, name[i]);

		if (!call) {
			snprintf(why, why_bytes,
				 "libucx has no %s: it is too "
				 "old",
				 name[i]);
			return -ELIBACC;
		}
		memcpy(at + i * sizeof call, &call, sizeof call);
	}
	return 0;
}

/*
 * Silences libucx, which would write errors to standard output.  The plugin
 * reports them itself, with the session's name.
 */
static void
library_hush(const struct ucx_library *u)
{
	ucs_status_t (*set)(const char *, const char *);

	*(void **)&set = dlsym(u->object, "ucs_global_opts_set_value");
	if (set && !getenv("UCX_LOG_LEVEL"))
		set("LOG_LEVEL", "fatal");
}

static void
context_wish(const struct ucx_library *u, ucp_config_t *config,
	     enum ucx_distance distance)
{
	static const struct {
		const char *environment, *name, *value;
	} wish[] = {
		/*
		 * The defaults depend on an estimate of the path's speed, and
		 * libucx 1.13 takes every interface that does not report its
		 * speed (lo, veth, virtio) for 100 Mb/s.
		 */
		{ "UCX_RNDV_THRESH", "RNDV_THRESH", "8192" },
		{ "UCX_ZCOPY_THRESH", "ZCOPY_THRESH", "16384" },
	};
	const char *ways = getenv("UCX_TLS");

	for (unsigned i = 0; i < sizeof wish / sizeof *wish; i++) {
		if (!getenv(wish[i].environment))
			u->ucp_config_modify(config, wish[i].name,
					     wish[i].value);
	}
	if (distance == UCX_NEAR && (!ways || !strcmp(ways, "all")))
		u->ucp_config_modify(config, "TLS", "posix,sysv,cma,self");
}

static int
context_make(struct ucx_library *u, enum ucx_distance distance, char *why,
	     uint32_t why_bytes)
{
	const ucp_params_t params = {
		.field_mask = UCP_PARAM_FIELD_FEATURES,
		.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP,
	};
	ucp_context_h context = NULL;
	ucp_config_t *config;
	ucs_status_t status;

	status = u->ucp_config_read(NULL, NULL, &config);
	if (status == UCS_OK) {
		context_wish(u, config, distance);
		status = u->ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR,
					     &params, config, &context);
		u->ucp_config_release(config);
	}
	if (status == UCS_OK) {
		u->context[distance] = context;
		return 0;
	}
	snprintf(why, why_bytes,
		 "libucx does not start: %s; 'ucx_info -d' lists what it can "
		 "use, UCX_TLS and UCX_NET_DEVICES choose",
		 u->ucs_status_string(status));
	return -EIO;
}

int
ucx_library_open(struct ucx_library *u, char *why, uint32_t why_bytes)
{
	int err;

	memset(u, 0, sizeof *u);
	err = library_load(u, why, why_bytes);
	if (err)
		return err;
	library_hush(u);
	return context_make(u, UCX_FAR, why, why_bytes);
}

void
ucx_library_close(struct ucx_library *u)
{
	for (unsigned i = 0; i < 2 && !u->used; i++) {
		if (u->context[i])
			u->ucp_cleanup(u->context[i]);
		u->context[i] = NULL;
	}
}

static bool
same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
	return !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
		       &((const struct sockaddr_in6 *)b)->sin6_addr,
		       sizeof(struct in6_addr));
}

bool
ucx_is_near(const struct sockaddr_storage *here,
	    const struct sockaddr_storage *there)
{
	static const char *const shared[] = { "posix", "sysv", "cma", "self",
					      "sm",    "shm",  "mm",  "xpmem" };
	char ways[256], *at = ways, *word;

	if (!same_host(here, there))
		return false;
	snprintf(ways, sizeof ways, "%s",
		 getenv("UCX_TLS") ? getenv("UCX_TLS") : "all");
	if (!strcmp(ways, "all"))
		return true;
	while ((word = strsep(&at, ","))) {
		bool is = false;

		for (unsigned i = 0; i < sizeof shared / sizeof *shared; i++)
			is |= !strcmp(word, shared[i]);
		if (!is)
			return false;
	}
	return true;
}

/* ---- a worker -------------------------------------------------------- */

int
ucx_worker_open(struct ucx_worker *w, struct ucx_library *u,
		enum ucx_distance distance, char *why, uint32_t why_bytes)
{
	const ucp_worker_params_t params = {
		.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
		.thread_mode = UCS_THREAD_MODE_SINGLE,
	};
	ucs_status_t status;

	if (w->worker) {
		w->open = true;
		w->err = 0;
		return 0;
	}
	*w = (struct ucx_worker){ .u = u, .distance = distance, .fd = -1 };
	if (!u->context[distance] && context_make(u, distance, why, why_bytes))
		return -EIO;
	status =
	    u->ucp_worker_create(u->context[distance], &params, &w->worker);
	if (status != UCS_OK)
		w->worker = NULL;
	else
		status = u->ucp_worker_get_efd(w->worker, &w->fd);
	w->open = status == UCS_OK;
	if (w->open)
		return 0;
	snprintf(why, why_bytes, "libucx gives no worker: %s",
		 u->ucs_status_string(status));
	w->wired = true;
	ucx_worker_close(w);
	return -EIO;
}

/*
 * Closes the endpoint by force.  Without it, libucx does not destroy a worker
 * whose messages are on their way.
 */
static void
connection_end(struct ucx_worker *w)
{
	const ucp_request_param_t params = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
		.flags = UCP_EP_CLOSE_FLAG_FORCE,
	};
	void *request;

	if (w->distance == UCX_NEAR || !w->ep)
		return;
	request = w->u->ucp_ep_close_nbx(w->ep, &params);
	if (request && !UCS_PTR_IS_ERR(request))
		w->u->ucp_request_free(request);
}

void
ucx_worker_close(struct ucx_worker *w)
{
	w->open = false;
	connection_end(w);
	w->ep = NULL;
	w->flush = NULL;
	if (!w->wired)
		return;
	if (w->port)
		w->u->ucp_listener_destroy(w->listener);
	w->port = 0;
	if (w->worker)
		w->u->ucp_worker_destroy(w->worker);
	w->worker = NULL;
	w->wired = false;
	w->fd = -1;
}

void
ucx_worker_free(struct ucx_worker *w)
{
	ucx_worker_close(w);
	if (w->worker)
		w->u->used = true;
	w->worker = NULL;
}

int
ucx_worker_address(const struct ucx_worker *w, uint8_t *to, uint32_t *bytes)
{
	ucp_address_t *address;
	size_t length;
	int err = 0;

	if (w->u->ucp_worker_get_address(w->worker, &address, &length) !=
	    UCS_OK)
		return -EIO;
	if (length > *bytes)
		err = -E2BIG;
	else
		memcpy(to, address, length);
	*bytes = (uint32_t)length;
	w->u->ucp_worker_release_address(w->worker, address);
	return err;
}

static void
broke(void *arg, ucp_ep_h ep, ucs_status_t status)
{
	struct ucx_worker *w = arg;

	(void)status;
	if (ep == w->ep)
		w->err = -EPIPE;
}

static void
flushed(void *request, ucs_status_t status, void *user_data)
{
	struct ucx_worker *w = user_data;

	if (request == w->flush && status == UCS_OK)
		w->wired = true;
	else if (request == w->flush)
		w->err = -EPIPE;
	w->u->ucp_request_free(request);
}

static int
flush_begin(struct ucx_worker *w)
{
	const ucp_request_param_t params = {
		.op_attr_mask =
		    UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
		.cb.send = flushed,
		.user_data = w,
	};

	w->flush = w->u->ucp_ep_flush_nbx(w->ep, &params);
	if (UCS_PTR_IS_ERR(w->flush))
		return -EHOSTUNREACH;
	w->wired = !w->flush;
	return 0;
}

int
ucx_worker_connect(struct ucx_worker *w, const struct ucx_where *where)
{
	ucp_ep_params_t params = {
		.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
			      UCP_EP_PARAM_FIELD_ERR_HANDLER,
		.err_handler = { broke, w },
	};

	if (w->distance == UCX_NEAR) {
		params.field_mask |= UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
		params.address = (const ucp_address_t *)where->address;
		params.err_mode = UCP_ERR_HANDLING_MODE_NONE;
	} else {
		params.field_mask |=
		    UCP_EP_PARAM_FIELD_SOCK_ADDR | UCP_EP_PARAM_FIELD_FLAGS;
		params.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
		params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
		params.sockaddr.addr = (const struct sockaddr *)&where->at;
		params.sockaddr.addrlen = sizeof where->at;
	}
	if (w->u->ucp_ep_create(w->worker, &params, &w->ep) != UCS_OK)
		return -EHOSTUNREACH;
	return flush_begin(w);
}

static void
called(ucp_conn_request_h request, void *arg)
{
	struct ucx_worker *w = arg;
	const ucp_ep_params_t params = {
		.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST |
			      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
			      UCP_EP_PARAM_FIELD_ERR_HANDLER,
		.conn_request = request,
		.err_mode = UCP_ERR_HANDLING_MODE_PEER,
		.err_handler = { broke, w },
	};

	if (!w->open || w->ep)
		w->u->ucp_listener_reject(w->listener, request);
	else if (w->u->ucp_ep_create(w->worker, &params, &w->ep) != UCS_OK)
		w->err = -EPIPE;
}

int
ucx_worker_listen(struct ucx_worker *w, struct sockaddr_storage *at)
{
	const ucp_listener_params_t params = {
		.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR |
			      UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
		.sockaddr = { (const struct sockaddr *)at, sizeof *at },
		.conn_handler = { called, w },
	};
	ucp_listener_attr_t got = {
		.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR,
	};

	if (w->port)
		return 0;
	/* sin_port and sin6_port have the same place */
	((struct sockaddr_in *)at)->sin_port = 0;
	if (w->u->ucp_listener_create(w->worker, &params, &w->listener) !=
	    UCS_OK)
		return -EADDRNOTAVAIL;
	w->u->ucp_listener_query(w->listener, &got);
	w->port = ntohs(((struct sockaddr_in *)&got.sockaddr)->sin_port);
	return 0;
}

bool
ucx_worker_go(struct ucx_worker *w)
{
	unsigned i = 0;

	while (i < GO && w->u->ucp_worker_progress(w->worker))
		i++;
	return i > 0;
}

bool
ucx_worker_rest(struct ucx_worker *w)
{
	return w->u->ucp_worker_arm(w->worker) == UCS_OK;
}

/*
 * Reads a line of ucp_ep_print_info(): "lane[0]: cm rdmacm", which only
 * connects, or "lane[1]:  0:tcp/lo.0 ..."
 */
static bool
lane_is_tame(const char *at)
{
	static const char *const tame[] = { "tcp/", "posix/", "sysv/", "cma/",
					    "self/" };
	bool is = false;

	at = strchr(at, ':');
	if (!at)
		return false;
	at += 1 + strspn(at + 1, " ");
	if (!strncmp(at, "cm ", 3))
		return true;
	at = strchr(at, ':');
	for (unsigned i = 0; at && i < sizeof tame / sizeof *tame; i++)
		is |= !strncmp(at + 1, tame[i], strlen(tame[i]));
	return is;
}

bool
ucx_worker_is_tame(const struct ucx_worker *w, ucp_ep_h ep)
{
	char *text = NULL, *at;
	size_t bytes = 0;
	bool all = true;
	unsigned lanes = 0;
	FILE *file = open_memstream(&text, &bytes);

	if (!file)
		return false;
	w->u->ucp_ep_print_info(ep, file);
	fclose(file);
	for (at = strstr(text, "lane["); at; at = strstr(at + 1, "lane[")) {
		all &= lane_is_tame(at);
		lanes++;
	}
	free(text);
	return all && lanes;
}
