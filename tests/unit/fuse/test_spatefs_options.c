/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuse/tree/options.c"
#include "fuse/tree/mount_source.h"
#include "lib/suite.h"

static struct mount_options o;
static struct fault fault;

/* argv is given, split at blanks. */
static int
parse(const char *given)
{
	static char text[512];
	char *argv[64], *rest = text, *word;
	int argc = 0;

	strcpy(text, given);
	while ((word = strsep(&rest, " ")))
		argv[argc++] = word;
	argv[argc] = NULL;
	return options_read(&o, argc, argv, &fault);
}

static void
refused(const char *given, const char *part)
{
	char line[1024];

	ck_assert_int_eq(parse(given), -EINVAL);
	ck_assert_str_eq(fault.code, "usage");
	fault_line(&fault, line, sizeof line);
	ck_assert_msg(strstr(line, part), "%s: %s", given, line);
	options_clear(&o);
}

START_TEST(every_type)
{
	ck_assert_int_eq(
	    parse("spatefs src mnt -f -o "
		  "disks=/a:/b,strip=8,fill=skip,cache=1G,verify,timeout=1m30s "
		  "-othreads=7,user=oper,allow_other,direct_io"),
	    0);
	ck_assert_str_eq(o.source, "src");
	ck_assert_str_eq(o.point, "mnt");
	ck_assert_str_eq(o.disks, "/a:/b");
	ck_assert_str_eq(o.user, "oper");
	ck_assert_uint_eq(o.strip, 8);
	ck_assert_int_eq(o.fill, VIEW_SKIP);
	ck_assert_uint_eq(o.cache, 1 << 30);
	ck_assert_int_eq(o.timeout, INT64_C(90000000000));
	ck_assert_uint_eq(o.threads, 7);
	ck_assert(o.verify && o.direct_io && o.allow_other && o.foreground);
	options_clear(&o);
}
END_TEST

START_TEST(what_is_not_said)
{
	ck_assert_int_eq(parse("spatefs mnt"), 0);
	ck_assert_ptr_null(o.source);
	ck_assert_ptr_null(o.disks);
	ck_assert_ptr_null(o.passed);
	ck_assert_int_eq(o.fill, VIEW_STORED);
	ck_assert_uint_eq(o.cache, 512 << 20);
	ck_assert_int_eq(o.timeout, INT64_C(10000000000));
	ck_assert(!o.allow_other && !o.foreground && !o.verify);
	options_clear(&o);
}
END_TEST

/* As mount.fuse3 hands lines of fstab on. */
START_TEST(of_fstab)
{
	ck_assert_int_eq(parse("spatefs /etc/spate/spate.conf /recordings -o "
			       "rw,noexec,nosuid,nodev,_netdev,nofail,user,"
			       "x-systemd.requires=/mnt/disk0,relatime,dev"),
			 0);
	ck_assert_str_eq(o.passed, "noexec");
	ck_assert_ptr_null(o.user);
	options_clear(&o);
}
END_TEST

START_TEST(escapes)
{
	ck_assert_int_eq(parse("spatefs mnt -o disks=/a\\,b:/c,ro"), 0);
	ck_assert_str_eq(o.disks, "/a,b:/c");
	options_clear(&o);
}
END_TEST

START_TEST(the_last_wins)
{
	ck_assert_int_eq(parse("spatefs mnt -o disks=/a -o disks=/b"), 0);
	ck_assert_str_eq(o.disks, "/b");
	options_clear(&o);
}
END_TEST

START_TEST(pages)
{
	ck_assert_int_eq(parse("spatefs -h"), 0);
	ck_assert(o.help);
	options_clear(&o);
	ck_assert_int_eq(parse("spatefs --version"), 0);
	ck_assert(o.version);
	options_clear(&o);
}
END_TEST

START_TEST(bad_ones)
{
	refused("spatefs", "MOUNT");
	refused("spatefs a b c", "c is one operand too many");
	refused("spatefs mnt -x", "no such option");
	refused("spatefs mnt -o colour=red", "no such option");
	refused("spatefs mnt -o", "missing");
	refused("spatefs mnt -o disks", "lacks its value; -o disks=A:B:...");
	refused("spatefs mnt -o disks=", "lacks its value");
	refused("spatefs mnt -o verify=yes", "takes no value");
	refused("spatefs mnt -o cache=lots", "'lots' is no value");
	refused("spatefs mnt -o cache=1M", "16M is the least");
	refused("spatefs mnt -o strip=-1", "'-1' is no value");
	refused("spatefs mnt -o strip=8x", "'8x' is no value");
	refused("spatefs mnt -o strip=5000000000", "is no value");
	refused("spatefs mnt -o fill=noise", "invalid|zero|skip");
	refused("spatefs mnt -o timeout=0", "out of bounds");
	refused("spatefs mnt -o timeout=9223372036", "a day is the most");
	refused("spatefs mnt -o threads=0", "from 1 to 1024");
}
END_TEST

START_TEST(help_has_every_option)
{
	size_t bytes;
	char *text;
	FILE *to = open_memstream(&text, &bytes);

	options_help(to);
	fclose(to);
	ck_assert_ptr_nonnull(strstr(text, "  -o fill=invalid|zero|skip "));
	ck_assert_ptr_nonnull(strstr(text, "  -o allow_other "));
	ck_assert_ptr_null(strstr(text, "noexec"));
	free(text);
}
END_TEST

/* It goes into the background, and leaves the folder where it was started. */
START_TEST(socket_is_absolute)
{
	struct mount_source s;

	ck_assert_int_eq(chdir("/usr"), 0);
	ck_assert_int_eq(parse("spatefs mnt -o disks=/usr,socket=a/b"), 0);
	ck_assert_int_eq(source_find(&s, &o, &fault), 0);
	ck_assert_str_eq(s.socket, "/usr/a/b");
	source_clear(&s);
	options_clear(&o);
	ck_assert_int_eq(parse("spatefs mnt -o disks=.,socket=/a/b"), 0);
	ck_assert_int_eq(source_find(&s, &o, &fault), 0);
	ck_assert_str_eq(s.socket, "/a/b");
	ck_assert_str_eq(s.disks.disk[0].path, "/usr/.");
	source_clear(&s);
	options_clear(&o);
}
END_TEST

SUITE("spatefs_options", every_type, what_is_not_said, of_fstab, escapes,
      the_last_wins, pages, bad_ones, help_has_every_option, socket_is_absolute)
