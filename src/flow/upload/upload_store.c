/* SPDX-License-Identifier: MIT */
#include "flow/upload/upload_thread.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "store/write/copy_origin.h"

enum { HEAD_MOST = 1 << 20 /* bytes that are read of metadata */ };

#define AGAIN_MOST (5 * NS_SECOND)

/* ---- what is said ------------------------------------------------------- */

void
upload_say(struct upload *u, enum sender_state state, const char *why)
{
	u->base.facts.state = state;
	if (why != u->base.facts.why)
		snprintf(u->base.facts.why, sizeof u->base.facts.why, "%s",
			 why);
	sender_show(&u->base, clock_steady());
}

int __attribute__((format(printf, 2, 3)))
upload_fail(struct upload *u, const char *format, ...)
{
	char why[SEND_SENTENCE];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof why, format, args);
	va_end(args);
	upload_say(u, SENDER_FAILED, why);
	return -EPROTO;
}

void
upload_show(struct upload *u)
{
	bool pause = atomic_load_explicit(&u->base.pause, memory_order_relaxed);
	struct sender_facts *f = &u->base.facts;
	enum sender_state state = f->state;
	int64_t now = clock_steady();

	if (pause && state == SENDER_SENDING)
		state = SENDER_PAUSED;
	else if (!pause && state == SENDER_PAUSED)
		state = SENDER_SENDING;
	if (state == f->state && now < u->base.show_at)
		return;
	f->state = state;
	f->bytes = u->done_bytes;
	for (unsigned i = 0; i < u->stages; i++) {
		if (u->stage[i].step == STAGE_ASKS &&
		    u->stage[i].r.verb == OBJECT_PUT)
			f->bytes += u->stage[i].r.sent;
	}
	u->ops->facts(u->store, &f->send);
	u->a.source->ops->facts(u->a.source, &f->source);
	f->send.bytes = f->bytes;
	f->send.why[0] = '\0';
	f->asked = atomic_load_explicit(&u->base.rate, memory_order_relaxed);
	sender_show(&u->base, now);
}

/* ---- requests ------------------------------------------------------------ */

int
upload_turn(struct upload *u, int64_t until)
{
	struct pollfd fd[8] = { { .fd = u->base.wake, .events = POLLIN },
				{ .fd = upload_source_fd(u),
				  .events = POLLIN } };
	struct timespec t = { 0 };
	int64_t now = clock_steady();
	unsigned n = 2 + u->ops->poll(u->store, fd + 2, 6, &until);

	if (until > now) {
		t.tv_sec = (until - now) / NS_SECOND;
		t.tv_nsec = (until - now) % NS_SECOND;
	}
	ppoll(fd, n, &t, NULL);
	if (fd[0].revents)
		sender_wake_read(&u->base);
	if (atomic_load_explicit(&u->base.stop, memory_order_relaxed))
		return -ECANCELED;
	u->ops->step(u->store);
	upload_show(u);
	return upload_stages_yield(u);
}

const char *
upload_trouble(struct upload *u, struct send_facts *f)
{
	u->ops->facts(u->store, f);
	return f->why;
}

void
upload_well(struct upload *u)
{
	u->ill_since = u->again = 0;
	u->wait = UPLOAD_AGAIN;
	if (u->base.facts.state == SENDER_CONNECTING)
		upload_say(u, SENDER_SENDING, "");
}

int
upload_ill(struct upload *u, int err)
{
	int64_t now = clock_steady();
	struct send_facts f;

	if (err != -EAGAIN)
		return upload_fail(u, "%s", upload_trouble(u, &f));
	/* All connections break together: they wait once. */
	if (now >= u->again) {
		u->again = now + u->wait;
		u->wait = u->wait < AGAIN_MOST / 2 ? 2 * u->wait : AGAIN_MOST;
	}
	if (!u->ill_since)
		u->ill_since = now;
	if (now - u->ill_since > u->a.patience)
		return upload_fail(u, "%s", upload_trouble(u, &f));
	upload_say(u, SENDER_CONNECTING, upload_trouble(u, &f));
	return 0;
}

int
upload_ask(struct upload *u)
{
	int err;

	for (;;) {
		err = 0;
		while (!err && clock_steady() < u->again)
			err = upload_turn(u, u->again);
		if (err)
			return err;
		if (u->ops->begin(u->store, &u->ask))
			return upload_fail(u, "out of memory");
		while (!err && !u->ask.over)
			err = upload_turn(u, clock_steady() + NS_SECOND);
		if (err)
			return err;
		if (!u->ask.err ||
		    (u->ask.err == -ENOENT && u->ask.verb == OBJECT_READ) ||
		    (u->ask.err == -ESTALE && u->ask.verb == OBJECT_PUT) ||
		    (u->ask.err == -EEXIST && u->ask.fresh)) {
			upload_well(u);
			return u->ask.err;
		}
		err = upload_ill(u, u->ask.err);
		if (err)
			return err;
	}
}

const char *
upload_name(const struct upload *u)
{
	return u->a.as ? u->a.as : u->a.name;
}

static void
key_make(const struct upload *u, char key[OBJECT_KEY],
	 const char *(*file)(char *file, const char *name))
{
	char name[LAYOUT_FILE];

	snprintf(key, OBJECT_KEY, "%s/%s", upload_name(u),
		 file(name, upload_name(u)));
}

int
upload_file_put(struct upload *u, const struct upload_file *f,
		const char *(*name)(char *file, const char *name), bool fresh)
{
	uint32_t whole = crc32c(0, f->data, f->bytes);
	unsigned anew = 0;
	struct send_facts facts;
	uint64_t at = 0;
	bool ends = false;
	int err = 0;

	do {
		uint64_t left = f->bytes - at;

		u->ask = (struct object_request){
			.verb = OBJECT_PUT,
			.of = &u->ask_of,
			.of_n = 1,
			.at = at,
			.bytes = left < u->piece_most ? (uint32_t)left
						      : u->piece_most,
			.total = f->bytes,
			.whole_crc = whole,
			.summed = true,
			.fresh = fresh,
		};
		key_make(u, u->ask.key, name);
		u->ask_of = (struct object_bytes){ f->data + at, u->ask.bytes };
		u->ask.crc = crc32c(0, f->data + at, u->ask.bytes);
		err = upload_ask(u);
		at += u->piece_most;
		ends = !err && at >= f->bytes;
		if (err == -ESTALE && anew == UPLOAD_ANEW)
			err = upload_fail(u, "%s", upload_trouble(u, &facts));
		if (err == -ESTALE) {
			anew++;
			at = 0;
			err = 0;
		}
	} while (!err && !ends);
	return err;
}

int
upload_file_get(struct upload *u, uint32_t most,
		const char *(*name)(char *file, const char *name))
{
	u->ask = (struct object_request){ .verb = OBJECT_READ,
					  .data = malloc(most),
					  .bytes = most };
	if (!u->ask.data)
		return upload_fail(u, "out of memory");
	key_make(u, u->ask.key, name);
	return upload_ask(u);
}

void
upload_file_free(struct upload *u)
{
	free(u->ask.data);
	u->ask.data = NULL;
}

/* ---- what is there ------------------------------------------------------- */

static void
chunk_found(struct upload *u, uint64_t number, uint64_t bytes)
{
	struct upload_there *grown = u->there;

	if (u->there_n == u->there_room) {
		size_t room = u->there_room ? 2 * u->there_room : 256;

		grown = realloc(grown, room * sizeof *grown);
		if (!grown) {
			u->unlisted = true;
			return;
		}
		u->there = grown;
		u->there_room = room;
	}
	grown[u->there_n++] = (struct upload_there){ number, bytes };
}

static void
found(struct object_request *r, const char *key, uint64_t bytes)
{
	struct upload *u = r->arg;
	size_t folder = strlen(u->ask.key);
	const char *file = key + folder, *name = upload_name(u);
	char own[LAYOUT_FILE];
	uint64_t number;

	if (strncmp(key, u->ask.key, folder) != 0)
		return;
	if (layout_chunk_number(file, name, &number))
		chunk_found(u, number, bytes);
	else if (!strcmp(file, layout_meta(own, name)))
		u->meta_bytes = bytes;
	else if (!strcmp(file, layout_sums(own, name)))
		u->sums_bytes = bytes;
	else if (!strcmp(file, layout_index(own, name)))
		u->index_bytes = bytes;
	else
		u->others++;
}

static int
by_number(const void *a, const void *b)
{
	const struct upload_there *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

int
upload_list(struct upload *u)
{
	int err;

	u->there_n = u->others = 0;
	u->meta_bytes = u->sums_bytes = u->index_bytes = UINT64_MAX;
	u->unlisted = false;
	u->ask = (struct object_request){ .verb = OBJECT_LIST,
					  .found = found,
					  .arg = u };
	snprintf(u->ask.key, sizeof u->ask.key, "%s/", upload_name(u));
	err = upload_ask(u);
	if (!err && u->unlisted)
		return upload_fail(u, "out of memory");
	if (!err && u->there_n)
		qsort(u->there, u->there_n, sizeof *u->there, by_number);
	return err;
}

bool
upload_has(const struct upload *u, uint64_t number, uint64_t bytes)
{
	const struct upload_there key = { .number = number };
	const struct upload_there *t =
	    u->there_n
		? bsearch(&key, u->there, u->there_n, sizeof key, by_number)
		: NULL;

	return t && t->bytes == bytes;
}

/* Tells whether what the store has is the same recording, by the first line of
 * its metadata. */
static int
same_look(struct upload *u, bool *same)
{
	int err = upload_file_get(u, HEAD_MOST, layout_meta);
	json_t *head = NULL;

	if (err == -ECANCELED)
		return err;
	if (!err)
		head = json_loadb((const char *)u->ask.data, u->ask.bytes,
				  JSON_DISABLE_EOF_CHECK, NULL);
	*same =
	    head && copy_origin_identity(head) == copy_origin_identity(u->head);
	json_decref(head);
	upload_file_free(u);
	return err == -ENOENT ? 0 : err;
}

/* Reads the checksums that are there, of blocks which are not sent again.  The
 * upload is as good without. */
static int
sums_take(struct upload *u)
{
	int err = 0, fd;

	if (!u->sums_bytes || u->sums_bytes > SUMS_FILE)
		return 0;
	err = upload_file_get(u, (uint32_t)u->sums_bytes, layout_sums);
	if (err == -ECANCELED)
		return err;
	fd = err ? -1 : memfd_create("spate-sums", MFD_CLOEXEC);
	if (fd >= 0) {
		if (!write_whole(fd, u->ask.data, u->ask.bytes, 0) &&
		    sums_read(fd, &u->brought))
			u->brought = (struct sums_list){ 0 };
		close(fd);
	}
	upload_file_free(u);
	return err == -ENOENT ? 0 : err;
}

int
upload_rest_end(struct upload *u)
{
	u->ask = (struct object_request){ .verb = OBJECT_END };
	snprintf(u->ask.key, sizeof u->ask.key, "%s/", upload_name(u));
	return upload_ask(u);
}

/* Looks once.  -EEXIST: somebody has put something meanwhile. */
static int
name_try(struct upload *u)
{
	bool same = false;
	int err = upload_list(u);

	if (!err && u->meta_bytes != UINT64_MAX) {
		err = same_look(u, &same);
	} else if (!err && !u->there_n && u->index_bytes == UINT64_MAX &&
		   !u->others) {
		err = upload_rest_end(u);
		return err ? err
			   : upload_file_put(u, &u->files.meta, layout_meta,
					     true);
	}
	if (!err && same) {
		err = upload_rest_end(u);
		if (err)
			return err;
		u->index_was =
		    u->index_bytes == UINT64_MAX ? 0 : u->index_bytes;
		return sums_take(u);
	}
	if (!err)
		return upload_fail(
		    u,
		    "%s has another recording %s: send this one with "
		    "--as, or remove that one",
		    u->a.to, upload_name(u));
	return err;
}

/* An object that came between the list and the put may be this upload's own, if
 * only the answer was lost. */
int
upload_name_take(struct upload *u)
{
	unsigned times = 0;
	int err;

	do
		err = name_try(u);
	while (err == -EEXIST && ++times < UPLOAD_ANEW);
	if (err == -EEXIST)
		return upload_fail(
		    u, "%s has a recording %s that it does not list", u->a.to,
		    upload_name(u));
	return err;
}
