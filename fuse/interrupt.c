/* SPDX-License-Identifier: MIT */
/*
 * The kernel reports only the first signal that reaches a waiting program, and
 * not only those that kill.  A program with a timer does not expect EINTR from
 * reading a file, so EINTR is only returned to a program that will never see
 * it: one whose thread has SIGKILL pending, into which the kernel turns each
 * signal that ends a process.  A program that gets another signal first and is
 * killed later waits, at most as long as a disk is waited for.
 *
 * libfuse calls killed() with the request locked: either from the thread that
 * took the interruption, where the request may be answered, or from within
 * interrupt_watch(), where it must not be, because answering would free the
 * lock before it is unlocked.
 *
 *   SETUP -- watch --> OPEN -- settle --> SETTLED
 *     |                 `----- killed --> ANSWERED, by killed()
 *     `----- killed --> DOOMED            answered by watch()
 */
#include "fuse/interrupt.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { SETUP, OPEN, SETTLED, ANSWERED, DOOMED };

/*
 * Reads SigPnd (signals pending for the thread) or ShdPnd (for its process): a
 * mask in hex, signal 1 in bit 0.
 */
static bool
has_kill(const char *line)
{
	uint64_t set;

	if (sscanf(line, "SigPnd: %" SCNx64, &set) != 1 &&
	    sscanf(line, "ShdPnd: %" SCNx64, &set) != 1)
		return false;
	return set >> (SIGKILL - 1) & 1;
}

static bool
is_dying(pid_t thread)
{
	char path[40], line[256];
	bool dying = false;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/status", (int)thread);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!dying && fgets(line, sizeof line, file))
		dying = has_kill(line);
	fclose(file);
	return dying;
}

/*
 * Callback of libfuse.  `i` is not touched after its state has changed: its
 * owner may have freed it.
 */
static void
killed(fuse_req_t req, void *data)
{
	struct interrupt *i = data;
	int was = SETUP;

	if (!is_dying(fuse_req_ctx(req)->pid))
		return;
	if (atomic_compare_exchange_strong(&i->state, &was, DOOMED))
		return;
	if (was == OPEN &&
	    atomic_compare_exchange_strong(&i->state, &was, ANSWERED))
		fuse_reply_err(req, EINTR);
}

bool
interrupt_watch(struct interrupt *i, fuse_req_t req)
{
	int was = SETUP;

	i->req = req;
	atomic_init(&i->state, SETUP);
	fuse_req_interrupt_func(req, killed, i);
	if (atomic_compare_exchange_strong(&i->state, &was, OPEN))
		return true;
	fuse_req_interrupt_func(req, NULL, NULL);
	fuse_reply_err(req, EINTR);
	return false;
}

bool
interrupt_settle(struct interrupt *i)
{
	int was = OPEN;

	if (!atomic_compare_exchange_strong(&i->state, &was, SETTLED))
		return false;
	/* This call waits for a killed() that is running. */
	fuse_req_interrupt_func(i->req, NULL, NULL);
	return true;
}
