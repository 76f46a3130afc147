/* SPDX-License-Identifier: MIT */
#include "flow/upload/upload_thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/write/copy_origin.h"

enum { HEAD_MOST = 1 << 20 /* bytes that are read of metadata */ };

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
