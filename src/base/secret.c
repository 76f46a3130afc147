/* SPDX-License-Identifier: MIT */
/*
 * The file's group may read it, as root:spate 0640 needs, but not write it; all
 * others may do neither.  The check is made on the open descriptor, not on the
 * name, so that the file cannot be exchanged in between.
 */
#include "base/secret.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Checks type and mode before a byte of the file is read. */
static int
file_check(int fd, const char *file, struct fault *fault)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fault_set(fault, -errno, "io", "%s: %s", file,
				 strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fault_set(fault, -EINVAL, "conf",
				 "the secret %s is no file", file);
	if (!(st.st_mode & 027))
		return 0;
	fault_set(fault, -EPERM, "conf", "the secret %s is none", file);
	fault_why(fault,
		  st.st_mode & 020 ? "others may write it, its mode is %04o"
				   : "others may read it, its mode is %04o",
		  st.st_mode & 07777);
	fault_hint(fault,
		   "chmod 600 %s, and a new secret: "
		   "head -c 32 /dev/urandom | base64 > %s",
		   file, file);
	return -EPERM;
}

static int
bytes_read(struct secret *s, int fd, const char *file, struct fault *fault)
{
	uint8_t more;
	ssize_t got;

	while (s->n < sizeof s->bytes) {
		got = read(fd, s->bytes + s->n, sizeof s->bytes - s->n);
		if (got < 0 && errno != EINTR)
			return fault_set(fault, -errno, "io", "%s: %s", file,
					 strerror(errno));
		if (!got)
			break;
		s->n += got > 0 ? (uint32_t)got : 0;
	}
	if (s->n == sizeof s->bytes && read(fd, &more, 1) == 1)
		return fault_set(fault, -EFBIG, "conf",
				 "the secret %s is too long: %d bytes are the "
				 "most",
				 file, SECRET_MOST);
	while (s->n && isspace(s->bytes[s->n - 1]))
		s->n--;
	if (s->n >= SECRET_LEAST)
		return 0;
	fault_set(fault, -EINVAL, "conf",
		  s->n ? "the secret %s is too short: %d letters are the least"
		       : "the secret %s is empty",
		  file, SECRET_LEAST);
	fault_hint(fault, "head -c 32 /dev/urandom | base64 > %s", file);
	return -EINVAL;
}

int
secret_read(struct secret *s, const char *file, struct fault *fault)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int err;

	s->n = 0;
	if (fd < 0) {
		err = -errno;
		return fault_set(fault, err, "conf",
				 "the secret %s cannot be read: %s", file,
				 strerror(-err));
	}
	err = file_check(fd, file, fault);
	if (!err)
		err = bytes_read(s, fd, file, fault);
	if (err)
		secret_clear(s);
	close(fd);
	return err;
}

void
secret_clear(struct secret *s)
{
	explicit_bzero(s, sizeof *s);
}

int
secret_host(const char *file, uint8_t *secret, uint32_t *bytes, char *why,
	    uint32_t why_bytes)
{
	struct fault fault = { 0 };
	struct secret s;
	int err = secret_read(&s, file, &fault);

	if (!err && s.n > *bytes)
		err = fault_set(&fault, -EFBIG, "conf",
				"the secret %s is too long", file);
	if (err) {
		fault_line(&fault, why, why_bytes);
	} else {
		memcpy(secret, s.bytes, s.n);
		*bytes = s.n;
	}
	secret_clear(&s);
	return err;
}

void
hmac_sha256(const void *key, uint32_t key_bytes, const void *data,
	    uint64_t bytes, uint8_t out[32])
{
	unsigned n = 32;

	/*
	 * Abort rather than send a proof without meaning.  HMAC fails only
	 * without memory or without SHA-256.
	 */
	if (!HMAC(EVP_sha256(), key, (int)key_bytes, data, bytes, out, &n) ||
	    n != 32)
		abort();
}
