/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_FAKE_SPATED_H
#define SPATE_TESTS_FAKE_SPATED_H

#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "flow/memory/arena.h"
#include "store/record/shm_blocks.h"
#include "lib/suite.h"

/*
 * Plays spated for those who ask `map`: a thread that listens on a socket and
 * serves one connection after the other, and memory that it shares, in which a
 * test puts what it likes.
 */
enum fake_manner {
	FAKE_ANSWERS,
	FAKE_KNOWS_NOT, /* the recording */
	FAKE_IS_OLD,	/* and knows no such verb */
	FAKE_IS_MUTE,	/* takes requests, and says nothing */
	FAKE_SPEAKS,	/* another protocol */
	FAKE_IS_ALONE,	/* shares no memory */
	FAKE_IS_LAX,	/* shares memory that may become shorter */
};

enum { FAKE_ENTRIES = 256, FAKE_ARENA = 1 << 20, FAKE_ID = 77 };

struct fake_spated {
	char path[108];
	_Atomic enum fake_manner manner;
	atomic_uint id, asked, connections;
	_Atomic uint64_t floor;
	atomic_bool stop, hang_up;
	int listens;
	pthread_t thread;
	int arena_fd, page_fd;
	uint8_t *arena;
	struct shm_blocks *page;
};

static inline void *
fake_memory(int *fd, size_t bytes, bool sealed)
{
	void *at;

	*fd = memfd_create("fake", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ck_assert_int_ge(*fd, 0);
	ck_assert_int_eq(ftruncate(*fd, (off_t)bytes), 0);
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	ck_assert_ptr_ne(at, MAP_FAILED);
	if (sealed)
		ck_assert_int_eq(fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	return at;
}

static inline size_t
fake_page_bytes(void)
{
	return sizeof(struct shm_blocks) +
	       FAKE_ENTRIES * sizeof(struct shm_entry);
}

static inline void
fake_share(struct fake_spated *f)
{
	bool sealed = f->manner != FAKE_IS_LAX;

	f->arena = fake_memory(&f->arena_fd, FAKE_ARENA, sealed);
	f->page = fake_memory(&f->page_fd, fake_page_bytes(), true);
	memcpy(f->page->magic, SHM_BLOCKS_MAGIC, sizeof f->page->magic);
	f->page->version = SHM_BLOCKS_VERSION;
	f->page->entries = FAKE_ENTRIES;
	f->page->arena_bytes = FAKE_ARENA;
	for (unsigned i = 0; i < FAKE_ENTRIES; i++)
		f->page->entry[i].generation = 1;
}

/* A block is in memory: its data at a place in the arena. */
static inline struct shm_entry *
fake_show(struct fake_spated *f, const struct index_record *r, const void *data,
	  uint64_t at, uint32_t gap)
{
	uint32_t i = shm_blocks_first(f->page, f->id, r->number);
	struct shm_entry *e = &f->page->entry[i];

	while (!(e->generation & 1))
		e = &f->page->entry[++i % FAKE_ENTRIES];
	memcpy(f->arena + at, data, r->bytes);
	e->recording = f->id;
	e->number = r->number;
	e->at = at;
	e->gap = gap;
	index_pack(e->record, r);
	e->generation++;
	return e;
}

static inline void
fake_hide(struct shm_entry *e)
{
	e->generation++;
}

static inline void
fake_say(int fd, json_t *answer, const int *fds)
{
	char *text = json_dumps(answer, JSON_COMPACT);
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(2 * sizeof(int))];
	} control = { 0 };
	struct iovec iov[2] = { { text, strlen(text) }, { "\n", 1 } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };

	if (fds) {
		m.msg_control = &control;
		m.msg_controllen = sizeof control;
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(2 * sizeof(int));
		memcpy(CMSG_DATA(&control.head), fds, 2 * sizeof(int));
	}
	sendmsg(fd, &m, MSG_NOSIGNAL);
	free(text);
	json_decref(answer);
}

static inline json_t *
fake_no(json_t *id, const char *code)
{
	return json_pack("{s:O, s:b, s:{s:s, s:s}}", "id", id, "ok", 0, "error",
			 "code", code, "what", "no");
}

static inline void
fake_map(struct fake_spated *f, int fd, json_t *id, bool *given)
{
	bool shares = f->manner != FAKE_IS_ALONE;
	bool first = shares && !*given;
	const int fds[2] = { f->arena_fd, f->page_fd };

	fake_say(fd,
		 json_pack("{s:O, s:b, s:{s:I, s:I, s:b}}", "id", id, "ok", 1,
			   "result", "recording", (json_int_t)f->id, "floor",
			   (json_int_t)f->floor, "fds", (int)first),
		 first ? fds : NULL);
	*given = true;
}

static inline void
fake_answer(struct fake_spated *f, int fd, const char *line, bool *given)
{
	json_t *request = json_loads(line, 0, NULL), *id;

	id = json_object_get(request, "id");
	if (!id) {
		json_decref(request);
		return; /* its greeting */
	}
	f->asked++;
	if (f->manner == FAKE_KNOWS_NOT)
		fake_say(fd, fake_no(id, "not-found"), NULL);
	else if (f->manner == FAKE_IS_OLD)
		fake_say(fd, fake_no(id, "usage"), NULL);
	else if (f->manner != FAKE_IS_MUTE)
		fake_map(f, fd, id, given);
	json_decref(request);
}

/* Until something is there; false: it is to stop. */
static inline bool
fake_wait(struct fake_spated *f, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (!f->stop && !f->hang_up) {
		if (poll(&p, 1, 5) > 0)
			return true;
	}
	return false;
}

static inline void
fake_serve(struct fake_spated *f, int fd)
{
	char text[4096];
	size_t used = 0;
	bool given = false;
	ssize_t got;

	f->connections++;
	if (f->manner != FAKE_IS_MUTE)
		fake_say(fd,
			 json_pack("{s:i}", "protocol",
				   f->manner == FAKE_SPEAKS ? 99 : 1),
			 NULL);
	while (fake_wait(f, fd)) {
		char *end;

		got = read(fd, text + used, sizeof text - used);
		if (got <= 0)
			break;
		used += (size_t)got;
		while ((end = memchr(text, '\n', used))) {
			size_t line = (size_t)(end + 1 - text);

			*end = '\0';
			fake_answer(f, fd, text, &given);
			memmove(text, text + line, used -= line);
		}
	}
	close(fd);
	f->hang_up = false;
}

static inline void *
fake_run(void *arg)
{
	struct fake_spated *f = arg;

	while (!f->stop) {
		int fd;

		if (!fake_wait(f, f->listens)) {
			f->hang_up = false;
			continue;
		}
		fd = accept(f->listens, NULL, NULL);
		if (fd >= 0)
			fake_serve(f, fd);
	}
	return NULL;
}

static inline void
fake_begin(struct fake_spated *f, const char *path, enum fake_manner manner)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	snprintf(f->path, sizeof f->path, "%s", path);
	snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
	f->manner = manner;
	if (!f->id)
		f->id = FAKE_ID;
	f->stop = f->hang_up = false;
	fake_share(f);
	f->listens = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(f->listens, 0);
	unlink(path);
	ck_assert_int_eq(bind(f->listens, (struct sockaddr *)&at, sizeof at),
			 0);
	ck_assert_int_eq(listen(f->listens, 4), 0);
	ck_assert_int_eq(pthread_create(&f->thread, NULL, fake_run, f), 0);
}

/* As one that is killed: its connections go, and its memory stays with who has
 * it. */
static inline void
fake_end(struct fake_spated *f)
{
	f->stop = true;
	pthread_join(f->thread, NULL);
	close(f->listens);
	unlink(f->path);
	munmap(f->arena, FAKE_ARENA);
	munmap(f->page, fake_page_bytes());
	close(f->arena_fd);
	close(f->page_fd);
}

#endif
