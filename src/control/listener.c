/* SPDX-License-Identifier: MIT */
/*
 * The listening sockets and a timer in one epoll set, so that the owner polls
 * one descriptor, also during a pause.
 *
 * Rejected: a spare descriptor that is closed to accept one connection and send
 * it away.  Another thread takes the freed number first, and a connection had
 * better wait in the kernel's queue until there is a descriptor.
 *
 * Places are few, so they are counted anew for each connection.
 */
#include "control/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "net/allow.h"
#include "net/endpoint.h"

enum {
	BACKLOG = 1024, /* room for a burst, so that the kernel drops none */
	PAUSE_NS = 200000000,
	SAY_S = 60, /* between two lines that no descriptor is left */
};

/* ---- peers ----------------------------------------------------------- */

static void
peer_find(struct listener_peer *p, int fd)
{
	const struct sockaddr_in6 *six = (struct sockaddr_in6 *)&p->address;
	const struct sockaddr_in *four = (struct sockaddr_in *)&p->address;
	struct ucred who;
	socklen_t length = sizeof who;

	memset(p->key, 0, sizeof p->key);
	p->trusted = false;
	if (p->address.ss_family == AF_INET) {
		memcpy(p->key, &four->sin_addr, sizeof four->sin_addr);
	} else if (p->address.ss_family == AF_INET6) {
		memcpy(p->key, &six->sin6_addr, 8);
	} else if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) ==
		   0) {
		memcpy(p->key, &who.uid, sizeof who.uid);
		p->trusted = who.uid == 0 || who.uid == geteuid();
	}
}

static bool
is_same(const struct listener_entry *p, const struct listener_entry *q)
{
	return !memcmp(p->key, q->key, sizeof p->key);
}

/* ---- entries --------------------------------------------------------- */

static unsigned
count(const struct listener *l, const struct listener_entry *of, bool proved)
{
	unsigned n = 0;

	for (const struct listener_entry *p = l->first; p; p = p->next)
		n += p->proved == proved && (!of || is_same(p, of));
	return n;
}

static bool
may_go(const struct listener_entry *p, const struct listener_entry *whom)
{
	if (p->trusted && !whom->trusted)
		return false;
	return !p->busy || (whom->trusted && !p->trusted);
}

/* True if `p` has to go rather than `q`. */
static bool
goes_before(const struct listener *l, const struct listener_entry *p,
	    const struct listener_entry *q)
{
	unsigned of_p, of_q;

	if (p->trusted != q->trusted)
		return q->trusted;
	if (p->busy != q->busy)
		return q->busy;
	if (is_same(p, q))
		return p->heard < q->heard;
	of_p = count(l, p, p->proved);
	of_q = count(l, q, q->proved);
	return of_p == of_q ? p->heard < q->heard : of_p > of_q;
}

/* Returns the connection to close in favour of `whom`, or NULL: none may. */
static struct listener_entry *
who_goes(const struct listener *l, const struct listener_entry *whom,
	 bool proved, bool same)
{
	struct listener_entry *found = NULL;

	for (struct listener_entry *p = l->first; p; p = p->next) {
		if (p == whom || p->proved != proved || !may_go(p, whom) ||
		    (same && !is_same(p, whom)))
			continue;
		if (!found || goes_before(l, p, found))
			found = p;
	}
	return found;
}

/* Makes room for one more: `most` in all, `of_one` of the peer.  Returns 0 or
 * -EBUSY. */
static int
room_make(struct listener *l, const struct listener_entry *whom, bool proved,
	  unsigned most, unsigned of_one)
{
	bool own = count(l, whom, proved) >= of_one && !whom->trusted;
	struct listener_entry *out;

	if (!own && count(l, NULL, proved) < most)
		return 0;
	out = who_goes(l, whom, proved, own);
	if (!out)
		return -EBUSY;
	listener_leave(l, out);
	l->rules.expel(l->rules.arg, out);
	return 0;
}

int
listener_enter(struct listener *l, struct listener_entry *p,
	       const struct listener_peer *from)
{
	int err;

	*p = (struct listener_entry){ .trusted = from->trusted,
				      .heard = clock_steady() };
	memcpy(p->key, from->key, sizeof p->key);
	err = room_make(l, p, false, LISTENER_NEWCOMERS, LISTENER_OF_ONE);
	if (err)
		return err;
	p->next = l->first;
	p->entered = true;
	l->first = p;
	return 0;
}

int
listener_prove(struct listener *l, struct listener_entry *p)
{
	int err = p->entered ? room_make(l, p, true, l->rules.connections,
					 l->rules.of_one)
			     : -EBUSY;

	p->proved = !err;
	return err;
}

void
listener_leave(struct listener *l, struct listener_entry *p)
{
	struct listener_entry **at = &l->first;

	if (!p->entered)
		return;
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	p->entered = false;
}

/* ---- the pause ------------------------------------------------------- */

static void
sockets_watch(struct listener *l, bool on)
{
	for (unsigned i = 0; i < l->n; i++) {
		struct epoll_event e = { .events = on ? EPOLLIN : 0 };

		epoll_ctl(l->epoll, EPOLL_CTL_MOD, l->fd[i], &e);
	}
}

void
listener_pause(struct listener *l, int err)
{
	const struct itimerspec soon = { .it_value.tv_nsec = PAUSE_NS };
	int64_t now = clock_steady();

	if (!l->said || now - l->said > SAY_S * NS_SECOND)
		log_line(LEVEL_ERROR, NULL,
			 "%s: whoever comes has to wait: %s; "
			 "'ls /proc/%d/fd' shows what is open",
			 l->rules.name, strerror(err), (int)getpid());
	l->said = now;
	l->paused = true;
	sockets_watch(l, false);
	timerfd_settime(l->timer, 0, &soon, NULL);
}

/* Returns false if the pause goes on. */
static bool
pause_is_over(struct listener *l)
{
	uint64_t n;

	if (read(l->timer, &n, sizeof n) < 0)
		return false;
	l->paused = false;
	sockets_watch(l, true);
	return true;
}

/* ---- accepting ------------------------------------------------------- */

int
listener_accept(struct listener *l, struct listener_peer *from)
{
	if (l->paused && !pause_is_over(l))
		return -1;
	for (unsigned i = 0; i < l->n; i++) {
		socklen_t length = sizeof from->address;
		int fd = accept4(l->fd[l->turn++ % l->n],
				 (struct sockaddr *)&from->address, &length,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			peer_find(from, fd);
			return fd;
		}
		/* Any other error belongs to that connection: its peer left. */
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
		    errno == ENOBUFS) {
			listener_pause(l, errno);
			return -1;
		}
	}
	return -1;
}

int
listener_fd(const struct listener *l)
{
	return l->epoll;
}

/* ---- opening --------------------------------------------------------- */

int
listener_open(struct listener *l, const struct listener_rules *rules)
{
	struct epoll_event e = { .events = EPOLLIN };

	*l = (struct listener){ .rules = *rules, .open = true };
	l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->timer < 0 || l->epoll < 0 ||
	    epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->timer, &e) < 0)
		return -errno;
	return 0;
}

void
listener_close(struct listener *l)
{
	for (unsigned i = 0; i < l->n; i++)
		close(l->fd[i]);
	if (l->open && l->timer >= 0)
		close(l->timer);
	if (l->open && l->epoll >= 0)
		close(l->epoll);
	*l = (struct listener){ 0 };
}

int
listener_add(struct listener *l, int fd)
{
	struct epoll_event e = { .events = EPOLLIN };
	int err = l->n < LISTENER_SOCKETS ? 0 : -E2BIG;

	if (!err && listen(fd, BACKLOG) < 0)
		err = -errno;
	if (!err && epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e) < 0)
		err = -errno;
	if (err)
		close(fd);
	else
		l->fd[l->n++] = fd;
	return err;
}

int
listener_bind(const char *text)
{
	static const int one = 1;
	union endpoint address;
	int fd, err = endpoint_read(&address, text);

	if (err)
		return err;
	fd = socket(address.any.sa_family,
		    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &one, sizeof one);
	if (address.any.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
	if (bind(fd, &address.any, endpoint_bytes(&address)) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

int
listener_add_tcp(struct listener *l, const char *text)
{
	int fd = listener_bind(text);

	return fd < 0 ? fd : listener_add(l, fd);
}

/* ---- the configuration ---------------------------------------------------- */

static int
conf_refuse(struct conf *conf, const config_setting_t *group, const char *key,
	    const char *text, const char *what, struct fault *fault)
{
	fault_set(fault, -EINVAL, "conf", "%s: '%s' %s",
		  config_setting_name(group), text, what);
	return conf_blame_key(conf, group, key, fault);
}

/* True if an address stands in the list before entry `i`, too. */
static bool
is_twice(const struct option_texts *listen, unsigned i)
{
	union endpoint one, other;

	endpoint_read(&one, listen->text[i]);
	for (unsigned k = 0; k < i; k++) {
		endpoint_read(&other, listen->text[k]);
		if (endpoint_same(&one, &other))
			return true;
	}
	return false;
}

int
listener_conf_check(struct conf *conf, const config_setting_t *group,
		    const char *usual, const struct option_texts *listen,
		    const struct option_texts *allow, struct fault *fault)
{
	union endpoint address;
	struct allow_network network;
	int err = 0;

	if (!listen->n)
		err = conf_refuse(conf, group, "listen", "listen",
				  "is missing: where do connections come in?",
				  fault);
	for (unsigned i = 0; i < listen->n && !err; i++) {
		if (endpoint_read(&address, listen->text[i]) < 0)
			err =
			    conf_refuse(conf, group, "listen", listen->text[i],
					"is no address to listen on", fault);
		else if (is_twice(listen, i))
			err =
			    conf_refuse(conf, group, "listen", listen->text[i],
					"is in `listen` twice", fault);
	}
	if (err) {
		fault_hint(fault, "listen = [ \"%s\" ];", usual);
		return err;
	}
	for (unsigned i = 0; i < allow->n; i++) {
		if (allow_network_read(&network, allow->text[i]) == 0)
			continue;
		err = conf_refuse(conf, group, "allow", allow->text[i],
				  "is no network", fault);
		fault_hint(fault, "allow = [ \"10.0.0.0/8\", \"fd00::/8\" ];");
		return err;
	}
	return 0;
}
