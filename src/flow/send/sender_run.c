/* SPDX-License-Identifier: MIT */
/* The thread of a sender, from the first look at its source to the last close.
 * Each round obeys orders, puts parcels that are not needed any more, and does
 * one step, which may end in a sleep. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "flow/send/sender_priv.h"

enum {
	/* Ns that a sleep may end late; the default is 50000. */
	SLACK = 1000,
	NICE = 5,	    /* receivers and writers go first */
	HUNGRY = 200000000, /* ns without data until the state is WAITING */
};

static void
thread_settle(void)
{
	pthread_setname_np(pthread_self(), "spate-send");
	prctl(PR_SET_TIMERSLACK, SLACK);
	setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
}

/* ---- every round ----------------------------------------------------- */

static void
rate_look(struct sender *s)
{
	uint64_t rate = atomic_load_explicit(&s->rate, memory_order_relaxed);

	if (rate == s->asked)
		return;
	s->asked = rate;
	pacer_rate(&s->pacer, rate, clock_steady());
	if (s->plugin && s->args.ops->rate)
		s->args.ops->rate(s->plugin, rate == SEND_RATE_DATA ? 0 : rate);
}

/* Obeys orders and puts parcels.  0; -ECANCELED: told to stop; or -errno. */
static int
round_begin(struct sender *s)
{
	s->paused = atomic_load_explicit(&s->pause, memory_order_relaxed);
	if (atomic_load_explicit(&s->stop, memory_order_relaxed))
		return -ECANCELED;
	rate_look(s);
	return sender_release(s);
}

static int
connect_step(struct sender *s)
{
	int err = sender_keep(s);

	if (err != SENDER_STEP)
		return err;
	if (!s->cut)
		return sender_uncut(s);
	/* This parcel was taken before the cut was made. */
	if (s->cutting)
		cut_begin(s->cut, &s->hold[s->hold_first].parcel);
	return SENDER_STEP;
}

/* ---- while there is one ---------------------------------------------- */

static int
hungry(struct sender *s)
{
	int64_t now = clock_steady();

	int err = sender_keep(s);

	if (err != SENDER_STEP)
		return err;
	if (!s->hunger)
		s->hunger = now;
	sender_show(s,
		    now - s->hunger > HUNGRY ? SENDER_WAITING : SENDER_SENDING);
	sender_wait(s, 0, true);
	return 0;
}

static int
pause_step(struct sender *s)
{
	int err = sender_keep(s);

	if (err != SENDER_STEP)
		return err;
	sender_show(s, SENDER_PAUSED);
	pacer_rest(&s->pacer);
	sender_wait(s, 0, true);
	return 0;
}

static int
send_step(struct sender *s)
{
	int err;

	if (s->paused)
		return pause_step(s);
	if (!s->cutting) {
		err = sender_take(s);
		if (err == -ENODATA)
			return SENDER_STEP;
		if (err == -ETIMEDOUT)
			return hungry(s);
		if (err == -EBUSY)
			return sender_press(s);
		if (err)
			return err;
		cut_begin(
		    s->cut,
		    &s->hold[(s->hold_first + s->holds - 1) % SENDER_HOLDS]
			 .parcel);
	}
	sender_show(s, s->away ? SENDER_CONNECTING : SENDER_SENDING);
	err = sender_give(s);
	return err && err != -ENODATA ? sender_said(s, err) : 0;
}

/* Sends the rest.  SENDER_STEP: the peer has all, or wants some again; 0: call
 * again; or -errno. */
static int
finish_step(struct sender *s)
{
	struct send_facts facts = { 0 };
	int err = s->args.ops->finish(s->plugin);

	if (!err)
		return SENDER_STEP;
	if (err == -ERESTART) {
		err = sender_back(s);
		return err ? err : SENDER_STEP;
	}
	if (err != -EAGAIN)
		return sender_said(s, err);
	s->args.ops->facts(s->plugin, &facts);
	if (!facts.connections)
		return sender_lost(s);
	sender_there(s);
	sender_show(s, SENDER_FINISHING);
	sender_wait(s, 0, true);
	return 0;
}

/* ---- all of it ------------------------------------------------------- */

/* Repeats a step, with round_begin before it, until it is done. */
static int
steps(struct sender *s, int (*step)(struct sender *s))
{
	int err = 0;

	while (!err) {
		err = round_begin(s);
		if (!err)
			err = step(s);
	}
	return err == SENDER_STEP ? 0 : err;
}

static int
transfer(struct sender *s)
{
	int err = steps(s, sender_learn);

	if (err)
		return err;
	err = sender_open(s);
	if (!err)
		err = steps(s, connect_step);
	/* The peer may want packets again when it should have all. */
	do {
		s->again = false;
		if (!err)
			err = steps(s, send_step);
		if (!err)
			err = steps(s, finish_step);
	} while (!err && s->again);
	return err;
}

/* Says in a sentence what the peer did not get. */
static void
lacks_say(struct sender *s)
{
	const struct sender_facts *f = &s->facts;
	int n = 0;

	s->facts.why[0] = '\0';
	if (f->unreadable)
		n = snprintf(s->facts.why, sizeof f->why,
			     "%llu packets cannot be read",
			     (unsigned long long)f->unreadable);
	if (f->dropped)
		n += snprintf(s->facts.why + n, sizeof f->why - (size_t)n,
			      "%s%llu packets found no room", n ? ", " : "",
			      (unsigned long long)f->dropped);
	if (f->send.lost)
		snprintf(s->facts.why + n, sizeof f->why - (size_t)n,
			 "%s%llu packets were not sent", n ? ", " : "",
			 (unsigned long long)f->send.lost);
}

/* True if a part was chosen that the recording has nothing of.  Not known if
 * the peer had all of it before. */
static bool
is_nothing(const struct sender *s)
{
	const struct send_choice *c = &s->args.choice;
	const struct sender_facts *f = &s->facts;

	if (!c->from_ns && !c->to_ns && !c->from_byte && !c->to_byte &&
	    !c->threads_n)
		return false;
	return !s->went_back && !f->packets && !f->there && !f->missing &&
	       !f->unreadable && !f->dropped && !f->send.lost;
}

static void
close_all(struct sender *s)
{
	/* Copy the facts of source and plugin a last time. */
	s->show_at = 0;
	sender_show(s, s->facts.state);
	if (s->plugin)
		s->args.ops->close(s->plugin);
	s->plugin = NULL;
	sender_put_all(s);
	sender_into(s);
	source_close(s->source);
	sender_out(s);
	s->source = NULL;
	cut_free(s->cut);
	s->cut = NULL;
}

enum sender_state
sender_run(struct sender *s)
{
	int err;

	thread_settle();
	sender_there(s);
	err = transfer(s);
	close_all(s);
	if (!err && is_nothing(s)) {
		sender_why(s, "%s has nothing of what was chosen",
			   s->args.name);
		return SENDER_FAILED;
	}
	if (!err) {
		lacks_say(s);
		return SENDER_DONE;
	}
	if (err == -ECANCELED) {
		s->facts.why[0] = '\0';
		return SENDER_STOPPED;
	}
	return SENDER_FAILED;
}
