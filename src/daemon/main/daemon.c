/* SPDX-License-Identifier: MIT */
/*
 * The threads of spated, what each owns, and how each is told to stop:
 *
 *   event loop      main thread: configuration, sessions, control socket.
 *                   SIGTERM and SIGINT stop every session, wait for them,
 *                   then stop the other threads; SIGHUP reads the
 *                   configuration again
 *   receivers (N)   sockets and open blocks of the sessions given to them;
 *                   told by messages and an eventfd: receiver_feed,
 *                   receiver_look, receiver_stop
 *   writers         one disk each, with its folders; take blocks from the
 *   (one per disk)  queue, and jobs (make or close a recording's folders)
 *                   when woken: writer_begin, writer_end, writer_stop.
 *                   A writer whose disk does not answer is left alone, also
 *                   at the end: then _exit ends the process
 *   disk watch      looks which disks are there; woken by an eventfd
 *   catalogue       reads disks at the lowest priority, and hangs with them;
 *                   catalogue_thread_touch, catalogue_thread_stop
 *   housekeeping    removes recordings for clients, writes quality files; hangs
 *                   with disks;
 *                   housekeeping_add, housekeeping_stop
 *   lookup (3)      one looks up names on disks, the others whether the
 *                   schedule's folder, or a disk to be added, answers; hang
 *                   with them;
 *                   name_lookup_find, name_lookup_answers, name_lookup_stop
 *   signal          looks at the samples of some frames, which receivers copy
 *                   into rings; the lowest priority, and nobody waits for it;
 *                   signal_watch_end, signal_thread_stop
 *   resume          reads what disks have of a recording that is to go on, for
 *                   one order; the event loop waits for three seconds
 *                   (session.c), and one that hangs with a disk is left alone
 *   state           writes the state file of the schedule; hangs with its
 *                   disk; state_file_write, state_file_stop
 *   senders (one    sockets, disks that are read, and blocks that are lent
 *   per transfer)   to the transfer; told by messages and an eventfd:
 *                   sender_rate, sender_pause, sender_stop; outgoing copies
 *                   likewise (copy_out.h).  A sender that hangs with a disk
 *                   is left alone
 *   callers         one connection of an incoming copy each (inbox.h), with
 *                   the blocks it fills; hang with disks while they look
 *                   what is there; inbox_stop by an eventfd
 *   closer          closes files that clients opened; hangs with their disks;
 *                   closer_close, closer_stop
 *   probes          look at a stream for seconds, with sockets of their own;
 *                   probe_end by an eventfd
 *   log             writes log lines, and waits for the reader of stderr
 *                   (base/log.c); told by log_line; never ends
 *
 * Threads share blocks (through the queue, and back to their pool), jobs and
 * messages, and atomic counters.  An eventfd wakes the event loop, which then
 * looks at every session once and does not wait for a disk.
 *
 * One turn of the event loop: wait until a descriptor is ready or a time is
 * due, call the owner of each ready descriptor (fds.h), then step everything
 * that has a time of its own.  A session that has ended is freed in this turn.
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
#include "daemon/schedule/admission.h"
#include "daemon/schedule/schedule_host.h"
#include "daemon/sessions/report.h"
#include "flow/memory/arena.h"
#include "flow/memory/hot_pages.h"
#include "flow/memory/shm_page.h"
#include "flow/write/disk_recording.h"
#include "store/disk/remote.h"

/* Adds the ended recording to the catalogue with the counts of the session; the
 * catalogue thread replaces them when it has read the disks. */
static void
catalogue_ended(struct daemon *d, struct session *s)
{
	struct entry e;

	report_entry(s, &e);
	e.state = s->failed ? ENTRY_FAILED : ENTRY_COMPLETE;
	if (s->failed)
		snprintf(e.why, sizeof e.why, "%s", s->reason);
	catalogue_live(catalogue_thread_get(d->r.catalogue), &e);
	catalogue_thread_touch(d->r.catalogue, s->name);
}

static void
session_end(struct daemon *d, struct session *s)
{
	struct session **at = &d->r.sessions;
	char group[sizeof s->group];

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	if (!s->cancelled)
		json_array_append_new(d->r.ended, report_info(s, NULL));
	if (json_array_size(d->r.ended) > RECORDER_ENDED)
		json_array_remove(d->r.ended, 0);
	memcpy(group, s->group, sizeof group);
	schedule_host_ended(&d->host, s);
	live_tap_end(&d->r, s->id);
	if (!s->cancelled)
		catalogue_ended(d, s);
	report_ended(&d->r, s);
	session_free(s);
	daemon_tell(d, group);
}

static void
sessions_step(struct daemon *d, int64_t now)
{
	struct session *s, *next;

	for (s = d->r.sessions; s; s = next) {
		enum session_state before = s->state;

		next = s->next;
		session_step(s, now);
		if (before == SESSION_ARMED && s->state != before &&
		    !s->cancelled) {
			d->r.hooks.began(d, s);
			schedule_host_began(&d->host, s);
		}
		if (s->state != before && s->state == SESSION_RECORDING)
			catalogue_thread_poke(d->r.catalogue);
		if (s->state == SESSION_ENDED)
			session_end(d, s);
		else if (s->state != before)
			daemon_tell(d, s->group);
	}
}

/* Returns ms until the next known time, at most until the service's next
 * look. */
static int
wait_ms(const struct daemon *d)
{
	int64_t now = clock_steady(), next = now + d->service.look_ns;

	if (schedule_host_next(&d->host) < next)
		next = schedule_host_next(&d->host);
	if (transfers_next(&d->transfers) < next)
		next = transfers_next(&d->transfers);
	for (const struct session *s = d->r.sessions; s; s = s->next) {
		if (s->state == SESSION_ARMED && !s->when.data &&
		    s->when.start < next)
			next = s->when.start;
		if (s->stop_at && s->state <= SESSION_RECORDING &&
		    s->stop_at < next)
			next = s->stop_at;
	}
	return next <= now ? 0 : (int)((next - now + 999999) / 1000000);
}

int
daemon_run(struct daemon *d)
{
	log_line(LEVEL_INFO, NULL, "ready on %s: %u disks, %u streams",
		 d->r.setup.control.socket, disk_set_writers(&d->r.disks),
		 d->r.setup.streams);
	service_ready(d);
	while (!d->r.stopping || d->r.sessions || d->r.probes ||
	       transfers_wait(&d->transfers, clock_steady()) ||
	       inbox_busy(d->inbox)) {
		int err = daemon_fds_wait(&d->r.fds, wait_ms(d));
		int64_t now = clock_steady();

		if (err) {
			log_line(LEVEL_ERROR, NULL,
				 "the event loop cannot wait: %s",
				 strerror(-err));
			return err;
		}
		service_step(d, now);
		schedule_host_step(&d->host);
		sessions_step(d, now);
		transfers_step(&d->transfers, now);
		inbox_step(d->inbox, now);
		live_taps_step(&d->r, now);
		disk_set_tidy(&d->r.disks,
			      d->r.sessions != NULL || inbox_busy(d->inbox));
		disk_set_step(&d->r.disks, now);
		admission_watch(&d->host, now);
		daemon_disks(d, now);
		catalogue_thread_step(d->r.catalogue, &d->r.disks);
		probes_step(&d->r, NULL);
		daemon_housekeeping(d);
		signal_thread_step(d->r.signal);
	}
	return 0;
}

/* ---- starting -------------------------------------------------------- */

enum { BLOCKS_QUEUED = 1 << 20 };

/* Wakes the event loop; any thread. */
static void
wake(void *arg)
{
	const struct daemon *d = arg;

	eventfd_write(d->r.wake, 1);
}

/* ---- events ---------------------------------------------------------- */

static void
hang_up(struct daemon *d)
{
	struct fault fault;

	/* The log has the fault; a client that wants it sends `reload`. */
	if (!d->r.stopping)
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
	log_line(LEVEL_INFO, NULL, "%s: stopping%s",
		 strsignal((int)info.ssi_signo),
		 d->r.sessions ? " what is being recorded" : "");
	d->r.stopping = true;
	for (struct session *s = d->r.sessions; s; s = s->next)
		session_stop(s, "the daemon was stopped");
	transfers_stop(&d->transfers, clock_steady());
	inbox_stop(d->inbox);
	service_stopping(d);
}

static void
wake_take(void *arg, short revents)
{
	const struct daemon *d = arg;
	eventfd_t n;

	(void)revents;
	eventfd_read(d->r.wake, &n);
}

static void
server_take(void *arg, short revents)
{
	struct daemon *d = arg;

	(void)revents;
	server_step(d->r.server);
}

/* ---- answers for the recorder ---------------------------------------- */

static bool
comes(void *arg, const char *name)
{
	const struct daemon *d = arg;

	return inbox_has(d->inbox, name);
}

static bool
yield(void *arg)
{
	struct daemon *d = arg;

	return transfers_yield(&d->transfers);
}

/* Adds a recording that has just begun to the catalogue, logs it, and starts
 * its transfer if it has one. */
static void
began(void *arg, struct session *s)
{
	struct daemon *d = arg;
	struct entry e;

	report_entry(s, &e);
	catalogue_live(catalogue_thread_get(d->r.catalogue), &e);
	log_line(LEVEL_INFO, s->name, "recording stream %s", s->stream->name);
	if (s->send)
		transfer_follow(&d->transfers, s, s->send);
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
	/* Threads inherit the mask, so block before the first one starts. */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	/* a write beyond RLIMIT_FSIZE is an error of that file */
	signal(SIGXFSZ, SIG_IGN);
	d->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return d->signals < 0 ? -errno : 0;
}

/* Returns how many chunk files all disks may hold open together, and raises the
 * soft limit to the hard one.  A recording keeps up to DISK_RECORDING_ROUND
 * chunks per disk open until its next sync, more than the customary 1024 files
 * per process.  Half of the limit is for chunks, half for sockets and other
 * files. */
static unsigned
files_allow(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return DISK_RECORDING_ROUND;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_max < INT_MAX ? (unsigned)limit.rlim_max / 2
					: INT_MAX;
}

/* Has lines of a quality file written. */
static void
quality_lines(void *arg, const char *name, char *lines)
{
	struct daemon *d = arg;
	struct housekeeping_job job = { .kind = HOUSEKEEPING_QUALITY,
					.lines = lines };
	int err;

	snprintf(job.name, sizeof job.name, "%s", name);
	err = housekeeping_add(d->housekeeping, &job, &d->r.disks);
	if (err)
		signal_thread_refused(d->r.signal, name,
				      err == -EBUSY ? "a disk does not keep up"
						    : strerror(-err));
}

static int
signal_begin(struct daemon *d)
{
	const struct signal_hooks hooks = { .wake = wake,
					    .lines = quality_lines,
					    .arg = d };
	char *state = schedule_host_state(&d->r);
	int err = signal_thread_start(&d->r.signal, &hooks, state);

	free(state);
	return err;
}

static int
threads_start(struct daemon *d, struct fault *fault)
{
	struct disk_set_args args = { .plugin = d->r.setup.plugin,
				      .plugins = d->r.setup.plugins,
				      .files = files_allow(),
				      .reserve = d->r.setup.o.reserve,
				      .patterns = &d->r.setup.o.disks,
				      .changed = wake,
				      .arg = d };
	int err = queue_make(&d->r.queue, BLOCKS_QUEUED);

	args.queue = d->r.queue;
	args.arena = arena_memory(d->r.arena, &args.arena_bytes);
	args.arena_ready = arena_ready(d->r.arena);
	if (!err)
		err = disk_set_start(&d->r.disks, &d->r.setup.disks, &args);
	if (!err) {
		hot_pages_lock_code(!arena_facts(d->r.arena).locked);
		err = receivers_start(&d->r.receivers, &d->r.setup.o);
	}
	if (!err)
		err = catalogue_thread_start(&d->r.catalogue);
	if (!err)
		err = housekeeping_start(&d->housekeeping, wake, d);
	if (!err)
		err = signal_begin(d);
	if (!err)
		err = name_lookup_start(&d->r.lookup);
	if (!err)
		err = name_lookup_start(&d->host.folder);
	if (!err)
		err = name_lookup_start(&d->added);
	if (err) {
		fault_set(fault, err, "internal", "cannot start the threads");
		fault_why(fault, "%s", strerror(-err));
		return err;
	}
	d->r.host = (struct session_host){ .arena = d->r.arena,
					   .receivers = &d->r.receivers,
					   .queue = d->r.queue,
					   .disks = &d->r.disks,
					   .signal = d->r.signal,
					   .overruns = &d->r.overruns,
					   .durable = d->r.setup.durable,
					   .wake = wake,
					   .arg = d };
	return 0;
}

/* Adds the first three descriptors; other parts add theirs. */
static int
fds_add(struct daemon *d, struct fault *fault)
{
	const struct daemon_fd own[] = {
		{ d->r.wake, POLLIN, wake_take, d },
		{ d->signals, POLLIN, signals_take, d },
		{ server_fd(d->r.server), POLLIN, server_take, d },
	};

	for (unsigned i = 0; i < sizeof own / sizeof *own; i++) {
		if (daemon_fds_add(&d->r.fds, &own[i]) < 0)
			return fault_no_memory(fault);
	}
	return 0;
}

static int
memory_make(struct daemon *d, struct fault *fault)
{
	const struct arena_wishes way = { .node = setup_node(&d->r.setup),
					  .share = d->r.setup.o.share };

	return arena_make(&d->r.arena, d->r.setup.o.memory, &way, fault);
}

int
daemon_start(struct daemon *d, const char *conf, struct fault *fault)
{
	struct server_hooks hooks = { .ask = daemon_ask, .arg = d };
	int err;

	*d = (struct daemon){
		.r = { .hooks = { comes, yield, began, d }, .wake = -1 },
		.transfers.r = &d->r,
		.host = { .r = &d->r, .transfers = &d->transfers, .clock = -1 },
		.signals = -1,
	};
	remote_makes();
	service_open(&d->service);
	d->started = clock_steady();
	d->started_ns = clock_now();
	kernel_look(&d->kernel);
	d->r.ended = json_array();
	d->transfers.ended = json_array();
	d->kept = json_object();
	d->r.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = d->r.wake < 0 || !d->r.ended || !d->transfers.ended || !d->kept
		  ? -ENOMEM
		  : signals_open(d);
	if (err)
		return fault_set(fault, err, "internal", "cannot start: %s",
				 strerror(-err));
	err = closer_start(&d->r.closer);
	if (err)
		return fault_set(fault, err, "internal", "cannot start: %s",
				 strerror(-err));
	hooks.closer = d->r.closer;
	err = setup_load(&d->r.setup, conf, fault);
	/* Open the socket before the memory is taken, so that a second daemon
	 * fails at once. */
	if (!err)
		err = server_open(&d->r.server, d->r.setup.control.socket,
				  &hooks, fault);
	if (!err)
		daemon_clients(d);
	if (!err)
		service_memory(&d->service, d->r.setup.o.memory);
	if (!err)
		err = memory_make(d, fault);
	if (!err)
		live_taps_open(&d->r);
	if (!err)
		err = threads_start(d, fault);
	if (!err)
		err = fds_add(d, fault);
	if (!err)
		err = schedule_host_open(&d->host, fault);
	if (!err)
		err = inbox_open(&d->inbox, &d->r, fault);
	if (!err && d->r.setup.vsi.listen.n)
		log_line(LEVEL_INFO, NULL,
			 "VSI-S commands are taken by spate-vsi, a service of "
			 "its own");
	return err;
}

bool
daemon_finish(struct daemon *d)
{
	struct disk_waiter *dw;
	struct waiter *w;
	bool sent, left;

	d->r.stopping = true;
	schedule_host_close(&d->host);
	probes_step(&d->r, NULL);
	server_close(d->r.server);
	live_taps_close(&d->r);
	while ((w = d->waiters)) {
		d->waiters = w->next;
		free(w);
	}
	while ((dw = d->disk_waiters)) {
		d->disk_waiters = dw->next;
		free(dw);
	}
	sent = transfers_finish(&d->transfers);
	closer_stop(d->r.closer);
	receivers_stop(&d->r.receivers);
	signal_thread_stop(d->r.signal);
	left = !inbox_close(d->inbox);
	housekeeping_stop(d->housekeeping);
	name_lookup_stop(d->r.lookup);
	name_lookup_stop(d->host.folder);
	name_lookup_stop(d->added);
	catalogue_thread_stop(d->r.catalogue);
	if (d->r.queue)
		queue_drain(d->r.queue);
	if (!disk_set_stop(&d->r.disks) || !sent || left)
		return false;
	report_totals_free(&d->r);
	overrun_reading_close(&d->r.overruns);
	queue_free(d->r.queue);
	shm_page_free(d->r.live_taps.page);
	kernel_clear(&d->kernel);
	arena_free(d->r.arena);
	setup_unload(&d->r.setup);
	json_decref(d->r.ended);
	json_decref(d->kept);
	daemon_fds_clear(&d->r.fds);
	if (d->signals >= 0)
		close(d->signals);
	if (d->r.wake >= 0)
		close(d->r.wake);
	return true;
}
