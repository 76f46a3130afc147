/* SPDX-License-Identifier: MIT */
/*
 * A sender by libucx that lies: it is cut off with a line that says what it
 * sent, nothing of it is told, and an honest one gets on after it.
 */
#include "contract/spt1_bench.h"
#include "ucx/worker.h"

/* Of libucx's thread, where one is left at the end, the leak sanitizer dies. */
static int leaks_unseen;

int __lsan_is_turned_off(void);

int __attribute__((used, visibility("default"))) __lsan_is_turned_off(void)
{
	return leaks_unseen;
}

static struct ucx_library library;
static struct ucx_worker worker;
static uint8_t header[UCX_HEADER], data[64 * PACKET];
static uint64_t token;

static void
go(int turns)
{
	for (int i = 0; i < turns; i++) {
		ucx_worker_go(&worker);
		take_all_lines();
		usleep(500);
	}
}

/* Says hello, hears where to send to, and connects there. */
static void
sender_begin(uint64_t transfer)
{
	struct ucx_where where = { .address = NULL };
	struct sockaddr_in *at = (struct sockaddr_in *)&where.at;
	uint8_t answer[4096];
	char why[256];

	call(1, transfer);
	ck_assert_int_gt(recv(line[0].fd, answer, sizeof answer, 0),
			 WIRE_HEADER + UCX_WHERE);
	ck_assert_uint_eq(read_le16(answer + 4), WIRE_BESIDE);
	token = read_le64(answer + WIRE_HEADER);
	*at = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(read_le16(answer + WIRE_HEADER + UCX_PORT)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	ck_assert_msg(ucx_library_open(&library, why, sizeof why) == 0, "%s",
		      why);
	ck_assert_int_eq(
	    ucx_worker_open(&worker, &library, UCX_FAR, why, sizeof why), 0);
	ck_assert_int_eq(ucx_worker_connect(&worker, &where), 0);
	for (int i = 0; i < 4000 && !worker.wired; i++)
		go(1);
	ck_assert(worker.wired);
}

static void
sender_end(void)
{
	close(line[0].fd);
	line[0].fd = -1;
	go(20);
	ucx_worker_free(&worker);
	memset(&worker, 0, sizeof worker);
	ucx_library_close(&library);
}

struct lie {
	const char *said;
	struct wire_frame frame; /* of the message */
	uint64_t bytes, number;
	bool eager, framed, spoilt;
	uint64_t first; /* of the frame in the connection */
};

static void
message_send(const struct lie *l)
{
	ucp_request_param_t params = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
		.flags =
		    UCP_AM_SEND_FLAG_REPLY |
		    (l->eager ? UCP_AM_SEND_FLAG_EAGER : UCP_AM_SEND_FLAG_RNDV),
	};
	struct wire_frame f = l->frame;

	if (f.payload_bytes <= sizeof data)
		f.payload_crc = crc32c(0, data, f.payload_bytes) ^ l->spoilt;
	wire_pack(&f, header, crc32c);
	write_le64(header + UCX_TOKEN, token);
	write_le64(header + UCX_NUMBER, l->number);
	write_le64(header + UCX_FLAGS, UCX_CHECKED);
	ck_assert(!UCS_PTR_IS_ERR(
	    library.ucp_am_send_nbx(worker.ep, UCX_MESSAGES, header, UCX_HEADER,
				    data, l->bytes, &params)));
	if (!l->framed)
		return;
	f.first = l->first;
	wire_pack(&f, line[0].text, crc32c);
	ck_assert_int_eq(send(line[0].fd, line[0].text, WIRE_HEADER, 0),
			 WIRE_HEADER);
}

#define TEN                                                                    \
	{                                                                      \
		.type = WIRE_DATA, .payload_bytes = 10 * PACKET, .packets = 10 \
	}

static const struct lie lies[] = {
	{ .said = "a message that is not as long as it says",
	  .frame = TEN,
	  .bytes = 5 * PACKET },
	{ .said = "a message that is not as long as it says",
	  .frame = TEN,
	  .bytes = 20 * PACKET },
	{ .said = "a frame that is not as long as its packets",
	  .frame = { .type = WIRE_DATA,
		     .payload_bytes = 10 * PACKET,
		     .packets = 9 },
	  .bytes = 10 * PACKET },
	{ .said = "a frame larger than 4 MiB",
	  .frame = { .type = WIRE_DATA,
		     .payload_bytes = 5 << 20,
		     .packets = 10 },
	  .bytes = 10 * PACKET },
	{ .said = "a message without packets",
	  .frame = { .type = WIRE_END },
	  .bytes = 10 * PACKET },
	{ .said = "more messages than were taken",
	  .frame = TEN,
	  .bytes = 10 * PACKET,
	  .number = 99 },
	{ .said = "a message that did not wait",
	  .frame = TEN,
	  .bytes = 10 * PACKET,
	  .eager = true },
	{ .said = "a message that is not of its frame",
	  .frame = TEN,
	  .bytes = 10 * PACKET,
	  .framed = true,
	  .first = 5 },
	{ .said = "a frame whose payload has a wrong checksum",
	  .frame = TEN,
	  .bytes = 10 * PACKET,
	  .framed = true,
	  .spoilt = true },
};
enum { LIES = sizeof lies / sizeof *lies };

START_TEST(a_lie)
{
	const struct lie *l = &lies[_i];
	struct lie truth = { .frame = TEN,
			     .bytes = 10 * PACKET,
			     .framed = true };

	setenv("UCX_TLS", "tcp", 1);
	begin(FOUR);
	sender_begin(5);
	message_send(l);
	for (int i = 0; i < 2000 && !strstr(b.log, "cut off"); i++)
		go(1);
	said(l->said);
	ck_assert_uint_eq(packets, 0);
	sender_end();

	/* And now an honest one. */
	sender_begin(6);
	for (unsigned i = 0; i < 10; i++) {
		noise_fill(i, 0, data + i * PACKET, PACKET);
	}
	memset(made, 1, sizeof made[0]);
	strict = false;
	message_send(&truth);
	for (int i = 0; i < 2000 && packets < 10; i++)
		go(1);
	ck_assert_uint_eq(packets, 10);
	sender_end();
	finish();
}
END_TEST

/* Who does not know the token is not heard. */
START_TEST(a_stranger)
{
	const struct lie l = { .frame = TEN,
			       .bytes = 10 * PACKET,
			       .framed = true };

	setenv("UCX_TLS", "tcp", 1);
	leaks_unseen = true;
	begin(FOUR);
	sender_begin(5);
	token++;
	message_send(&l);
	go(200);
	ck_assert_uint_eq(packets, 0);
	sender_end();
	finish();
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("receive_ucx_bad");
	TCase *t = tcase_create("bad");
	SRunner *runner = srunner_create(s);
	int failed;

	if (!dlopen("libucp.so.0", RTLD_LAZY)) {
		printf("skipped: %s\n", dlerror());
		return 77;
	}
	tcase_set_timeout(t, 0);
	tcase_add_loop_test(t, a_lie, 0, LIES);
	tcase_add_test(t, a_stranger);
	suite_add_tcase(s, t);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed > 0;
}
