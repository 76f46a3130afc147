/* SPDX-License-Identifier: MIT */
/* The counters of a machine that a scratch folder pretends to be. */
#include <string.h>
#include <sys/stat.h>

#include "daemon/health/kernel.c"
#include "lib/scratch.h"
#include "lib/suite.h"

static struct scratch scratch;

#define CPU0 "000e1196 00000002 0000000a 00000000 00000000 00000000\n"

static void
text_write(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static void
counter_write(const char *device, const char *name, const char *text)
{
	char path[400];

	snprintf(path, sizeof path, "%s/%s", scratch.path, device);
	mkdir(path, 0700);
	strcat(path, "/statistics");
	mkdir(path, 0700);
	snprintf(path + strlen(path), 64, "/%s", name);
	text_write(path, text);
}

static void
device_remove(const char *device)
{
	char path[400], away[400];

	snprintf(path, sizeof path, "%s/%s", scratch.path, device);
	snprintf(away, sizeof away, "%s/.%s", scratch.path, device);
	ck_assert_int_eq(rename(path, away), 0);
}

static void
udp_write(const char *in, const char *buffer, const char *in6)
{
	char text[400];

	snprintf(text, sizeof text,
		 "Ip: Forwarding DefaultTTL\nIp: 1 64\n"
		 "Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors\n"
		 "Udp: 1000 2 %s 4 %s\n"
		 "UdpLite: InDatagrams InErrors\nUdpLite: 77 88\n",
		 in, buffer);
	text_write(snmp, text);
	snprintf(text, sizeof text,
		 "Ip6InReceives\t55\nUdp6InErrors                  \t%s\n"
		 "Udp6RcvbufErrors 1\n",
		 in6);
	text_write(snmp6, text);
}

static void
machine_make(void)
{
	scratch_make(&scratch);
	net = scratch.path;
	snmp = scratch_path(&scratch, "snmp");
	snmp6 = scratch_path(&scratch, "snmp6");
	softnet = scratch_path(&scratch, "softnet");
	text_write(softnet, CPU0 "000cbc96 fffffff0 00000001 00000000 0 1\n");
	counter_write("lo", "rx_dropped", "5\n");
	counter_write("eth2", "rx_dropped", "10\n");
	counter_write("eth2", "rx_missed_errors", "18446744073709551600\n");
	counter_write("eth3", "rx_dropped", "1\n");
	udp_write("7", "5", "3");
}

static void
is(json_t *json, const char *text)
{
	char *got = json_dumps(json, JSON_COMPACT);

	ck_assert_str_eq(got, text);
	free(got);
	json_decref(json);
}

#define ETH2(dropped, missed)                                                  \
	"{\"device\":\"eth2\",\"rx_dropped\":" dropped                         \
	",\"rx_missed_errors\":" missed                                        \
	",\"rx_fifo_errors\":0,\"rx_over_errors\":0,\"rx_errors\":0}"
#define CARD(name, dropped)                                                    \
	"{\"device\":\"" name "\",\"rx_dropped\":" dropped                     \
	",\"rx_missed_errors\":0,\"rx_fifo_errors\":0,"                        \
	"\"rx_over_errors\":0,\"rx_errors\":0}"
#define QUEUES(dropped, squeezed)                                              \
	"\"backlog\":{\"dropped\":" dropped ",\"squeezed\":" squeezed "},"
#define UDP(in, buffer) QUEUES("0", "0") UDP_ONLY(in, buffer)
#define UDP_ONLY(in, buffer)                                                   \
	"\"udp\":{\"in_errors\":" in ",\"rcvbuf_errors\":" buffer "}"

START_TEST(since_then)
{
	static const char *const bound[] = { "eth2" };
	struct kernel then;

	machine_make();
	kernel_look(&then);
	ck_assert_uint_eq(then.now.in_errors, 10);
	ck_assert_uint_eq(then.now.rcvbuf_errors, 6);
	is(kernel_lost(&then, NULL, NULL, 0),
	   "{\"interfaces\":[]," UDP("0", "0") "}");
	is(kernel_lost(&then, NULL, bound, 1),
	   "{\"interfaces\":[" ETH2("0", "0") "]," UDP("0", "0") "}");

	counter_write("lo", "rx_dropped", "50\n");
	counter_write("eth2", "rx_dropped", "14\n");
	counter_write("eth2", "rx_missed_errors", "18446744073709551615\n");
	udp_write("9", "6", "4");
	is(kernel_lost(&then, NULL, NULL, 0),
	   "{\"interfaces\":[" ETH2("4", "15") "]," UDP("3", "1") "}");
	kernel_clear(&then);
	scratch_remove(&scratch);
}
END_TEST

/* An interface that is made anew counts from nothing, one that is new too,
 * and of one that is gone it is known what it lost.  No number falls. */
START_TEST(cards_come_and_go)
{
	static const char *const bound[] = { "eth3" }, *const new[] = {
		"eth4"
	};
	struct kernel k;

	machine_make();
	kernel_look(&k);
	counter_write("eth2", "rx_dropped", "13\n");
	is(kernel_lost(&k, NULL, NULL, 0),
	   "{\"interfaces\":[" ETH2("3", "0") "]," UDP("0", "0") "}");
	counter_write("eth2", "rx_dropped", "0\n");
	counter_write("eth2", "rx_missed_errors", "1\n");
	is(kernel_lost(&k, NULL, NULL, 0),
	   "{\"interfaces\":[" ETH2("3", "1") "]," UDP("0", "0") "}");
	counter_write("eth2", "rx_dropped", "2\n");
	is(kernel_lost(&k, NULL, NULL, 0),
	   "{\"interfaces\":[" ETH2("5", "1") "]," UDP("0", "0") "}");
	device_remove("eth2");
	is(kernel_lost(&k, NULL, NULL, 0),
	   "{\"interfaces\":[" ETH2("5", "1") "]," UDP("0", "0") "}");
	is(kernel_lost(&k, NULL, bound, 1),
	   "{\"interfaces\":[" CARD("eth3", "0") "]," UDP("0", "0") "}");
	counter_write("eth4", "rx_dropped", "1\n");
	is(kernel_lost(&k, NULL, bound, 1),
	   "{\"interfaces\":[" CARD("eth3", "0") "]," UDP("0", "0") "}");
	is(kernel_lost(&k, NULL, new, 1),
	   "{\"interfaces\":[" CARD("eth4", "1") "]," UDP("0", "0") "}");
	kernel_clear(&k);
	scratch_remove(&scratch);
}
END_TEST

/* A new CPU counts from nothing.  When one is gone they all show less, and
 * nothing is lost. */
START_TEST(queues_of_cpus)
{
	struct kernel k;

	machine_make();
	kernel_look(&k);
	ck_assert_uint_eq(k.now.dropped, 0xfffffff2);
	ck_assert_uint_eq(k.now.squeezed, 11);
	text_write(softnet,
		   CPU0 "000cbc97 ffffffff 00000004 00000000 0 1\n" CPU0);
	is(kernel_lost(&k, NULL, NULL, 0),
	   "{\"interfaces\":[]," QUEUES("17", "13") UDP_ONLY("0", "0") "}");
	text_write(softnet, CPU0);
	is(kernel_lost(&k, NULL, NULL, 0),
	   "{\"interfaces\":[]," QUEUES("17", "13") UDP_ONLY("0", "0") "}");
	text_write(softnet, CPU0 CPU0);
	is(kernel_lost(&k, NULL, NULL, 0),
	   "{\"interfaces\":[]," QUEUES("19", "23") UDP_ONLY("0", "0") "}");
	kernel_clear(&k);
	scratch_remove(&scratch);
}
END_TEST

START_TEST(nothing_to_read)
{
	struct kernel then;

	machine_make();
	scratch_remove(&scratch);
	kernel_look(&then);
	is(kernel_lost(&then, NULL, NULL, 0),
	   "{\"interfaces\":[]," UDP("0", "0") "}");
	kernel_clear(&then);
}
END_TEST

SUITE("kernel", since_then, cards_come_and_go, queues_of_cpus, nothing_to_read)
