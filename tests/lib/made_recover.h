/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_MADE_RECOVER_H
#define SPATE_TESTS_MADE_RECOVER_H

#include <fcntl.h>

#include "store/recording/recording.h"
#include "store/finish/recover.h"
#include "store/repair/verify.h"
#include "lib/made.h"

/* A made recording, broken, recovered and looked at. */

static inline void
hear(void *arg, const char *sentence)
{
	unsigned *sentences = arg;

	ck_assert_uint_gt(strlen(sentence), 10);
	++*sentences;
}

/* Recovers it; returns how many sentences were said. */
static inline unsigned
recovered(struct made *m, struct recover_report *report)
{
	unsigned sentences = 0;
	struct recover_args args = { .say = hear, .arg = &sentences };
	struct fault fault;

	ck_assert_int_eq(recover(&m->disks, MADE_NAME, &args, report, &fault),
			 0);
	return sentences;
}

/* Sound, complete, and with nothing more to do. */
static inline void
is_whole(struct made *m, uint64_t packets)
{
	struct verify_hooks hooks = { 0 };
	struct verify_report verified;
	struct recover_report report;
	struct recording *rec;
	struct fault fault;

	ck_assert_int_eq(recording_open(&rec, &m->disks, MADE_NAME, &fault), 0);
	ck_assert_int_eq(recording_facts(rec)->state, RECORDING_COMPLETE);
	ck_assert_uint_eq(recording_facts(rec)->packets, packets);
	ck_assert_ptr_nonnull(recording_facts(rec)->tail);
	ck_assert_int_eq(verify(rec, &m->disks, &hooks, &verified), 0);
	recording_close(rec);

	ck_assert_uint_eq(recovered(m, &report), 0);
	ck_assert_uint_eq(report.rebuilt + report.empty + report.lost, 0);
	ck_assert_uint_eq(report.torn + report.cut, 0);
	ck_assert(!report.closed);
	ck_assert_uint_eq(report.packets, packets);
}

static inline void
reads_as_sent(struct made *m, uint64_t slots)
{
	uint8_t is[MADE_PAYLOAD], want[MADE_PAYLOAD];
	struct recording *rec;
	struct fault fault;

	ck_assert_int_eq(recording_open(&rec, &m->disks, MADE_NAME, &fault), 0);
	for (uint64_t i = 0; i < slots; i++) {
		ck_assert_int_eq(
		    recording_read(rec, is, sizeof is, i * MADE_PAYLOAD, NULL),
		    MADE_PAYLOAD);
		made_frame(m, i, want);
		ck_assert_mem_eq(is, want, MADE_PAYLOAD);
	}
	recording_close(rec);
}

static inline void
append(const char *path, const char *text, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_APPEND);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, bytes), (ssize_t)bytes);
	close(fd);
}

#endif
