/* SPDX-License-Identifier: MIT */
/* The grammar of VSI-S: commands out of bytes, whatever pieces they come in. */
#include "vsi/vsi_line.c"
#include "lib/suite.h"

static struct vsi_lines lines;
static char heard[65536];

/* What was understood: commands, '\n' where a line ended ('\r' before it where
 * it did so), '!' for one that was too long. */
static void
hear(const char *bytes, size_t n)
{
	size_t room;
	char *at;

	while (n) {
		enum vsi_end end;

		at = vsi_lines_room(&lines, &room);
		ck_assert_uint_gt(room, 0);
		room = room < n ? room : n;
		memcpy(at, bytes, room);
		vsi_lines_add(&lines, room);
		bytes += room;
		n -= room;
		while ((end = vsi_lines_next(&lines)) != VSI_END_NONE) {
			if (end == VSI_END_COMMAND)
				strcat(strcat(heard, "<"), lines.text);
			strcat(heard, end == VSI_END_COMMAND ? ">"
				      : end == VSI_END_LONG  ? "!"
				      : lines.crlf	     ? "\r\n"
							     : "\n");
		}
	}
}

static void
begin(void)
{
	memset(&lines, 0, sizeof lines);
	heard[0] = '\0';
}

static void
is_heard(const char *text, const char *expected)
{
	begin();
	hear(text, strlen(text));
	ck_assert_str_eq(heard, expected);
}

START_TEST(lines_are_cut)
{
	is_heard("record?\n", "<record?>\n");
	is_heard("record = on : a ; \n", "<record=on:a>\n");
	is_heard("mode?;\r\n", "<mode?>\r\n");
	is_heard("a?;b?;c?\n", "<a?><b?><c?>\n");
	is_heard("a?\r\nb?\n", "<a?>\r\n<b?>\n");
	is_heard("re c\to r d ?\n", "<record?>\n");
	/* Nothing was asked. */
	is_heard("\n", "");
	is_heard(" \r\n;;;\n \n", "");
	/* No newline: the reply is due all the same. */
	is_heard("a?;", "<a?>\n");
	is_heard("a?;b?;", "<a?><b?>\n");
	is_heard("a?; \n ", "<a?>\n");
	is_heard("a?", "");
}
END_TEST

/* A newline that comes later than its ';' brings no second answer. */
START_TEST(lines_come_in_pieces)
{
	static const char text[] = "a?;b=1:2;\r\nc?\r\n";

	begin();
	hear("a?;", 3);
	hear("\n", 1);
	hear("b?;\r\n", 5);
	hear("c?;\r", 4);
	hear("\n", 1);
	ck_assert_str_eq(heard, "<a?>\n<b?>\r\n<c?>\r\n");
	begin();
	for (size_t i = 0; i < sizeof text - 1; i++)
		hear(text + i, 1);
	ck_assert_str_eq(heard, "<a?>\n<b=1:2>\n<c?>\r\n");
}
END_TEST

START_TEST(zero_is_no_end)
{
	begin();
	hear("a?\0;b?\n", 7);
	ck_assert_str_eq(heard, "<a?\1><b?>\n");
}
END_TEST

START_TEST(long_ones_are_passed_over)
{
	char *text = malloc(10 << 20);

	memset(text, 'x', 10 << 20);
	begin();
	hear(text, 10 << 20);
	ck_assert_str_eq(heard, "!");
	hear("a?;b?\n", 6);
	ck_assert_str_eq(heard, "!<b?>\n");
	/* The longest that is taken, and one more. */
	begin();
	text[VSI_COMMAND - 1] = ';';
	hear(text, VSI_COMMAND);
	ck_assert_uint_eq(strlen(heard), VSI_COMMAND - 1 + 3);
	begin();
	text[VSI_COMMAND - 1] = 'x';
	text[VSI_COMMAND] = '\n';
	hear(text, VSI_COMMAND + 1);
	ck_assert_str_eq(heard, "!\n");
	/* White space alone is never too long. */
	memset(text, ' ', 3 * VSI_COMMAND);
	begin();
	hear(text, 3 * VSI_COMMAND);
	hear("a?\n", 3);
	ck_assert_str_eq(heard, "<a?>\n");
	free(text);
}
END_TEST

static struct vsi_command command;

static int
parse(const char *of)
{
	static char text[VSI_COMMAND];
	const char *why = NULL;
	int code;

	snprintf(text, sizeof text, "%s", of);
	code = vsi_command_parse(&command, text, &why);
	ck_assert_ptr_nonnull(why);
	return code;
}

START_TEST(commands_are_cut)
{
	ck_assert_int_eq(parse("Record=on:r1"), 0);
	ck_assert_str_eq(command.keyword, "record");
	ck_assert(!command.query);
	ck_assert_uint_eq(command.fields, 2);
	ck_assert_str_eq(vsi_field(&command, 1), "r1");
	ck_assert_str_eq(vsi_field(&command, 2), "");
	ck_assert_int_eq(parse("DTS_id?"), 0);
	ck_assert_str_eq(command.keyword, "dts_id");
	ck_assert(command.query);
	ck_assert_uint_eq(command.fields, 0);
	/* The first of '?' and '=' counts; the others are the field's. */
	ck_assert_int_eq(parse("net_port=h@1=a:h@2=b"), 0);
	ck_assert_str_eq(vsi_field(&command, 0), "h@1=a");
	ck_assert_int_eq(parse("net_protocol=::256M"), 0);
	ck_assert_uint_eq(command.fields, 3);
	ck_assert_str_eq(vsi_field(&command, 0), "");
	ck_assert_str_eq(vsi_field(&command, 2), "256M");
}
END_TEST

START_TEST(nonsense_is_told)
{
	char many[2 * VSI_FIELDS + 8] = "a=";

	ck_assert_int_eq(parse("record"), VSI_UNKNOWN);
	ck_assert_int_eq(parse("=on"), VSI_UNKNOWN);
	ck_assert_int_eq(parse("?"), VSI_UNKNOWN);
	ck_assert_int_eq(parse("a-b=1"), VSI_UNKNOWN);
	ck_assert_int_eq(parse("\377\376?"), VSI_UNKNOWN);
	ck_assert_str_eq(command.keyword, "");
	ck_assert_int_eq(parse("a=\033[2J"), VSI_SYNTAX);
	ck_assert_int_eq(parse("a=\342\202\254"), VSI_SYNTAX);
	ck_assert_int_eq(parse("abcdefghijklmnopqrstuvwxyzabcdefg=1"),
			 VSI_UNKNOWN);
	for (int i = 0; i < VSI_FIELDS; i++)
		strcat(many, "x:");
	many[strlen(many) - 1] = '\0';
	ck_assert_int_eq(parse(many), 0);
	ck_assert_uint_eq(command.fields, VSI_FIELDS);
	ck_assert_int_eq(parse(strcat(many, ":x")), VSI_SYNTAX);
}
END_TEST

START_TEST(replies_end)
{
	static struct vsi_reply r;
	static char text[VSI_REPLY];

	parse("record=on");
	vsi_reply_begin(&r, &command);
	vsi_say(&r, VSI_DONE, NULL);
	vsi_reply_end(&r);
	ck_assert_str_eq(r.text, "!record= 0 ;");
	parse("rtime?");
	vsi_reply_begin(&r, &command);
	vsi_say(&r, VSI_DONE, "%d", 1);
	vsi_more(&r, "%s", "b");
	vsi_text(&r, "%s", "c");
	vsi_reply_end(&r);
	ck_assert_str_eq(r.text, "!rtime? 0 : 1 : bc ;");
	parse("nonsense");
	vsi_reply_begin(&r, &command);
	vsi_say(&r, VSI_UNKNOWN, "why");
	vsi_reply_end(&r);
	ck_assert_str_eq(r.text, "!syntax= 7 : why ;");
	/* One that is too long is cut, and ended all the same. */
	memset(text, 'x', sizeof text - 1);
	vsi_reply_begin(&r, &command);
	for (int i = 0; i < 3; i++)
		vsi_more(&r, "%s", text);
	vsi_reply_end(&r);
	ck_assert_uint_lt(r.used, sizeof r.text);
	ck_assert_str_eq(r.text + r.used - 3, "x ;");
}
END_TEST

SUITE("vsi_line", lines_are_cut, lines_come_in_pieces, zero_is_no_end,
      long_ones_are_passed_over, commands_are_cut, nonsense_is_told,
      replies_end)
