/* SPDX-License-Identifier: MIT */
/*
 * A recording on slow disks, sent while it is made to peers that are no good:
 * real memory, writers, files, readers and senders.  The recorder finds a
 * block whenever it would find one without them, and what arrives is right to
 * the last byte, wherever it came from.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/module.h"
#include "lib/fake_write.h"
#include "flow/send/sender.h"
#include "flow/source/source_disk.h"
#include "flow/source/source_live.h"
#include "flow/write/writer.h"
#include "lib/scratch.h"
#include "store/record/meta.h"
#include "flow/memory/arena.h"
#include "lib/suite.h"

enum {
	DISKS = 3,
	SLOT = 1024,
	SLOTS = 64,
	BLOCKS = 24,
	PUT = 500,
	PACKETS = PUT * SLOTS,
	SENDERS = 2,
	MEMORY = 7 * SLOTS, /* more than a quarter */
};

static const struct write_ops write_ops = FAKE_WRITE_OPS("fake", 0);

static struct scratch scratch;
static struct option_texts patterns;
static struct disks disks;
static struct fake_whim whim[DISKS];
static struct write_plugin way[DISKS];
static struct writer *writer[DISKS];
static struct arena *arena;
static struct block_pool *pool;
static struct queue *queue;
static struct output *output;
static const struct format_ops *format;
static struct format_shape shape;
static uint64_t missed;	 /* times that there was no block */
static uint64_t packets; /* that were recorded */

static uint8_t
byte_of(uint64_t sequence)
{
	return (uint8_t)(sequence ^ sequence >> 8);
}

/* ---- a peer ----------------------------------------------------------- */

struct kept {
	const uint8_t *data;
	uint64_t number;
};

struct peer {
	/* What it does. */
	atomic_bool stuck; /* takes nothing */
	atomic_bool keeps; /* needs memory of the last MEMORY packets */
	atomic_uint most;  /* packets of a call; 0: all */
	atomic_bool dies;

	atomic_ullong next; /* number that has to come */
	struct kept kept[PACKETS];
	uint64_t taken, let;
	atomic_uint wrong, disorder;
	int wake;
	struct sender *sender;
};

struct send_state {
	struct peer *peer;
};

static struct peer peer[SENDERS];

static int
peer_check(const struct send_args *args)
{
	(void)args;
	return 0;
}

static int
peer_open(struct send_state **state, const struct send_args *args)
{
	ck_assert(!args->zerocopy_ok);
	*state = calloc(1, sizeof **state);
	(*state)->peer = (struct peer *)args->options;
	return 0;
}

/* Memory was to stay as it was up to now. */
static void
let_go(struct peer *p, uint64_t until)
{
	for (; p->let < until; p->let++) {
		const struct kept *k = &p->kept[p->let % PACKETS];
		uint8_t want = byte_of(k->number);

		atomic_fetch_add(&p->wrong, k->data[0] != want ||
						k->data[77] != want ||
						k->data[SLOT - 1] != want);
	}
}

static int
peer_send(struct send_state *state, const struct send_run *run, unsigned n,
	  uint64_t *taken)
{
	struct peer *p = state->peer;
	unsigned most = atomic_load(&p->most);

	*taken = 0;
	if (atomic_load(&p->dies))
		return -ECONNRESET;
	for (unsigned i = 0; i < n && !atomic_load(&p->stuck); i++) {
		for (uint32_t k = 0; k < run[i].packets; k++) {
			if (most && *taken == most)
				return 0;
			if (p->taken - p->let == PACKETS)
				return 0;
			atomic_fetch_add(&p->disorder,
					 run[i].first + k != p->next);
			p->kept[p->taken++ % PACKETS] =
			    (struct kept){ run[i].data +
					       (size_t)k * run[i].data_stride,
					   run[i].first + k };
			atomic_store(&p->next, run[i].first + k + 1);
			++*taken;
		}
	}
	return 0;
}

static unsigned
peer_poll(struct send_state *state, struct pollfd *fd, unsigned most,
	  int64_t *until)
{
	struct peer *p = state->peer;

	(void)most;
	if (!atomic_load(&p->stuck) && *until > clock_steady() + 200000)
		*until = clock_steady() + 200000;
	*fd = (struct pollfd){ .fd = p->wake, .events = POLLIN };
	return 1;
}

static uint64_t
peer_release(struct send_state *state)
{
	struct peer *p = state->peer;
	unsigned keeps = atomic_load(&p->keeps) ? MEMORY : 0;

	if (p->taken > keeps)
		let_go(p, p->taken - keeps);
	return p->let;
}

static void
peer_detach(struct send_state *state)
{
	let_go(state->peer, state->peer->taken);
}

static int
peer_finish(struct send_state *state)
{
	let_go(state->peer, state->peer->taken);
	return 0;
}

static void
peer_facts(struct send_state *state, struct send_facts *facts)
{
	*facts = (struct send_facts){ .packets = state->peer->taken,
				      .connections = 1,
				      .way = "to a test" };
}

static void
peer_close(struct send_state *state)
{
	free(state);
}

static const struct send_ops peer_ops = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct send_ops),
		  .name = "peer" },
	.check = peer_check,
	.open = peer_open,
	.send = peer_send,
	.poll = peer_poll,
	.release = peer_release,
	.detach = peer_detach,
	.finish = peer_finish,
	.facts = peer_facts,
	.close = peer_close,
};

/* ---- the recorder ----------------------------------------------------- */

static void
nothing(void *arg)
{
	(void)arg;
}

/* Slow enough for blocks to pile up. */
static void
disk_is_slow(const struct write_request *r)
{
	(void)r;
	usleep(500);
}

static void
disks_open(void)
{
	static const char *const names[] = { "d0", "d1", "d2" };
	static const char *paths[DISKS];
	struct fault fault;

	scratch_make(&scratch);
	for (unsigned i = 0; i < DISKS; i++) {
		paths[i] = scratch_path(&scratch, names[i]);
		ck_assert_int_eq(mkdir(paths[i], 0755), 0);
	}
	patterns = (struct option_texts){ paths, DISKS };
	ck_assert_int_eq(disks_find(&disks, &patterns, &fault), 0);
	for (unsigned i = 0; i < DISKS; i++)
		disks.disk[i].reserve_asked = 1;
}

static void
writers_open(void)
{
	for (unsigned i = 0; i < DISKS; i++) {
		struct writer_args args = { .number = i,
					    .disk = &disks.disk[i],
					    .queue = queue,
					    .plugin = &way[i],
					    .plugins = 1,
					    .files = 64,
					    .changed = nothing };

		whim[i] = (struct fake_whim){ .look = disk_is_slow };
		way[i] = (struct write_plugin){ &write_ops, &whim[i] };
		ck_assert_int_eq(writer_start(&writer[i], &args), 0);
	}
}

static void
output_open(int64_t durable)
{
	struct geometry g;
	struct meta_head head = { .name = "rec",
				  .stream = "test",
				  .format = "raw",
				  .extension = "raw",
				  .fill = FILL_ZERO,
				  .start_ns = 5,
				  .shape = &shape,
				  .geometry = &g,
				  .subs = 1 };
	struct output_args args = { .name = "rec",
				    .queue = queue,
				    .disks = DISKS,
				    .durable = durable,
				    .changed = nothing,
				    .fill = FILL_ZERO,
				    .format = format,
				    .shape = &shape };
	json_t *line;

	ck_assert_int_eq(geometry_make(&g, SLOT, 1, SLOT * SLOTS), 0);
	line = meta_head(&head);
	args.head = line;
	ck_assert_int_eq(output_make(&output, &args), 0);
	json_decref(line);
	atomic_store(&output->jobs, DISKS);
	for (unsigned i = 0; i < DISKS; i++)
		ck_assert_int_eq(writer_begin(writer[i], output), 0);
}

static void
begin(int64_t durable)
{
	struct block_pool_args args = { .blocks = BLOCKS,
					.slots = SLOTS,
					.slot_bytes = SLOT,
					.quantum = BLOCK_QUANTUM };
	struct fault fault;
	char why[256];

	log_level_set(LEVEL_ERROR);
	disks_open();
	ck_assert_int_eq(
	    arena_make(&arena, block_pool_need(&args), NULL, &fault), 0);
	ck_assert_int_eq(block_pool_borrow(arena, &pool, &args, &fault), 0);
	ck_assert_int_eq(queue_make(&queue, BLOCKS), 0);
	ck_assert_int_eq(module_format("raw", &format, &fault), 0);
	shape = (struct format_shape){ .payload = SLOT };
	ck_assert_int_eq(format->shape(&shape, why, sizeof why), 0);
	writers_open();
	output_open(durable);
}

/* One turn of a wait that began at `since`.  Whoever waits for this long waits
 * for ever, and the test says for what. */
static void
turn(int64_t since, const char *what)
{
	struct sender_facts f = { 0 };

	sched_yield();
	if (clock_steady() - since < 600 * NS_SECOND)
		return;
	if (peer[0].sender)
		sender_facts(peer[0].sender, &f);
	ck_abort_msg("waits for %s: %" PRIu64 " packets recorded, %u blocks in "
		     "flight, %u at home; the first peer has %llu, state %d, "
		     "%" PRIu64 " bytes from memory, %" PRIu64 " from disks",
		     what, packets, atomic_load(&output->in_flight),
		     block_pool_free_blocks(pool), atomic_load(&peer[0].next),
		     f.state, f.source.bytes_memory, f.source.bytes_disk);
}

/*
 * So many more blocks of whole packets.  The recorder itself has no more than
 * `own` of the pool at a time, so there is always one for it.
 */
static void
record(unsigned n, unsigned own)
{
	uint64_t next = packets;

	while (n--) {
		int64_t since = clock_steady();
		struct block *b;

		while (atomic_load_explicit(&output->in_flight,
					    memory_order_acquire) >= own)
			turn(since, "disks");
		b = block_pool_take(pool, 0);
		while (!b) {
			missed++;
			turn(since, "a block");
			b = block_pool_take(pool, 0);
		}
		for (unsigned i = 0; i < SLOTS; i++)
			memset(block_slot(b, i), byte_of(next + i), SLOT);
		b->first = next;
		b->base = b->run = 0;
		b->used = b->filled = SLOTS;
		b->present[0] = UINT64_MAX;
		b->first_ns = b->last_ns = (int64_t)next + 1;
		next += SLOTS;
		block_close(b);
		output_put(output, b);
	}
	packets = next;
}

static void
record_end(void)
{
	struct index_record record = { .kind = INDEX_END };
	int64_t since = clock_steady();

	while (atomic_load_explicit(&output->in_flight, memory_order_acquire))
		turn(since, "the last blocks to be written");
	output_end(output);
	record.number = atomic_load(&output->records);
	record.first = atomic_load(&output->packets);
	atomic_store(&output->jobs, DISKS);
	for (unsigned i = 0; i < DISKS; i++)
		ck_assert_int_eq(writer_end(writer[i], output, &record,
					    json_pack("{s:i}", "end", 1)),
				 0);
	while (atomic_load(&output->jobs))
		turn(since, "the ends on disks");
}

/* ---- sending ---------------------------------------------------------- */

static void
send_begin(struct peer *p)
{
	struct source_disk_args from = {
		.disks = &disks, .name = "rec", .follow = true, .sub = -1
	};
	struct source_live_args live = {
		.output = output, .pool = pool, .start_ns = 5, .sub = -1
	};
	struct sender_args args = { .name = "rec",
				    .to = "peer://",
				    .ops = &peer_ops,
				    .options = p,
				    .choice = { .sub = -1 },
				    .changed = nothing };
	struct source *source;
	struct fault fault;

	ck_assert_int_eq(source_disk_make(&live.disk, &from), 0);
	ck_assert_int_eq(source_live_make(&source, &live, &fault), 0);
	args.source = source;
	p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ck_assert_int_eq(sender_start(&p->sender, &args, &fault), 0);
}

static struct sender_facts
look(struct peer *p)
{
	struct sender_facts f;

	sender_facts(p->sender, &f);
	return f;
}

static void
wait_for(struct peer *p, uint64_t least)
{
	int64_t since = clock_steady();

	while (atomic_load(&p->next) < least && !sender_ended(p->sender)) {
		usleep(1000);
		turn(since, "a peer");
	}
	ck_assert_msg(atomic_load(&p->next) >= least, "%s", look(p).why);
}

static void
go_on(struct peer *p)
{
	atomic_store(&p->stuck, false);
	atomic_store(&p->most, 0);
	eventfd_write(p->wake, 1);
}

static struct sender_facts
send_end(struct peer *p, enum sender_state state)
{
	int64_t since = clock_steady();
	struct sender_facts f;

	do {
		usleep(1000);
		turn(since, "the end of a send");
		f = look(p);
	} while (f.state < SENDER_DONE);
	ck_assert_msg(f.state == state, "state %d: %s", f.state, f.why);
	/* Where the thread is not done yet it goes by itself. */
	sender_free(p->sender);
	ck_assert_uint_eq(atomic_load(&p->wrong), 0);
	ck_assert_uint_eq(atomic_load(&p->disorder), 0);
	if (state == SENDER_DONE)
		ck_assert_uint_eq(atomic_load(&p->next), packets);
	ck_assert_uint_eq(f.unreadable + f.missing + f.dropped, 0);
	close(p->wake);
	return f;
}

static void
finish(void)
{
	ck_assert_uint_eq(missed, 0);
	ck_assert_uint_eq(atomic_load(&output->packets), packets);
	ck_assert_uint_eq(atomic_load(&output->lost_packets), 0);
	for (unsigned i = 0; i < DISKS; i++)
		ck_assert(writer_stop(writer[i]));
	while (atomic_load(&output->holders) > 1)
		usleep(1000); /* a sender's thread */
	ck_assert_uint_eq(block_pool_free_blocks(pool), BLOCKS);
	output_drop(output);
	queue_free(queue);
	block_pool_return(pool);
	ck_assert_uint_eq(arena_facts(arena).borrowed, 0);
	arena_free(arena);
	disks_clear(&disks);
	scratch_remove(&scratch);
}

#define ROUND INT64_C(50000000)

enum {
	/* With a quarter for transfers all have enough, */
	EASY = BLOCKS / 2,
	/* and here they have to give it back: but for what is read. */
	HARD = BLOCKS - BLOCK_POOL_EACH - 1,
};

START_TEST(a_peer_that_reads)
{
	struct sender_facts f;

	begin(ROUND);
	send_begin(&peer[0]);
	record(PUT, EASY);
	record_end();
	f = send_end(&peer[0], SENDER_DONE);
	ck_assert_uint_gt(f.source.bytes_memory, 0);
	finish();
}
END_TEST

START_TEST(a_peer_that_reads_nothing)
{
	struct sender_facts f;

	begin(ROUND);
	atomic_store(&peer[0].stuck, true);
	send_begin(&peer[0]);
	record(PUT / 2, HARD);
	record(PUT / 2, EASY);
	record_end();
	go_on(&peer[0]);
	f = send_end(&peer[0], SENDER_DONE);
	ck_assert_uint_gt(f.source.bytes_disk, 0);
	ck_assert_uint_gt(f.source.revoked, 0);
	finish();
}
END_TEST

/* It always has all that transfers may have. */
START_TEST(a_peer_that_keeps_memory)
{
	begin(ROUND);
	atomic_store(&peer[0].keeps, true);
	send_begin(&peer[0]);
	record(PUT, EASY);
	record_end();
	send_end(&peer[0], SENDER_DONE);
	finish();
}
END_TEST

/* It falls back to disks, and is with the newest again when it reads on,
 * though disks tell of blocks only when the recording ends. */
START_TEST(a_peer_that_catches_up)
{
	useconds_t pause = 5000;
	struct sender_facts f;
	uint64_t memory, was;

	begin(INT64_MAX / 2);
	send_begin(&peer[0]);
	record(PUT / 10, EASY);
	atomic_store(&peer[0].most, 3);
	record(PUT / 2, HARD);
	go_on(&peer[0]);
	wait_for(&peer[0], PACKETS / 10 * 5);
	memory = look(&peer[0]).source.bytes_memory;
	/* Memory holds the newest BLOCKS / 4 blocks: slow down until the peer
	 * gets there, however busy the machine is. */
	f = look(&peer[0]);
	do {
		was = f.source.bytes_memory;
		record(1, EASY);
		usleep(pause);
		f = look(&peer[0]);
		if (f.source.bytes_memory == was)
			pause += pause / 64;
		ck_assert_msg(pause < 10000000,
			      "at %" PRIu64 " of %" PRIu64 " packets",
			      (uint64_t)atomic_load(&peer[0].next), packets);
	} while (f.source.bytes_memory < memory + 50 * SLOTS * SLOT);
	ck_assert_uint_gt(f.source.bytes_disk, 0);
	record_end();
	send_end(&peer[0], SENDER_DONE);
	finish();
}
END_TEST

START_TEST(a_peer_that_vanishes)
{
	begin(ROUND);
	send_begin(&peer[0]);
	record(PUT / 4, HARD);
	atomic_store(&peer[0].dies, true);
	record(PUT / 4, HARD);
	send_end(&peer[0], SENDER_FAILED);
	record(PUT / 2, HARD);
	record_end();
	finish();
}
END_TEST

/* Of the two, one does not hold the other up; nor the recorder. */
START_TEST(two_sends_of_one_recording)
{
	begin(ROUND);
	atomic_store(&peer[0].stuck, true);
	send_begin(&peer[0]);
	record(PUT / 4, EASY);
	send_begin(&peer[1]);
	record(PUT / 4, EASY);
	wait_for(&peer[1], PACKETS / 4);
	go_on(&peer[0]);
	record(PUT / 2, EASY);
	record_end();
	for (unsigned i = 0; i < SENDERS; i++)
		send_end(&peer[i], SENDER_DONE);
	finish();
}
END_TEST

/* By order, in the middle. */
START_TEST(a_send_is_stopped)
{
	begin(ROUND);
	atomic_store(&peer[0].most, 5);
	send_begin(&peer[0]);
	record(PUT / 2, HARD);
	sender_stop(peer[0].sender);
	send_end(&peer[0], SENDER_STOPPED);
	record(PUT / 2, HARD);
	record_end();
	finish();
}
END_TEST

SUITE_THREADS("live_peers", NULL, a_peer_that_reads, a_peer_that_reads_nothing,
	      a_peer_that_keeps_memory, a_peer_that_catches_up,
	      a_peer_that_vanishes, two_sends_of_one_recording,
	      a_send_is_stopped)
