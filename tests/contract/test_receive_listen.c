/* SPDX-License-Identifier: MIT */
/*
 * What receive.h promises, asked of udp and fanout: many sockets, and what
 * each of them listens to.  Ports are those of a loopback address that no
 * other test has; groups are joined in test_receive_groups.c.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <sys/resource.h>

#include "contract/receive_bench.h"

static const char *const names[] = { "udp", "fanout" };
enum { NAMES = 2, PORTS = 432 };

static const char *
home(void)
{
	static char text[32];

	snprintf(text, sizeof text, "127.%u.%u.1", 100 + getpid() % 100,
		 getpid() / 100 % 250);
	return text;
}

/* ---- plans ----------------------------------------------------------- */

static int
plan(struct bench *b, const char *name, const char *options, unsigned *subs)
{
	struct receive_plan plan = { 0 };
	int err;

	bench_make(b, name, options, 8, 100);
	err = b->ops->plan(b->options, &plan, b->why, sizeof b->why);
	if (!err)
		ck_assert_uint_eq(plan.threads, 1);
	*subs = plan.subs;
	bench_free(b);
	return err;
}

START_TEST(plans_count_substreams)
{
	static const struct {
		const char *options;
		unsigned subs;
	} good[] = {
		{ "listen = [ \"0.0.0.0:46227\" ];", 1 },
		{ "listen = [ \"0.0.0.0:1\", \"[::1]:2\" ];", 1 },
		{ "listen = [ \"0.0.0.0:0\", \"0.0.0.0:0\" ];", 1 },
		{ "listen = [ \"0.0.0.0:41000-41431\" ];", 432 },
		{ "listen = [ \"eth2@:41000-41431\", \"eth3@:1-432\" ];", 432 },
		{ "listen = [ \"239.2.1.150+7:7148\" ];", 8 },
		{ "listen = [ \"239.2.1.150+7:7148\", \":11-18\" ];", 8 },
		{ "listen = [ \"not.looked.up.invalid:5-9\" ];", 5 },
	};
	static struct bench b;
	unsigned subs;

	for (unsigned i = 0; i < sizeof good / sizeof *good; i++) {
		for (unsigned n = 0; n < NAMES; n++) {
			ck_assert_msg(
			    !plan(&b, names[n], good[i].options, &subs),
			    "%s: %s", good[i].options, b.why);
			ck_assert_uint_eq(subs, good[i].subs);
		}
	}
}
END_TEST

START_TEST(plans_find_mistakes)
{
	static const struct {
		const char *options, *says;
	} bad[] = {
		{ "", "`listen` is missing" },
		{ "listen = [ \"0.0.0.0:46227\", \"0.0.0.0\" ];", "no port" },
		{ "listen = [ \"0.0.0.0:41000-41431\", \":5-9\" ];",
		  "'0.0.0.0:41000-41431' is 432 substreams and ':5-9' is 5" },
		{ "listen = [ \":5\", \":6\", \":5\" ];",
		  "':5' is there twice" },
		{ "listen = [ \":41000-41003\", \":41002-41005\" ];",
		  "':41002-41005' is there twice" },
		{ "listen = [ \":5\" ]; allow = [ \"10.0.0.0/99\" ];",
		  "10.0.0.0/99" },
		{ "listen = [ \":5\" ]; allow = [ \"localhost\" ];",
		  "localhost" },
	};
	struct format_shape shape = { .prefix = 8, .payload = 100 };
	static struct bench b;
	unsigned subs;

	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		for (unsigned n = 0; n < NAMES; n++) {
			ck_assert_int_eq(
			    plan(&b, names[n], bad[i].options, &subs), -EINVAL);
			ck_assert_msg(strstr(b.why, bad[i].says), "%s: %s",
				      bad[i].options, b.why);
			ck_assert_int_eq(bench_try(&b, names[n], bad[i].options,
						   NULL, &shape),
					 -EINVAL);
			ck_assert_ptr_nonnull(strstr(b.why, bad[i].says));
			bench_free(&b);
		}
	}
}
END_TEST

/* ---- ranges ---------------------------------------------------------- */

static unsigned
descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void
many_allowed(rlim_t files)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = files < limit.rlim_max ? files : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* A stream of PORTS ports of our own; `extra`: further options. */
static int
range_try(struct bench *b, const char *name, const char *extra)
{
	struct format_shape shape = { .prefix = 8, .payload = 100 };
	char options[512];

	snprintf(options, sizeof options,
		 "listen = [ \"%s:20000-20431\", \"%s:21000-21431\" ]; %s",
		 home(), home(), extra);
	return bench_try(b, name, options, NULL, &shape);
}

static void
range_open(struct bench *b, const char *name, const char *extra)
{
	many_allowed(4096);
	ck_assert_msg(range_try(b, name, extra) == 0, "%s", b->why);
}

/* Waits for something to arrive. */
static void
arrives(int fd)
{
	struct pollfd p = { fd, POLLIN, 0 };

	ck_assert_int_eq(poll(&p, 1, PATIENCE), 1);
}

/* One datagram to one source, and nothing to any other. */
static void
source_check(struct bench *b, unsigned source)
{
	int fd = b->ops->fd(b->state, source);
	char text[64], listens[64];
	struct receive_counts c;
	struct sockaddr_in at;
	socklen_t length = sizeof at;
	unsigned sub = b->ops->sub(b->state, source);

	connect_to(b, source);
	send_one(b, 108);
	arrives(fd);
	ck_assert_int_eq(receive_told(b, source), 1);
	getsockname(fd, (void *)&at, &length);
	ck_assert_uint_eq(ntohs(at.sin_port) % 1000, sub);
	snprintf(listens, sizeof listens, "%s:%u", home(), ntohs(at.sin_port));
	getsockname(b->from, (void *)&at, &length);
	snprintf(text, sizeof text, "127.0.0.1:%u", ntohs(at.sin_port));
	b->ops->counts(b->state, source, &c);
	ck_assert_uint_eq(c.datagrams, 1);
	ck_assert_uint_eq(c.overruns, 0);
	ck_assert_str_eq(c.address, listens);
	ck_assert_ptr_null(c.device);
	ck_assert_str_eq(c.sender, text);
}

START_TEST(ranges_of_ports)
{
	static struct bench b;
	unsigned before, sources, times[PORTS];

	for (unsigned n = 0; n < NAMES; n++) {
		before = descriptors();
		memset(times, 0, sizeof times);
		wish = (struct receive_args){ 0 };
		range_open(&b, names[n], "socket_buffer = 65536;");
		sources = b.ops->sources(b.state);
		ck_assert_uint_eq(sources, 2 * PORTS);
		for (unsigned i = 0; i < sources; i++) {
			unsigned sub = b.ops->sub(b.state, i);

			ck_assert_uint_lt(sub, PORTS);
			times[sub]++;
			source_check(&b, i);
		}
		for (unsigned i = 0; i < PORTS; i++)
			ck_assert_uint_eq(times[i], 2);
		bench_close(&b);
		ck_assert_uint_eq(descriptors(), before);
	}
}
END_TEST

START_TEST(instances_share_a_range)
{
	static struct bench b[5];
	unsigned times[PORTS] = { 0 };

	for (unsigned k = 0; k < 5; k++) {
		wish = (struct receive_args){ .share = k, .shares = 5 };
		range_open(&b[k], "udp", "socket_buffer = 65536;");
		for (unsigned i = 0; i < b[k].ops->sources(b[k].state); i++) {
			unsigned sub = b[k].ops->sub(b[k].state, i);

			ck_assert_uint_lt(sub, PORTS);
			ck_assert_uint_eq(sub % 5, k);
			times[sub]++;
		}
	}
	for (unsigned i = 0; i < PORTS; i++)
		ck_assert_uint_eq(times[i], 2);
	source_check(&b[3], 17);
	source_check(&b[4], 0);
	for (unsigned k = 0; k < 5; k++)
		bench_close(&b[k]);
}
END_TEST

/* One datagram has come back to the sender. */
static void
heard_one(const struct bench *b)
{
	char text[64];

	arrives(b->from);
	ck_assert_int_gt(recv(b->from, text, sizeof text, 0), 0);
	ck_assert_int_lt(recv(b->from, text, sizeof text, MSG_DONTWAIT), 0);
}

START_TEST(every_source_is_kept_alive)
{
	static struct bench b;
	struct receive_counts c;

	wish = (struct receive_args){ 0 };
	now_ns = 1000 * (int64_t)SECOND;
	range_open(&b, "udp", "keepalive = \"10s\"; socket_buffer = 65536;");
	for (unsigned i = 0; i < 2 * PORTS; i++) {
		connect_to(&b, i);
		send_one(&b, 108);
		arrives(b.ops->fd(b.state, i));
		ck_assert_int_eq(receive_told(&b, i), 1);
		b.ops->counts(b.state, i, &c);
		b.ops->counts(b.state, i, &c);
		heard_one(&b);
	}
	now_ns += 11 * (int64_t)SECOND;
	for (unsigned i = 0; i < 2 * PORTS; i += 50) {
		connect_to(&b, i);
		b.ops->counts(b.state, i, &c);
		heard_one(&b);
	}
	bench_close(&b);
}
END_TEST

START_TEST(overruns_are_of_their_socket)
{
	static struct bench b;
	struct receive_counts c = { 0 };

	wish = (struct receive_args){ 0 };
	range_open(&b, "udp", "socket_buffer = 4096;");
	connect_to(&b, 7);
	for (unsigned i = 0; i < 200; i++)
		send_one(&b, 108);
	while (c.overruns + c.datagrams < 200) {
		if (receive(&b, 7) == 0)
			usleep(100);
		b.ops->counts(b.state, 7, &c);
	}
	ck_assert_uint_gt(c.overruns, 0);
	ck_assert_uint_eq(c.overruns + c.datagrams, 200);
	for (unsigned i = 0; i < 20; i++) {
		b.ops->counts(b.state, i, &c);
		if (i != 7)
			ck_assert_uint_eq(c.overruns + c.datagrams, 0);
	}
	bench_close(&b);
}
END_TEST

/* ---- limits ---------------------------------------------------------- */

START_TEST(too_few_descriptors)
{
	static struct bench b;
	unsigned before = descriptors();

	wish = (struct receive_args){ 0 };
	many_allowed(100);
	ck_assert_int_eq(range_try(&b, "udp", ""), -EMFILE);
	ck_assert_ptr_nonnull(strstr(b.why, "ulimit -n"));
	ck_assert_ptr_nonnull(strstr(b.why, "LimitNOFILE"));
	ck_assert_ptr_nonnull(strstr(b.why, home()));
	bench_free(&b);
	ck_assert_uint_eq(descriptors(), before);
}
END_TEST

static unsigned long
rmem_max(void)
{
	FILE *file = fopen("/proc/sys/net/core/rmem_max", "re");
	unsigned long bytes = 0;

	if (file) {
		ck_assert_int_eq(fscanf(file, "%lu", &bytes), 1);
		fclose(file);
	}
	return bytes;
}

/* One line in all, and from one instance. */
START_TEST(buffers_are_told_in_one_line)
{
	static struct bench b;

	if (rmem_max() >= 1u << 30) {
		fprintf(stderr, "SKIP: rmem_max is not the limit here\n");
		return;
	}
	plugin("udp"); /* as long as its file may be read */
	if (geteuid() == 0)
		ck_assert_int_eq(setresuid(65534, 65534, 65534), 0);
	wish = (struct receive_args){ .share = 0, .shares = 2 };
	range_open(&b, "udp", "socket_buffer = 1073741824;");
	ck_assert_uint_eq(b.lines, 1);
	ck_assert_ptr_nonnull(strstr(b.log, "net.core.rmem_max=1073741823"));
	bench_close(&b);
	wish.share = 1;
	range_open(&b, "udp", "socket_buffer = 1073741824;");
	ck_assert_uint_eq(b.lines, 0);
	bench_close(&b);
}
END_TEST

/* Opens a stream of a rate without `socket_buffer`, and returns the bytes of its
 * first socket's buffer. */
static uint64_t
buffer_at(struct bench *b, uint64_t rate, unsigned subs)
{
	struct format_shape shape = { .prefix = 8,
				      .payload = 100,
				      .rate = rate };
	char listen[64];
	socklen_t length = sizeof(int);
	int got;

	wish = (struct receive_args){ 0 };
	snprintf(listen, sizeof listen, "listen = [ \"%s:21300-%u\" ];", home(),
		 21300 + subs - 1);
	ck_assert_int_eq(bench_try(b, "udp", listen, NULL, &shape), 0);
	ck_assert_int_eq(getsockopt(b->ops->fd(b->state, 0), SOL_SOCKET,
				    SO_RCVBUF, &got, &length),
			 0);
	return (uint64_t)got / 2;
}

START_TEST(buffers_hold_a_time)
{
	static const struct {
		uint64_t rate;
		unsigned subs;
		uint64_t bytes;
	} row[] = {
		{ 0, 1, UINT64_C(256) << 20 },
		{ 0, 8, UINT64_C(32) << 20 },
		{ 0, 100, UINT64_C(4) << 20 },
		{ 1000000000, 1, UINT64_C(256) << 20 },
		{ 32000000000, 1, 800000000 },
		{ 32000000000, 16, 50000000 },
		{ 100000000000, 1, INT32_MAX / 2 },
	};
	static struct bench b;
	int fd = socket(AF_INET, SOCK_DGRAM, 0), want = 1 << 30;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &want, sizeof want) <
	    0) {
		fprintf(stderr, "SKIP: buffers are limited by rmem_max here\n");
		close(fd);
		return;
	}
	close(fd);
	for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
		uint64_t got = buffer_at(&b, row[i].rate, row[i].subs);

		ck_assert_uint_eq(got, row[i].bytes);
		ck_assert_uint_eq(b.lines, 0);
		bench_close(&b);
	}
}
END_TEST

/* Only what is too short for a rate is worth a line. */
START_TEST(a_buffer_that_lasts_too_short_is_told)
{
	static struct bench b;
	unsigned long most = rmem_max();
	char lasts[64];

	plugin("udp"); /* as long as its file may be read */
	if (geteuid() == 0)
		ck_assert_int_eq(setresuid(65534, 65534, 65534), 0);
	if (most >= 200000000) {
		fprintf(stderr, "SKIP: rmem_max is not the limit here\n");
		return;
	}
	buffer_at(&b, most * 8 * 9, 1); /* 111 ms */
	ck_assert_uint_eq(b.lines, 0);
	bench_close(&b);
	buffer_at(&b, most * 8 * 20, 1); /* 50 ms */
	ck_assert_uint_eq(b.lines, 1);
	ck_assert_ptr_nonnull(strstr(b.log, "50 ms of its rate"));
	bench_close(&b);
	buffer_at(&b, 0, 1);
	ck_assert_uint_eq(b.lines, 1);
	snprintf(lasts, sizeof lasts, "which is %lu ms at 1 Gb/s",
		 most / 125000);
	ck_assert_ptr_nonnull(strstr(b.log, lasts));
	bench_close(&b);
}
END_TEST

START_TEST(a_port_of_the_range_is_taken)
{
	static struct bench b;
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(21300) };
	unsigned before = descriptors();
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	inet_pton(AF_INET, home(), &at.sin_addr);
	ck_assert_int_eq(bind(fd, (void *)&at, sizeof at), 0);
	wish = (struct receive_args){ 0 };
	many_allowed(4096);
	ck_assert_int_eq(range_try(&b, "udp", ""), -EADDRINUSE);
	ck_assert_ptr_nonnull(strstr(b.why, ":21300"));
	ck_assert_ptr_nonnull(strstr(b.why, "ss -ulpn"));
	bench_free(&b);
	close(fd);
	ck_assert_uint_eq(descriptors(), before);
}
END_TEST

/* ---- families and names ---------------------------------------------- */

/* Sends over IPv4 to a socket that listens to both. */
static void
mapped_send(struct bench *b)
{
	struct sockaddr_in6 at;
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof at;

	getsockname(b->ops->fd(b->state, 0), (void *)&at, &length);
	close(b->from);
	to.sin_port = at.sin6_port;
	b->from = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(b->from, (void *)&to, sizeof to), 0);
	send_one(b, 108);
}

START_TEST(both_families_in_one_socket)
{
	static const char options[] =
	    "listen = [ \"[::]:0\" ]; allow = [ \"127.0.0.0/8\" ];";
	static struct bench b;
	struct receive_counts c;

	wish = (struct receive_args){ .senders = true };
	udp_open(&b, options, 8, 100);
	send_one(&b, 108);
	b.sent[0].foreign = true;
	take_all(&b);
	mapped_send(&b);
	take_all(&b);
	b.ops->counts(b.state, 0, &c);
	ck_assert_msg(!strncmp(c.sender, "127.0.0.1:", 10), "%s", c.sender);
	bench_close(&b);
}
END_TEST

START_TEST(hosts_with_names)
{
	static struct bench b;

	wish = (struct receive_args){ 0 };
	udp_open(&b, "listen = [ \"localhost:0\" ];", 8, 100);
	send_one(&b, 108);
	take_all(&b);
	bench_close(&b);
}
END_TEST

SUITE("receive listen", plans_count_substreams, plans_find_mistakes,
      ranges_of_ports, instances_share_a_range, every_source_is_kept_alive,
      overruns_are_of_their_socket, too_few_descriptors,
      buffers_are_told_in_one_line, buffers_hold_a_time,
      a_buffer_that_lasts_too_short_is_told, a_port_of_the_range_is_taken,
      both_families_in_one_socket, hosts_with_names)
