/* SPDX-License-Identifier: MIT */
/*
 * Counters are read from sysfs and procfs when asked for, not all the time: a
 * machine may have hundreds of interfaces.  A new interface counts from zero.
 * An interface that was made anew may show less than before; it counts from
 * zero, too.
 */
#include "daemon/sessions/kernel.h"

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

static void
devices_read(struct kernel *k)
{
	DIR *dir = opendir(net);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		struct kernel_device *more;

		if (e->d_name[0] == '.' || !strcmp(e->d_name, "lo") ||
		    strlen(e->d_name) >= KERNEL_NAME)
			continue;
		more = realloc(k->device, (k->devices + 1) * sizeof *more);
		if (!more)
			break;
		k->device = more;
		device_read(&more[k->devices++], e->d_name);
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
		k->in_errors += column(names, numbers, "InErrors");
		k->rcvbuf_errors += column(names, numbers, "RcvbufErrors");
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
			k->in_errors += n;
		else if (!strcmp(name, "Udp6RcvbufErrors"))
			k->rcvbuf_errors += n;
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
		k->dropped += dropped;
		k->squeezed += squeezed;
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

static uint64_t
grown(uint64_t now, uint64_t then)
{
	return now >= then ? now - then : now;
}

static const struct kernel_device *
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

static void
device_tell(json_t *list, const struct kernel_device *d,
	    const struct kernel_device *then, bool always)
{
	json_t *entry = json_pack("{s:s}", "device", d->name);
	uint64_t sum = 0;

	for (int i = 0; i < KERNEL_DROPS; i++) {
		uint64_t n = grown(d->drop[i], then ? then->drop[i] : 0);

		sum += n;
		json_object_set_new(entry, drop_name[i],
				    json_integer((json_int_t)n));
	}
	if (sum || always)
		json_array_append(list, entry);
	json_decref(entry);
}

json_t *
kernel_lost(const struct kernel *then, const char *const *bound, unsigned n)
{
	json_t *list = json_array();
	struct kernel now;
	uint64_t dropped, squeezed, in, buffer;

	kernel_look(&now);
	for (unsigned i = 0; i < now.devices; i++) {
		const struct kernel_device *d = &now.device[i];
		bool ours = is_one_of(d->name, bound, n);

		if (ours || !n)
			device_tell(list, d, device_find(then, d->name), ours);
	}
	dropped = grown(now.dropped, then->dropped);
	squeezed = grown(now.squeezed, then->squeezed);
	in = grown(now.in_errors, then->in_errors);
	buffer = grown(now.rcvbuf_errors, then->rcvbuf_errors);
	kernel_clear(&now);
	return json_pack("{s:o, s:{s:I, s:I}, s:{s:I, s:I}}", "interfaces",
			 list, "backlog", "dropped", (json_int_t)dropped,
			 "squeezed", (json_int_t)squeezed, "udp", "in_errors",
			 (json_int_t)in, "rcvbuf_errors", (json_int_t)buffer);
}
