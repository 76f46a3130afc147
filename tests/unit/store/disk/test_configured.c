/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/control.h"
#include "store/disk/configured.h"
#include "lib/suite.h"

static char folder[64], conf[96];
static struct fault fault;

static void
conf_write(const char *text)
{
	FILE *file = fopen(conf, "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

static void
begin(void)
{
	char path[96];

	strcpy(folder, "/tmp/spate-where.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(conf, sizeof conf, "%s/conf", folder);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/disk%d", folder, i);
		ck_assert_int_eq(mkdir(path, 0700), 0);
	}
	fault = (struct fault){ .code = NULL };
}

static void
end(void)
{
	char path[96];

	unlink(conf);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/disk%d", folder, i);
		rmdir(path);
	}
	ck_assert_int_eq(rmdir(folder), 0);
}

START_TEST(a_list)
{
	char list[256];
	struct disks disks;

	begin();
	snprintf(list, sizeof list, "%s/disk1::%s/disk0:%s/gone", folder,
		 folder, folder);
	ck_assert_int_eq(disks_listed(list, &disks, &fault), 0);
	ck_assert_uint_eq(disks.n, 3);
	ck_assert_ptr_nonnull(strstr(disks.disk[0].path, "/disk1"));
	ck_assert_int_ge(disks.disk[1].fd, 0);
	ck_assert_int_eq(disks.disk[2].fd, -1);
	disks_clear(&disks);
	ck_assert_int_eq(disks_listed(":", &disks, &fault), -ENOENT);
	disks_clear(&disks);
	end();
}
END_TEST

START_TEST(a_configuration)
{
	char text[256], socket[CONFIGURED_SOCKET];
	struct disks disks;

	begin();
	snprintf(text, sizeof text,
		 "disks = [ \"%s/disk0\", \"%s/disk1\" ];\n"
		 "control : { socket = \"/a/b\"; };\nnonsense = 3;\n",
		 folder, folder);
	conf_write(text);
	ck_assert_int_eq(disks_configured(conf, &disks, &fault), 0);
	ck_assert_uint_eq(disks.n, 2);
	disks_clear(&disks);
	ck_assert_int_eq(configured_socket(conf, socket, &fault), 0);
	ck_assert_str_eq(socket, "/a/b");
	snprintf(text, sizeof text, "disks = \"%s/disk0\";\n", folder);
	conf_write(text);
	ck_assert_int_eq(disks_configured(conf, &disks, &fault), 0);
	ck_assert_uint_eq(disks.n, 1);
	disks_clear(&disks);
	ck_assert_int_eq(configured_socket(conf, socket, &fault), 0);
	ck_assert_str_eq(socket, CONTROL_SOCKET);
	end();
}
END_TEST

START_TEST(a_place_for_each_station)
{
	char text[512];
	struct disks disks = { .n = 0 };

	begin();
	unsetenv("SPATE_STATION");
	snprintf(text, sizeof text,
		 "disks = [ \"%s/disk0\", \"%s/{station}/{station}?\" ];\n",
		 folder, folder);
	conf_write(text);
	ck_assert_int_eq(disks_configured(conf, &disks, &fault), -EINVAL);
	ck_assert_ptr_nonnull(strstr(fault.what, "no station"));
	strcat(text, "station = \"disk1\";\n");
	*strchr(text, '?') = ' ';
	conf_write(text);
	ck_assert_int_eq(disks_configured(conf, &disks, &fault), 0);
	ck_assert_uint_eq(disks.n, 2);
	ck_assert_ptr_nonnull(strstr(disks.disk[1].path, "/disk1/disk1 "));
	disks_clear(&disks);
	/* The environment goes before the key, and is no path. */
	setenv("SPATE_STATION", "../disk1", 1);
	ck_assert_int_eq(disks_configured(conf, &disks, &fault), -EINVAL);
	setenv("SPATE_STATION", "Mh", 1);
	snprintf(text, sizeof text, "disks = \"%s/{station}\";\n", folder);
	conf_write(text);
	ck_assert_int_eq(disks_configured(conf, &disks, &fault), 0);
	ck_assert_ptr_nonnull(strstr(disks.disk[0].path, "/Mh"));
	disks_clear(&disks);
	unsetenv("SPATE_STATION");
	end();
}
END_TEST

START_TEST(bad_ones)
{
	char text[512], socket[CONFIGURED_SOCKET];
	struct disks disks = { .n = 0 };

	begin();
	ck_assert_int_lt(disks_configured(conf, &disks, &fault), 0);
	ck_assert_ptr_nonnull(fault.code);
	conf_write("disks = [ ;");
	ck_assert_int_lt(disks_configured(conf, &disks, &fault), 0);
	ck_assert_ptr_nonnull(strstr(fault.what, "conf"));
	snprintf(text, sizeof text, "control : { socket = \"/%0300d\"; };", 1);
	conf_write(text);
	ck_assert_int_eq(configured_socket(conf, socket, &fault),
			 -ENAMETOOLONG);
	end();
}
END_TEST

SUITE("configured", a_list, a_configuration, a_place_for_each_station, bad_ones)
