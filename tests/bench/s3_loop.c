/* SPDX-License-Identifier: MIT */
/*
 * The two ends of scripts/bench s3.
 *
 *   s3_loop sink
 *	prints a port of loopback, and answers there as far as an upload asks: it
 *	throws bytes away in the kernel, remembers how many each key got, and
 *	lists them.  A thread for each connection.
 *   s3_loop put URL CONNECTIONS FILE...
 *	the ceiling: puts files below a URL by libcurl, so many at a time, on one
 *	thread; neither signed nor summed.  Prints bytes, seconds, CPU seconds.
 */
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- the sink -------------------------------------------------------------- */

enum { HEAD = 16384, KEYS = 65536, NAME = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sunk {
	char key[NAME];
	uint64_t bytes;
} sunk[KEYS]; /* under `lock` */
static unsigned sunk_n;

static void
sunk_add(const char *key, uint64_t bytes, bool part)
{
	unsigned i;

	pthread_mutex_lock(&lock);
	for (i = sunk_n; i && strcmp(sunk[i - 1].key, key);)
		i--;
	if (!i && sunk_n < KEYS) {
		i = ++sunk_n;
		snprintf(sunk[i - 1].key, NAME, "%.255s", key);
	}
	if (i)
		sunk[i - 1].bytes = part ? sunk[i - 1].bytes + bytes : bytes;
	pthread_mutex_unlock(&lock);
}

/* Lists the keys that begin with a prefix. */
static char *
sunk_list(const char *prefix)
{
	size_t room = 256 + KEYS * 8;
	char *xml = malloc(room);
	size_t n;

	pthread_mutex_lock(&lock);
	n = (size_t)snprintf(xml, room, "<R><IsTruncated>false</IsTruncated>");
	for (unsigned i = 0; i < sunk_n && n + NAME + 100 < room; i++)
		if (!strncmp(sunk[i].key, prefix, strlen(prefix)))
			n += (size_t)snprintf(
			    xml + n, room - n,
			    "<Contents><Key>%s</Key><Size>%" PRIu64
			    "</Size></Contents>",
			    sunk[i].key, sunk[i].bytes);
	snprintf(xml + n, room - n, "</R>");
	pthread_mutex_unlock(&lock);
	return xml;
}

/* Replies.  Servers that compare checksums repeat them; so does this one. */
static int
reply(int fd, int code, const char *sum, const char *body, bool head)
{
	char text[256];
	size_t bytes = strlen(body);
	int n = snprintf(text, sizeof text,
			 "HTTP/1.1 %d -\r\nETag: \"e\"\r\n"
			 "x-amz-checksum-crc32c: %s\r\nContent-Length: "
			 "%zu\r\n\r\n",
			 code, sum, bytes);

	if (send(fd, text, (size_t)n, MSG_NOSIGNAL) != n)
		return -1;
	if (head || !bytes)
		return 0;
	return send(fd, body, bytes, MSG_NOSIGNAL) == (ssize_t)bytes ? 0 : -1;
}

/* Makes a part of a query what it was: slashes are all that keys here have. */
static char *
slashed(char *text)
{
	char *at;

	text[strcspn(text, "&")] = '\0';
	while ((at = strstr(text, "%2F"))) {
		*at = '/';
		memmove(at + 1, at + 3, strlen(at + 3) + 1);
	}
	return text;
}

/* Answers a request whose body has come. */
static int
answer(int fd, const char *method, char *path, uint64_t bytes, const char *sum)
{
	char *query = strchr(path, '?'), *key, *list;
	int err;

	if (query)
		*query++ = '\0';
	key = strchr(path + 1, '/'); /* behind the bucket */
	key = key ? key + 1 : path;
	if (!strcmp(method, "PUT")) {
		sunk_add(key, bytes, query && strstr(query, "partNumber"));
		return reply(fd, 200, sum, "", false);
	}
	if (!strcmp(method, "POST"))
		return reply(fd, 200, "", "<R><UploadId>1</UploadId></R>",
			     false);
	if (strcmp(method, "GET") != 0 || !query)
		return reply(fd, 404, "", "", true);
	if (!strstr(query, "list-type"))
		return reply(fd, 200, "", "<R/>", false);
	key = strstr(query, "prefix=");
	list = sunk_list(key ? slashed(key + strlen("prefix=")) : "");
	err = reply(fd, 200, "", list, false);
	free(list);
	return err;
}

/* Reads the head of a request into `head`.  Returns the bytes that came behind
 * it, or -1. */
static ssize_t
head_read(int fd, char *head, size_t *have)
{
	char *end;

	for (;;) {
		head[*have] = '\0';
		end = strstr(head, "\r\n\r\n");
		if (end) {
			*end = '\0';
			return head + *have - (end + 4);
		}
		if (*have == HEAD)
			return -1;
		ssize_t got = recv(fd, head + *have, HEAD - *have, 0);
		if (got <= 0)
			return -1;
		*have += (size_t)got;
	}
}

/* Returns what a header says, or "". */
static const char *
header(const char *head, const char *name)
{
	const char *at = strcasestr(head, name);

	return at ? at + strlen(name) : "";
}

static void *
serve(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char head[HEAD + 1], method[8], path[4096], sum[16];
	size_t have = 0;
	ssize_t behind;

	while ((behind = head_read(fd, head, &have)) >= 0) {
		uint64_t bytes =
		    strtoull(header(head, "\r\nContent-Length:"), NULL, 10);
		uint64_t left = bytes;
		char *body = head + have - behind;
		size_t taken =
		    (uint64_t)behind < left ? (size_t)behind : (size_t)left;

		if (sscanf(head, "%7s %4095s", method, path) != 2)
			break;
		sum[0] = '\0';
		sscanf(header(head, "\r\nx-amz-checksum-crc32c:"), "%15s", sum);
		if (*header(head, "\r\nExpect:") && !behind &&
		    send(fd, "HTTP/1.1 100 -\r\n\r\n", 18, MSG_NOSIGNAL) != 18)
			break;
		left -= taken;
		while (left) {
			ssize_t got =
			    recv(fd, NULL, left < 1 << 20 ? left : 1 << 20,
				 MSG_TRUNC);
			if (got <= 0)
				goto out;
			left -= (uint64_t)got;
		}
		have = (size_t)behind - taken;
		memmove(head, body + taken, have);
		if (answer(fd, method, path, bytes, sum))
			break;
	}
out:
	close(fd);
	return NULL;
}

static int
sink(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof at;
	int door = socket(AF_INET, SOCK_STREAM, 0), fd;
	pthread_t thread;

	if (bind(door, (struct sockaddr *)&at, sizeof at) < 0 ||
	    listen(door, 64) < 0 ||
	    getsockname(door, (struct sockaddr *)&at, &bytes) < 0) {
		perror("s3_loop");
		return 1;
	}
	printf("%u\n", ntohs(at.sin_port));
	fflush(stdout);
	while ((fd = accept(door, NULL, NULL)) >= 0) {
		if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd))
			return 1;
		pthread_detach(thread);
	}
	return 1;
}

/* ---- the ceiling -------------------------------------------------------------- */

static size_t
give(char *to, size_t size, size_t n, void *arg)
{
	ssize_t got = read((int)(intptr_t)arg, to, size * n);

	return got < 0 ? CURL_READFUNC_ABORT : (size_t)got;
}

static void
put_begin(CURLM *multi, CURL *easy, const char *url, const char *file,
	  uint64_t *bytes)
{
	const char *name = strrchr(file, '/');
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	char whole[4096];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		perror(file);
		exit(1);
	}
	*bytes += (uint64_t)st.st_size;
	snprintf(whole, sizeof whole, "%s/%s", url, name ? name + 1 : file);
	curl_easy_setopt(easy, CURLOPT_URL, whole);
	curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
	curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, 1L << 18);
	curl_easy_setopt(easy, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
	curl_easy_setopt(easy, CURLOPT_READFUNCTION, give);
	curl_easy_setopt(easy, CURLOPT_READDATA, (void *)(intptr_t)fd);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, (void *)(intptr_t)fd);
	curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE,
			 (curl_off_t)st.st_size);
	curl_multi_add_handle(multi, easy);
}

static void
put_end(CURLM *multi, const CURLMsg *m)
{
	void *fd;

	if (m->data.result) {
		fprintf(stderr, "s3_loop: %s\n",
			curl_easy_strerror(m->data.result));
		exit(1);
	}
	curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &fd);
	close((int)(intptr_t)fd);
	curl_multi_remove_handle(multi, m->easy_handle);
}

static double
seconds_of(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

static int
put(const char *url, unsigned connections, char **file, unsigned files)
{
	CURLM *multi = curl_multi_init();
	struct timespec from, to;
	struct rusage use;
	uint64_t bytes = 0;
	unsigned begun = 0, ended = 0;
	int left;

	clock_gettime(CLOCK_MONOTONIC, &from);
	for (; begun < connections && begun < files; begun++)
		put_begin(multi, curl_easy_init(), url, file[begun], &bytes);
	while (ended < files) {
		const CURLMsg *m;

		curl_multi_perform(multi, &left);
		while ((m = curl_multi_info_read(multi, &left))) {
			CURL *easy = m->easy_handle;

			put_end(multi, m);
			ended++;
			if (begun < files)
				put_begin(multi, easy, url, file[begun++],
					  &bytes);
			else
				curl_easy_cleanup(easy);
		}
		curl_multi_poll(multi, NULL, 0, 100, NULL);
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	getrusage(RUSAGE_SELF, &use);
	printf("{\"bytes\":%" PRIu64 ",\"seconds\":%f,\"cpu\":%f}\n", bytes,
	       (double)(to.tv_sec - from.tv_sec) +
		   (double)(to.tv_nsec - from.tv_nsec) / 1e9,
	       seconds_of(&use.ru_utime) + seconds_of(&use.ru_stime));
	curl_multi_cleanup(multi);
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "sink"))
		return sink();
	if (argc > 4 && !strcmp(argv[1], "put"))
		return put(argv[2], (unsigned)atoi(argv[3]), argv + 4,
			   (unsigned)argc - 4);
	fprintf(stderr, "usage: s3_loop sink | put URL CONNECTIONS FILE...\n");
	return 2;
}
