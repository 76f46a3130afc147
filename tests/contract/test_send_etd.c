/* SPDX-License-Identifier: MIT */
/*
 * Files for an etransfer server, which is tests/flow/etd_server.py: made after
 * a description of the protocol, because the real one could not be had.
 */
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "base/conf.h"
#include "base/log.h"
#include "contract/send.h"
#include "lib/suite.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PACKET = 8032, PACKETS = 3000, STEP = 100 };

static const struct send_ops *ops;
static struct send_state *state;
static struct conf *conf;
static void *options;
static struct host host;
static char why[SEND_SENTENCE], folder[64];
static uint8_t data[(size_t)PACKETS * PACKET];
static unsigned port, data_port;
static pid_t server;
static uint64_t at, taken_all;
static unsigned restarts;

/* ---- the server ------------------------------------------------------ */

static void
server_start(const char *want)
{
	char command[512];
	FILE *f;

	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)(i / PACKET * 7 + i);
	snprintf(folder, sizeof folder, "/tmp/spate-etd.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(command, sizeof command,
		 "exec python3 %s/tests/flow/etd_server.py %s %s & echo $!; "
		 "wait",
		 getenv("top_srcdir") ? getenv("top_srcdir") : "..", folder,
		 want);
	f = popen(command, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%d", &server), 1);
	ck_assert_int_eq(fscanf(f, "%u %u", &port, &data_port), 2);
	/* popen's shell ends with the server. */
}

static void
server_stop(void)
{
	char command[128];

	kill(server, SIGKILL);
	for (int i = 0; i < 1000 && kill(server, 0) == 0; i++)
		usleep(1000);
	snprintf(command, sizeof command, "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

/* The file there is `bytes` long, and as it was sent. */
static void
file_is(uint64_t bytes)
{
	static uint8_t got[sizeof data + 1];
	char path[128];
	FILE *f;

	snprintf(path, sizeof path, "%s/scan", folder);
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fread(got, 1, sizeof got, f), bytes);
	fclose(f);
	ck_assert_int_eq(memcmp(got, data, bytes), 0);
}

static void
file_put(uint64_t bytes)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof path, "%s/scan", folder);
	f = fopen(path, "w");
	ck_assert_uint_eq(fwrite(data, 1, bytes, f), bytes);
	fclose(f);
}

/* ---- the plugin ------------------------------------------------------ */

static void
plugin_open(const char *text, uint64_t total)
{
	char file[4096], to[64];
	struct fault fault = { 0 };
	struct conf_part part;
	struct send_args a = { .host = &host,
			       .to = to,
			       .data_bytes = PACKET,
			       .subs = 1,
			       .plain = true,
			       .ordered = true,
			       .transfer = 1,
			       .total = total,
			       .name = "scan",
			       .why = why,
			       .why_bytes = sizeof why };
	void *object;

	snprintf(file, sizeof file, "%s/send-etd.so", getenv("SPATE_PLUGINS"));
	object = dlopen(file, RTLD_NOW);
	ck_assert_msg(object, "%s", dlerror());
	ops = dlsym(object, "spate_send");
	ck_assert_int_eq(conf_open_text(&conf, text, "test", &fault), 0);
	options = calloc(1, ops->head.options_bytes);
	part = (struct conf_part){ ops->head.options, options };
	ck_assert_int_eq(
	    conf_fill(conf, conf_root(conf), &part, 1, NULL, &fault), 0);
	host = log_host("test");
	snprintf(to, sizeof to, "etd://127.0.0.1:%u/", port);
	a.options = options;
	ck_assert_msg(ops->check(&a) == 0, "%s", why);
	ck_assert_msg(ops->open(&state, &a) == 0, "%s", why);
	at = taken_all = restarts = 0;
}

static void
plugin_close(void)
{
	ops->close(state);
	usleep(100000); /* the server sees it, and closes its file */
	free(options);
	conf_close(conf);
}

static void
back(void)
{
	uint32_t run;

	ck_assert_uint_eq(ops->release(state), taken_all);
	ops->back(state, &run, &at);
	ck_assert_uint_eq(run, 0);
	restarts++;
}

static int
give(uint64_t end)
{
	struct send_run run = { .data = data + at * PACKET,
				.data_bytes = PACKET,
				.data_stride = PACKET,
				.packets = (uint32_t)(end - at),
				.first = at };
	uint64_t taken;
	int err;

	if (run.packets > STEP)
		run.packets = STEP;
	err = ops->send(state, &run, run.packets > 0, &taken);
	if (!err) {
		at += taken;
		taken_all += taken;
	} else {
		ck_assert_uint_eq(taken, 0);
	}
	return err;
}

/* What ends it: 0 when packets up to `end` are there, or an error. */
static int
push(uint64_t end)
{
	int err = -EAGAIN;

	for (int i = 0; i < 20000; i++) {
		struct pollfd fd[4];
		int64_t until = INT64_MAX;
		bool finish = at == end;
		uint64_t before = at;

		err = finish ? ops->finish(state) : give(end);
		if (err == -ERESTART)
			back();
		else if (err ? err != -EAGAIN : finish)
			return err;
		if (err || at == before)
			poll(fd, ops->poll(state, fd, 4, &until), 5);
	}
	return -EAGAIN;
}

static void
why_has(const char *text)
{
	struct send_facts facts;

	ops->facts(state, &facts);
	ck_assert_msg(strstr(facts.why, text), "'%s', expected '%s'", facts.why,
		      text);
}

#define ALL ((uint64_t)PACKETS * PACKET)

START_TEST(a_file)
{
	static const char *const addresses[] = { "",
						 "address='<tcp/127.0.0.1:%d>'",
						 "address='tcp://0.0.0.0:%d'",
						 "address='<tcp6/[::]:%d>'" };

	for (unsigned i = 0; i < 4; i++) {
		server_start(addresses[i]);
		plugin_open("", ALL);
		ck_assert_int_eq(push(PACKETS), 0);
		file_is(ALL);
		plugin_close();
		server_stop();
	}
}
END_TEST

/* Nobody knows how long it will be: several loads. */
START_TEST(a_file_that_grows)
{
	server_start("");
	plugin_open("", 0);
	ck_assert_int_eq(push(PACKETS), 0);
	file_is(ALL);
	plugin_close();
	server_stop();
}
END_TEST

START_TEST(a_file_that_is_there)
{
	server_start("");
	file_put(PACKET * 100 + 77);
	plugin_open("", ALL);
	ck_assert_int_eq(push(PACKETS), -EACCES);
	why_has("does not take /scan: File exists");
	plugin_close();
	plugin_open("mode = \"resume\"", ALL);
	ck_assert_int_eq(push(PACKETS), 0);
	file_is(ALL);
	plugin_close();
	/* All of it. */
	plugin_open("mode = \"resume\"", ALL);
	ck_assert_int_eq(push(PACKETS), 0);
	file_is(ALL);
	plugin_close();
	plugin_open("mode = \"overwrite\"", ALL / 2);
	ck_assert_int_eq(push(PACKETS / 2), 0);
	file_is(ALL / 2);
	plugin_close();
	/* More than all of it. */
	plugin_open("mode = \"resume\"", ALL / 4);
	ck_assert_int_eq(push(PACKETS / 4), -EEXIST);
	plugin_close();
	plugin_open("mode = \"resume\"", 0);
	ck_assert_int_eq(push(PACKETS / 4), -EEXIST);
	why_has("more than the recording");
	plugin_close();
	server_stop();
}
END_TEST

START_TEST(connections_that_break)
{
	static const char *const ways[] = { "break=3000001", "drop=3000001",
					    "short=500" };

	for (unsigned i = 0; i < 2; i++) {
		for (int grows = 0; grows < 2; grows++) {
			server_start(ways[i]);
			plugin_open("", grows ? 0 : ALL);
			ck_assert_int_eq(push(PACKETS), 0);
			file_is(ALL);
			if (!grows)
				ck_assert_uint_gt(restarts, 0);
			plugin_close();
			server_stop();
		}
	}
	/* A server that loses some: that is seen. */
	server_start(ways[2]);
	plugin_open("", ALL);
	ck_assert_int_eq(push(PACKETS), -EIO);
	why_has("stays at");
	plugin_close();
	server_stop();
}
END_TEST

START_TEST(servers_that_are_none)
{
	server_start("refuse='no room left'");
	plugin_open("", ALL);
	ck_assert_int_eq(push(PACKETS), -EACCES);
	why_has("no room left");
	plugin_close();
	server_stop();
	server_start("lie=99999999999");
	plugin_open("", ALL);
	ck_assert_int_eq(push(PACKETS), -EEXIST);
	plugin_close();
	server_stop();
	server_start("lie=-5");
	plugin_open("", ALL);
	ck_assert_int_eq(push(PACKETS), -EPROTO);
	why_has("says 'AlreadyHave:-5'");
	plugin_close();
	server_stop();
	/* Fewer than were promised. */
	server_start("");
	plugin_open("", ALL);
	ck_assert_int_eq(push(PACKETS / 2), -EIO);
	why_has("than there are");
	plugin_close();
	server_stop();
	/* Nobody there. */
	plugin_open("", ALL);
	for (int i = 0; i < 200; i++) {
		ck_assert_int_eq(give(PACKETS), -EAGAIN);
		usleep(2000);
	}
	why_has("Connection refused");
	plugin_close();
}
END_TEST

SUITE("send_etd", a_file, a_file_that_grows, a_file_that_is_there,
      connections_that_break, servers_that_are_none)
