/* SPDX-License-Identifier: MIT */
/*
 * The thread never waits for a peer inside a call.  Disks may hang inside calls
 * of a source, and a name server while a peer's name is looked up: `waits` has
 * the time since when.  An order to stop is then obeyed in appearance:
 * sender_ended is true, the owner lets go, and the thread frees everything when
 * the call returns.
 *
 * Threads and fields:
 *
 *   the event loop   makes it; writes rate, pause and stop, then wake; reads
 *                    what is shown.  It owns nothing else.
 *   the thread       everything else.  It calls `changed` once, when all is
 *                    closed, unless its owner has left.
 *
 * Facts are copied some ten times a second, word by word.  A reader that comes
 * in the middle sees `turn` odd, or changed, and reads again:
 *
 *   writer   turn + 1 | words (release)        | turn + 2 (release)
 *   reader   turn (acquire) | words (acquire)  | turn, the same and even
 *
 * A reader that has any word of a copy also sees the odd turn written before
 * it.
 *
 * Tried and rejected: a lock around the facts (a reader that loses its CPU
 * while it holds the lock would stop the stream), and a queue of orders (each
 * order is a state, and only the last one counts).
 */
#include "flow/send/sender_thread.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"

enum {
	/* Ns after which a call that has not returned counts as hung. */
	HUNG = 50000000,
	/* Ns that a sleep may end late; the default is 50000. */
	SLACK = 1000,
	NICE = 5, /* receivers and writers go first */
};

/* ---- on the thread ----------------------------------------------------- */

void
sender_into(struct sender *s)
{
	atomic_store_explicit(&s->waits, clock_steady(), memory_order_relaxed);
}

void
sender_out(struct sender *s)
{
	atomic_store_explicit(&s->waits, 0, memory_order_relaxed);
}

/* Computes bits per second since SENDER_SECOND copies ago. */
static void
rate_look(struct sender *s, int64_t now)
{
	unsigned i = s->seconds % SENDER_SECOND;
	unsigned first = s->seconds < SENDER_SECOND ? 0 : i;
	int64_t span = now - s->second_at[first];

	s->facts.rate = 0;
	if (s->seconds && span > 0)
		s->facts.rate = (double)(s->facts.bytes - s->second[first]) *
				8e9 / (double)span;
	s->second[i] = s->facts.bytes;
	s->second_at[i] = now;
	s->seconds++;
}

void
sender_show(struct sender *s, int64_t now)
{
	uint64_t words[SENDER_WORDS] = { 0 };
	uint64_t turn = atomic_load_explicit(&s->turn, memory_order_relaxed);

	if (now >= s->show_at) {
		rate_look(s, now);
		s->show_at = now + SENDER_SHOW;
	}
	memcpy(words, &s->facts, sizeof s->facts);
	atomic_store_explicit(&s->turn, turn + 1, memory_order_relaxed);
	for (unsigned i = 0; i < SENDER_WORDS; i++)
		atomic_store_explicit(&s->shown[i], words[i],
				      memory_order_release);
	atomic_store_explicit(&s->turn, turn + 2, memory_order_release);
}

void
sender_wake_read(struct sender *s)
{
	eventfd_t n;

	eventfd_read(s->wake, &n);
}

static void
destroy(struct sender *s)
{
	close(s->wake);
	s->work->free(s);
}

static void *
run(void *arg)
{
	struct sender *s = arg;
	void (*changed)(void *arg) = s->changed;
	enum sender_state state;

	pthread_setname_np(pthread_self(), "spate-send");
	prctl(PR_SET_TIMERSLACK, SLACK);
	setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	state = s->work->run(s);
	/* If the owner has left, `changed` is not called.  From here on
	 * sender_free waits for this thread to end. */
	if (atomic_exchange(&s->left, true)) {
		destroy(s);
		return NULL;
	}
	arg = s->arg;
	s->facts.state = state;
	sender_show(s, clock_steady());
	atomic_store_explicit(&s->ended, true, memory_order_release);
	if (changed)
		changed(arg);
	return NULL;
}

/* ---- the event loop ---------------------------------------------------- */

int
sender_run(struct sender *s, const struct sender_work *work, uint64_t rate)
{
	int err;

	s->work = work;
	s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->wake < 0)
		return -errno;
	atomic_store(&s->rate, rate);
	s->facts.state = SENDER_CONNECTING;
	sender_show(s, clock_steady());
	err = -pthread_create(&s->thread, NULL, run, s);
	if (err)
		close(s->wake);
	return err;
}

/* Tries to read a copy; false: it was being written. */
static bool
read_once(struct sender *s, uint64_t *words)
{
	uint64_t turn = atomic_load_explicit(&s->turn, memory_order_acquire);

	for (unsigned i = 0; i < SENDER_WORDS; i++)
		words[i] =
		    atomic_load_explicit(&s->shown[i], memory_order_acquire);
	return turn % 2 == 0 &&
	       turn == atomic_load_explicit(&s->turn, memory_order_relaxed);
}

void
sender_facts(struct sender *s, struct sender_facts *facts)
{
	uint64_t words[SENDER_WORDS];

	while (!read_once(s, words))
		;
	memcpy(facts, words, sizeof *facts);
	if (facts->state < SENDER_DONE && sender_ended(s))
		facts->state = SENDER_STOPPED;
}

static void
wake(struct sender *s)
{
	eventfd_write(s->wake, 1);
}

void
sender_rate(struct sender *s, uint64_t rate)
{
	atomic_store_explicit(&s->rate, rate, memory_order_relaxed);
	wake(s);
}

void
sender_pause(struct sender *s, bool pause)
{
	atomic_store_explicit(&s->pause, pause, memory_order_relaxed);
	wake(s);
}

void
sender_stop(struct sender *s)
{
	atomic_store_explicit(&s->stop, true, memory_order_relaxed);
	wake(s);
}

bool
sender_ended(struct sender *s)
{
	int64_t since = atomic_load_explicit(&s->waits, memory_order_relaxed);

	if (atomic_load_explicit(&s->ended, memory_order_acquire))
		return true;
	return since && clock_steady() - since > HUNG &&
	       atomic_load_explicit(&s->stop, memory_order_relaxed);
}

bool
sender_free(struct sender *s)
{
	pthread_t thread = s->thread;

	/* A thread that has not ended frees the sender itself from here on, so
	 * nothing of the sender is touched any more. */
	if (!atomic_exchange(&s->left, true)) {
		pthread_detach(thread);
		return false;
	}
	pthread_join(thread, NULL);
	destroy(s);
	return true;
}
