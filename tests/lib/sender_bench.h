/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_SENDER_BENCH_H
#define SPATE_TESTS_SENDER_BENCH_H

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

/*
 * A sender between a source and a plugin that do as a test says.  Both are
 * used by the sender's thread; what a test orders and looks at is atomic.
 *
 * The source gives each parcel in memory of its own, which is wiped and freed
 * when it is put.  The plugin keeps pointers, and only copies when it lets go:
 * so memory that goes away too early is seen.
 */
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

static inline uint8_t *
block_make(uint32_t number)
{
	uint8_t *block = malloc(SLOTS * PAYLOAD);

	for (unsigned i = 0; i < SLOTS; i++)
		ideal(&of_bench, (uint64_t)number * SLOTS + i,
		      block + i * PAYLOAD);
	return block;
}

static inline int
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

static inline void
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

static inline int
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

static inline bool
fake_wanted(struct source *source)
{
	struct fake_source *s = (struct fake_source *)source;

	return s->given && atomic_load(&s->wanted);
}

static inline int
fake_fd(struct source *source)
{
	return ((struct fake_source *)source)->wake;
}

static inline void
fake_source_facts(struct source *source, struct source_facts *f)
{
	const struct fake_source *s = (struct fake_source *)source;

	*f =
	    (struct source_facts){ .number = s->number, .dropped = s->dropped };
}

static inline int
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

static inline void
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

static inline int
fake_check(const struct send_args *args)
{
	(void)args;
	return 0;
}

static inline int
fake_open(struct send_state **state, const struct send_args *args)
{
	*state = (struct send_state *)&plugin;
	while (atomic_load(&plugin.opens))
		usleep(1000);
	plugin.args = *args;
	return 0;
}

/* Lets go of the first that are kept: they are looked at now. */
static inline void
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

static inline uint64_t
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

static inline int
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

static inline unsigned
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

static inline uint64_t
fake_release(struct send_state *state)
{
	(void)state;
	if (!atomic_load(&plugin.keeps) && !atomic_load(&plugin.never))
		let_go(atomic_load(&plugin.lazy) ? plugin.done : plugin.taken);
	return plugin.let;
}

static inline void
fake_detach(struct send_state *state)
{
	(void)state;
	atomic_fetch_add(&plugin.detaches, 1);
	if (!atomic_load(&plugin.never))
		let_go(plugin.taken);
}

static inline int
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

static inline void
fake_plugin_facts(struct send_state *state, struct send_facts *f)
{
	(void)state;
	*f = (struct send_facts){ .packets = plugin.taken,
				  .connections = !atomic_load(&plugin.away),
				  .way = "to a test" };
	if (atomic_load(&plugin.away))
		strcpy(f->why, "nobody is there");
}

static inline void
fake_plugin_close(struct send_state *state)
{
	(void)state;
	plugin.let = plugin.taken;
	atomic_store(&plugin.closed, true);
}

static inline void
fake_back(struct send_state *state, uint32_t *run, uint64_t *first)
{
	(void)state;
	*run = 0;
	*first = plugin.next = atomic_load(&plugin.back);
}

static inline void
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

static inline void
changed(void *arg)
{
	ck_assert_ptr_eq(arg, &changes);
	atomic_fetch_add(&changes, 1);
}

static inline struct sender_args
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

static inline void
bench_start(const struct sender_args *args)
{
	struct fault fault = { 0 };

	ck_assert_int_eq(sender_start(&sender, args, &fault), 0);
}

static inline struct sender_facts
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

static inline void
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

static inline void
bench_arrived(void)
{
	ck_assert_uint_eq(plugin.next, ALL);
	ck_assert_uint_eq(plugin.holes, 0);
	ck_assert_uint_eq(plugin.taken, plugin.let);
}

#endif
