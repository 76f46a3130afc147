/* SPDX-License-Identifier: MIT */
/* The queue, with transfers that do what the test says. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/transfers/transfer.h"
#include "lib/suite.h"

#define SECOND INT64_C(1000000000)

enum { TRANSFERS = 16 };

/* A sender that runs no thread. */
struct sender {
	bool begun, stopped, ended, paused, freed;
	uint64_t rate;
	enum sender_state state;
	bool wants_copy;
};

static struct sender made[TRANSFERS]; /* by the number of the transfer */
static struct recorder recorder;
static struct transfers all;
static struct setup_send send_setup;
static struct session session;
static bool is_recorded, hangs;
static unsigned scans_ended, copies;
static size_t answered;
static int64_t now = SECOND;

/* ---- what it calls ---------------------------------------------------- */

void
sender_rate(struct sender *s, uint64_t rate)
{
	s->rate = rate;
}

void
sender_pause(struct sender *s, bool pause)
{
	s->paused = pause;
}

void
sender_stop(struct sender *s)
{
	s->stopped = s->ended = true;
	s->state = SENDER_STOPPED;
}

void
sender_facts(struct sender *s, struct sender_facts *facts)
{
	*facts = (struct sender_facts){ .state = s->state,
					.wants_copy = s->wants_copy };
	if (s->state == SENDER_FAILED)
		strcpy(facts->why, "nobody there");
}

bool
sender_ended(struct sender *s)
{
	return s->ended;
}

bool
sender_free(struct sender *s)
{
	ck_assert(!s->freed);
	s->freed = true;
	return !hangs;
}

int
transfer_check(struct transfers *of, const struct transfer_order *o,
	       struct fault *fault)
{
	(void)of;
	return strcmp(o->name, "gone")
		   ? 0
		   : fault_set(fault, -ENOENT, "not-found", "it is gone");
}

int
transfer_begin(struct transfers *of, struct transfer *t, struct fault *fault)
{
	(void)of;
	(void)fault;
	made[t->id] = (struct sender){ .begun = true, .state = SENDER_SENDING };
	t->run = &made[t->id];
	return 0;
}

bool
transfer_run_drop(struct transfer *t)
{
	if (t->run && !sender_free(t->run))
		t->hangs = true;
	t->run = NULL;
	return !t->hangs;
}

int
transfer_copy(struct transfers *of, struct transfer *t, struct fault *fault)
{
	copies++;
	made[t->id].wants_copy = made[t->id].ended = false;
	return transfer_begin(of, t, fault);
}

struct session *
transfer_session(const struct transfers *of, const char *name)
{
	(void)of;
	return is_recorded && !strcmp(name, "live") ? &session : NULL;
}

json_t *
transfer_json(const struct transfers *of, struct transfer *t)
{
	(void)of;
	return json_pack("{s:i, s:i, s:s}", "id", (int)t->id, "state",
			 (int)t->facts.state, "why", t->why);
}

static void
scan_began(void *arg, const struct transfer *t)
{
	(void)arg;
	(void)t;
}

static void
scan_ended(void *arg, const struct transfer *t)
{
	(void)arg;
	scans_ended += t->o.scan;
}

void
transfer_order_init(struct transfer_order *o, const struct setup_send *send)
{
	(void)send;
	*o = (struct transfer_order){ 0 };
}

void
transfer_order_clear(struct transfer_order *o)
{
	free(o->to);
	o->to = NULL;
}

const struct setup_send_way *
setup_send_way(const struct setup_send *send, const char *url,
	       struct fault *fault)
{
	static const struct send_ops udp = { .head.flags = SEND_UNHEARD }, tcp;
	static const struct setup_send_way way[] = { { &tcp, NULL },
						     { &udp, NULL } };

	(void)send;
	(void)fault;
	return &way[!strcmp(url, "udp:")];
}

void
setup_send_drop(struct setup_send *send)
{
	(void)send;
}

void
server_answer(struct server *s, struct server_ticket t, json_t *result)
{
	(void)s;
	(void)t;
	answered += json_array_size(json_object_get(result, "sends"));
	json_decref(result);
}

void
relay_stop(struct relay *r, const char *why)
{
	(void)r;
	(void)why;
}

bool
relay_step(struct relay *r, int64_t at)
{
	(void)r;
	(void)at;
	return true;
}

void
relay_free(struct relay *r)
{
	(void)r;
}

static void
wake(void *arg)
{
	(void)arg;
}

/* ---- the tests -------------------------------------------------------- */

static void
setup(unsigned most)
{
	memset(made, 0, sizeof made);
	recorder = (struct recorder){ .host.wake = wake };
	send_setup = (struct setup_send){ .o.max_sends = most };
	recorder.setup.send = &send_setup;
	all = (struct transfers){ .r = &recorder,
				  .hooks = { .began = scan_began,
					     .ended = scan_ended },
				  .ended = json_array() };
	is_recorded = hangs = false;
	scans_ended = copies = 0;
}

static struct transfer *
add(const char *name, int priority)
{
	struct transfer_order o = { .to = strdup("x:"), .priority = priority };
	struct fault fault = { 0 };
	struct transfer *t = NULL;

	strcpy(o.name, name);
	ck_assert_int_eq(transfer_add(&all, &o, &t, &fault), 0);
	return t;
}

static void
step(void)
{
	transfers_step(&all, now);
}

static void
end(unsigned id, enum sender_state state)
{
	made[id].state = state;
	made[id].ended = true;
	step();
}

/* "2 4": those that were begun, and are not over. */
static void
are_running(const char *ids)
{
	char text[64] = "";

	for (unsigned i = 0; i < TRANSFERS; i++) {
		if (made[i].begun && !made[i].ended)
			snprintf(text + strlen(text), 8, "%s%u",
				 *text ? " " : "", i);
	}
	ck_assert_str_eq(text, ids);
}

static void
says(const char *why)
{
	json_t *last =
	    json_array_get(all.ended, json_array_size(all.ended) - 1);

	ck_assert_str_eq(json_string_value(json_object_get(last, "why")), why);
}

START_TEST(queue)
{
	setup(2);
	add("a", 0);
	add("b", 0);
	add("c", 0);
	add("d", 5);
	add("e", 5);
	step();
	are_running("4 5");
	ck_assert_uint_eq(transfers_running(&all), 2);
	end(4, SENDER_DONE);
	are_running("1 5");
	end(5, SENDER_FAILED);
	says("nobody there");
	are_running("1 2");
	/* Another configuration. */
	send_setup.o.max_sends = 3;
	step();
	are_running("1 2 3");
	ck_assert_uint_eq(json_array_size(all.ended), 2);
	transfers_stop(&all, now);
	step();
	are_running("");
	ck_assert(!transfers_wait(&all, now));
	ck_assert(transfers_finish(&all));
}
END_TEST

START_TEST(pauses)
{
	struct transfer *a, *b;

	setup(1);
	a = add("a", 0);
	b = add("b", 0);
	transfer_pause(&all, a, true);
	step();
	are_running("2");
	transfer_pause(&all, b, true);
	ck_assert(made[2].paused);
	transfer_pause(&all, a, false);
	step();
	are_running("1 2");
	transfer_rate(a, 77);
	ck_assert_uint_eq(made[1].rate, 77);
	transfer_stop(&all, b, "by hand");
	transfer_stop(&all, b, "again");
	step();
	says("by hand");
	are_running("1");
	end(1, SENDER_DONE);
	ck_assert_ptr_null(all.list);
	ck_assert(transfers_finish(&all));
}
END_TEST

START_TEST(stopped_in_the_queue)
{
	struct transfer *b;

	setup(1);
	add("a", 0);
	b = add("b", 0);
	step();
	b->o.scan = 7;
	transfer_stop(&all, b, "by hand");
	step();
	says("by hand");
	ck_assert_uint_eq(scans_ended, 7);
	ck_assert(!made[2].begun);
	ck_assert_ptr_nonnull(transfer_find(&all, 1));
	ck_assert_ptr_null(transfer_find(&all, 2));
	end(1, SENDER_DONE);
	ck_assert(transfers_finish(&all));
}
END_TEST

START_TEST(time_is_over)
{
	struct transfer *a;

	setup(1);
	a = add("a", 0);
	a->o.until = now + SECOND;
	step();
	transfers_step(&all, now + SECOND - 1);
	are_running("1");
	transfers_step(&all, now + SECOND);
	transfers_step(&all, now + SECOND);
	says("its time was over");
	ck_assert(transfers_finish(&all));
}
END_TEST

START_TEST(waited_for)
{
	const struct server_ticket ticket = { 0 };

	setup(2);
	answered = 0;
	add("a", 0);
	add("b", 0);
	add("c", 0);
	ck_assert_int_eq(
	    transfer_wait(&all, ticket, (const unsigned[]){ 1, 3 }, 2), 0);
	ck_assert_int_eq(
	    transfer_wait(&all, ticket, (const unsigned[]){ 9 }, 1), 0);
	step();
	end(2, SENDER_DONE);
	end(3, SENDER_DONE);
	ck_assert_uint_eq(answered, 0);
	end(1, SENDER_FAILED);
	ck_assert_uint_eq(answered, 2);
	ck_assert(transfers_finish(&all));
}
END_TEST

/* Once it is removed, while it waited. */
START_TEST(gone_at_its_turn)
{
	struct transfer *b;

	setup(1);
	add("a", 0);
	b = add("b", 0);
	step();
	strcpy(b->o.name, "gone");
	end(1, SENDER_DONE);
	says("it is gone");
	ck_assert_ptr_null(all.list);
	ck_assert(transfers_finish(&all));
}
END_TEST

START_TEST(tried_again)
{
	struct transfer *t;

	setup(1);
	is_recorded = true;
	session.state = SESSION_RECORDING;
	t = add("live", 0);
	t->o.keep = true;
	step();
	end(1, SENDER_FAILED);
	ck_assert_int_eq(t->step, TRANSFER_QUEUED);
	ck_assert_str_eq(t->why, "nobody there");
	are_running("");
	transfers_step(&all, t->again - 1);
	are_running("");
	transfers_step(&all, t->again);
	are_running("1");
	/* It is recorded no more. */
	session.state = SESSION_STOPPING;
	end(1, SENDER_FAILED);
	ck_assert_ptr_null(all.list);
	says("nobody there");
	ck_assert(transfers_finish(&all));
}
END_TEST

START_TEST(copied)
{
	setup(1);
	add("a", 0);
	step();
	made[1].wants_copy = true;
	end(1, SENDER_FAILED);
	ck_assert_uint_eq(copies, 1);
	are_running("1");
	end(1, SENDER_DONE);
	ck_assert_ptr_null(all.list);
	ck_assert(transfers_finish(&all));
}
END_TEST

/* What the thread has stays, and the daemon knows. */
START_TEST(hung)
{
	setup(1);
	add("a", 0);
	add("b", 0);
	step();
	hangs = true;
	end(1, SENDER_STOPPED);
	are_running("2");
	hangs = false;
	end(2, SENDER_DONE);
	ck_assert(!transfers_finish(&all));
	free(all.hung->o.to);
	free(all.hung);
}
END_TEST

/* Over UDP what is too fast is lost. */
START_TEST(the_usual_rate_is_the_ways)
{
	static const char *const to[] = { "x:", "udp:", "udp:" };
	static const uint64_t asked[] = { SETUP_SEND_USUAL, SETUP_SEND_USUAL,
					  SEND_RATE_FREE };
	static const uint64_t rate[] = { SEND_RATE_FREE, SEND_RATE_DATA,
					 SEND_RATE_FREE };
	struct transfer *t;
	struct fault fault = { 0 };

	setup(1);
	for (unsigned i = 0; i < 3; i++) {
		struct transfer_order o = { .to = strdup(to[i]),
					    .rate = asked[i] };

		ck_assert_int_eq(transfer_add(&all, &o, &t, &fault), 0);
		ck_assert_uint_eq(t->o.rate, rate[i]);
	}
	transfers_stop(&all, now);
	step();
	ck_assert(transfers_finish(&all));
}
END_TEST

SUITE("transfer", queue, pauses, stopped_in_the_queue, time_is_over, waited_for,
      gone_at_its_turn, tried_again, copied, hung, the_usual_rate_is_the_ways)
