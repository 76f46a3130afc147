/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/conf.h"
#include "lib/import_bench.h"
#include "lib/suite.h"

static struct import im;
static struct fault fault;

static void
add(const char *experiment, const char *station, const char *scan, int64_t at)
{
	const struct import_found found = {
		experiment, station, scan, at, at + 10000, (unsigned)at
	};

	ck_assert_int_eq(import_add(&im, &found, &fault), 0);
}

static void
begin(void)
{
	import_clear(&im);
	im = (struct import){ .file = "f" };
}

static const char *
name_of(const char *experiment, const char *station, const char *scan)
{
	begin();
	add(experiment, station, scan, 7);
	ck_assert(layout_name_good(im.scan[0].name));
	return im.scan[0].name;
}

START_TEST(names_are_those_of_the_field_system)
{
	ck_assert_str_eq(name_of("R4123", "Wz", "079-1230"),
			 "r4123_wz_079-1230");
	ck_assert_uint_eq(im.notes, 0);
	ck_assert_str_eq(name_of("X", "Ef", "3C454.3 a/b"), "x_ef_3c454-3-a-b");
	ck_assert_uint_eq(im.renamed, 1);
	ck_assert_str_eq(name_of("X", "Ef", "a_ds1"), "x_ef_a-ds1");
	ck_assert_str_eq(name_of("X", "Ef", "a_dS1"), "x_ef_a-ds1");
	ck_assert_str_eq(name_of("", "", "1234"), "scan_1234");
	ck_assert_str_eq(name_of("", "", ""), "scan_7");
	ck_assert_str_eq(name_of("-x", "", "+y"), "x_+y");
	ck_assert_str_eq(name_of("../..", "", "\xc3\xa9"), "scan_7");
	ck_assert_str_eq(name_of("x", "y", "a\x01\n\"b"), "x_y_a---b");
}
END_TEST

START_TEST(long_names_stay_different)
{
	char scan[100];

	begin();
	memset(scan, 'a', sizeof scan);
	scan[99] = '\0';
	add("x", "y", scan, 1);
	scan[98] = 'b';
	add("x", "y", scan, 2);
	ck_assert_int_eq(import_finish(&im, &fault), 0);
	ck_assert(layout_name_good(im.scan[0].name));
	ck_assert(layout_name_good(im.scan[1].name));
	ck_assert_str_ne(im.scan[0].name, im.scan[1].name);
}
END_TEST

START_TEST(same_names)
{
	begin();
	add("x", "y", "a-2", 1);
	add("x", "y", "a", 20000);
	add("x", "y", "a", 40000);
	add("x", "y", "a", 60000);
	ck_assert_int_eq(import_finish(&im, &fault), 0);
	for (unsigned i = 0; i < im.n; i++)
		for (unsigned k = 0; k < i; k++)
			ck_assert_str_ne(im.scan[i].name, im.scan[k].name);
	ck_assert_str_eq(im.scan[1].name, "x_y_a");
}
END_TEST

START_TEST(thousands)
{
	const struct import_found found = { "x", "y", "a", 0, 5, 1 };

	begin();
	for (int i = 0; i < IMPORT_SCANS; i++)
		ck_assert_int_eq(import_add(&im, &found, &fault), 0);
	ck_assert_int_eq(import_add(&im, &found, &fault), -E2BIG);
	ck_assert_int_eq(import_finish(&im, &fault), 0);
	/* However many notes there are, what is left out has room. */
	ck_assert_uint_eq(im.kept, IMPORT_NOTES / 2);
	import_leave_out(&im, 5, "z is left out");
	ck_assert(bench_noted(&im, "f:5: z is left out"));
	ck_assert_uint_eq(im.left_out, 1);
}
END_TEST

/* Whatever is in it, the daemon can read the file. */
START_TEST(file_for_the_folder)
{
	const struct import_order order = { "a,,b\"\\,", "tcp://h:1/\"\n", 3 };
	struct conf *conf;
	config_setting_t *scans, *one;
	const char *text;
	char *made;
	int number;

	begin();
	im.file = "evil\n}; name.snp";
	add("x\n", "y", "a", 1363842000000000000);
	add("x\n", "y", "b", 1363842000500000000);
	ck_assert_int_eq(import_finish(&im, &fault), 0);
	im.scan[0].stop = im.scan[0].start + 240 * INT64_C(1000000000);
	made = import_conf(&im, &order);
	ck_assert_int_eq(conf_open_text(&conf, made, "made", &fault), 0);
	scans = config_setting_get_member(conf_root(conf), "scans");
	ck_assert_int_eq(config_setting_length(conf_root(conf)), 1);
	ck_assert_int_eq(config_setting_length(scans), 2);
	one = config_setting_get_elem(scans, 0);
	ck_assert(config_setting_lookup_string(one, "name", &text));
	ck_assert_str_eq(text, "x-_y_a");
	ck_assert(config_setting_lookup_string(one, "start", &text));
	ck_assert_str_eq(text, "2013-03-21T05:00:00Z");
	ck_assert(config_setting_lookup_string(one, "duration", &text));
	ck_assert_str_eq(text, "240s");
	ck_assert(config_setting_lookup_string(one, "send", &text));
	ck_assert_str_eq(text, order.send);
	ck_assert(config_setting_lookup_int(one, "priority", &number));
	ck_assert_int_eq(number, 3);
	one = config_setting_get_elem(scans, 1);
	ck_assert(config_setting_lookup_string(one, "start", &text));
	ck_assert_str_eq(text, "2013-03-21T05:00:00.5Z");
	ck_assert(config_setting_lookup_string(one, "duration", &text));
	ck_assert_str_eq(text, "10000ns");
	one = config_setting_get_member(one, "streams");
	ck_assert_int_eq(config_setting_length(one), 2);
	ck_assert_str_eq(config_setting_get_string_elem(one, 1), "b\"\\");
	conf_close(conf);
	free(made);
}
END_TEST

static void
file_is(const char *path, const char *name)
{
	char *made = import_conf_name(path);

	ck_assert_str_eq(made, name);
	free(made);
}

START_TEST(name_of_the_file)
{
	file_is("/a/b.c/r4123wz.snp", "r4123wz.conf");
	file_is("e18c21.ax.vex", "e18c21.ax.conf");
	file_is("noend", "noend.conf");
	file_is(".hidden.vex", "hidden.conf");
	file_is("#x y\n.vex", "x-y-.conf");
}
END_TEST

START_TEST(files_are_told_apart_by_what_they_hold)
{
	char line[1024];

	bench_fails(&im, "", NULL, "no schedule that spate knows");
	bench_fails(&im, "hello\n", NULL,
		    "a Field System .snp, a VEX file, or");
	bench_fails(&im, "\x1f\x8b\x08", NULL, "gunzip it first");
	bench_fails(&im, "$EXPER R1900\n$SKED\n", NULL,
		    "let drudg make a .snp");
	bench_fails(&im,
		    "define  preob  00000000000x\ndisk_record=on\nenddef\n",
		    NULL, "import the .snp beside it");
	import_clear(&im);
	ck_assert_int_lt(import_text(&im, "a\0scan_name=b\n", 15, &fault), 0);
	fault_line(&fault, line, sizeof line);
	ck_assert_msg(strstr(line, "it is no text") != NULL, "%s", line);
}
END_TEST

SUITE("import_scans", names_are_those_of_the_field_system,
      long_names_stay_different, same_names, thousands, file_for_the_folder,
      name_of_the_file, files_are_told_apart_by_what_they_hold)
