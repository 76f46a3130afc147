/* SPDX-License-Identifier: MIT */
/*
 * A disk's threads take requests from its two queues: `now` before `soon`, each
 * in order.  With io_uring it is one thread with many requests in flight;
 * without, several threads with one each.  They do everything that may wait for
 * the disk, also opening files.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/ease.h"
#include "base/log.h"
#include "store/read/pool_priv.h"
#include "store/recording/recording_priv.h"
#include "store/disk/file.h"

static bool
is_healer(const struct pool_disk *d)
{
	return d == &d->pool->disk[d->pool->disks];
}

/* True if one thread with io_uring reads the disk, false if several with
 * pread do. */
static bool
has_ring(const struct pool_disk *d)
{
	return d->pool->ring && !d->remote && !is_healer(d);
}

/* ---- checksums ----------------------------------------------------------- */

/*
 * Checks what was read, in the thread that read it.  The checksums of quanta
 * (parts of a chunk, in the .sums file) are used if the index has the same
 * checksum of the whole block, or none.  Without them only the checksum of the
 * whole block is left: the whole chunk is read once before any of it is given.
 * A .sums file is rarely lost.
 */

static void
copy(struct pool_chunk *c, const struct sums *s)
{
	uint32_t *sum = malloc(s->count * sizeof *sum + 1);

	if (!sum)
		return;
	for (uint32_t i = 0; i < s->count; i++)
		sum[i] = sums_at(s, i);
	c->sum = sum;
	c->quanta = s->count;
	c->quantum = s->quantum;
}

static bool
is_usable(const struct pool_reader *r, const struct pool_chunk *c,
	  const struct sums *s)
{
	const struct index_record *k = &c->record;

	if (s->bytes != k->bytes || r->pool->piece_bytes % s->quantum)
		return false;
	return !(k->flags & INDEX_SUMMED) || s->crc == k->crc;
}

/* True if the checksum of the whole chunk is wrong.  A chunk that cannot be
 * read is not damaged; that error shows when the data is read. */
static bool
is_damaged(const struct pool_chunk *c)
{
	struct stride stride = { c->offset, c->prefix, c->payload };
	uint8_t *buffer = malloc(POOL_REQUEST);
	uint32_t crc = 0;
	uint64_t at = 0;
	ssize_t got = 1;

	while (buffer && at < c->record.bytes) {
		uint64_t left = c->record.bytes - at;

		got =
		    stride_read(c->fd, &stride, buffer,
				left < POOL_REQUEST ? left : POOL_REQUEST, at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		crc = crc32c(crc, buffer, (uint64_t)got);
		at += (uint64_t)got;
	}
	free(buffer);
	return at == c->record.bytes && crc != c->record.crc;
}

/* Finds the checksums of a chunk. */
static void
find_sums(struct pool_reader *r, struct pool_chunk *c)
{
	struct pool_part *part = &r->part[c->disk];
	const struct sums *s;

	pthread_mutex_lock(&part->sums_lock);
	s = sums_find(&part->sums, c->record.number);
	if (!s) {
		sums_refresh(&part->sums, part->dir, r->name);
		s = sums_find(&part->sums, c->record.number);
	}
	if (s && is_usable(r, c, s))
		copy(c, s);
	pthread_mutex_unlock(&part->sums_lock);
	if (!c->sum && c->record.flags & INDEX_SUMMED)
		c->damaged = is_damaged(c);
}

/* True if all these bytes of the piece were read. */
static bool
is_whole(const struct pool_piece *p, uint64_t at, uint64_t bytes)
{
	uint64_t end;

	return !pool_piece_stretch(p, at, &end) && end >= at + bytes;
}

/* ---- parity ------------------------------------------------------------- */

/* A disk that reads a whole group does not hang meanwhile. */
static void
heal_goes_on(void *arg)
{
	struct pool_disk *d = arg;

	pthread_mutex_lock(&d->pool->lock);
	d->progress_at = clock_steady();
	pthread_mutex_unlock(&d->pool->lock);
}

/* Counts a block that was computed, and warns of the first. */
static void
heal_count(const struct pool_chunk *c)
{
	struct pool_reader *r = c->reader;
	bool first;

	pthread_mutex_lock(&r->pool->lock);
	first = !r->healed++;
	pthread_mutex_unlock(&r->pool->lock);
	if (first)
		log_line(LEVEL_WARN, r->name,
			 "block %" PRIu64 " cannot be read and was computed "
			 "from parity, as further ones will be; spate verify "
			 "%s names them",
			 c->record.number, r->name);
}

/* Counts bytes that are given although their checksum is wrong, and warns of the
 * first. */
static void
damage_count(const struct pool_chunk *c, uint64_t bytes)
{
	struct pool_reader *r = c->reader;
	bool first;

	pthread_mutex_lock(&r->pool->lock);
	first = !r->damaged;
	r->damaged += bytes;
	pthread_mutex_unlock(&r->pool->lock);
	if (first)
		log_line(LEVEL_WARN, r->name,
			 "block %" PRIu64 " has a wrong checksum, parity does "
			 "not make up for it, and its bytes are given as they "
			 "are, as those of further ones will be; spate verify "
			 "%s names them",
			 c->record.number, r->name);
}

/* A disk that did not give a source in time is no source for some patiences. */
static bool
source_answers(struct pool_disk *d, int64_t now)
{
	enum { PATIENCES = 4 };

	return !pool_disk_hangs(d, now) &&
	       (!d->late_at ||
		now - d->late_at > PATIENCES * d->pool->patience);
}

static void
source_look(struct pool_reader *r, struct parity_source *s, int64_t now)
{
	if (s->disk < 0)
		return;
	s->late = false;
	s->dir = source_answers(&r->pool->disk[s->disk], now)
		     ? r->part[s->disk].dir
		     : -1;
}

/* Leaves the disks out that do not answer by now. */
static void
sources_look(struct pool_reader *r, struct parity_heal *h)
{
	int64_t now = clock_steady();

	pthread_mutex_lock(&r->pool->lock);
	for (; h; h = h->older) {
		for (unsigned i = 0; i < h->members; i++)
			source_look(r, &h->member[i], now);
		for (unsigned i = 0; i < h->rows; i++)
			source_look(r, &h->parity[i], now);
	}
	pthread_mutex_unlock(&r->pool->lock);
}

/* Notes the disks that did not answer. */
static void
sources_done(struct pool_reader *r, const struct parity_heal *h)
{
	struct pool_disk *disk = r->pool->disk;
	int64_t now = clock_steady();

	pthread_mutex_lock(&r->pool->lock);
	for (; h; h = h->older) {
		for (unsigned i = 0; i < h->members; i++) {
			if (h->member[i].late)
				disk[h->member[i].disk].late_at = now;
		}
		for (unsigned i = 0; i < h->rows; i++) {
			if (h->parity[i].late)
				disk[h->parity[i].disk].late_at = now;
		}
	}
	pthread_mutex_unlock(&r->pool->lock);
}

/* Computes a chunk from its group, once.  True: c->healed has it.  Under the
 * chunk's lock. */
static bool
heal_locked(struct pool_disk *d, struct pool_chunk *c)
{
	int err;

	if (c->heal && !c->tried) {
		c->tried = true;
		sources_look(c->reader, c->heal);
		c->heal->alive = heal_goes_on;
		c->heal->arg = d;
		/* So the sum without a disk that is late comes in time. */
		c->heal->patience = d->pool->patience / 2;
		err = parity_heal(c->heal, &c->healed);
		sources_done(c->reader, c->heal);
		if (err)
			c->failed_at = clock_steady();
		else
			heal_count(c);
	}
	return c->healed;
}

static bool
heal(struct pool_disk *d, struct pool_chunk *c)
{
	bool healed;

	pthread_mutex_lock(&c->lock);
	healed = heal_locked(d, c);
	pthread_mutex_unlock(&c->lock);
	return healed;
}

/* Copies bytes of a piece's data from what its group says of them.  False: it
 * says nothing. */
static bool
heal_bytes(struct pool_piece *p, uint64_t at, uint64_t bytes)
{
	if (!heal(p->disk, p->chunk))
		return false;
	memcpy(p->data + (at - p->at), p->chunk->healed + at, bytes);
	return true;
}

/* Checks a piece whose requests have all been read. */
static void
check_sums(struct pool_piece *p)
{
	const struct pool_chunk *c = p->chunk;
	struct pool *pool = p->disk->pool;
	uint64_t at;

	if (!c->sum)
		return;
	at = pool_up(p->at, c->quantum);
	for (; at < p->at + p->bytes; at += c->quantum) {
		uint64_t left = c->record.bytes - at;
		uint64_t bytes = left < c->quantum ? left : c->quantum;

		if (at + bytes > p->at + p->bytes || !is_whole(p, at, bytes) ||
		    crc32c(0, p->data + (at - p->at), bytes) ==
			c->sum[at / c->quantum] ||
		    heal_bytes(p, at, bytes))
			continue;
		if (!p->reader->verify) {
			damage_count(c, bytes);
			continue;
		}
		pthread_mutex_lock(&pool->lock);
		pool_piece_bad(p, at, bytes, -EBADMSG);
		pthread_mutex_unlock(&pool->lock);
	}
}

/* ---- chunks -------------------------------------------------------------- */

/*
 * The file of a block, opened by the first disk thread that needs it: once to
 * be read past the page cache (O_DIRECT), and once through it.  Reads go
 * through the page cache if O_DIRECT cannot: on file systems without it, at the
 * end of a file of odd length, for packets that do not lie back to back, and
 * around a broken sector, of which the kernel tells only that there is one.  A
 * file that is mostly in the page cache already is read from there.
 */

/* Lends the plan of a chunk the folders that stay open as long as the reader
 * does.  It looks for no hang: to find one drops pieces, of which the caller is
 * about to take one. */
static void
source_lend(struct pool_reader *r, struct parity_source *s)
{
	if (s->disk < 0 || !pool_part_open(r, (unsigned)s->disk))
		s->disk = s->dir = -1;
	else
		s->dir = r->part[s->disk].dir;
}

static struct parity_heal *
plan_make(struct pool_reader *r, const struct recording_block *b)
{
	struct parity_heal *plan =
	    recording_heal_plan(r->rec, b->record.number);

	for (struct parity_heal *h = plan; h; h = h->older) {
		for (unsigned i = 0; i < h->members; i++)
			source_lend(r, &h->member[i]);
		for (unsigned i = 0; i < h->rows; i++)
			source_lend(r, &h->parity[i]);
	}
	return plan;
}

static struct pool_chunk *
make(struct pool_reader *r, const struct recording_block *b, unsigned disk)
{
	struct pool_chunk *c = calloc(1, sizeof *c);
	struct recording_where where = { .offset = 0 };

	if (!c)
		return NULL;
	c->heal = plan_make(r, b);
	if (disk == r->pool->disks ? !c->heal
				   : recording_where(r->rec, b, &where) != 0) {
		parity_heal_free(c->heal);
		free(c);
		return NULL;
	}
	c->record = b->record;
	c->disk = disk;
	c->reader = r;
	memcpy(c->file, where.file, sizeof c->file);
	c->offset = where.offset;
	c->links = where.links;
	c->prefix = r->rec->before;
	c->payload = r->rec->shape.payload;
	c->fd = c->direct = -1;
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

/* True if nobody would want it again: its file cannot be read, or not by `damaged`
 * as it was, which may be over at the next opening.  What could not be computed is
 * kept for a while, so that it is not tried for each piece. */
static bool
is_useless(const struct pool_chunk *c)
{
	if (c->failed_at)
		return clock_steady() - c->failed_at > POOL_RETRY_S * NS_SECOND;
	return !c->healed &&
	       (!c->reader->pool->shared || c->fd < 0 || c->damaged);
}

static void
cool(struct pool_chunk *c)
{
	struct pool_chunk **warm = c->reader->pool->warm;
	unsigned n = 0;

	for (unsigned i = 0; i < POOL_HEALERS; i++) {
		if (warm[i] && warm[i] != c)
			warm[n++] = warm[i];
	}
	while (n < POOL_HEALERS)
		warm[n++] = NULL;
}

static void
take_away(struct pool_reader *r, struct pool_chunk *c)
{
	struct pool_chunk **link = &r->chunk;

	cool(c);
	while (*link != c)
		link = &(*link)->next;
	*link = c->next;
	if (c->fd >= 0)
		file_close(c->fd);
	if (c->direct >= 0)
		file_close(c->direct);
	pthread_mutex_destroy(&c->lock);
	free(c->healed);
	parity_heal_free(c->heal);
	free(c->sum);
	free(c);
}

/* Takes away a chunk that no piece uses. */
static void
spare_drop(struct pool_chunk *c)
{
	c->reader->pool->spare--;
	take_away(c->reader, c);
}

void
pool_chunk_ask(struct pool_chunk *c, unsigned n)
{
	if (!c->unread)
		cool(c);
	c->unread += n;
}

/* Computed data were dear, and are as long as the block: the last ones are kept for
 * readers that take it in pieces. */
void
pool_chunk_done(struct pool_chunk *c, unsigned n)
{
	struct pool_chunk **warm = c->reader->pool->warm;
	struct pool_chunk *last = warm[POOL_HEALERS - 1];

	c->unread -= n;
	if (c->unread || !c->healed)
		return;
	memmove(warm + 1, warm, (POOL_HEALERS - 1) * sizeof *warm);
	warm[0] = c;
	if (!last)
		return;
	free(last->healed);
	last->healed = NULL;
	last->tried = false;
	if (!last->users && is_useless(last))
		spare_drop(last);
}

struct pool_chunk *
pool_chunk_get(struct pool_reader *r, const struct recording_block *b,
	       unsigned disk)
{
	struct pool_chunk *c = r->chunk;

	while (c && (c->record.number != b->record.number || c->disk != disk))
		c = c->next;
	if (c && !c->users && is_useless(c)) {
		spare_drop(c);
		c = NULL;
	}
	if (!c) {
		c = make(r, b, disk);
		if (!c)
			return NULL;
		c->next = r->chunk;
		r->chunk = c;
	} else if (!c->users) {
		r->pool->spare--;
	}
	c->users++;
	return c;
}

/* Returns the chunk that was opened first among those that no piece uses. */
static struct pool_chunk *
oldest(const struct pool_reader *r)
{
	struct pool_chunk *found = NULL;

	for (struct pool_chunk *c = r->chunk; c; c = c->next) {
		if (!c->users)
			found = c;
	}
	return found;
}

/* Keeps a shared pool's chunk open for readers that jump. */
void
pool_chunk_put(struct pool_reader *r, struct pool_chunk *c)
{
	struct pool *pool = r->pool;

	if (--c->users)
		return;
	if (r->closed || is_useless(c)) {
		take_away(r, c);
		return;
	}
	if (++pool->spare > POOL_SPARE)
		spare_drop(oldest(r));
}

void
pool_chunk_close(struct pool_reader *r)
{
	struct pool_chunk *c = r->chunk, *next;

	for (; c; c = next) {
		next = c->next;
		if (!c->users)
			spare_drop(c);
	}
}

/* As in linux/mman.h; older headers lack it. */
struct cache_range {
	uint64_t at, bytes;
};
struct cache_pages {
	uint64_t cached, dirty, writeback, evicted, recently_evicted;
};
enum { SYS_CACHESTAT = 451 };

/* True if half of the chunk or more is in the page cache.  Needs cachestat() of
 * Linux 6.5. */
static bool
is_cached(const struct pool_chunk *c)
{
	struct cache_range range = { c->offset, c->record.bytes };
	struct cache_pages pages = { 0 };

	return !syscall(SYS_CACHESTAT, c->fd, &range, &pages, 0) &&
	       pages.cached * POOL_PAGE >= c->record.bytes / 2;
}

static void
open_chunk(struct pool_piece *p, struct pool_chunk *c)
{
	struct pool *pool = p->reader->pool;
	int dir = c->disk < pool->disks ? p->reader->part[c->disk].dir : -1;
	bool eased;

	if (!c->file[0]) { /* to be computed */
		c->fd = -ENOENT;
		return;
	}
	c->fd = disk_open_at(dir, c->file, O_RDONLY, c->links);
	/* Something else lies in the chunk's place. */
	if (c->fd == -EISDIR || c->fd == -ESPIPE || c->fd == -EXDEV)
		c->fd = -ENOENT;
	if (c->fd < 0)
		return;
	eased = ease_file(c->fd);
	pthread_mutex_lock(&pool->lock);
	p->disk->eased = eased;
	pthread_mutex_unlock(&pool->lock);
	if (!c->prefix && !is_cached(c))
		c->direct =
		    disk_open_at(dir, c->file, O_RDONLY | O_DIRECT, c->links);
}

int
pool_chunk_open(struct pool_piece *p)
{
	struct pool_chunk *c = p->chunk;
	int fd;

	pthread_mutex_lock(&c->lock);
	if (!c->opened)
		open_chunk(p, c);
	c->opened = true;
	if (!c->checked && (p->reader->verify || c->heal) && c->fd >= 0)
		find_sums(p->reader, c);
	if (!c->checked && c->damaged && !p->reader->verify) {
		c->damaged = heal_locked(p->disk, c);
		if (!c->damaged)
			damage_count(c, c->record.bytes);
	}
	c->checked = true;
	fd = c->direct >= 0 ? c->direct : c->fd;
	if (c->prefix || c->fd < 0 || c->damaged)
		fd = -1;
	pthread_mutex_unlock(&c->lock);
	return fd;
}

/* Reads bytes of a request from byte `at` of it on.  Returns how many, 0 at the
 * end of the file, or -errno. */
static ssize_t
read_some(const struct pool_request *q, uint32_t at, uint32_t bytes)
{
	const struct pool_chunk *c = q->piece->chunk;
	struct stride stride = { c->offset, c->prefix, c->payload };
	uint64_t from = q->offset + at;
	ssize_t got;

	if (!c->prefix) /* then q->offset counts from the file's beginning */
		stride.offset = 0;
	do
		got = stride_read(c->fd, &stride, q->to + at, bytes, from);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

static void
tell_bad(struct pool_request *q, uint32_t at, uint32_t bytes, int err)
{
	struct pool_piece *p = q->piece;
	struct pool *pool = p->disk->pool;
	uint64_t place = (uint64_t)(q->to + at - p->data) + p->at;

	pthread_mutex_lock(&pool->lock);
	pool_piece_bad(p, place, bytes, err);
	pthread_mutex_unlock(&pool->lock);
}

/* Takes bytes of a request from what the block's group says of them. */
static bool
heal_request(struct pool_request *q, uint32_t at, uint32_t bytes)
{
	struct pool_piece *p = q->piece;

	return heal_bytes(p, (uint64_t)(q->to + at - p->data) + p->at, bytes);
}

/*
 * Reads in small steps around what cannot be read.  It gives up after
 * POOL_FAILS steps that fail, because a disk may take half a minute for each.
 */
static void
read_around(struct pool_request *q, uint32_t at, uint32_t end, int err)
{
	unsigned fails = 0;
	ssize_t got;

	while (at < end && fails < POOL_FAILS) {
		uint32_t step = POOL_STEP - (q->offset + at) % POOL_STEP;

		if (step > end - at)
			step = end - at;
		got = read_some(q, at, step);
		if (got < 0) {
			err = (int)got;
			fails++;
			tell_bad(q, at, step, err);
			got = step;
		}
		if (!got)
			err = -ENODATA;
		if (!got)
			break;
		at += (uint32_t)got;
	}
	tell_bad(q, at, end - at, err);
}

/*
 * Reads what is missing of a request of which `got` bytes were read, or -errno.
 */
static void
read_rest(struct pool_request *q, int64_t got)
{
	const struct pool_chunk *c = q->piece->chunk;
	uint32_t end = q->skip + q->want;
	uint32_t at = got > (int64_t)q->skip ? (uint32_t)got : q->skip;

	if (c->fd < 0 || c->damaged) {
		if (!heal_request(q, q->skip, q->want))
			tell_bad(q, q->skip, q->want,
				 c->damaged ? -EBADMSG : c->fd);
		return;
	}
	while (at < end) {
		got = read_some(q, at, end - at);
		if (got <= 0 && heal_request(q, at, end - at))
			return;
		if (got < 0)
			read_around(q, at, end, (int)got);
		else if (!got)
			tell_bad(q, at, end - at, -ENODATA);
		if (got <= 0)
			return;
		at += (uint32_t)got;
	}
}

/* ---- the queues ---------------------------------------------------------- */

static void
put_in(struct pool_queue *queue, struct pool_request *q)
{
	q->next = NULL;
	*queue->tail = q;
	queue->tail = &q->next;
}

/* Takes the first request whose chunk nobody computes: that takes a while, and
 * others of the same chunk would only wait for it. */
static struct pool_request *
take_from(struct pool_queue *queue)
{
	struct pool_request **at = &queue->first, *q;

	while (*at && (*at)->piece->chunk->computing)
		at = &(*at)->next;
	q = *at;
	if (!q)
		return NULL;
	*at = q->next;
	if (!q->next)
		queue->tail = at;
	return q;
}

void
pool_disk_ask(struct pool_disk *d, struct pool_request *q, bool now)
{
	put_in(now ? &d->now : &d->soon, q);
	pthread_cond_signal(&d->work);
}

static unsigned
take_out(struct pool_queue *queue, const struct pool_piece *p)
{
	struct pool_request **link = &queue->first;
	unsigned n = 0;

	while (*link) {
		if ((*link)->piece == p) {
			*link = (*link)->next;
			n++;
		} else {
			link = &(*link)->next;
		}
	}
	queue->tail = link;
	return n;
}

unsigned
pool_disk_unask(struct pool_disk *d, const struct pool_piece *p)
{
	return take_out(&d->now, p) + take_out(&d->soon, p);
}

bool
pool_disk_waits(const struct pool_disk *d)
{
	return d->now.first || d->soon.first;
}

struct pool_request *
pool_disk_take(struct pool_disk *d)
{
	unsigned depth = d->depth;
	struct pool_request *q;

	if (d->eased && depth > POOL_EASED)
		depth = POOL_EASED;
	if (d->in_flight >= depth || d->pool->stop)
		return NULL;
	q = take_from(&d->now);
	if (!q)
		q = take_from(&d->soon);
	if (q && is_healer(d))
		q->piece->chunk->computing = true;
	if (q && !d->in_flight++)
		d->progress_at = clock_steady();
	return q;
}

/* Frees the buffers of requests that no thread has begun: other disks can use
 * them. */
static void
drop_waiting(struct pool_disk *d)
{
	struct pool *pool = d->pool;

	for (unsigned i = 0; i < pool->pieces; i++) {
		struct pool_piece *p = &pool->piece[i];

		if (p->reader && p->disk == d && p->known && p->left &&
		    !p->users)
			pool_piece_drop(p);
	}
}

bool
pool_disk_hangs(struct pool_disk *d, int64_t now)
{
	if (d->in_flight && now - d->progress_at > d->pool->patience &&
	    !d->hangs) {
		d->hangs = true;
		drop_waiting(d);
	}
	return d->hangs;
}

/* ---- the threads --------------------------------------------------------- */

static void
wake(struct pool_reader *r)
{
	const struct itimerspec now = { .it_value = { .tv_nsec = 1 } };

	if (r->asked && r->timer)
		timerfd_settime(r->timer, 0, &now, NULL);
	r->asked = false;
}

void
pool_request_done(struct pool_request *q, int64_t got)
{
	struct pool_piece *p = q->piece;
	struct pool_disk *d = p->disk;
	struct pool *pool = d->pool;
	bool last;

	if (got < (int64_t)q->skip + q->want)
		read_rest(q, got);
	pthread_mutex_lock(&pool->lock);
	last = --p->unread == 0 && p->known;
	pthread_mutex_unlock(&pool->lock);
	if (last)
		check_sums(p);
	pthread_mutex_lock(&pool->lock);
	if (is_healer(d)) {
		p->chunk->computing = false;
		pthread_cond_broadcast(&d->work);
	}
	d->in_flight--;
	d->progress_at = clock_steady();
	d->hangs = false;
	wake(p->reader);
	pool_chunk_done(p->chunk, 1);
	pool_request_end(q); /* may free the piece and its reader */
	pthread_mutex_unlock(&pool->lock);
}

static void
run_pread(struct pool_disk *d)
{
	struct pool *pool = d->pool;
	struct pool_request *q;
	ssize_t got;
	int fd;

	pthread_mutex_lock(&pool->lock);
	while (!pool->stop) {
		q = pool_disk_take(d);
		if (!q) {
			pthread_cond_wait(&d->work, &pool->lock);
			continue;
		}
		pthread_mutex_unlock(&pool->lock);
		fd = pool_chunk_open(q->piece);
		got = fd < 0 ? 0
			     : file_read(fd, q->to, q->bytes, (off_t)q->offset);
		pool_request_done(q, got);
		pthread_mutex_lock(&pool->lock);
		/* Another thread may have waited because `in_flight` was at its
		 * limit. */
		pthread_cond_signal(&d->work);
	}
	pthread_mutex_unlock(&pool->lock);
}

static void *
run(void *arg)
{
	struct pool_disk *d = arg;
	struct pool *pool = d->pool;

	ease_process();
	if (!has_ring(d) || !pool_ring_run(d))
		run_pread(d);
	pthread_mutex_lock(&pool->lock);
	pool->threads--;
	pthread_cond_broadcast(&pool->ended);
	pool_drop(pool);
	return NULL;
}

static int
start_one(struct pool_disk *d, const pthread_attr_t *how)
{
	pthread_t thread;
	int err = -pthread_create(&thread, how, run, d);

	if (err)
		return err;
	d->pool->threads++;
	d->pool->refs++;
	d->threads++;
	return 0;
}

int
pool_disk_start(struct pool_disk *d)
{
	unsigned n = has_ring(d) ? 1 : d->remote ? d->depth : POOL_THREADS;
	pthread_attr_t how;
	int err = 0;

	if (n > d->depth)
		n = d->depth;
	pthread_attr_init(&how);
	pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
	while (d->threads < n && !err)
		err = start_one(d, &how);
	pthread_attr_destroy(&how);
	return d->threads ? 0 : err;
}
