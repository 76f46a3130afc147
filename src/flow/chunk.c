/* SPDX-License-Identifier: MIT */
/*
 * One block, one file.
 *
 *   create, reserve     the disk may refuse here, before any byte moves
 *   submit ... reap     in requests of REQUEST bytes, as many in flight as
 *                       the plugin takes; short writes go on where they ended
 *   pad and truncate    only a block that closed early: O_DIRECT writes whole
 *                       pages, so what follows the data in the block goes
 *                       along and is cut off again
 *
 * Durability is the leaf's business, some seconds later.
 *
 * REQUEST: a request of 8 MiB costs one system call per 8 MiB, and is small
 * enough that an asynchronous plugin has several of one block in flight.
 */
#include "flow/chunk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "flow/writer.h"
#include "store/geometry.h"

enum { REQUEST = 8 << 20, FLIGHT = 16 };

/* A block on its way to its file. */
struct flight {
	struct chunk_maker *maker;
	int fd;
	const uint8_t *data;
	uint64_t from;	      /* of the data in the file */
	uint64_t bytes, sent; /* sent: given to a request */
	int err;
	unsigned queued; /* requests that the plugin has */
	struct write_request request[FLIGHT];
	struct write_request *idle[FLIGHT];
	unsigned idles;
	struct write_request *ready[FLIGHT]; /* written short, or the */
	unsigned readies;		     /* plugin was busy */
};

void
chunk_maker_init(struct chunk_maker *m, const char *disk,
		 const struct writer_way *ways, unsigned n)
{
	*m = (struct chunk_maker){
		.host = log_host(disk), .ways = ways, .n = n, .align = 1
	};
}

static void
way_close(struct chunk_maker *m)
{
	if (m->way)
		m->way->ops->close(m->state);
	m->way = NULL;
	m->state = NULL;
}

void
chunk_maker_finish(struct chunk_maker *m)
{
	way_close(m);
}

static uint64_t
direct_align(int fd)
{
	struct statx s;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &s) == 0 &&
	    s.stx_mask & STATX_DIOALIGN && s.stx_dio_offset_align)
		return s.stx_dio_offset_align;
	return GEOMETRY_PAGE;
}

/* What a request achieved.  With O_DIRECT the rest of a short write has to
 * begin where a page does. */
static void
done(struct flight *f, struct write_request *r)
{
	uint64_t got = r->result < 0 ? 0 : (uint64_t)r->result;

	if (got < r->bytes)
		got = got / f->maker->align * f->maker->align;
	if (!got && !f->err)
		f->err = r->result < 0 ? (int)r->result : -EIO;
	r->data = (const uint8_t *)r->data + got;
	r->offset += got;
	r->bytes -= got;
	if (r->bytes)
		f->ready[f->readies++] = r;
	else
		f->idle[f->idles++] = r;
}

/* False when the plugin is busy: then it has to give something back first. */
static bool
submit(struct flight *f, struct write_request *r)
{
	switch (f->maker->way->ops->submit(f->maker->state, r)) {
	case WRITE_QUEUED: f->queued++; return true;
	case WRITE_DONE: done(f, r); return true;
	default: f->ready[f->readies++] = r; return false;
	}
}

static struct write_request *
request_next(struct flight *f)
{
	uint64_t left = f->bytes - f->sent;
	struct write_request *r;

	if (f->err)
		return NULL;
	if (f->readies)
		return f->ready[--f->readies];
	if (!f->idles || !left)
		return NULL;
	r = f->idle[--f->idles];
	r->fd = f->fd;
	r->data = f->data + f->sent;
	r->bytes = left < REQUEST ? left : REQUEST;
	r->offset = f->from + f->sent;
	f->sent += r->bytes;
	return r;
}

static void
reap(struct flight *f)
{
	struct write_request *got[FLIGHT];
	unsigned n = f->maker->way->ops->reap(f->maker->state, got, FLIGHT);

	f->queued -= n;
	for (unsigned i = 0; i < n; i++)
		done(f, got[i]);
}

static int
data_write(struct chunk_maker *m, const struct folder_place *place,
	   const uint8_t *data, uint64_t bytes)
{
	struct flight f = { .maker = m,
			    .fd = place->fd,
			    .from = place->offset,
			    .data = data,
			    .bytes = bytes,
			    .idles = FLIGHT };

	for (unsigned i = 0; i < FLIGHT; i++)
		f.idle[i] = &f.request[i];
	for (;;) {
		struct write_request *r = request_next(&f);

		if (r && submit(&f, r))
			continue;
		if (f.queued)
			reap(&f);
		else if (r)
			f.err = -EIO; /* busy with nothing: its bug */
		else
			return f.err;
	}
}

/* ---- the way --------------------------------------------------------- */

/* A file without a name; where the file system has none, one that loses it
 * at once, also if only O_DIRECT was refused. */
static int
probe_open(const struct disk *disk, int flags)
{
	static const char name[] = ".spate-probe";
	int fd, err;

	flags |= O_WRONLY | O_CLOEXEC;
	fd = openat(disk->fd, ".", O_TMPFILE | flags, 0600);
	if (fd >= 0)
		return fd;
	if (errno != EOPNOTSUPP)
		return -errno;
	fd = openat(disk->fd, name, O_CREAT | flags, 0600);
	err = -errno;
	unlinkat(disk->fd, name, 0);
	return fd < 0 ? err : fd;
}

static int
way_try(struct chunk_maker *m, const struct disk *disk)
{
	int flags = m->way->ops->head.flags & WRITE_DIRECT ? O_DIRECT : 0;
	void *page = NULL;
	int err = 0, fd;

	if (m->way->ops->head.flags & WRITE_NOTHING)
		return 0;
	fd = probe_open(disk, flags);
	if (fd < 0)
		return fd;
	m->align = flags ? direct_align(fd) : 1;
	if (m->align > GEOMETRY_PAGE)
		err = -EINVAL; /* more than blocks are made of */
	if (!err && posix_memalign(&page, GEOMETRY_PAGE, GEOMETRY_PAGE))
		err = -ENOMEM;
	if (!err) {
		memset(page, 0, GEOMETRY_PAGE);
		err = data_write(m, &(struct folder_place){ .fd = fd }, page,
				 GEOMETRY_PAGE);
	}
	if (m->way->ops->finish)
		m->way->ops->finish(m->state, fd);
	free(page);
	close(fd);
	return err;
}

static int
way_open(struct chunk_maker *m, const struct writer_way *way)
{
	struct write_args args = { .host = &m->host, .options = way->options };
	int err = way->ops->open(&m->state, &args);

	if (!err)
		m->way = way;
	return err;
}

int
chunk_maker_probe(struct chunk_maker *m, const struct disk *disk)
{
	int err = m->way ? way_try(m, disk) : -EINVAL;

	for (unsigned i = 0; err && i < m->n; i++) {
		way_close(m);
		err = way_open(m, &m->ways[i]);
		if (!err)
			err = way_try(m, disk);
		if (err)
			log_line(LOG_DEBUG, disk->path,
				 "writer %s does not work here: %s",
				 m->ways[i].ops->head.name, strerror(-err));
		else
			log_line(LOG_INFO, disk->path, "writes with %s",
				 m->ways[i].ops->head.name);
	}
	return err;
}

/* ---- the chunk ------------------------------------------------------- */

/* Where blocks have slots of any size, a page beyond the data is still
 * inside the block: full blocks are whole pages. */
static uint64_t
padded(const struct chunk_maker *m, uint64_t bytes)
{
	return (bytes + m->align - 1) / m->align * m->align;
}

static int
space_check(const struct disk *disk, uint64_t bytes)
{
	struct disk_space space;
	int err = disk_space(disk, &space);

	if (err)
		return err;
	return space.free < bytes ? -ENOSPC : 0;
}

int
chunk_write(struct chunk_maker *m, const struct disk *disk, struct leaf *leaf,
	    const struct block *b)
{
	uint64_t bytes = block_bytes(b), written;
	const struct write_ops *ops = m->way->ops;
	int flags = ops->head.flags & WRITE_DIRECT ? O_DIRECT : 0;
	const struct folder_place nowhere = { .fd = -1 };
	struct folder_place place;
	int err, finished = 0;

	if (ops->head.flags & WRITE_NOTHING)
		return data_write(m, &nowhere, b->data, bytes);
	err = space_check(disk, bytes);
	if (!err)
		err =
		    folder_place(leaf->folder, b->number, bytes, flags, &place);
	if (err)
		return err;
	leaf_announce(leaf, b);
	written = place.direct ? padded(m, place.bytes) : place.bytes;
	err = data_write(m, &place, b->data, written);
	if (!err && written != place.bytes &&
	    ftruncate(place.fd, (off_t)(place.offset + place.bytes)) < 0)
		err = -errno;
	/* Also of a file that is thrown away: its descriptor will be reused. */
	if (ops->finish)
		finished = ops->finish(m->state, place.fd);
	err = err ? err : finished;
	if (err)
		folder_unplace(leaf->folder, &place);
	else
		leaf_add(leaf, b, place.own ? place.fd : -1);
	return err;
}
