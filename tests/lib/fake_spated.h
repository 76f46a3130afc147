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
	_Atomic uint64_t floor, end;
	atomic_bool stop, hang_up;
	int listens;
	pthread_t thread;
	int arena_fd, page_fd;
	uint8_t *arena;
	struct shm_blocks *page;
};

/* A block is in memory: its data at a place in the arena. */
struct shm_entry *fake_show(struct fake_spated *f, const struct index_record *r,
			    const void *data, uint64_t at, uint32_t gap);

void fake_hide(struct shm_entry *e);

void fake_begin(struct fake_spated *f, const char *path,
		enum fake_manner manner);

/* As one that is killed: its connections go, and its memory stays with who has
 * it. */
void fake_end(struct fake_spated *f);

#endif
