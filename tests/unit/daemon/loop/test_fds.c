/* SPDX-License-Identifier: MIT */
/* Which of many is called, and that each may remove itself and others. */
#include <poll.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "daemon/loop/fds.c"
#include "lib/suite.h"

enum { MANY = 100 };

struct part {
	struct daemon_fds *fds;
	int fd, other; /* removes the other, and adds it again when told */
	unsigned calls;
	bool again;
};

static void
ready(void *arg, short revents)
{
	struct part *p = arg;
	eventfd_t n;

	ck_assert_int_eq(revents, POLLIN);
	eventfd_read(p->fd, &n);
	p->calls++;
	if (p->other >= 0)
		daemon_fds_remove(p->fds, p->other);
	if (p->again) {
		struct daemon_fd fd = { p->fd, POLLIN, ready, p };

		ck_assert_int_eq(daemon_fds_add(p->fds, &fd), 0);
	}
}

static void
part_make(struct part *p, struct daemon_fds *fds)
{
	struct daemon_fd fd = { 0 };

	*p = (struct part){ .fds = fds, .other = -1 };
	p->fd = eventfd(0, EFD_NONBLOCK);
	ck_assert_int_ge(p->fd, 0);
	fd = (struct daemon_fd){ p->fd, POLLIN, ready, p };
	ck_assert_int_eq(daemon_fds_add(fds, &fd), 0);
}

START_TEST(test_called_alone)
{
	struct daemon_fds fds = { 0 };
	struct part part[MANY];

	for (int i = 0; i < MANY; i++)
		part_make(&part[i], &fds);
	ck_assert_int_eq(daemon_fds_wait(&fds, 0), 0);
	eventfd_write(part[57].fd, 1);
	ck_assert_int_eq(daemon_fds_wait(&fds, -1), 0);
	for (int i = 0; i < MANY; i++) {
		ck_assert_uint_eq(part[i].calls, i == 57);
		daemon_fds_remove(&fds, part[i].fd);
		close(part[i].fd);
	}
	ck_assert_int_eq(daemon_fds_wait(&fds, 0), 0);
	ck_assert_uint_eq(fds.n, 0);
	daemon_fds_clear(&fds);
}
END_TEST

START_TEST(test_removed_while_called)
{
	struct daemon_fds fds = { 0 };
	struct part part[3];

	for (int i = 0; i < 3; i++) {
		part_make(&part[i], &fds);
		eventfd_write(part[i].fd, 1);
	}
	part[0].other = part[1].fd;
	part[2].other = part[2].fd;
	part[2].again = true;
	ck_assert_int_eq(daemon_fds_wait(&fds, 0), 0);
	ck_assert_uint_eq(part[0].calls, 1);
	ck_assert_uint_eq(part[1].calls, 0);
	ck_assert_uint_eq(part[2].calls, 1);
	eventfd_write(part[2].fd, 1);
	ck_assert_int_eq(daemon_fds_wait(&fds, 0), 0);
	ck_assert_uint_eq(part[2].calls, 2);
	for (int i = 0; i < 3; i++)
		close(part[i].fd);
	daemon_fds_clear(&fds);
}
END_TEST

SUITE("fds", test_called_alone, test_removed_while_called)
