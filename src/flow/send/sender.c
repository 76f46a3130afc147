/* SPDX-License-Identifier: MIT */
/*
 * A sender's thread sleeps in one ppoll() over its eventfd (orders), its
 * source's descriptor and those of its plugin:
 *
 *   source --parcel--> hold --cut--> runs --pacer--> plugin
 *      ^                |                              |
 *      +----- put ------+<---------- release ----------+
 *
 * The thread never waits for a peer inside a call.  Disks may hang inside calls
 * of the source, and a name server inside the plugin's open: `waits` has the
 * time since when.  An order to stop is then obeyed in appearance: sender_ended
 * is true, the owner lets go, and the thread frees everything when the call
 * returns.
 *
 * Threads and fields (sender_priv.h):
 *
 *   the event loop   makes it; writes rate, pause and stop, then wake; reads
 *                    what is shown.  It owns nothing else.
 *   the thread       everything else.  It calls args.changed once, when all is
 *                    closed, unless its owner has left.
 *   source           belongs to the thread, which closes it.
 *
 * Tried and rejected: a lock around the facts (a reader that loses its CPU
 * while it holds the lock would stop the stream), and a queue of orders (each
 * order is a state, and only the last one counts).
 */
#include "contract/bytes.h"
#include "flow/send/sender_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

/* Makes the ID of the transfer.  The choice is a part of it: packets of another
 * choice have other numbers, and the peer must not take them for these. */
static uint64_t
transfer_of(const struct sender_args *a)
{
	const struct send_choice *c = &a->choice;
	uint64_t numbers[] = {
		(uint64_t)c->from_ns, (uint64_t)c->to_ns, c->from_byte,
		c->to_byte,	      c->strip,		  c->headers_off
	};
	uint64_t hash = a->transfer, plain = 0;

	for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
		plain |= numbers[i];
	while (!hash)
		if (getrandom(&hash, sizeof hash, 0) < 0)
			hash = (uint64_t)clock_now();
	if (plain || c->threads_n || c->sub > 0) {
		hash = bytes_hash(hash, numbers, sizeof numbers);
		hash = bytes_hash(hash, c->threads,
				  c->threads_n * sizeof *c->threads);
		hash = bytes_hash(hash, &c->sub, sizeof c->sub);
	}
	return hash ? hash : 1;
}

static void *
copy_of(const void *data, size_t bytes, bool *failed)
{
	void *copy = data ? malloc(bytes + 1) : NULL;

	if (!data)
		return NULL;
	if (copy)
		memcpy(copy, data, bytes);
	*failed |= !copy;
	return copy;
}

static char *
text_of(const char *text, bool *failed)
{
	return copy_of(text, text ? strlen(text) + 1 : 0, failed);
}

static int
args_copy(struct sender *s, const struct sender_args *args)
{
	struct sender_args *a = &s->args;
	bool failed = false;

	*a = *args;
	a->transfer = transfer_of(args);
	a->patience = args->patience ? args->patience : SENDER_PATIENCE;
	a->name = text_of(args->name, &failed);
	a->to = text_of(args->to, &failed);
	a->about = text_of(args->about, &failed);
	a->secret = copy_of(args->secret, args->secret_bytes, &failed);
	a->choice.threads =
	    copy_of(args->choice.threads,
		    args->choice.threads_n * sizeof(uint32_t), &failed);
	return failed ? -ENOMEM : 0;
}

static void
destroy(struct sender *s)
{
	if (s->args.secret)
		explicit_bzero((void *)s->args.secret, s->args.secret_bytes);
	free((void *)s->args.name);
	free((void *)s->args.to);
	free((void *)s->args.about);
	free((void *)s->args.secret);
	free((void *)s->args.choice.threads);
	if (s->wake >= 0)
		close(s->wake);
	free(s);
}

static void *
run(void *arg)
{
	struct sender *s = arg;
	enum sender_state state = sender_run(s);
	void (*changed)(void *arg) = s->args.changed;

	/* If the owner has left, `changed` is not called.  From here on
	 * sender_free waits for this thread to end. */
	if (atomic_exchange(&s->left, true)) {
		destroy(s);
		return NULL;
	}
	sender_show(s, state);
	atomic_store_explicit(&s->ended, true, memory_order_release);
	if (changed)
		changed(s->args.arg);
	return NULL;
}

int
sender_start(struct sender **sender, const struct sender_args *args,
	     struct fault *fault)
{
	struct sender *s = calloc(1, sizeof *s);
	int err = -ENOMEM;

	if (s) {
		s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		err = args_copy(s, args);
	}
	if (!err && s->wake < 0)
		err = -errno;
	if (!err) {
		s->source = args->source;
		s->asked = args->rate;
		atomic_store(&s->rate, args->rate);
		pacer_init(&s->pacer, args->rate);
		sender_show(s, SENDER_CONNECTING);
		err = -pthread_create(&s->thread, NULL, run, s);
	}
	if (!err) {
		*sender = s;
		return 0;
	}
	source_close(args->source);
	if (s)
		destroy(s);
	fault_set(fault, err, "no-memory", "cannot send %s to %s", args->name,
		  args->to);
	fault_why(fault, "%s", strerror(-err));
	return err;
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
	return since && clock_steady() - since > SENDER_HUNG &&
	       atomic_load_explicit(&s->stop, memory_order_relaxed);
}

bool
sender_free(struct sender *s)
{
	/* A thread that has not ended frees the sender itself from here on. */
	if (!atomic_exchange(&s->left, true)) {
		pthread_detach(s->thread);
		return false;
	}
	pthread_join(s->thread, NULL);
	destroy(s);
	return true;
}
