/* SPDX-License-Identifier: MIT */
/*
 * The threads of spated, what each owns, and how each is told to stop:
 *
 *   event loop      this one: configuration, sessions, control socket.
 *                   SIGTERM or SIGINT: stops every session, waits for them,
 *                   then stops the others; SIGHUP: reads the configuration
 *                   again
 *   receivers (N)   sockets and open blocks of the sessions given to them;
 *                   orders by an eventfd: receiver_feed, receiver_look,
 *                   receiver_stop
 *   writers         a disk each, with its folders; blocks from the queue,
 *   (one per disk)  errands by a poke: writer_begin, writer_end, writer_stop;
 *                   one whose disk does not answer is left alone, at the end
 *                   too: then the process ends by _exit
 *   scout           looks which disks are there; told by a wake
 *
 *   keeper          the catalogue; reads disks, last of all, and hangs with
 *                   them; told by keeper_touch, ended by keeper_stop
 *   chores          removes recordings for clients; hangs with disks, too;
 *                   told by chores_add, ended by chores_stop
 *   seek (2)        looks for a name on the disks, and whether the schedule's
 *                   folder answers; hangs with them; told by seek_name,
 *                   ended by seek_stop
 *   scribe          writes the state of the schedule; hangs with its disk;
 *                   told by scribe_write, ended by scribe_stop
 *   senders (one    a transfer each: sockets, disks that are read, blocks
 *   per transfer)   that are lent to it; orders by an eventfd: sender_rate,
 *                   sender_pause, sender_stop; copies likewise (copy_out.h).
 *                   One that hangs with a disk is left alone
 *   callers         a connection each of copies that come in (inbox.h), with
 *                   blocks that they fill; hang with disks while they look
 *                   what is there; ended by an eventfd: inbox_stop
 *   probes          a look at a stream, for seconds; sockets of its own;
 *                   ended by an eventfd: probe_end
 *   log             writes the log's lines, and waits for whoever reads them
 *                   (base/log_queue.c); told by log_line; never ends
 *
 * What crosses between them is blocks (the queue, and home to their stock),
 * errands and orders, and counters that are atomic.  The event loop is woken
 * by an eventfd, looks at every session once, and never waits for a disk.
 */
#include "daemon/main/daemon.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/schedule/schedule_host.h"
#include "daemon/vsi/vsi_daemon.h"
#include "flow/memory/arena.h"
#include "flow/output/leaf.h"
#include "flow/memory/map.h"

enum { BLOCKS_QUEUED = 1 << 20 };

/* Any thread. */
static void
wake(void *arg)
{
	const struct daemon *d = arg;

	eventfd_write(d->wake, 1);
}

/* ---- what wakes the loop --------------------------------------------- */

static void
hang_up(struct daemon *d)
{
	struct fault fault;

	/* What is wrong is in the log; who wants to be told asks. */
	if (!d->stopping)
		daemon_reload(d, NULL, &fault);
}

static void
signals_take(void *arg, short revents)
{
	struct daemon *d = arg;
	struct signalfd_siginfo info;

	(void)revents;
	if (read(d->signals, &info, sizeof info) != sizeof info)
		return;
	if (info.ssi_signo == SIGHUP) {
		hang_up(d);
		return;
	}
	log_line(LOG_INFO, NULL, "%s: stopping%s",
		 strsignal((int)info.ssi_signo),
		 d->sessions ? " what is being recorded" : "");
	d->stopping = true;
	for (struct session *s = d->sessions; s; s = s->next)
		session_stop(s, "the daemon was stopped");
	transfers_stop(d, clock_steady());
	inbox_stop(d->inbox);
	service_stopping(d);
}

static void
wake_take(void *arg, short revents)
{
	const struct daemon *d = arg;
	eventfd_t n;

	(void)revents;
	eventfd_read(d->wake, &n);
}

static void
server_take(void *arg, short revents)
{
	struct daemon *d = arg;

	(void)revents;
	server_step(d->server);
}

/* ---- starting -------------------------------------------------------- */

static int
signals_open(struct daemon *d)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	/* Before any thread starts, so that all of them inherit it. */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* RLIMIT_FSIZE is that file's error */
	d->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return d->signals < 0 ? -errno : 0;
}

/* Chunks stay open until their round, up to LEAF_ROUND of a recording on
 * each disk: more than the 1024 files that a process has by custom.  What
 * can be had is raised as far as it goes, and half of it is for chunks. */
static unsigned
files_allow(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return LEAF_ROUND;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_max < INT_MAX ? (unsigned)limit.rlim_max / 2
					: INT_MAX;
}

static int
threads_start(struct daemon *d, struct fault *fault)
{
	struct fleet_args args = { .way = d->setup.way,
				   .ways = d->setup.ways,
				   .files = files_allow(),
				   .reserve = d->setup.o.reserve,
				   .patterns = &d->setup.o.disks,
				   .changed = wake,
				   .arg = d };
	int err = queue_make(&d->queue, BLOCKS_QUEUED);

	args.queue = d->queue;
	args.arena = pool_arena(d->pool, &args.arena_bytes);
	if (!err)
		err = fleet_start(&d->fleet, &d->setup.disks, &args);
	if (!err)
		err = crew_start(&d->crew, &d->setup.o);
	if (!err)
		err = keeper_start(&d->keeper);
	if (!err)
		err = chores_start(&d->chores, wake, d);
	if (!err)
		err = seek_start(&d->seek);
	if (!err)
		err = seek_start(&d->folder);
	if (err) {
		fault_set(fault, err, "internal", "cannot start its threads");
		fault_why(fault, "%s", strerror(-err));
		return err;
	}
	d->host = (struct session_host){ .pool = d->pool,
					 .crew = &d->crew,
					 .queue = d->queue,
					 .fleet = &d->fleet,
					 .durable = d->setup.durable,
					 .wake = wake,
					 .arg = d };
	return 0;
}

/* The first ones; other parts add theirs. */
static int
fds_add(struct daemon *d, struct fault *fault)
{
	const struct daemon_fd own[] = {
		{ d->wake, POLLIN, wake_take, d },
		{ d->signals, POLLIN, signals_take, d },
		{ server_fd(d->server), POLLIN, server_take, d },
	};

	for (unsigned i = 0; i < sizeof own / sizeof *own; i++) {
		if (daemon_fds_add(&d->fds, &own[i]) < 0)
			return fault_set(fault, -ENOMEM, "no-memory",
					 "out of memory");
	}
	return 0;
}

static int
memory_make(struct daemon *d, struct fault *fault)
{
	const struct arena_way way = { .node = setup_node(&d->setup),
				       .share = d->setup.o.share };

	return pool_make_way(&d->pool, d->setup.o.memory, &way, fault);
}

int
daemon_start(struct daemon *d, const char *conf, struct fault *fault)
{
	const struct server_hooks hooks = { daemon_ask, d };
	int err;

	*d = (struct daemon){ .signals = -1, .wake = -1, .clock = -1 };
	service_open(&d->service);
	d->started = clock_steady();
	d->started_ns = clock_now();
	d->ended = json_array();
	d->transfers.ended = json_array();
	d->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = d->wake < 0 || !d->ended || !d->transfers.ended ? -ENOMEM
							      : signals_open(d);
	if (err)
		return fault_set(fault, err, "internal", "cannot start: %s",
				 strerror(-err));
	err = setup_load(&d->setup, conf, fault);
	/* The socket before the memory: the second daemon is told at once. */
	if (!err)
		err = server_open(&d->server, d->setup.control.socket,
				  d->setup.control.group, &hooks, fault);
	if (!err)
		service_memory(&d->service, d->setup.o.memory);
	if (!err)
		err = memory_make(d, fault);
	if (!err)
		mappings_open(d);
	if (!err)
		err = threads_start(d, fault);
	if (!err)
		err = fds_add(d, fault);
	if (!err)
		err = schedule_host_open(d, fault);
	if (!err)
		err = inbox_open(&d->inbox, d, fault);
	return err ? err : vsi_daemon_open(&d->vsi, d, fault);
}

bool
daemon_finish(struct daemon *d)
{
	struct disk_waiter *dw;
	struct waiter *w;
	bool sent, left;

	d->stopping = true;
	schedule_host_close(d);
	daemon_probes(d, NULL);
	server_close(d->server);
	vsi_daemon_close(d->vsi);
	mappings_close(d);
	while ((w = d->waiters)) {
		d->waiters = w->next;
		free(w);
	}
	while ((dw = d->disk_waiters)) {
		d->disk_waiters = dw->next;
		free(dw);
	}
	sent = transfers_finish(d);
	crew_stop(&d->crew);
	left = !inbox_close(d->inbox);
	chores_stop(d->chores);
	seek_stop(d->seek);
	seek_stop(d->folder);
	keeper_stop(d->keeper);
	if (d->queue)
		queue_drain(d->queue);
	if (!fleet_stop(&d->fleet) || !sent || left)
		return false;
	queue_free(d->queue);
	map_free(d->mappings.map);
	pool_free(d->pool);
	setup_unload(&d->setup);
	json_decref(d->ended);
	daemon_fds_clear(&d->fds);
	if (d->signals >= 0)
		close(d->signals);
	if (d->wake >= 0)
		close(d->wake);
	return true;
}
