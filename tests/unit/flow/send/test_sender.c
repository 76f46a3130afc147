/* SPDX-License-Identifier: MIT */
/*
 * A sender between a source and a plugin that do as a test says.  Both are
 * used by the sender's thread; what a test orders and looks at is atomic.
 *
 * The source gives each parcel in memory of its own, which is wiped and freed
 * when it is put.  The plugin keeps pointers, and only copies when it lets go:
 * so memory that goes away too early is seen.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "flow/send/sender.h"
#include "lib/fake_stream.h"

enum { BLOCKS = 32, ALL = BLOCKS * SLOTS };

static const struct stream of_bench = { { 5, 0, 9, 3 }, 4, 10, 0, 1 };

/* ---- the source ------------------------------------------------------ */

struct fake_source {
	struct source source;
	int wake;
	uint32_t number; /* of the next block */
	unsigned given;	 /* parcels that are out */
	struct format_shape shape;
	/* Orders. */
	atomic_uint blocks; /* that there are; BLOCKS: and no more will be */
	atomic_bool wanted, mute; /* mute: about() is known late */
	atomic_int err;		  /* of next */
	atomic_bool hangs;	  /* next does, as long as this is set */
	atomic_bool no_seek;
	unsigned dropped;      /* before anybody could send it */
	atomic_uint gap, gaps; /* the first block without data, and how many */
	/* Looks. */
	atomic_uint puts, seeks;
	atomic_bool closed;
};

static uint8_t *
block_make(uint32_t number)
{
	uint8_t *block = malloc(SLOTS * PAYLOAD);

	for (unsigned i = 0; i < SLOTS; i++)
		ideal(&of_bench, (uint64_t)number * SLOTS + i,
		      block + i * PAYLOAD);
	return block;
}

static int
fake_next(struct source *source, struct parcel *p, int64_t until)
{
	struct fake_source *s = (struct fake_source *)source;
	eventfd_t n;
	int err = atomic_load(&s->err);

	ck_assert_int_eq(until, 0);
	eventfd_read(s->wake, &n);
	while (atomic_load(&s->hangs))
		usleep(1000);
	if (err)
		return err;
	if (s->number >= atomic_load(&s->blocks))
		return s->number == BLOCKS ? -ENODATA : -ETIMEDOUT;
	*p = (struct parcel){
		.record = { .number = s->number,
			    .first = (uint64_t)s->number * SLOTS,
			    .bytes = SLOTS * PAYLOAD,
			    .present = SLOTS,
			    .kind = INDEX_BLOCK,
			    .first_ns = 1000000000 + s->number * 64000,
			    .last_ns = 1000000000 + s->number * 64000 + 63000 },
		.base = 5000,
		.bytes = SLOTS * PAYLOAD,
		.data = block_make(s->number),
		.source = source,
	};
	if (s->number - s->gap < s->gaps) {
		free((void *)p->data);
		p->data = NULL;
		p->err = -ENODATA;
		p->record.kind = INDEX_GAP;
		p->record.present = 0;
		p->record.missing = SLOTS;
	}
	s->number++;
	s->given++;
	return 0;
}

static void
fake_put(struct source *source, struct parcel *p)
{
	struct fake_source *s = (struct fake_source *)source;

	/* What is taken back comes again. */
	if (atomic_load(&s->wanted) && p->record.number < s->number)
		s->number = (uint32_t)p->record.number;
	if (p->data)
		memset((void *)p->data, 0xee, p->bytes);
	free((void *)p->data);
	atomic_fetch_add(&s->puts, 1);
	if (!--s->given)
		atomic_store(&s->wanted, false);
}

static int
fake_seek(struct source *source, uint32_t run, uint64_t first)
{
	struct fake_source *s = (struct fake_source *)source;

	ck_assert_uint_eq(run, 0);
	if (atomic_load(&s->no_seek))
		return -ESPIPE;
	atomic_fetch_add(&s->seeks, 1);
	s->number = (uint32_t)(first / SLOTS);
	return 0;
}

static bool
fake_wanted(struct source *source)
{
	struct fake_source *s = (struct fake_source *)source;

	return s->given && atomic_load(&s->wanted);
}

static int
fake_fd(struct source *source)
{
	return ((struct fake_source *)source)->wake;
}

static void
fake_source_facts(struct source *source, struct source_facts *f)
{
	const struct fake_source *s = (struct fake_source *)source;

	*f =
	    (struct source_facts){ .number = s->number, .dropped = s->dropped };
}

static int
fake_about(struct source *source, struct source_about *about)
{
	struct fake_source *s = (struct fake_source *)source;

	if (atomic_load(&s->mute) && !s->number)
		return -EAGAIN;
	*about = (struct source_about){ .format = &fake_format,
					.shape = &s->shape,
					.subs = 1 };
	return 0;
}

static void
fake_close(struct source *source)
{
	struct fake_source *s = (struct fake_source *)source;

	ck_assert_uint_eq(s->given, 0);
	atomic_store(&s->closed, true);
}

static const struct source_ops fake_source_ops = {
	.next = fake_next,
	.put = fake_put,
	.seek = fake_seek,
	.wanted = fake_wanted,
	.fd = fake_fd,
	.facts = fake_source_facts,
	.close = fake_close,
	.about = fake_about,
};

/* ---- the plugin ------------------------------------------------------ */

struct kept {
	uint64_t number;
	const uint8_t *data;
};

struct fake_plugin {
	int wake;
	struct kept kept[ALL * 4];
	unsigned taken, let; /* of these */
	unsigned holes;	     /* packets that are not behind each other */
	unsigned done;	     /* as of the last call of send */
	uint64_t next;	     /* number that has to come */
	bool connected;
	int64_t rate;
	/* Orders. */
	atomic_uint most;   /* packets that a call takes */
	atomic_bool keeps;  /* releases nothing, but by detach */
	atomic_bool stuck;  /* takes nothing */
	atomic_int err;	    /* of send, and */
	atomic_uint err_at; /* when so many were taken */
	atomic_uint back;   /* from where on they are wanted again */
	atomic_bool away;   /* nobody is there */
	atomic_bool ready;  /* its descriptor is, always */
	atomic_bool opens;  /* hangs in open, as long as this is set */
	atomic_int finish;  /* what that says */
	atomic_bool never;  /* release tells nothing, even after detach */
	atomic_bool lazy;   /* releases in the next call of send alone */
	/* Looks. */
	atomic_uint arrived; /* copies of packets that were let go */
	atomic_uint calls, polls, detaches, finishes, wrong;
	atomic_bool closed, rated;
	atomic_ullong last_call; /* ns */
	struct send_args args;
};

static struct fake_plugin plugin;

static int
fake_check(const struct send_args *args)
{
	(void)args;
	return 0;
}

static int
fake_open(struct send_state **state, const struct send_args *args)
{
	*state = (struct send_state *)&plugin;
	while (atomic_load(&plugin.opens))
		usleep(1000);
	plugin.args = *args;
	return 0;
}

/* Lets go of the first that are kept: they are looked at now. */
static void
let_go(unsigned until)
{
	for (; plugin.let < until; plugin.let++) {
		const struct kept *k = &plugin.kept[plugin.let];
		uint8_t want[PAYLOAD];

		ideal(&of_bench, k->number, want);
		if (memcmp(want, k->data, PAYLOAD))
			atomic_fetch_add(&plugin.wrong, 1);
		atomic_fetch_add(&plugin.arrived, 1);
	}
}

static uint64_t
take(const struct send_run *run, unsigned n, unsigned most)
{
	uint64_t took = 0;

	for (unsigned i = 0; i < n; i++) {
		for (uint32_t k = 0; k < run[i].packets && took < most; k++) {
			struct kept *kept = &plugin.kept[plugin.taken++];

			ck_assert_uint_lt(plugin.taken, ALL * 4);
			kept->number = run[i].first + k;
			kept->data = run[i].data + k * run[i].data_stride;
			plugin.holes += kept->number != plugin.next;
			plugin.next = kept->number + 1;
			took++;
		}
	}
	return took;
}

static int
fake_send(struct send_state *state, const struct send_run *run, unsigned n,
	  uint64_t *taken)
{
	unsigned most = atomic_load(&plugin.most);
	int err = atomic_load(&plugin.err);

	(void)state;
	*taken = 0;
	atomic_fetch_add(&plugin.calls, 1);
	atomic_store(&plugin.last_call, (uint64_t)clock_steady());
	if (atomic_load(&plugin.away))
		return -EAGAIN;
	plugin.connected = true;
	plugin.done = plugin.taken;
	if (err && plugin.taken >= atomic_load(&plugin.err_at)) {
		atomic_store(&plugin.err, 0);
		return err;
	}
	if (!atomic_load(&plugin.stuck))
		*taken = take(run, n, most ? most : UINT32_MAX);
	return 0;
}

static unsigned
fake_poll(struct send_state *state, struct pollfd *fd, unsigned most,
	  int64_t *until)
{
	(void)state;
	ck_assert_uint_ge(most, 256);
	atomic_fetch_add(&plugin.polls, 1);
	if (!atomic_load(&plugin.stuck) && !atomic_load(&plugin.away) &&
	    *until > clock_steady() + 1000000)
		*until = clock_steady() + 1000000;
	*fd = (struct pollfd){ .fd = plugin.wake, .events = POLLIN };
	return 1;
}

static uint64_t
fake_release(struct send_state *state)
{
	(void)state;
	if (!atomic_load(&plugin.keeps) && !atomic_load(&plugin.never))
		let_go(atomic_load(&plugin.lazy) ? plugin.done : plugin.taken);
	return plugin.let;
}

static void
fake_detach(struct send_state *state)
{
	(void)state;
	atomic_fetch_add(&plugin.detaches, 1);
	if (!atomic_load(&plugin.never))
		let_go(plugin.taken);
}

static int
fake_finish(struct send_state *state)
{
	int said = atomic_load(&plugin.finish);

	(void)state;
	atomic_fetch_add(&plugin.finishes, 1);
	if (said == -ERESTART)
		atomic_store(&plugin.finish, 0);
	if (!said)
		let_go(plugin.taken);
	return said;
}

static void
fake_plugin_facts(struct send_state *state, struct send_facts *f)
{
	(void)state;
	*f = (struct send_facts){ .packets = plugin.taken,
				  .connections = !atomic_load(&plugin.away),
				  .way = "to a test" };
	if (atomic_load(&plugin.away))
		strcpy(f->why, "nobody is there");
}

static void
fake_plugin_close(struct send_state *state)
{
	(void)state;
	plugin.let = plugin.taken;
	atomic_store(&plugin.closed, true);
}

static void
fake_back(struct send_state *state, uint32_t *run, uint64_t *first)
{
	(void)state;
	*run = 0;
	*first = plugin.next = atomic_load(&plugin.back);
}

static void
fake_rate(struct send_state *state, uint64_t bits)
{
	(void)state;
	plugin.rate = (int64_t)bits;
	atomic_store(&plugin.rated, true);
}

static const struct send_ops fake_ops = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct send_ops),
		  .name = "fake" },
	.check = fake_check,
	.open = fake_open,
	.send = fake_send,
	.poll = fake_poll,
	.release = fake_release,
	.detach = fake_detach,
	.finish = fake_finish,
	.facts = fake_plugin_facts,
	.close = fake_plugin_close,
	.back = fake_back,
	.rate = fake_rate,
};

/* ---- the bench ------------------------------------------------------- */

static struct fake_source source;
static struct sender *sender;
static atomic_uint changes;

static void
changed(void *arg)
{
	ck_assert_ptr_eq(arg, &changes);
	atomic_fetch_add(&changes, 1);
}

static struct sender_args
bench_args(void)
{
	memset(&plugin, 0, sizeof plugin);
	memset(&source, 0, sizeof source);
	atomic_store(&changes, 0);
	plugin.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	source.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	source.source.ops = &fake_source_ops;
	source.shape = shape_of(&of_bench);
	source.blocks = BLOCKS;
	return (struct sender_args){ .name = "it",
				     .to = "fake://",
				     .source = &source.source,
				     .ops = &fake_ops,
				     .choice = { .sub = -1 },
				     .changed = changed,
				     .arg = &changes };
}

static void
bench_start(const struct sender_args *args)
{
	struct fault fault = { 0 };

	ck_assert_int_eq(sender_start(&sender, args, &fault), 0);
}

static struct sender_facts
look(void)
{
	struct sender_facts f;

	sender_facts(sender, &f);
	return f;
}

/* Waits, for as long as a test may take, until it is so. */
#define UNTIL(so)                                                              \
	do {                                                                   \
		int64_t end_ns = clock_steady() + INT64_C(60000000000);        \
                                                                               \
		while (!(so)) {                                                \
			ck_assert_msg(clock_steady() < end_ns, "never: " #so); \
			usleep(500);                                           \
		}                                                              \
	} while (0)

static void
bench_end(enum sender_state state)
{
	UNTIL(sender_ended(sender));
	ck_assert_uint_eq(look().state, state);
	ck_assert(sender_free(sender));
	ck_assert_uint_eq(atomic_load(&changes), 1);
	ck_assert(atomic_load(&source.closed));
	ck_assert_uint_eq(source.given, 0);
	ck_assert_uint_eq(atomic_load(&plugin.wrong), 0);
	close(plugin.wake);
	close(source.wake);
}

static void
bench_arrived(void)
{
	ck_assert_uint_eq(plugin.next, ALL);
	ck_assert_uint_eq(plugin.holes, 0);
	ck_assert_uint_eq(plugin.taken, plugin.let);
}

/* ---- the sender ------------------------------------------------------ */

START_TEST(all_of_it_arrives)
{
	struct sender_args args = bench_args();
	struct sender_facts f;

	args.transfer = 77;
	args.secret = (const uint8_t *)"geheim";
	args.secret_bytes = 6;
	bench_start(&args);
	UNTIL(sender_ended(sender));
	f = look();
	ck_assert_uint_eq(f.packets, ALL);
	ck_assert_uint_eq(f.bytes, ALL * (PAYLOAD + 8));
	ck_assert_uint_eq(f.send.packets, ALL);
	ck_assert_str_eq(f.send.way, "to a test");
	ck_assert_str_eq(f.why, "");
	ck_assert_uint_eq(plugin.args.transfer, 77);
	ck_assert_uint_eq(plugin.args.head_bytes, 8);
	ck_assert_uint_eq(plugin.args.data_bytes, PAYLOAD);
	ck_assert(plugin.args.zerocopy_ok);
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

/* A relay's, which had no memory: each of them once. */
START_TEST(what_the_source_dropped_counts_once)
{
	struct sender_args args = bench_args();

	source.dropped = 5;
	bench_start(&args);
	UNTIL(sender_ended(sender));
	ck_assert_uint_eq(look().dropped, 5);
	ck_assert_str_eq(look().why, "5 packets found no room");
	bench_end(SENDER_DONE);
}
END_TEST

START_TEST(a_source_may_know_its_format_late)
{
	struct sender_args args = bench_args();

	source.mute = true;
	source.blocks = 0;
	bench_start(&args);
	usleep(20000);
	ck_assert_uint_eq(look().state, SENDER_CONNECTING);
	atomic_store(&source.blocks, BLOCKS);
	eventfd_write(source.wake, 1);
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

START_TEST(a_few_are_taken_at_a_time)
{
	struct sender_args args = bench_args();

	plugin.most = 7;
	bench_start(&args);
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

/* A live recording: blocks come late, and it says that it waits. */
START_TEST(it_waits_for_more)
{
	struct sender_args args = bench_args();

	source.blocks = 3;
	bench_start(&args);
	UNTIL(look().state == SENDER_WAITING);
	ck_assert_uint_eq(look().packets, 3 * SLOTS);
	UNTIL(atomic_load(&source.puts) == 3);
	for (unsigned i = 4; i <= BLOCKS; i++) {
		atomic_store(&source.blocks, i);
		eventfd_write(source.wake, 1);
		usleep(300);
	}
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

/* The plugin holds on to all it has, and the recorder wants it back. */
START_TEST(memory_is_given_back_when_it_is_wanted)
{
	struct sender_args args = bench_args();

	source.blocks = 5;
	plugin.keeps = true;
	plugin.most = 10;
	bench_start(&args);
	UNTIL(look().packets == 5 * SLOTS);
	ck_assert_uint_eq(atomic_load(&source.puts), 0);
	atomic_store(&source.wanted, true);
	eventfd_write(source.wake, 1);
	UNTIL(atomic_load(&source.puts) >= 5);
	ck_assert_uint_eq(atomic_load(&plugin.detaches), 1);
	/* In the middle of a block, too, by a plugin that is stuck. */
	plugin.stuck = true;
	atomic_store(&source.blocks, BLOCKS);
	eventfd_write(source.wake, 1);
	usleep(20000);
	atomic_store(&source.wanted, true);
	eventfd_write(source.wake, 1);
	UNTIL(atomic_load(&source.puts) > 10);
	plugin.stuck = false;
	plugin.keeps = false;
	eventfd_write(plugin.wake, 1);
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

START_TEST(memory_is_wanted_again_and_again)
{
	struct sender_args args = bench_args();

	plugin.most = 5;
	plugin.keeps = true;
	bench_start(&args);
	while (!sender_ended(sender)) {
		atomic_store(&source.wanted, true);
		eventfd_write(source.wake, 1);
		eventfd_write(plugin.wake, 1);
		usleep(700);
	}
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

/* It cannot be sent, but what the recorder gets is its own again. */
START_TEST(a_plugin_that_keeps_memory_is_closed)
{
	struct sender_args args = bench_args();

	plugin.never = true;
	source.blocks = 2;
	bench_start(&args);
	UNTIL(look().packets == 2 * SLOTS);
	atomic_store(&source.wanted, true);
	eventfd_write(source.wake, 1);
	UNTIL(sender_ended(sender));
	ck_assert_ptr_nonnull(strstr(look().why, "did not give memory back"));
	bench_end(SENDER_FAILED);
}
END_TEST

/* Fill has one piece of memory: the plugin has to get on with the last one
 * before there can be more. */
START_TEST(fill_waits_for_who_gets_on_when_asked)
{
	struct sender_args args = bench_args();

	args.plain = true;
	source.gap = 3;
	source.gaps = 4;
	plugin.lazy = true;
	bench_start(&args);
	UNTIL(sender_ended(sender));
	ck_assert_uint_eq(look().bytes, ALL * PAYLOAD);
	ck_assert_uint_eq(plugin.wrong, 4 * SLOTS); /* it is not packets */
	plugin.wrong = 0;
	bench_end(SENDER_DONE);
}
END_TEST

START_TEST(no_more_is_held_than_there_is_room_for)
{
	struct sender_args args = bench_args();

	plugin.keeps = true;
	bench_start(&args);
	UNTIL(atomic_load(&plugin.finishes));
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

/* ---- orders ---------------------------------------------------------- */

START_TEST(it_pauses_and_goes_on)
{
	struct sender_args args = bench_args();
	uint64_t before;

	source.blocks = 4;
	bench_start(&args);
	UNTIL(look().packets == 4 * SLOTS);
	sender_pause(sender, true);
	UNTIL(look().state == SENDER_PAUSED);
	before = look().packets;
	atomic_store(&source.blocks, BLOCKS);
	eventfd_write(source.wake, 1);
	usleep(50000);
	ck_assert_uint_eq(look().packets, before);
	ck_assert_uint_eq(look().state, SENDER_PAUSED);
	sender_pause(sender, false);
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

START_TEST(the_rate_changes)
{
	struct sender_args args = bench_args();
	uint64_t packets;

	args.rate = 1; /* a bit a second: one packet, and it sleeps */
	bench_start(&args);
	UNTIL(look().packets == 1);
	usleep(30000);
	ck_assert_uint_eq(look().packets, 1);
	/* 48 bytes 200 times a second. */
	sender_rate(sender, 48 * 8 * 200);
	UNTIL(look().packets >= 20);
	ck_assert(atomic_load(&plugin.rated));
	ck_assert_uint_eq(look().asked, 48 * 8 * 200);
	packets = look().packets;
	ck_assert_uint_lt(packets, ALL);
	sender_rate(sender, SEND_RATE_FREE);
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

/* As the data's clock says: 2048 packets, 1 us apart, are 2 ms and more. */
START_TEST(the_datas_clock)
{
	struct sender_args args = bench_args();
	int64_t start = clock_steady();

	args.rate = SEND_RATE_DATA;
	bench_start(&args);
	bench_end(SENDER_DONE);
	bench_arrived();
	ck_assert_int_ge(clock_steady() - start, 2000000);
}
END_TEST

static void
stop_now(void)
{
	int64_t start = clock_steady();

	sender_stop(sender);
	UNTIL(sender_ended(sender));
	/* 100 ms are promised; a machine that does other things takes longer,
	 * and a sender that waits for its peer for ever. */
	ck_assert_int_lt(clock_steady() - start, INT64_C(20000000000));
	sender_stop(sender);
	bench_end(SENDER_STOPPED);
}

START_TEST(it_stops_in_any_state)
{
	for (unsigned way = 0; way < 7; way++) {
		struct sender_args args = bench_args();

		args.rate = way == 1;
		source.blocks = way == 2 ? 1 : BLOCKS;
		plugin.stuck = way == 3;
		plugin.away = way == 4;
		plugin.finish = way == 5 ? -EAGAIN : 0;
		plugin.most = 1;
		plugin.keeps = true;
		bench_start(&args);
		if (way == 6)
			sender_pause(sender, true);
		if (way == 5)
			UNTIL(look().state == SENDER_FINISHING);
		else if (way)
			usleep(20000);
		stop_now();
	}
}
END_TEST

/* ---- what hangs ------------------------------------------------------ */

START_TEST(a_disk_may_hang)
{
	struct sender_args args = bench_args();

	source.hangs = true;
	bench_start(&args);
	usleep(20000);
	sender_stop(sender);
	UNTIL(sender_ended(sender));
	ck_assert_uint_eq(look().state, SENDER_STOPPED);
	ck_assert(!atomic_load(&source.closed));
	ck_assert(!sender_free(sender));
	/* It answers after all: the thread ends by itself, and tells nobody. */
	atomic_store(&source.hangs, false);
	UNTIL(atomic_load(&source.closed));
	usleep(20000);
	ck_assert_uint_eq(atomic_load(&changes), 0);
}
END_TEST

START_TEST(a_name_server_may_hang)
{
	struct sender_args args = bench_args();

	plugin.opens = true;
	bench_start(&args);
	usleep(20000);
	sender_stop(sender);
	UNTIL(sender_ended(sender));
	ck_assert(!sender_free(sender));
	atomic_store(&plugin.opens, false);
	UNTIL(atomic_load(&source.closed));
	ck_assert(atomic_load(&plugin.closed));
	usleep(20000);
}
END_TEST

/* ---- what peers do ---------------------------------------------------- */

START_TEST(one_that_takes_nothing_is_not_asked_all_the_time)
{
	struct sender_args args = bench_args();
	unsigned calls;

	plugin.stuck = true;
	bench_start(&args);
	usleep(50000);
	calls = atomic_load(&plugin.calls);
	usleep(500000);
	/* It looks four times a second by itself. */
	ck_assert_uint_le(atomic_load(&plugin.calls) - calls, 10);
	atomic_store(&plugin.stuck, false);
	eventfd_write(plugin.wake, 1);
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

/* Even where the plugin's descriptor is always ready. */
START_TEST(no_descriptor_makes_it_spin)
{
	struct sender_args args = bench_args();
	unsigned calls;
	int64_t since;

	plugin.stuck = true;
	eventfd_write(plugin.wake, 1);
	eventfd_write(source.wake, 1);
	bench_start(&args);
	usleep(400000);
	since = clock_steady();
	calls = atomic_load(&plugin.calls);
	usleep(1000000);
	calls = atomic_load(&plugin.calls) - calls;
	/* A busy machine sleeps longer than it was asked to. */
	ck_assert_uint_le(calls, (clock_steady() - since) / 1000000);
	atomic_store(&plugin.stuck, false);
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

START_TEST(one_that_is_away_is_waited_for)
{
	struct sender_args args = bench_args();
	int64_t start = clock_steady();

	plugin.away = true;
	bench_start(&args);
	usleep(1200000);
	/* At 0, 0.1, 0.3 and 0.7 s. */
	ck_assert_uint_ge(atomic_load(&plugin.calls), 3);
	ck_assert_uint_le(atomic_load(&plugin.calls),
			  5 + (clock_steady() - start) / 1000000000);
	ck_assert_uint_eq(look().state, SENDER_CONNECTING);
	ck_assert_str_eq(look().why, "nobody is there");
	atomic_store(&plugin.away, false);
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

START_TEST(one_that_stays_away_is_given_up)
{
	struct sender_args args = bench_args();

	args.patience = 300000000;
	plugin.away = true;
	bench_start(&args);
	UNTIL(sender_ended(sender));
	ck_assert_str_eq(look().why, "nobody is there");
	bench_end(SENDER_FAILED);
}
END_TEST

START_TEST(one_that_goes_comes_back)
{
	struct sender_args args = bench_args();

	source.blocks = 4;
	bench_start(&args);
	UNTIL(look().packets == 4 * SLOTS);
	atomic_store(&plugin.away, true);
	atomic_store(&source.blocks, BLOCKS);
	eventfd_write(source.wake, 1);
	UNTIL(look().state == SENDER_CONNECTING);
	atomic_store(&plugin.away, false);
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

START_TEST(packets_are_wanted_again)
{
	struct sender_args args = bench_args();

	plugin.most = 9;
	plugin.keeps = true;
	plugin.err_at = 1000;
	plugin.back = 333;
	plugin.err = -ERESTART;
	bench_start(&args);
	UNTIL(sender_ended(sender));
	ck_assert_uint_eq(atomic_load(&source.seeks), 1);
	bench_end(SENDER_DONE);
	bench_arrived();
	ck_assert_uint_ge(plugin.taken, ALL + 1000 - 333);
}
END_TEST

/* Before the first one: it has some from before. */
START_TEST(packets_are_there_already)
{
	struct sender_args args = bench_args();

	plugin.back = 777;
	plugin.err = -ERESTART;
	bench_start(&args);
	bench_end(SENDER_DONE);
	bench_arrived();
	ck_assert_uint_eq(plugin.taken, ALL - 777);
}
END_TEST

START_TEST(the_last_packets_are_wanted_again)
{
	struct sender_args args = bench_args();

	plugin.finish = -ERESTART;
	plugin.back = ALL - 10;
	bench_start(&args);
	bench_end(SENDER_DONE);
	bench_arrived();
	ck_assert_uint_eq(plugin.taken, ALL + 10);
	ck_assert_uint_eq(plugin.finishes, 2);
}
END_TEST

/* A relay cannot go back: it goes on. */
START_TEST(what_is_gone_is_gone)
{
	struct sender_args args = bench_args();

	source.no_seek = true;
	plugin.most = 9;
	plugin.err_at = 1000;
	plugin.back = 333;
	plugin.err = -ERESTART;
	bench_start(&args);
	bench_end(SENDER_DONE);
	ck_assert_uint_eq(plugin.next, ALL);
	ck_assert_uint_lt(plugin.taken, ALL);
}
END_TEST

START_TEST(one_that_wants_a_copy_gets_none_here)
{
	struct sender_args args = bench_args();

	plugin.err = -EXDEV;
	bench_start(&args);
	UNTIL(sender_ended(sender));
	ck_assert(look().wants_copy);
	ck_assert_uint_eq(plugin.taken, 0);
	bench_end(SENDER_FAILED);
}
END_TEST

/* Heaps do not go in frames, but such a peer has to be asked all the same. */
START_TEST(what_cannot_be_cut_may_be_copied)
{
	for (unsigned copies = 0; copies < 2; copies++) {
		struct sender_args args = bench_args();
		struct send_ops bare = fake_ops;

		bare.head.flags = SEND_BARE;
		args.ops = &bare;
		source.shape.store = HEAP_ROW;
		plugin.err = copies ? -EXDEV : 0;
		bench_start(&args);
		UNTIL(sender_ended(sender));
		ck_assert_uint_eq(look().wants_copy, copies);
		if (!copies)
			ck_assert_ptr_nonnull(strstr(look().why, "frames"));
		ck_assert_uint_eq(plugin.taken, 0);
		bench_end(SENDER_FAILED);
	}
}
END_TEST

START_TEST(what_fails_says_why)
{
	struct sender_args args = bench_args();

	plugin.err = -EPERM;
	plugin.err_at = 500;
	plugin.most = 100;
	bench_start(&args);
	UNTIL(sender_ended(sender));
	ck_assert(!look().wants_copy);
	ck_assert_str_ne(look().why, "");
	bench_end(SENDER_FAILED);
}
END_TEST

START_TEST(the_end_is_waited_for)
{
	struct sender_args args = bench_args();

	plugin.finish = -EAGAIN;
	bench_start(&args);
	UNTIL(look().state == SENDER_FINISHING);
	usleep(20000);
	ck_assert(!sender_ended(sender));
	atomic_store(&plugin.finish, 0);
	eventfd_write(plugin.wake, 1);
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

/* Nobody is there to say that it has all. */
START_TEST(one_that_goes_at_the_end_is_given_up)
{
	struct sender_args args = bench_args();

	args.patience = 200000000;
	plugin.finish = -EAGAIN;
	bench_start(&args);
	UNTIL(look().state == SENDER_FINISHING);
	atomic_store(&plugin.away, true);
	bench_end(SENDER_FAILED);
}
END_TEST

/* ---- and sources ----------------------------------------------------- */

START_TEST(a_recording_that_is_removed)
{
	struct sender_args args = bench_args();

	source.blocks = 3;
	bench_start(&args);
	UNTIL(look().packets == 3 * SLOTS);
	atomic_store(&source.err, -ENOENT);
	eventfd_write(source.wake, 1);
	UNTIL(sender_ended(sender));
	ck_assert_str_eq(look().why, "it was removed");
	bench_end(SENDER_FAILED);
}
END_TEST

START_TEST(one_that_cannot_be_read)
{
	struct sender_args args = bench_args();

	source.err = -EIO;
	source.mute = true;
	bench_start(&args);
	UNTIL(sender_ended(sender));
	ck_assert_ptr_nonnull(strstr(look().why, "cannot be read"));
	bench_end(SENDER_FAILED);
}
END_TEST

/* Looks at it, from another thread, while it runs. */
static void *
looks(void *arg)
{
	(void)arg;
	while (!sender_ended(sender)) {
		struct sender_facts f = look();

		/* Never half of one and half of another. */
		if (f.bytes != f.packets * (PAYLOAD + 8) ||
		    f.send.packets != f.packets)
			atomic_fetch_add(&plugin.wrong, 1);
	}
	return NULL;
}

START_TEST(looks_are_whole)
{
	struct sender_args args = bench_args();
	pthread_t other;

	args.rate = UINT64_C(48) * 8 * 4000;
	bench_start(&args);
	ck_assert_int_eq(pthread_create(&other, NULL, looks, NULL), 0);
	for (unsigned i = 0; i < 2000; i++) {
		sender_pause(sender, i % 2 == 0);
		usleep(100);
	}
	sender_pause(sender, false);
	sender_rate(sender, SEND_RATE_FREE);
	pthread_join(other, NULL);
	bench_end(SENDER_DONE);
	bench_arrived();
}
END_TEST

SUITE_THREADS(
    "sender", NULL, all_of_it_arrives, what_the_source_dropped_counts_once,
    a_source_may_know_its_format_late, a_few_are_taken_at_a_time,
    it_waits_for_more, memory_is_given_back_when_it_is_wanted,
    memory_is_wanted_again_and_again, a_plugin_that_keeps_memory_is_closed,
    fill_waits_for_who_gets_on_when_asked,
    no_more_is_held_than_there_is_room_for, it_pauses_and_goes_on,
    the_rate_changes, the_datas_clock, it_stops_in_any_state, a_disk_may_hang,
    a_name_server_may_hang, one_that_takes_nothing_is_not_asked_all_the_time,
    no_descriptor_makes_it_spin, one_that_is_away_is_waited_for,
    one_that_stays_away_is_given_up, one_that_goes_comes_back,
    packets_are_wanted_again, packets_are_there_already,
    the_last_packets_are_wanted_again, what_is_gone_is_gone,
    one_that_wants_a_copy_gets_none_here, what_cannot_be_cut_may_be_copied,
    what_fails_says_why, the_end_is_waited_for,
    one_that_goes_at_the_end_is_given_up, a_recording_that_is_removed,
    one_that_cannot_be_read, looks_are_whole)
