/* SPDX-License-Identifier: MIT */
/*
 * Counters are read from sysfs and procfs when asked for, not all the time: a
 * machine may have hundreds of interfaces.
 *
 * Sums of what they grew are kept, because the counters fall: an interface that
 * was made anew shows less than before.  It counts from zero, as does a new one.
 * Counters that are sums over CPUs or protocols fall when one of these goes away,
 * which is no loss.
 */
#include "daemon/health/kernel.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Variables, so that a test can set its own paths. */
static const char *net = "/sys/class/net", *snmp = "/proc/net/snmp",
		  *snmp6 = "/proc/net/snmp6",
		  *softnet = "/proc/net/softnet_stat";

static const char *const drop_name[KERNEL_DROPS] = {
	"rx_dropped",	  "rx_missed_errors", "rx_fifo_errors",
	"rx_over_errors", "rx_errors",
};

static uint64_t
number_read(const char *path)
{
	FILE *f = fopen(path, "re");
	uint64_t n = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%" SCNu64, &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

static void
device_read(struct kernel_device *d, const char *name)
{
	char path[300];

	memcpy(d->name, name, strlen(name) + 1);
	for (int i = 0; i < KERNEL_DROPS; i++) {
		snprintf(path, sizeof path, "%s/%s/statistics/%s", net, name,
			 drop_name[i]);
		d->drop[i] = number_read(path);
	}
}

/* Adds an entry for a device; NULL: there is no memory. */
static struct kernel_device *
device_add(struct kernel *k)
{
	struct kernel_device *more =
	    realloc(k->device, (k->devices + 1) * sizeof *more);

	if (!more)
		return NULL;
	k->device = more;
	more += k->devices++;
	*more = (struct kernel_device){ 0 };
	return more;
}

static void
devices_read(struct kernel *k)
{
	DIR *dir = opendir(net);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		struct kernel_device *d;

		if (e->d_name[0] == '.' || !strcmp(e->d_name, "lo") ||
		    strlen(e->d_name) >= KERNEL_NAME)
			continue;
		d = device_add(k);
		if (!d)
			break;
		device_read(d, e->d_name);
	}
	if (dir)
		closedir(dir);
}

/* Returns the number that stands in line `numbers` where `name` stands in line
 * `names`; 0 if it is not there. */
static uint64_t
column(const char *names, const char *numbers, const char *name)
{
	uint64_t value = 0;
	int in, out;
	char word[32];

	while (sscanf(names, "%31s%n", word, &in) == 1 &&
	       sscanf(numbers, "%*s%n", &out) == 0) {
		if (!strcmp(word, name) &&
		    sscanf(numbers, "%" SCNu64, &value) == 1)
			return value;
		names += in;
		numbers += out;
	}
	return 0;
}

static void
udp_read(struct kernel *k)
{
	char names[1024], numbers[1024];
	FILE *f = fopen(snmp, "re");

	while (f && fgets(names, sizeof names, f) &&
	       fgets(numbers, sizeof numbers, f)) {
		if (strncmp(names, "Udp:", 4))
			continue;
		k->now.in_errors += column(names, numbers, "InErrors");
		k->now.rcvbuf_errors += column(names, numbers, "RcvbufErrors");
	}
	if (f)
		fclose(f);
}

static void
udp6_read(struct kernel *k)
{
	FILE *f = fopen(snmp6, "re");
	char name[64];
	uint64_t n;

	while (f && fscanf(f, "%63s %" SCNu64, name, &n) == 2) {
		if (!strcmp(name, "Udp6InErrors"))
			k->now.in_errors += n;
		else if (!strcmp(name, "Udp6RcvbufErrors"))
			k->now.rcvbuf_errors += n;
	}
	if (f)
		fclose(f);
}

/* Reads a line for each CPU: hexadecimal numbers of packets taken, of those that
 * were dropped, and of rounds that ended with packets left. */
static void
backlog_read(struct kernel *k)
{
	FILE *f = fopen(softnet, "re");
	uint64_t dropped, squeezed;

	while (f && fscanf(f, "%*x %" SCNx64 " %" SCNx64 "%*[^\n]", &dropped,
			   &squeezed) == 2) {
		k->now.dropped += dropped;
		k->now.squeezed += squeezed;
	}
	if (f)
		fclose(f);
}

void
kernel_look(struct kernel *k)
{
	*k = (struct kernel){ 0 };
	devices_read(k);
	backlog_read(k);
	udp_read(k);
	udp6_read(k);
}

void
kernel_clear(struct kernel *k)
{
	free(k->device);
	*k = (struct kernel){ 0 };
}

static struct kernel_device *
device_find(const struct kernel *k, const char *name)
{
	for (unsigned i = 0; i < k->devices; i++) {
		if (!strcmp(k->device[i].name, name))
			return &k->device[i];
	}
	return NULL;
}

static bool
is_one_of(const char *name, const char *const *list, unsigned n)
{
	while (n--) {
		if (!strcmp(list[n], name))
			return true;
	}
	return false;
}

static uint64_t
device_sum(const struct kernel_device *d)
{
	uint64_t sum = 0;

	for (int i = 0; i < KERNEL_DROPS; i++)
		sum += d->lost[i];
	return sum;
}

/* Adds what the counters of a device grew.  A new one gets an entry if it is
 * one of the `n` of `bound`; with n = 0, if it lost something. */
static void
device_grow(struct kernel *k, const struct kernel_device *now,
	    const char *const *bound, unsigned n)
{
	struct kernel_device *was = device_find(k, now->name);
	struct kernel_device d = { 0 };

	if (was)
		d = *was;
	memcpy(d.name, now->name, sizeof d.name);
	for (int i = 0; i < KERNEL_DROPS; i++) {
		/* made anew: it counts from zero */
		if (now->drop[i] < d.drop[i])
			d.drop[i] = 0;
		d.lost[i] += now->drop[i] - d.drop[i];
		d.drop[i] = now->drop[i];
	}
	if (!was && (n ? is_one_of(d.name, bound, n) : device_sum(&d) > 0))
		was = device_add(k);
	if (was)
		*was = d;
}

static void
machine_grow(uint64_t *lost, uint64_t *was, uint64_t now)
{
	if (now > *was)
		*lost += now - *was;
	*was = now;
}

/* Adds what all counters grew since the last look. */
static void
grow(struct kernel *k, const struct kernel *now, const char *const *bound,
     unsigned n)
{
	const struct kernel_machine *is = &now->now;

	for (unsigned i = 0; i < now->devices; i++)
		device_grow(k, &now->device[i], bound, n);
	machine_grow(&k->lost.dropped, &k->now.dropped, is->dropped);
	machine_grow(&k->lost.squeezed, &k->now.squeezed, is->squeezed);
	machine_grow(&k->lost.in_errors, &k->now.in_errors, is->in_errors);
	machine_grow(&k->lost.rcvbuf_errors, &k->now.rcvbuf_errors,
		     is->rcvbuf_errors);
}

static json_t *
device_json(const struct kernel_device *d)
{
	json_t *entry = json_pack("{s:s}", "device", d->name);

	for (int i = 0; i < KERNEL_DROPS; i++)
		json_object_set_new(entry, drop_name[i],
				    json_integer((json_int_t)d->lost[i]));
	return entry;
}

json_t *
kernel_lost(struct kernel *k, const struct kernel *now,
	    const char *const *bound, unsigned n)
{
	json_t *list = json_array();
	const struct kernel_machine *lost = &k->lost;
	struct kernel own = { 0 };

	if (!now)
		kernel_look(&own);
	grow(k, now ? now : &own, bound, n);
	kernel_clear(&own);
	for (unsigned i = 0; i < k->devices; i++) {
		const struct kernel_device *d = &k->device[i];

		if (n ? is_one_of(d->name, bound, n) : device_sum(d) > 0)
			json_array_append_new(list, device_json(d));
	}
	return json_pack("{s:o, s:{s:I, s:I}, s:{s:I, s:I}}", "interfaces",
			 list, "backlog", "dropped", (json_int_t)lost->dropped,
			 "squeezed", (json_int_t)lost->squeezed, "udp",
			 "in_errors", (json_int_t)lost->in_errors,
			 "rcvbuf_errors", (json_int_t)lost->rcvbuf_errors);
}
