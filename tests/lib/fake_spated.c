/* SPDX-License-Identifier: MIT */
#include "lib/fake_spated.h"

static void *
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

static size_t
fake_page_bytes(void)
{
	return sizeof(struct shm_blocks) +
	       FAKE_ENTRIES * sizeof(struct shm_entry);
}

static void
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

struct shm_entry *
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

void
fake_hide(struct shm_entry *e)
{
	e->generation++;
}

static void
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

static json_t *
fake_no(json_t *id, const char *code)
{
	return json_pack("{s:O, s:b, s:{s:s, s:s}}", "id", id, "ok", 0, "error",
			 "code", code, "what", "no");
}

static void
fake_map(struct fake_spated *f, int fd, json_t *id, bool *given)
{
	bool shares = f->manner != FAKE_IS_ALONE;
	bool first = shares && !*given;
	const int fds[2] = { f->arena_fd, f->page_fd };

	fake_say(fd,
		 json_pack("{s:O, s:b, s:{s:I, s:I, s:I, s:b}}", "id", id, "ok",
			   1, "result", "recording", (json_int_t)f->id, "floor",
			   (json_int_t)f->floor, "end", (json_int_t)f->end,
			   "fds", (int)first),
		 first ? fds : NULL);
	*given = true;
}

static void
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
static bool
fake_wait(struct fake_spated *f, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (!f->stop && !f->hang_up) {
		if (poll(&p, 1, 5) > 0)
			return true;
	}
	return false;
}

static void
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

static void *
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

void
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

void
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
