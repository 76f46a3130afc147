/* SPDX-License-Identifier: MIT */
/*
 * s3: a bucket as a disk to read from.  Recordings that were sent there
 * (send.c) are listed, verified and exported, and read by ranges, without being
 * fetched before.
 *
 * A folder is what keys have before a '/': it exists as long as there is such a
 * key.  Nobody can lock an object, so no recording there is ever seen to be
 * live: until its end is there it is interrupted.  An object cannot be written
 * to at an offset either, which is why nothing records into a bucket.
 *
 * A call makes one request or more, on an idle connection from a stack, or on a
 * new one.  The answer of HEAD as an object is opened is used for a second: the
 * opener asks for the length next.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "contract/bytes.h"
#include "contract/disk.h"
#include "contract/log.h"
#include "reply.h"
#include "request.h"

enum { IDLE = 32, WORD = 64, SENTENCE = 320, PATH = 1024 };

#define FRESH	   NS_SECOND	 /* while HEAD's answer is good */
#define AGAIN	   (200 * NS_MS) /* after a request that failed; doubled */
#define AGAIN_MOST (7 * AGAIN)	 /* the last time: 200, 400, 800 ms */

struct disk_store {
	const struct host *host;
	uint64_t device;
	char url[PATH];
	pthread_mutex_t lock;
	struct s3_account account; /* its keys are under `lock` */
	CURL *idle[IDLE];	   /* under `lock` */
	unsigned idles;
};

struct disk_file {
	struct disk_store *store;
	bool folder;
	pthread_mutex_t lock;
	struct disk_stat is; /* as it was seen last; under `lock` */
	int64_t seen;	     /* steady ns; under `lock` */
	char path[];
};

static const struct s3_options usual = { .style = "auto" };

static int64_t
steady(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_SECOND + t.tv_nsec;
}

/* ---- requests ------------------------------------------------------------ */

static CURL *
easy_take(struct disk_store *s)
{
	CURL *easy = NULL;

	pthread_mutex_lock(&s->lock);
	if (s->idles)
		easy = s->idle[--s->idles];
	pthread_mutex_unlock(&s->lock);
	return easy ? easy : curl_easy_init();
}

static void
easy_give(struct disk_store *s, CURL *easy)
{
	pthread_mutex_lock(&s->lock);
	if (easy && s->idles < IDLE) {
		s->idle[s->idles++] = easy;
		easy = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	if (easy)
		curl_easy_cleanup(easy);
}

/* A request to the bucket, and its reply. */
struct s3_ask {
	const char *method, *key, *query;
	/* The range of a GET; `into` NULL: all of it. */
	uint64_t from, room;
	void *into;
	struct s3_account
	    account;		/* a copy, with the keys it was signed with */
	bool quiet;		/* the caller says what went wrong */
	struct s3_request http; /* the reply; cleared by asked_clear() */
	char why[SENTENCE], word[WORD];
};

/* Performs a request.  OpenSSL writes to a connection that has gone with a
 * SIGPIPE, which would end a command: this thread takes it. */
static CURLcode
perform(CURL *easy)
{
	const struct timespec at_once = { 0 };
	sigset_t pipes, old;
	CURLcode code;

	sigemptyset(&pipes);
	sigaddset(&pipes, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipes, &old);
	code = curl_easy_perform(easy);
	if (!sigismember(&old, SIGPIPE))
		sigtimedwait(&pipes, NULL, &at_once);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return code;
}

static int
ask_once(struct disk_store *s, struct s3_ask *a)
{
	int err;

	pthread_mutex_lock(&s->lock);
	a->account = s->account;
	pthread_mutex_unlock(&s->lock);
	err = s3_request_again(&a->http, easy_take(s), &a->account, a->method,
			       a->key, a->query);
	if (!err && a->into)
		err = s3_request_range(&a->http, a->from, a->room, a->into);
	if (err)
		return err;
	return s3_request_result(&a->http, perform(a->http.easy), a->word,
				 a->why, sizeof a->why);
}

static void
asked_clear(struct disk_store *s, struct s3_ask *a)
{
	easy_give(s, s3_request_keep(&a->http));
	s3_request_clear(&a->http);
	s3_account_clear(&a->account);
}

/* Tells whether there are other keys than those of a request, which have
 * expired: another thread may have read them. */
static bool
keys_renew(struct disk_store *s, const struct s3_ask *a)
{
	bool other;

	pthread_mutex_lock(&s->lock);
	other = strcmp(s->account.key, a->account.key) != 0 ||
		s3_account_renew(&s->account, &usual, s->url);
	pthread_mutex_unlock(&s->lock);
	return other;
}

/* Asks, and some times again while the server is busy or away.  0 or -errno;
 * asked_clear() in either case. */
static int
ask(struct disk_store *s, struct s3_ask *a)
{
	int64_t wait = AGAIN;
	struct timespec t = { 0 };
	int err;

	while ((err = ask_once(s, a)) && wait < AGAIN_MOST) {
		if (err != -EAGAIN &&
		    (!s3_request_expired(&a->http, a->word, err) ||
		     !keys_renew(s, a)))
			break;
		asked_clear(s, a);
		t.tv_sec = wait / NS_SECOND;
		t.tv_nsec = wait % NS_SECOND;
		nanosleep(&t, NULL);
		wait *= 2;
	}
	if (err && err != -ENOENT && !a->quiet &&
	    strcmp(a->word, "InvalidRange") != 0)
		s->host->log(s->host->ctx, LEVEL_WARN, "%s", a->why);
	return err == -EAGAIN ? -ETIMEDOUT : err == -EPROTO ? -EIO : err;
}

/* ---- lists --------------------------------------------------------------- */

/* A folder that is being listed. */
struct s3_listing {
	size_t prefix; /* bytes of keys that are left out */
	int (*take)(void *arg, const char *name, bool folder);
	void *arg;
	bool any;
	int err; /* of `take` */
	struct s3_page page;
};

/* Tells the name that a key has behind the folder's. */
static void
name_tell(struct s3_listing *l, const char *text, bool folder)
{
	int n = 0;
	char *key = curl_easy_unescape(NULL, text, 0, &n);
	size_t length = key ? strlen(key) : 0;

	if (folder && length)
		key[--length] = '\0'; /* its '/' */
	if (length > l->prefix) {
		l->any = true;
		if (l->take && !l->err && !strchr(key + l->prefix, '/'))
			l->err = l->take(l->arg, key + l->prefix, folder);
	}
	curl_free(key);
}

static void
element_take(void *arg, const char *around, const char *name, const char *text)
{
	struct s3_listing *l = arg;

	if (!strcmp(around, "Contents") && !strcmp(name, "Key"))
		name_tell(l, text, false);
	else if (!strcmp(around, "CommonPrefixes") && !strcmp(name, "Prefix"))
		name_tell(l, text, true);
}

/* Reads a page of a list.  0; -EBADMSG with a->why: it is no list, or does not
 * say where the next page begins; or -ENOMEM. */
static int
page_read(struct disk_store *s, struct s3_listing *l, struct s3_ask *a)
{
	int err = s3_page_read(&l->page, a->http.text, a->http.text_bytes,
			       element_take, l);

	if (err == -ESPIPE)
		err = l->take ? -EBADMSG : 0;
	if (err != -EBADMSG)
		return err;
	snprintf(a->why, sizeof a->why,
		 "%.100s: the list of s3://%.63s/%.120s cannot be read",
		 s->account.host, s->account.bucket, s->account.prefix);
	if (!a->quiet)
		s->host->log(s->host->ctx, LEVEL_WARN, "%s", a->why);
	return err;
}

/* Lists a folder; without `take` only as much as shows if anything is in it. */
static int
folder_list(struct disk_store *s, const char *path, struct s3_listing *l,
	    char *why, size_t why_bytes)
{
	char key[S3_KEY], query[S3_URL];
	int n, err;

	n = snprintf(key, sizeof key, "%s%s%s", s->account.prefix, path,
		     *path ? "/" : "");
	if (n >= (int)sizeof key)
		return -ENAMETOOLONG;
	l->prefix = (size_t)n;
	do {
		struct s3_ask a = { .method = "GET",
				    .query = query,
				    .quiet = why };

		if (s3_page_query(query, sizeof query, &l->page, key, true,
				  l->take ? 0 : 2))
			return -ENAMETOOLONG;
		err = ask(s, &a);
		if (!err)
			err = page_read(s, l, &a);
		if (err && why)
			snprintf(why, why_bytes, "%s", a.why);
		asked_clear(s, &a);
	} while (!err && !l->err && l->page.more && l->take);
	return err ? err : l->err;
}

/* ---- files --------------------------------------------------------------- */

static int
head(struct disk_store *s, const char *path, struct disk_stat *is)
{
	struct s3_ask a = { .method = "HEAD", .key = path };
	int err = ask(s, &a);
	time_t changed;

	if (!err) {
		changed = curl_getdate(a.http.changed, NULL);
		*is = (struct disk_stat){
			.id = bytes_hash(BYTES_HASH, path, strlen(path)),
			.device = s->device,
			.bytes = a.http.length,
			.changed_ns = changed > 0 ? changed * NS_SECOND : 0,
		};
	}
	asked_clear(s, &a);
	return err;
}

/* A bucket does not say when a name came or went: a folder changed just now. */
static int
folder_stat(struct disk_store *s, const char *path, struct disk_stat *is)
{
	struct s3_listing l = { 0 };
	int err = *path ? folder_list(s, path, &l, NULL, 0) : 0;

	*is = (struct disk_stat){
		.id = bytes_hash(BYTES_HASH, path, strlen(path)),
		.device = s->device,
		.changed_ns = s->host->now(s->host->ctx),
		.folder = true,
	};
	return err ? err : *path && !l.any ? -ENOENT : 0;
}

static int
s3_file_open(struct disk_store *s, const char *path, enum disk_how how,
	     struct disk_file **file)
{
	struct disk_file *f;
	int err;

	f = calloc(1, sizeof *f + strlen(path) + 1);
	if (!f)
		return -ENOMEM;
	f->store = s;
	f->folder = how == DISK_FOLDER;
	strcpy(f->path, path);
	err = f->folder ? folder_stat(s, path, &f->is) : head(s, path, &f->is);
	f->seen = steady();
	if (err) {
		free(f);
		return err;
	}
	pthread_mutex_init(&f->lock, NULL);
	*file = f;
	return 0;
}

static void
s3_file_close(struct disk_file *f)
{
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static int64_t
s3_read(struct disk_file *f, void *data, size_t bytes, uint64_t offset)
{
	struct s3_ask a = {
		.method = "GET",
		.key = f->path,
		.into = data,
		.from = offset,
		.room = bytes,
	};
	int64_t got;
	int err;

	if (f->folder)
		return -EISDIR;
	if (!bytes)
		return 0;
	err = ask(f->store, &a);
	got = (int64_t)a.http.got;
	if (err && !strcmp(a.word, "InvalidRange"))
		err = 0; /* behind the end */
	asked_clear(f->store, &a);
	return err ? err : got;
}

static int
s3_stat_at(struct disk_store *s, const char *path, struct disk_stat *is)
{
	int err = *path ? head(s, path, is) : -ENOENT;

	return err == -ENOENT ? folder_stat(s, path, is) : err;
}

static int
s3_stat(struct disk_file *f, struct disk_stat *is)
{
	struct disk_stat now;
	int err = 0;

	pthread_mutex_lock(&f->lock);
	*is = f->is;
	if (steady() - f->seen < FRESH) {
		pthread_mutex_unlock(&f->lock);
		return 0;
	}
	pthread_mutex_unlock(&f->lock);
	err = f->folder ? folder_stat(f->store, f->path, &now)
			: head(f->store, f->path, &now);
	if (err && err != -ENOENT)
		return err;
	if (err)
		now = *is;
	now.gone = err;
	pthread_mutex_lock(&f->lock);
	f->is = *is = now;
	f->seen = steady();
	pthread_mutex_unlock(&f->lock);
	return 0;
}

static int
s3_list(struct disk_file *folder,
	int (*take)(void *arg, const char *name, bool folder), void *arg)
{
	struct s3_listing l = { .take = take, .arg = arg };

	if (!folder->folder)
		return -ENOTDIR;
	return folder_list(folder->store, folder->path, &l, NULL, 0);
}

static int
s3_lock(struct disk_file *file, enum disk_lock how)
{
	(void)file;
	(void)how;
	return 0;
}

/* A bucket has no end that anybody knows. */
static int
s3_room(struct disk_store *s, struct disk_room *room)
{
	(void)s;
	*room = (struct disk_room){ 0 };
	return 0;
}

/* ---- opening ------------------------------------------------------------- */

static void
curl_prepare(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* Looks whether the bucket answers, and the keys may list it. */
static int
s3_open(struct disk_store **store, const struct disk_args *args)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct disk_store *s = calloc(1, sizeof *s);
	struct s3_listing l = { 0 };
	int err;

	pthread_once(&once, curl_prepare);
	if (!s)
		return -ENOMEM;
	snprintf(s->url, sizeof s->url, "s3://%s", args->place);
	s->host = args->host;
	s->device = bytes_hash(BYTES_HASH, s->url, strlen(s->url));
	pthread_mutex_init(&s->lock, NULL);
	err = s3_account_make(&s->account, &usual, s->url, args->why,
			      (uint32_t)args->why_bytes);
	if (!err)
		err = folder_list(s, "", &l, args->why, args->why_bytes);
	if (!err) {
		*store = s;
		return 0;
	}
	while (s->idles)
		curl_easy_cleanup(s->idle[--s->idles]);
	pthread_mutex_destroy(&s->lock);
	s3_account_clear(&s->account);
	free(s);
	return err;
}

static int
s3_check(const struct disk_args *args)
{
	struct s3_account account;
	char url[PATH];

	snprintf(url, sizeof url, "s3://%s", args->place);
	return s3_url_read(&account, url, args->why, (uint32_t)args->why_bytes);
}

SPATE_PLUGIN const struct disk_ops spate_disk = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct disk_ops),
		  .name = "s3",
		  .help = "reads recordings in a bucket of S3" },
	.open = s3_open,
	.file_open = s3_file_open,
	.file_close = s3_file_close,
	.read = s3_read,
	.stat = s3_stat,
	.stat_at = s3_stat_at,
	.lock = s3_lock,
	.list = s3_list,
	.room = s3_room,
	.check = s3_check,
};
