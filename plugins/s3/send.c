/* SPDX-License-Identifier: MIT */
/*
 * s3: puts the files of recordings into a bucket of Amazon S3, or of a server
 * that speaks its protocol.
 *
 * libcurl carries out all requests of a transfer on the sender's thread
 * (curl_multi).  Its sockets are in an epoll of ours, which is the one
 * descriptor that the core waits for.
 *
 * A request of the core becomes a job, which takes one request of HTTP after
 * another:
 *
 *   LIST   list, page by page
 *   END    uploads -> abort, abort ...
 *   STAT   stat
 *   READ   read
 *   PUT    put                               of an object in one piece
 *          [create | waits] -> part -> [complete] -> [check]
 *
 * The first piece of an object creates a multipart upload; the others wait for
 * its number.  The piece that arrives last completes it.  When the answer to
 * that is lost, the piece is put again, and the server does not know the upload
 * any more: then length and checksum of the object decide (check).  Whatever
 * else ends an upload makes it stale: the core puts all pieces again, which
 * become an upload of their own.
 *
 * A server that compares the CRC32C of a body repeats it in its reply.  One
 * that does not (radosgw of Ceph 16) would keep what a byte became on the way:
 * over http the request is made once more, and all that follow, with SHA-256 in
 * the signature, which every server compares.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "contract/object.h"
#include "contract/send.h"
#include "reply.h"
#include "request.h"

enum {
	CONNECTIONS = 4, /* usually */
	SOCKETS = 64,	 /* with news, in one step */
	PARTS = 10000,	 /* most of an object */
	ROUNDS = 20000,	 /* most uploads that are ended at once */
	ID = 1100,	 /* room for the number of an upload */
	MIB = 1 << 20,
};

enum job_step {
	JOB_LIST,
	JOB_UPLOADS,
	JOB_ABORT,
	JOB_STAT,
	JOB_READ,
	JOB_PUT,
	JOB_WAITS,
	JOB_CREATE,
	JOB_PART,
	JOB_COMPLETE,
	JOB_CHECK,
};

/* An object that comes in pieces. */
struct s3_upload {
	char key[OBJECT_KEY];
	uint64_t total;
	char id[ID]; /* "": not created yet */
	bool creates;
	bool stale; /* the server does not know it any more */
	unsigned parts, done;
	struct s3_part {
		char etag[80], crc[S3_CRC]; /* etag "": not there */
	} * part;
	struct s3_upload *next; /* links object_state::uploads */
};

/* A multipart upload that an earlier transfer has left. */
struct s3_orphan {
	char key[S3_KEY], id[ID];
	struct s3_orphan *next; /* links s3_job::orphans */
};

struct s3_job {
	struct object_request *r;
	enum job_step step;
	bool asks; /* its request of HTTP is on its way */
	struct s3_request http;
	struct s3_upload *upload;
	char *body; /* of JOB_COMPLETE */
	/* JOB_LIST, JOB_UPLOADS: the page, and the element of it that is being
	 * read. */
	struct s3_page page;
	char row_key[S3_KEY], row_id[ID];
	uint64_t row_bytes;
	unsigned rounds; /* uploads that were ended */
	struct s3_orphan *orphans;
	struct s3_job *next; /* links object_state::jobs */
};

struct object_state {
	struct s3_account account;
	const struct s3_options *o;
	char *to;	 /* URL */
	int64_t renewed; /* steady ns, when the keys were; 0: never */
	CURLM *multi;
	int epoll;
	int64_t
	    timer; /* steady ns, when libcurl wants to be called; 0: never */
	struct s3_job *jobs;
	struct s3_upload *uploads;
	bool overwrites; /* the server knows no conditions for PUT */
	uint64_t rate, part;
	bool body_signs; /* the server compares no other checksum */
	unsigned reconnects;
	char why[SEND_SENTENCE];
};

static int64_t
steady(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_SECOND + t.tv_nsec;
}

/* ---- libcurl's events --------------------------------------------------- */

static int
socket_watch(CURL *easy, curl_socket_t fd, int what, void *arg, void *own)
{
	struct object_state *s = arg;
	struct epoll_event e = { .data.fd = fd };

	(void)easy;
	(void)own;
	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(s->epoll, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	e.events = (what & CURL_POLL_IN ? EPOLLIN : 0) |
		   (what & CURL_POLL_OUT ? EPOLLOUT : 0);
	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) < 0)
		epoll_ctl(s->epoll, EPOLL_CTL_MOD, fd, &e);
	return 0;
}

static int
timer_set(CURLM *multi, long ms, void *arg)
{
	struct object_state *s = arg;

	(void)multi;
	s->timer = ms < 0 ? 0 : steady() + ms * NS_MS;
	return 0;
}

/* ---- uploads ------------------------------------------------------------ */

static struct s3_upload *
upload_of(struct object_state *s, const struct object_request *r)
{
	struct s3_upload *u;

	for (u = s->uploads; u; u = u->next) {
		if (!strcmp(u->key, r->key) && u->total == r->total &&
		    !u->stale)
			return u;
	}
	u = calloc(1, sizeof *u);
	if (!u)
		return NULL;
	u->parts = (unsigned)((r->total + s->part - 1) / s->part);
	u->part = calloc(u->parts, sizeof *u->part);
	if (!u->part) {
		free(u);
		return NULL;
	}
	strcpy(u->key, r->key);
	u->total = r->total;
	u->next = s->uploads;
	s->uploads = u;
	return u;
}

static void
upload_free(struct object_state *s, struct s3_upload *u)
{
	struct s3_upload **at = &s->uploads;

	while (*at != u)
		at = &(*at)->next;
	*at = u->next;
	free(u->part);
	free(u);
}

/* Frees stale uploads that no job has. */
static void
stale_free(struct object_state *s)
{
	struct s3_upload *u, *next;
	struct s3_job *j;

	for (u = s->uploads; u; u = next) {
		next = u->next;
		for (j = s->jobs; j && j->upload != u;)
			j = j->next;
		if (u->stale && !j)
			upload_free(s, u);
	}
}

static unsigned
part_number(const struct object_state *s, const struct s3_job *j)
{
	return (unsigned)(j->r->at / s->part);
}

/* ---- requests of HTTP ---------------------------------------------------- */

static int
checksum_add(struct s3_job *j, uint32_t crc)
{
	char text[S3_CRC];
	int err;

	s3_crc_write(text, crc);
	err = s3_request_header(&j->http, "x-amz-checksum-crc32c: %s", text);
	return err ? err
		   : s3_request_header(&j->http,
				       "x-amz-sdk-checksum-algorithm: CRC32C");
}

/* Says the checksum of the whole object, which its pieces do not: S3 keeps it
 * beside them. */
static int
whole_add(struct s3_job *j)
{
	char text[S3_CRC];

	if (!j->r->summed)
		return 0;
	s3_crc_write(text, j->r->whole_crc);
	return s3_request_header(&j->http, "x-amz-meta-spate-crc32c: %s", text);
}

static int
list_make(struct object_state *s, struct s3_job *j)
{
	char prefix[3 * S3_KEY], key[S3_KEY], query[S3_URL];
	int n = 0, err;

	snprintf(key, sizeof key, "%s%s", s->account.prefix, j->r->key);
	if (j->step == JOB_LIST) {
		err =
		    s3_page_query(query, sizeof query, &j->page, key, false, 0);
	} else {
		err = s3_escape(prefix, sizeof prefix, key, false);
		n = snprintf(query, sizeof query,
			     "encoding-type=url&prefix=%s&uploads=", prefix);
	}
	if (err || n >= (int)sizeof query)
		return -E2BIG;
	return s3_request_make(&j->http, &s->account, "GET", NULL, query);
}

static int
abort_make(struct object_state *s, struct s3_job *j)
{
	const struct s3_orphan *o = j->orphans;
	char query[3 * ID + 16] = "uploadId=";
	size_t n = strlen(query);

	if (s3_escape(query + n, (uint32_t)(sizeof query - n), o->id, false))
		return -E2BIG;
	return s3_request_make(&j->http, &s->account, "DELETE",
			       o->key + strlen(s->account.prefix), query);
}

static int
read_make(struct object_state *s, struct s3_job *j)
{
	int err =
	    s3_request_make(&j->http, &s->account, "GET", j->r->key, NULL);

	return err ? err
		   : s3_request_range(&j->http, j->r->at, j->r->bytes,
				      j->r->data);
}

/* Adds the piece, and its checksum. */
static int
piece_add(struct object_state *s, struct s3_job *j)
{
	int err = checksum_add(j, j->r->crc);

	s3_request_bodies(&j->http, j->r->of, j->r->of_n, j->r->bytes);
	if (!err && s->body_signs)
		err = s3_request_sign_body(&j->http);
	j->http.sent = &j->r->sent;
	j->r->sent = 0;
	if (s->rate)
		curl_easy_setopt(j->http.easy, CURLOPT_MAX_SEND_SPEED_LARGE,
				 (curl_off_t)(s->rate / 8 + 1));
	/* Half of a rate that is ordered is not too slow. */
	if (s->rate && s->rate / 16 < S3_SLOW)
		curl_easy_setopt(j->http.easy, CURLOPT_LOW_SPEED_LIMIT,
				 (long)(s->rate / 16 + 1));
	return err;
}

static int
put_make(struct object_state *s, struct s3_job *j)
{
	int err =
	    s3_request_make(&j->http, &s->account, "PUT", j->r->key, NULL);

	if (!err)
		err = piece_add(s, j);
	if (!err && j->r->fresh && !s->overwrites)
		err = s3_request_header(&j->http, "If-None-Match: *");
	return err ? err : whole_add(j);
}

static int
create_make(struct object_state *s, struct s3_job *j)
{
	int err = s3_request_make(&j->http, &s->account, "POST", j->r->key,
				  "uploads=");

	if (!err)
		err = s3_request_header(&j->http,
					"x-amz-checksum-algorithm: CRC32C");
	return err ? err : whole_add(j);
}

static int
part_make(struct object_state *s, struct s3_job *j)
{
	char id[3 * ID], query[3 * ID + 64];
	int err;

	if (s3_escape(id, sizeof id, j->upload->id, false))
		return -E2BIG;
	snprintf(query, sizeof query, "partNumber=%u&uploadId=%s",
		 part_number(s, j) + 1, id);
	err = s3_request_make(&j->http, &s->account, "PUT", j->r->key, query);
	return err ? err : piece_add(s, j);
}

static int
complete_make(struct object_state *s, struct s3_job *j)
{
	const struct s3_upload *u = j->upload;
	size_t room = 64 + 256 * (size_t)u->parts, n;
	char query[3 * ID + 16] = "uploadId=";
	int err;

	n = strlen(query);
	if (s3_escape(query + n, (uint32_t)(sizeof query - n), u->id, false))
		return -E2BIG;
	free(j->body);
	j->body = malloc(room);
	if (!j->body)
		return -ENOMEM;
	n = (size_t)snprintf(j->body, room, "<CompleteMultipartUpload>");
	for (unsigned i = 0; i < u->parts; i++)
		n += (size_t)snprintf(
		    j->body + n, room - n,
		    "<Part><PartNumber>%u</PartNumber><ETag>\"%s\"</ETag>"
		    "<ChecksumCRC32C>%s</ChecksumCRC32C></Part>",
		    i + 1, u->part[i].etag, u->part[i].crc);
	n += (size_t)snprintf(j->body + n, room - n,
			      "</CompleteMultipartUpload>");
	err = s3_request_make(&j->http, &s->account, "POST", j->r->key, query);
	if (!err)
		s3_request_body(&j->http, j->body, n);
	return err;
}

static int
head_make(struct object_state *s, struct s3_job *j)
{
	int err =
	    s3_request_make(&j->http, &s->account, "HEAD", j->r->key, NULL);

	return err ? err
		   : s3_request_header(&j->http,
				       "x-amz-checksum-mode: ENABLED");
}

static int
http_make(struct object_state *s, struct s3_job *j)
{
	switch (j->step) {
	case JOB_LIST:
	case JOB_UPLOADS: return list_make(s, j);
	case JOB_ABORT: return abort_make(s, j);
	case JOB_READ: return read_make(s, j);
	case JOB_PUT: return put_make(s, j);
	case JOB_CREATE: return create_make(s, j);
	case JOB_PART: return part_make(s, j);
	case JOB_COMPLETE: return complete_make(s, j);
	default: return head_make(s, j);
	}
}

/* ---- jobs ---------------------------------------------------------------- */

static void
http_drop(struct object_state *s, struct s3_job *j)
{
	if (j->asks)
		curl_multi_remove_handle(s->multi, j->http.easy);
	j->asks = false;
	s3_request_clear(&j->http);
}

static void
orphan_drop(struct s3_job *j)
{
	struct s3_orphan *o = j->orphans;

	j->orphans = o->next;
	free(o);
}

static void
job_free(struct object_state *s, struct s3_job *j)
{
	struct s3_job **at = &s->jobs;

	while (*at != j)
		at = &(*at)->next;
	*at = j->next;
	http_drop(s, j);
	while (j->orphans)
		orphan_drop(j);
	free(j->body);
	free(j);
}

/* Sets the sentence about the last error. */
static void
say(struct object_state *s, const struct s3_job *j, const char *what)
{
	snprintf(s->why, sizeof s->why, "%.60s: s3://%.63s/%.60s%.60s: %.60s",
		 s->account.host, s->account.bucket, s->account.prefix,
		 j->r->key, what);
}

static void job_go(struct object_state *s, struct s3_job *j,
		   enum job_step step);

/* Lets a piece that waits for the number of its upload go on: with it, or, as
 * whoever asked for one has failed, by asking itself. */
static void
waiting_go(struct object_state *s, struct s3_upload *u)
{
	struct s3_job *j;

	do {
		for (j = s->jobs; j; j = j->next) {
			if (j->step == JOB_WAITS && j->upload == u)
				break;
		}
		if (j && !*u->id)
			u->creates = true;
		if (j)
			job_go(s, j, *u->id ? JOB_PART : JOB_CREATE);
	} while (j && *u->id);
}

/* Ends a job, and gives the request back. */
static void
job_over(struct object_state *s, struct s3_job *j, int err)
{
	struct object_request *r = j->r;
	struct s3_upload *created = NULL;

	if (err && j->step == JOB_CREATE) {
		created = j->upload;
		created->creates = false;
	}
	r->err = err;
	r->over = true;
	if (err == -EAGAIN)
		s->reconnects++;
	job_free(s, j);
	stale_free(s);
	if (created)
		waiting_go(s, created);
}

static void
job_go(struct object_state *s, struct s3_job *j, enum job_step step)
{
	int err;

	http_drop(s, j);
	j->step = step;
	if (step == JOB_WAITS)
		return;
	err = http_make(s, j);
	if (!err && curl_multi_add_handle(s->multi, j->http.easy))
		err = -ENOMEM;
	j->asks = !err;
	if (!err)
		return;
	say(s, j, strerror(-err));
	job_over(s, j, err);
}

/* ---- lists --------------------------------------------------------------- */

static void
unescape(char *to, size_t bytes, const char *text)
{
	int n = 0;
	char *plain = curl_easy_unescape(NULL, text, 0, &n);

	snprintf(to, bytes, "%s", plain ? plain : "");
	curl_free(plain);
}

/* Takes an element of a page of objects. */
static void
object_take(void *arg, const char *around, const char *name, const char *text)
{
	struct s3_job *j = arg;
	size_t prefix = strlen(j->http.account->prefix);

	if (!strcmp(around, "Contents") && !strcmp(name, "Key"))
		unescape(j->row_key, sizeof j->row_key, text);
	else if (!strcmp(around, "Contents") && !strcmp(name, "Size"))
		j->row_bytes = strtoull(text, NULL, 10);
	else if (!strcmp(name, "Contents") && strlen(j->row_key) > prefix)
		j->r->found(j->r, j->row_key + prefix, j->row_bytes);
}

/* Takes an element of a page of uploads. */
static void
orphan_take(void *arg, const char *around, const char *name, const char *text)
{
	struct s3_job *j = arg;
	size_t prefix = strlen(j->http.account->prefix);
	struct s3_orphan *o;

	if (!strcmp(around, "Upload") && !strcmp(name, "Key"))
		unescape(j->row_key, sizeof j->row_key, text);
	else if (!strcmp(around, "Upload") && !strcmp(name, "UploadId"))
		snprintf(j->row_id, sizeof j->row_id, "%s", text);
	if (strcmp(name, "Upload") != 0 || strlen(j->row_key) <= prefix ||
	    strncmp(j->row_key + prefix, j->r->key, strlen(j->r->key)) != 0)
		return;
	o = malloc(sizeof *o);
	if (!o)
		return;
	strcpy(o->key, j->row_key);
	strcpy(o->id, j->row_id);
	o->next = j->orphans;
	j->orphans = o;
}

/* Takes a page of objects.  One that is no XML may come from a proxy, and be
 * right next time; one that does not say where the next begins will not. */
static void
page_done(struct object_state *s, struct s3_job *j, int err)
{
	if (!err)
		err = s3_page_read(&j->page, j->http.text, j->http.text_bytes,
				   object_take, j);
	if (err == -EBADMSG) {
		say(s, j, "the list that came cannot be read");
		err = -EAGAIN;
	}
	if (err == -ESPIPE) {
		say(s, j, "the list does not say how it goes on");
		err = -EBADMSG;
	}
	if (!err && j->page.more)
		job_go(s, j, JOB_LIST);
	else
		job_over(s, j, err);
}

/* Uploads that cannot be listed or ended cost the bucket's owner some room, but
 * spoil nothing: they do not make a transfer fail.  When the uploads of a page
 * are ended, the list is asked for anew: what was on the next page is on the
 * first one then. */
static void
rest_next(struct object_state *s, struct s3_job *j, int err)
{
	bool again = false;

	if (j->step == JOB_UPLOADS && !err) {
		s3_page_read(&j->page, j->http.text, j->http.text_bytes,
			     orphan_take, j);
	} else if (j->step == JOB_ABORT) {
		/* -ENOENT: somebody else has ended it. */
		j->page.more &= !err || err == -ENOENT;
		again = j->page.more && ++j->rounds < ROUNDS;
		orphan_drop(j);
	}
	if (j->orphans)
		job_go(s, j, JOB_ABORT);
	else if (again)
		job_go(s, j, JOB_UPLOADS);
	else
		job_over(s, j, 0);
}

/* ---- what became of a request -------------------------------------------- */

static void
id_take(void *arg, const char *around, const char *name, const char *text)
{
	struct s3_upload *u = arg;

	(void)around;
	if (!strcmp(name, "UploadId") && strlen(text) < sizeof u->id)
		strcpy(u->id, text);
}

/* Reads what HEAD says.  Our own word for the whole object's checksum comes
 * first: S3's is one of the parts' checksums, if there were several. */
static void
stat_take(struct s3_job *j)
{
	struct object_request *r = j->r;

	r->total = j->http.length;
	r->summed = s3_crc_read(j->http.whole_crc, &r->whole_crc) ||
		    (!strchr(j->http.etag, '-') &&
		     s3_crc_read(j->http.crc32c, &r->whole_crc));
}

static void
created(struct object_state *s, struct s3_job *j, int err)
{
	struct s3_upload *u = j->upload;

	if (!err &&
	    (s3_reply_read(j->http.text, j->http.text_bytes, id_take, u) ||
	     !*u->id)) {
		say(s, j, "the server gave its upload no number");
		err = -EPROTO;
	}
	if (err) {
		job_over(s, j, err);
		return;
	}
	u->creates = false;
	job_go(s, j, JOB_PART);
	waiting_go(s, u);
}

static void
put_done(struct object_state *s, struct s3_job *j, int err)
{
	if (err == -ENOSYS && j->r->fresh && !s->overwrites) {
		s->overwrites = true;
		job_go(s, j, JOB_PUT);
		return;
	}
	job_over(s, j, err == -ENOENT ? -ENODEV : err);
}

/* The server does not know the upload of a piece any more. */
static void
upload_lost(struct object_state *s, struct s3_job *j)
{
	say(s, j, "its upload was ended by somebody else");
	j->upload->stale = true;
	job_over(s, j, -ESTALE);
}

/* Gives the piece back as failed: the core puts it again, and then the upload
 * is completed or checked again. */
static void
part_again(struct object_state *s, struct s3_job *j, int err)
{
	struct s3_part *p = &j->upload->part[part_number(s, j)];

	if (*p->etag)
		j->upload->done--;
	*p->etag = '\0';
	job_over(s, j, err);
}

static void
part_done(struct object_state *s, struct s3_job *j, const char *word, int err)
{
	struct s3_upload *u = j->upload;
	struct s3_part *p = &u->part[part_number(s, j)];

	if (err && !strcmp(word, "NoSuchUpload")) {
		/* The one that completed it may have been answered, and the
		 * answer been lost. */
		if (u->done + !*p->etag == u->parts)
			job_go(s, j, JOB_CHECK);
		else
			upload_lost(s, j);
		return;
	}
	if (err) {
		job_over(s, j, err == -ENOENT ? -ENODEV : err);
		return;
	}
	u->done += !*p->etag;
	snprintf(p->etag, sizeof p->etag, "%s",
		 *j->http.etag ? j->http.etag : "-");
	s3_crc_write(p->crc, j->r->crc);
	if (u->done == u->parts)
		job_go(s, j, JOB_COMPLETE);
	else
		job_over(s, j, 0);
}

static void
completed(struct object_state *s, struct s3_job *j, const char *word, int err)
{
	if (err && !strcmp(word, "NoSuchUpload")) {
		job_go(s, j, JOB_CHECK);
		return;
	}
	if (err) {
		part_again(s, j, err == -ENOENT ? -ENODEV : err);
		return;
	}
	j->upload->stale = true;
	job_over(s, j, 0);
}

/* The upload is not known any more: was it completed?  An object whose checksum
 * nobody knows may be an older one. */
static void
checked(struct object_state *s, struct s3_job *j, int err)
{
	uint32_t crc;

	if (err && err != -ENOENT) {
		part_again(s, j, err);
		return;
	}
	if (err || j->http.length != j->r->total || !j->r->summed ||
	    !s3_crc_read(j->http.whole_crc, &crc) || crc != j->r->whole_crc) {
		upload_lost(s, j);
		return;
	}
	j->upload->stale = true;
	job_over(s, j, 0);
}

/* Reads the keys again.  True if they are other ones than those of requests
 * that are still on their way. */
static bool
keys_renew(struct object_state *s)
{
	bool other = s3_account_renew(&s->account, s->o, s->to);

	if (other)
		s->renewed = steady();
	return other || (s->renewed && steady() - s->renewed < NS_SECOND * 60);
}

/* Tells whether a piece may have come as another one, and nobody knows. */
static bool
is_unsure(const struct object_state *s, const struct s3_job *j)
{
	uint32_t crc;

	return (j->step == JOB_PUT || j->step == JOB_PART) &&
	       !j->http.body_signed && strncmp(s->account.base, "https", 5) &&
	       !(s3_crc_read(j->http.crc32c, &crc) && crc == j->r->crc);
}

static void
job_next(struct object_state *s, struct s3_job *j, CURLcode code)
{
	char word[64], why[SEND_SENTENCE];
	int err = s3_request_result(&j->http, code, word, why, sizeof why);

	if (err && s3_request_expired(&j->http, word, err) && keys_renew(s))
		err = -EAGAIN;
	if (!err && is_unsure(s, j)) {
		s->body_signs = true;
		job_go(s, j, j->step);
		return;
	}
	/* Errors of steps that need not succeed are not told. */
	if (err && j->step != JOB_UPLOADS && j->step != JOB_ABORT)
		strcpy(s->why, why);
	switch (j->step) {
	case JOB_LIST: page_done(s, j, err); break;
	case JOB_UPLOADS:
	case JOB_ABORT: rest_next(s, j, err); break;
	case JOB_STAT:
		if (!err)
			stat_take(j);
		job_over(s, j, err);
		break;
	case JOB_READ:
		/* An empty object has no range. */
		if (err && !strcmp(word, "InvalidRange"))
			err = 0;
		/* After an error the core begins the same request again. */
		if (!err)
			j->r->bytes = (uint32_t)j->http.got;
		job_over(s, j, err);
		break;
	case JOB_CREATE: created(s, j, err); break;
	case JOB_PART: part_done(s, j, word, err); break;
	case JOB_COMPLETE: completed(s, j, word, err); break;
	case JOB_CHECK: checked(s, j, err); break;
	default: put_done(s, j, err);
	}
}

/* ---- the calls ----------------------------------------------------------- */

static void
curl_prepare(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

static void s3_close(struct object_state *s);

static int
s3_open(struct object_state **state, const struct send_args *args,
	uint32_t *piece)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const struct s3_options *o = args->options;
	struct object_state *s = calloc(1, sizeof *s);
	unsigned n = args->connections ? args->connections : CONNECTIONS;
	int err = -ENOMEM;

	pthread_once(&once, curl_prepare);
	snprintf(args->why, args->why_bytes, "out of memory");
	if (!s)
		return err;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->multi = curl_multi_init();
	if (s->epoll < 0 || !s->multi)
		goto fail;
	err = s3_account_make(&s->account, o, args->to, args->why,
			      args->why_bytes);
	if (err)
		goto fail;
	s->o = o;
	s->to = strdup(args->to);
	if (!s->to) {
		err = -ENOMEM;
		goto fail;
	}
	s->part = *piece = (uint32_t)(o->part / MIB * MIB);
	curl_multi_setopt(s->multi, CURLMOPT_SOCKETFUNCTION, socket_watch);
	curl_multi_setopt(s->multi, CURLMOPT_SOCKETDATA, s);
	curl_multi_setopt(s->multi, CURLMOPT_TIMERFUNCTION, timer_set);
	curl_multi_setopt(s->multi, CURLMOPT_TIMERDATA, s);
	curl_multi_setopt(s->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)n);
	curl_multi_setopt(s->multi, CURLMOPT_MAXCONNECTS, (long)n);
	*state = s;
	return 0;
fail:
	s3_close(s);
	return err;
}

static int
s3_begin(struct object_state *s, struct object_request *r)
{
	static const enum job_step first[] = { [OBJECT_LIST] = JOB_LIST,
					       [OBJECT_STAT] = JOB_STAT,
					       [OBJECT_READ] = JOB_READ,
					       [OBJECT_PUT] = JOB_PUT,
					       [OBJECT_END] = JOB_UPLOADS };
	enum job_step step = first[r->verb];
	struct s3_job *j = calloc(1, sizeof *j);

	if (!j)
		return -ENOMEM;
	if (r->verb == OBJECT_PUT && r->bytes < r->total) {
		j->upload = upload_of(s, r);
		if (!j->upload || j->upload->parts > PARTS) {
			free(j);
			return -ENOMEM;
		}
		step = *j->upload->id	    ? JOB_PART
		       : j->upload->creates ? JOB_WAITS
					    : JOB_CREATE;
		j->upload->creates |= step == JOB_CREATE;
	}
	r->over = false;
	r->err = 0;
	r->sent = 0;
	j->r = r;
	j->next = s->jobs;
	s->jobs = j;
	job_go(s, j, step);
	return 0;
}

static void
s3_step(struct object_state *s)
{
	struct epoll_event e[SOCKETS];
	int n = epoll_wait(s->epoll, e, SOCKETS, 0), left;
	CURLMsg *message;
	struct s3_job *j;

	for (int i = 0; i < n; i++)
		curl_multi_socket_action(
		    s->multi, e[i].data.fd,
		    (e[i].events & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0) |
			(e[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
			(e[i].events & EPOLLERR ? CURL_CSELECT_ERR : 0),
		    &left);
	if (s->timer && steady() >= s->timer) {
		s->timer = 0;
		curl_multi_socket_action(s->multi, CURL_SOCKET_TIMEOUT, 0,
					 &left);
	}
	while ((message = curl_multi_info_read(s->multi, &left))) {
		CURLcode code = message->data.result;

		if (message->msg != CURLMSG_DONE)
			continue;
		for (j = s->jobs; j && j->http.easy != message->easy_handle;)
			j = j->next;
		if (!j)
			continue;
		curl_multi_remove_handle(s->multi, j->http.easy);
		j->asks = false;
		job_next(s, j, code);
	}
}

static unsigned
s3_poll(struct object_state *s, struct pollfd *fd, unsigned most,
	int64_t *until)
{
	if (s->timer && s->timer < *until)
		*until = s->timer;
	if (!most)
		return 0;
	*fd = (struct pollfd){ .fd = s->epoll, .events = POLLIN };
	return 1;
}

static void
s3_facts(struct object_state *s, struct send_facts *facts)
{
	facts->connections = 0;
	for (const struct s3_job *j = s->jobs; j; j = j->next)
		facts->connections += j->asks;
	facts->reconnects = s->reconnects;
	facts->way = strncmp(s->account.base, "https", 5) ? "objects over http"
							  : "objects over "
							    "https";
	snprintf(facts->peer, sizeof facts->peer, "%.95s", s->account.host);
	strcpy(facts->why, s->why);
}

static void
s3_rate(struct object_state *s, uint64_t bits)
{
	s->rate = bits;
}

static void
s3_close(struct object_state *s)
{
	while (s->jobs)
		job_free(s, s->jobs);
	while (s->uploads)
		upload_free(s, s->uploads);
	if (s->multi)
		curl_multi_cleanup(s->multi);
	if (s->epoll >= 0)
		close(s->epoll);
	s3_account_clear(&s->account);
	free(s->to);
	free(s);
}

static int
s3_check(const struct send_args *args)
{
	struct s3_account account;

	return s3_url_read(&account, args->to, args->why, args->why_bytes);
}

static const char *
s3_option_wrong(const void *options, char *why, uint32_t why_bytes)
{
	const struct s3_options *o = options;

	return o->endpoint && s3_endpoint_check(o->endpoint, why, why_bytes)
		   ? "endpoint"
		   : NULL;
}

static const struct object_ops objects = {
	.open = s3_open,
	.begin = s3_begin,
	.step = s3_step,
	.poll = s3_poll,
	.facts = s3_facts,
	.rate = s3_rate,
	.close = s3_close,
};

SPATE_PLUGIN const struct send_ops spate_send = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct send_ops),
		  .name = "s3",
		  .help = "puts whole recordings into a bucket of S3",
		  .options = s3_options,
		  .options_bytes = sizeof(struct s3_options) },
	.check = s3_check,
	.objects = &objects,
	.option_wrong = s3_option_wrong,
};
