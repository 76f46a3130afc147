/* SPDX-License-Identifier: MIT */
/*
 * The children are in process groups of their own, so that Ctrl-C reaches only
 * us, and what was recorded can still be removed.  They end with us, however we
 * end.
 */
#include "cli/rehearse/bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libconfig.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/conf.h"
#include "base/units.h"
#include "cli/show/field.h"

enum {
	READY_S = 120,	  /* how long a spated may take to be ready */
	WAIT_MS = 50,	  /* between two looks */
	STILL = 6,	  /* looks at which nothing more came */
	PACE = 98,	  /* percent of the rate that a sender has to keep */
	MADE = 95,	  /* the same of one that begins with the recording */
	GEN_EXTRA_S = 30, /* how much longer than asked a sender may take */
	OPEN = 2,	  /* blocks of a port that are being filled */
	QUEUED = 4,	  /* blocks of a disk that are on their way */
	BEHIND = 5,	  /* percent of what came that may wait beside these */
	PORTS_TRIES = 64,
	NAME = 64, /* of a recording */
};

static void
nap(void)
{
	usleep(WAIT_MS * 1000);
}

/* ---- programs -------------------------------------------------------- */

/* Writes the path of a program that was built or installed with this one. */
static void
program_find(const char *name, char path[static PATH_MAX])
{
	static const char *const near[] = { "", "../sbin/" };
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	char *slash;

	self[n < 0 ? 0 : n] = '\0';
	slash = strrchr(self, '/');
	for (size_t i = 0; slash && i < sizeof near / sizeof *near; i++) {
		int length = (int)(slash - self + 1);

		snprintf(path, PATH_MAX, "%.*s%s%s", length, self, near[i],
			 name);
		if (access(path, X_OK) == 0)
			return;
	}
	snprintf(path, PATH_MAX, "%s", name);
}

static bool
fd_point(int fd, const char *path, int flags)
{
	int is = open(path, flags, 0600);

	if (is < 0 || dup2(is, fd) < 0)
		return false;
	close(is);
	return true;
}

/* Starts a program whose output goes to a file of the bench, and its errors to
 * the log.  Returns its process, or -errno. */
static pid_t
program_start(const struct bench *b, char *const *argv, const char *out)
{
	char path[PATH_MAX];
	pid_t child, parent = getpid();

	program_find(argv[0], path);
	child = fork();
	if (child)
		return child < 0 ? -errno : child;
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent || chdir(b->folder) < 0 ||
	    !fd_point(STDIN_FILENO, "/dev/null", O_RDONLY) ||
	    !fd_point(STDOUT_FILENO, out, O_WRONLY | O_CREAT | O_TRUNC) ||
	    !fd_point(STDERR_FILENO, "log", O_WRONLY | O_CREAT | O_APPEND))
		_exit(126);
	execvp(path, argv);
	_exit(127);
}

static bool
program_runs(pid_t child)
{
	return child > 0 && waitpid(child, NULL, WNOHANG) == 0;
}

static void
program_end(pid_t *child)
{
	if (*child <= 0)
		return;
	kill(*child, SIGTERM);
	waitpid(*child, NULL, 0);
	*child = 0;
}

/* ---- configuration --------------------------------------------------- */

static bool
is_one_of(const char *name, const char *const *list)
{
	for (; *list; list++) {
		if (!strcmp(name, *list))
			return true;
	}
	return false;
}

/* True for a key of the configuration that holds here, too.  The others are this
 * spated's own, or are for what it does not do; those of a write plugin hold
 * where there are disks. */
static bool
is_kept(const config_setting_t *s, enum bench_way way)
{
	static const char *const kept[] = {
		"memory",	 "share",	"durable",
		"receivers",	 "memory_node", "receiver_priority",
		"receiver_cpus", NULL
	};
	static const char *const own[] = { "disks",	    "schedule",
					   "state",	    "secret_file",
					   "writer",	    "max_sends",
					   "send_memory",   "send_rate",
					   "send_patience", NULL };
	const char *name = config_setting_name(s);

	if (config_setting_is_group(s))
		return false;
	return way == BENCH_NETWORK ? is_one_of(name, kept)
				    : !is_one_of(name, own);
}

/* Writes "name = value; " for a text or a number; nothing for NULL. */
static void
setting_write(const config_setting_t *s, FILE *to)
{
	if (!s)
		return;
	fprintf(to, "%s = ", config_setting_name(s));
	if (config_setting_type(s) == CONFIG_TYPE_STRING)
		fprintf(to, "\"%s\"; ", config_setting_get_string(s));
	else if (config_setting_type(s) == CONFIG_TYPE_BOOL)
		fprintf(to, "%s; ",
			config_setting_get_bool(s) ? "true" : "false");
	else
		fprintf(to, "%lldL; ", config_setting_get_int64(s));
}

/* Writes what decides how fast a stream is recorded, of the configuration's
 * stream of that name, or of its first one. */
static void
stream_copy(const config_setting_t *root, const char *name, FILE *to)
{
	static const char *const keys[] = { "block", "blocks", "layout",
					    "socket_buffer", "gro" };
	const config_setting_t *streams, *stream = NULL;

	streams = config_setting_get_member(root, "streams");
	if (streams && *name)
		stream = config_setting_get_member(streams, name);
	if (streams && !stream)
		stream = config_setting_get_elem(streams, 0);
	for (size_t i = 0; stream && i < sizeof keys / sizeof *keys; i++)
		setting_write(config_setting_get_member(stream, keys[i]), to);
}

/* Writes the settings of the machine's configuration that hold here, too, and
 * those of each stream to `stream`. */
static int
settings_copy(const struct bench *b, FILE *to, FILE *const *stream,
	      struct fault *fault)
{
	struct conf *conf;
	config_setting_t *root;
	int err = conf_open(&conf, b->a.conf, fault);

	if (err)
		return err;
	root = conf_root(conf);
	for (unsigned i = 0; i < b->a.traffic->n; i++)
		stream_copy(root, b->a.traffic->stream[i].name, stream[i]);
	if (b->a.way != BENCH_NETWORK)
		setting_write(config_setting_get_member(root, "writer"), to);
	for (int i = config_setting_length(root); i-- > 0;) {
		config_setting_t *s =
		    config_setting_get_elem(root, (unsigned)i);

		if (!is_kept(s, b->a.way))
			config_setting_remove_elem(root, (unsigned)i);
	}
	config_write(root->config, to);
	conf_close(conf);
	return 0;
}

static void
disks_write(const struct bench *b, FILE *to)
{
	if (b->a.way == BENCH_NETWORK) {
		fprintf(to, "disks = [ \"%s/none\" ];\nwriter = \"null\";\n",
			b->folder);
		return;
	}
	fprintf(to, "disks = [");
	for (unsigned i = 0; i < b->a.disks->n; i++)
		fprintf(to, "%s \"%s\"", i ? "," : "",
			b->a.disks->disk[i].path);
	fprintf(to, " ];\n");
}

static uint64_t
rate_of(const struct bench *b, unsigned stream)
{
	return b->a.traffic->stream[stream].rate / 10 * b->a.tenths;
}

static void
stream_write(const struct bench *b, unsigned i, const char *copied, FILE *to)
{
	const struct traffic_stream *s = &b->a.traffic->stream[i];

	fprintf(to,
		"rehearsal%u : { %sformat = \"raw\"; payload = %u; "
		"prefix = %u; sequence = \"le64@0\"; rate = \"%" PRIu64
		"bps\"; ",
		i, copied, s->payload, s->prefix, rate_of(b, i));
	if (b->a.way == BENCH_DISKS)
		fprintf(to,
			"receive = \"gen\"; gen_rate = \"%" PRIu64
			"bps\"; };\n",
			rate_of(b, i));
	else if (s->ports == 1)
		fprintf(to, "listen = [ \"127.0.0.1:%u\" ]; };\n", b->port[i]);
	else
		fprintf(to, "listen = [ \"127.0.0.1:%u-%u\" ]; };\n",
			b->port[i], b->port[i] + s->ports - 1);
}

/* Binds a UDP port; 0: any.  Returns it, with its socket; 0: it is taken. */
static unsigned
port_bind(unsigned port, int *fd)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof at;

	*fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return 0;
	if (bind(*fd, (struct sockaddr *)&at, size) < 0 ||
	    getsockname(*fd, (struct sockaddr *)&at, &size) < 0) {
		close(*fd);
		return 0;
	}
	return ntohs(at.sin_port);
}

static bool
is_free(unsigned port)
{
	int fd;

	if (port > UINT16_MAX || !port_bind(port, &fd))
		return false;
	close(fd);
	return true;
}

/* Returns the first of so many UDP ports in a row that are free now; 0: there
 * are none.  The ports that it looked at in vain stay bound meanwhile, so that
 * the kernel gives others. */
static unsigned
ports_find(unsigned n)
{
	int held[PORTS_TRIES];
	unsigned port = 0, tries = 0, k = 0;

	while (tries < PORTS_TRIES && (port = port_bind(0, &held[tries]))) {
		tries++;
		for (k = 1; k < n && is_free(port + k); k++)
			;
		if (k == n)
			break;
	}
	while (tries)
		close(held[--tries]);
	return k == n ? port : 0;
}

/* Chooses ports: after those of the stream before, which are free still. */
static int
ports_choose(struct bench *b, struct fault *fault)
{
	const struct traffic *t = b->a.traffic;
	unsigned all = 0;

	for (unsigned i = 0; i < t->n; i++)
		all += t->stream[i].ports;
	b->port[0] = ports_find(all);
	for (unsigned i = 1; i < t->n; i++)
		b->port[i] = b->port[i - 1] + t->stream[i - 1].ports;
	if (b->port[0] || b->a.way == BENCH_DISKS)
		return 0;
	return fault_set(fault, -EADDRINUSE, "internal",
			 "no %u UDP ports in a row are free on 127.0.0.1", all);
}

static int
setup_write(const struct bench *b, FILE *to, struct fault *fault)
{
	char *copied[TRAFFIC_STREAMS] = { NULL };
	FILE *stream[TRAFFIC_STREAMS] = { NULL };
	size_t bytes[TRAFFIC_STREAMS];
	unsigned n = b->a.traffic->n;
	int err = 0;

	for (unsigned i = 0; i < n && !err; i++) {
		stream[i] = open_memstream(&copied[i], &bytes[i]);
		if (!stream[i])
			err = fault_no_memory(fault);
	}
	if (!err && b->a.conf)
		err = settings_copy(b, to, stream, fault);
	for (unsigned i = 0; i < n; i++)
		if (stream[i])
			fclose(stream[i]);
	if (!err) {
		disks_write(b, to);
		fprintf(to,
			"control : { socket = \"%s/socket\"; };\n"
			"streams : {\n",
			b->folder);
		for (unsigned i = 0; i < n; i++)
			stream_write(b, i, copied[i], to);
		fprintf(to, "};\n");
	}
	for (unsigned i = 0; i < n; i++)
		free(copied[i]);
	return err;
}

static int
conf_write(struct bench *b, struct fault *fault)
{
	char path[PATH_MAX];
	FILE *to;
	int err = ports_choose(b, fault);

	if (err)
		return err;
	snprintf(path, sizeof path, "%s/none", b->folder);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/spate.conf", b->folder);
	to = fopen(path, "we");
	if (to)
		err = setup_write(b, to, fault);
	if (!to || (fclose(to) != 0 && !err))
		err = fault_set(fault, -errno, "io", "cannot write %s: %s",
				path, strerror(errno));
	return err;
}

/* ---- a spated of its own --------------------------------------------- */

/* Makes a fault with the last line of its log. */
static int
ended(const struct bench *b, struct fault *fault)
{
	char path[PATH_MAX], line[512], last[512] = "it says nothing";
	FILE *f;

	snprintf(path, sizeof path, "%s/log", b->folder);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = '\0';
		memcpy(last, line, sizeof last);
	}
	if (f)
		fclose(f);
	fault_set(fault, -ECHILD, "internal",
		  "the spated of the rehearsal ended");
	fault_why(fault, "%s", last);
	return -ECHILD;
}

static bool
disks_take(struct bench *b)
{
	json_t *disks = bench_disks(b), *disk;
	bool all = json_array_size(disks) > 0;
	size_t i;

	json_array_foreach(disks, i, disk)
		all = all && *field_text(disk, "writer");
	json_decref(disks);
	return all;
}

/* True when all memory is touched, so that nothing is lost for want of it. */
static bool
memory_is_ready(struct bench *b)
{
	json_t *status = NULL, *memory;
	struct fault fault;
	bool ready;

	if (control_ask(b->control, "status", NULL, &status, &fault))
		return false;
	memory = json_object_get(status, "memory");
	ready = field_number(memory, "ready") >= field_number(memory, "bytes");
	json_decref(status);
	return ready;
}

static int
ready_wait(struct bench *b, struct fault *fault)
{
	int64_t until = clock_steady() + READY_S * NS_SECOND;
	char socket[PATH_MAX];
	struct fault none;

	snprintf(socket, sizeof socket, "%s/socket", b->folder);
	while (clock_steady() < until) {
		if (!program_runs(b->spated)) {
			b->spated = 0;
			return ended(b, fault);
		}
		if (!b->control && access(socket, F_OK) == 0)
			control_open(&b->control, socket, &none);
		if (b->control && disks_take(b) && memory_is_ready(b))
			return 0;
		nap();
	}
	return fault_set(fault, -ETIMEDOUT, "internal",
			 "the spated of the rehearsal is not ready: a disk "
			 "does not answer, or memory is short");
}

int
bench_open(struct bench *b, const struct bench_args *args, struct fault *fault)
{
	char name[] = "spated", option[] = "-c", conf[] = "spate.conf";
	char *argv[] = { name, option, conf, NULL };
	int err;

	*b = (struct bench){ .a = *args };
	snprintf(b->folder, sizeof b->folder, "/tmp/spate-rehearsal.XXXXXX");
	if (!mkdtemp(b->folder)) {
		err = -errno;
		b->folder[0] = '\0';
		return fault_set(fault, err, "io",
				 "cannot make a folder in /tmp: %s",
				 strerror(-err));
	}
	err = conf_write(b, fault);
	if (err)
		return err;
	b->spated = program_start(b, argv, "out");
	if (b->spated < 0)
		return fault_set(fault, (int)b->spated, "internal",
				 "cannot start spated");
	return ready_wait(b, fault);
}

static void
folder_remove(const char *folder)
{
	static const char *const files[] = { "spate.conf", "log", "out",
					     "socket", "socket.lock" };
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, files[i]);
		unlink(path);
	}
	for (unsigned i = 0; i < TRAFFIC_STREAMS; i++) {
		snprintf(path, sizeof path, "%s/gen%u", folder, i);
		unlink(path);
	}
	snprintf(path, sizeof path, "%s/none", folder);
	rmdir(path);
	rmdir(folder);
}

void
bench_close(struct bench *b)
{
	if (b->control)
		control_close(b->control);
	program_end(&b->spated);
	if (b->folder[0])
		folder_remove(b->folder);
	*b = (struct bench){ 0 };
}

json_t *
bench_disks(struct bench *b)
{
	json_t *status = NULL, *disks;
	struct fault fault;

	if (control_ask(b->control, "status", NULL, &status, &fault))
		return NULL;
	disks = json_incref(json_object_get(status, "disks"));
	json_decref(status);
	return disks;
}

/* ---- a run ------------------------------------------------------------ */

/* Starts the sender of a stream. */
static int
gen_start(const struct bench *b, unsigned i, unsigned seconds, pid_t *child)
{
	const struct traffic_stream *s = &b->a.traffic->stream[i];
	char to[64], rate[32], payload[16], prefix[16], span[16], out[16];
	char *argv[] = {
		(char[]){ "spate" },	  (char[]){ "gen" },
		(char[]){ "--to" },	  to,
		(char[]){ "--format" },	  (char[]){ "raw" },
		(char[]){ "--sequence" }, (char[]){ "le64@0" },
		(char[]){ "--rate" },	  rate,
		(char[]){ "--payload" },  payload,
		(char[]){ "--prefix" },	  prefix,
		(char[]){ "--for" },	  span,
		(char[]){ "--json" },	  NULL,
	};

	if (s->ports == 1)
		snprintf(to, sizeof to, "udp://127.0.0.1:%u", b->port[i]);
	else
		snprintf(to, sizeof to, "udp://127.0.0.1:%u-%u", b->port[i],
			 b->port[i] + s->ports - 1);
	snprintf(rate, sizeof rate, "%" PRIu64 "bps", rate_of(b, i));
	snprintf(payload, sizeof payload, "%u", s->payload);
	snprintf(prefix, sizeof prefix, "%u", s->prefix);
	snprintf(span, sizeof span, "%us", seconds);
	snprintf(out, sizeof out, "gen%u", i);
	*child = program_start(b, argv, out);
	return *child < 0 ? (int)*child : 0;
}

/* Tells whether a sender runs still; those that do not are forgotten. */
static bool
gens_run(pid_t *gen, unsigned n)
{
	bool any = false;

	for (unsigned i = 0; i < n; i++) {
		if (gen[i] && !program_runs(gen[i]))
			gen[i] = 0;
		any = any || gen[i];
	}
	return any;
}

/* Sends to all streams for so many seconds, or lets them make their packets
 * themselves. */
static int
flow(const struct bench *b, unsigned seconds, const volatile sig_atomic_t *stop)
{
	int64_t until = clock_steady() + seconds * NS_SECOND;
	pid_t gen[TRAFFIC_STREAMS] = { 0 };
	bool sends = b->a.way != BENCH_DISKS;
	unsigned n = b->a.traffic->n;
	int err = 0;

	if (sends)
		until += GEN_EXTRA_S * NS_SECOND;
	for (unsigned i = 0; i < n && sends && !err; i++)
		err = gen_start(b, i, seconds, &gen[i]);
	while (!err && clock_steady() < until && (!sends || gens_run(gen, n))) {
		if (*stop)
			err = -EINTR;
		else
			nap();
	}
	for (unsigned i = 0; i < n; i++)
		program_end(&gen[i]);
	return err;
}

/* Reads what the sender of a stream did; NULL: it did not say. */
static json_t *
gen_did(const struct bench *b, unsigned i)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/gen%u", b->folder, i);
	return json_load_file(path, 0, NULL);
}

/* The name of the recording of a stream in this run. */
static void
name_make(const struct bench *b, unsigned i, char name[static NAME])
{
	snprintf(name, NAME, "rehearsal-%d-%u-%u", (int)getpid(), b->runs, i);
}

/* Asks for the recording of a stream; a new reference, or NULL. */
static json_t *
info_of(struct bench *b, unsigned i)
{
	char name[NAME];
	json_t *result, *info;
	struct fault fault;

	name_make(b, i, name);
	if (control_ask(b->control, "info", json_pack("{s:s}", "name", name),
			&result, &fault))
		return NULL;
	info = json_incref(
	    json_array_get(json_object_get(result, "recordings"), 0));
	json_decref(result);
	return info;
}

/* Waits until no more comes. */
static void
settle(struct bench *b)
{
	uint64_t was = UINT64_MAX;

	for (int still = 0; still < STILL; nap()) {
		uint64_t n = 0;

		for (unsigned i = 0; i < b->a.traffic->n; i++) {
			json_t *info = info_of(b, i);

			n += field_number(info, "datagrams");
			json_decref(info);
		}
		still = n == was ? still + 1 : 0;
		was = n;
	}
}

/*
 * Returns how many bytes wait for the disks.  A machine's memory may hold more
 * than comes in a run, so that nothing is lost although the disks are slower.
 * Not counted are the blocks that always wait, OPEN of a port and QUEUED of a
 * disk, and a share of what came, which a short run cannot tell from these.
 */
static double
backlog_of(struct bench *b)
{
	const struct traffic *t = b->a.traffic;
	json_t *streams = NULL, *list;
	double waits = 0, most = 0;
	struct fault fault;

	if (control_ask(b->control, "streams", NULL, &streams, &fault))
		return 0;
	list = json_object_get(streams, "streams");
	for (unsigned i = 0; i < t->n; i++) {
		const json_t *stream = json_array_get(list, i), *blocks;
		json_t *info = info_of(b, i);
		double block = (double)field_number(stream, "block_bytes");
		double came = (double)field_number(info, "packets") *
			      t->stream[i].payload;

		blocks = json_object_get(info, "blocks");
		waits += block * ((double)field_number(blocks, "total") -
				  (double)field_number(blocks, "free"));
		waits -= block * OPEN * (double)field_number(stream, "subs");
		waits -= came * BEHIND / 100;
		most = fmax(most, block);
		json_decref(info);
	}
	json_decref(streams);
	return waits - most * QUEUED * b->a.disks->n;
}

static uint64_t
drops_of(const json_t *info, const char **most)
{
	const json_t *drops = json_object_get(info, "drops"), *n;
	json_int_t all = 0, top = 0;
	const char *key;

	*most = NULL;
	json_object_foreach((json_t *)drops, key, n) {
		all += json_integer_value(n);
		if (json_integer_value(n) > top) {
			top = json_integer_value(n);
			*most = key;
		}
	}
	return (uint64_t)all;
}

/* Writes why packets were lost, from what the recording says. */
static void
why_write(struct bench_run *run, const json_t *info)
{
	const json_t *cause =
	    json_array_get(json_object_get(info, "overrun_causes"), 0);
	const char *most, *process = field_text(cause, "process");
	uint64_t drops = drops_of(info, &most);

	if (drops && most && !strcmp(most, "no_buffer"))
		snprintf(run->why, sizeof run->why,
			 "the disks took less than came: %" PRIu64
			 " packets found no free block",
			 drops);
	else if (cause)
		snprintf(run->why, sizeof run->why,
			 "the socket's buffer ran over, %" PRIu64
			 " packets: the cause is \"%s\"%s%s",
			 run->lost, field_text(cause, "cause"),
			 *process ? ", by " : "", process);
	else if (drops)
		snprintf(run->why, sizeof run->why,
			 "%" PRIu64 " packets were dropped as %s", drops, most);
	else
		snprintf(run->why, sizeof run->why,
			 "%" PRIu64 " packets were lost", run->lost);
}

/* Judges a run of which nothing was lost by what waits for the disks. */
static void
backlog_judge(const struct bench *b, struct bench_run *run, double waits)
{
	char text[UNITS_TEXT];

	if (run->result != BENCH_CLEAN || b->a.way == BENCH_NETWORK ||
	    waits <= 0)
		return;
	run->result = BENCH_LOST;
	snprintf(run->why, sizeof run->why,
		 "the disks took less than came: %s too much waited in memory "
		 "at the end",
		 units_show_bytes(text, (uint64_t)waits));
}

/* Judges a stream; the run is as its worst one, and says why of the first that
 * is as bad. */
static void
stream_judge(const struct bench *b, struct bench_run *run, unsigned i,
	     const json_t *info, unsigned seconds)
{
	const struct traffic_stream *s = &b->a.traffic->stream[i];
	double packet = s->payload + s->prefix, rate = (double)rate_of(b, i);
	uint64_t packets = field_number(info, "packets");
	json_t *did = b->a.way == BENCH_DISKS ? NULL : gen_did(b, i);
	struct bench_run one = { .result = BENCH_CLEAN };
	const char *most;
	double least = rate / 8 / packet * seconds * MADE / 100;
	bool slow;

	one.sent =
	    did ? field_number(did, "sent") : packets + drops_of(info, &most);
	one.lost = one.sent > packets ? one.sent - packets : 0;
	slow = did ? field_real(did, "rate") * 100 < rate * PACE
		   : !one.lost && (double)packets < least;
	one.result = slow ? BENCH_VOID : one.lost ? BENCH_LOST : BENCH_CLEAN;
	if (one.result == BENCH_VOID)
		snprintf(one.why, sizeof one.why,
			 "this machine cannot make packets at this rate while "
			 "it records them");
	else if (one.result == BENCH_LOST)
		why_write(&one, info);
	if (one.result > run->result) {
		run->result = one.result;
		memcpy(run->why, one.why, sizeof run->why);
	}
	run->sent += one.sent;
	run->lost += one.lost;
	json_decref(did);
}

/* Ends and removes the recording of a stream.  *info gets what came of it. */
static int
recording_end(struct bench *b, unsigned i, json_t **info, struct fault *fault)
{
	char name[NAME];
	json_t *result = NULL;
	int err;

	*info = NULL;
	name_make(b, i, name);
	control_wait(b->control, -1);
	err = control_ask(b->control, "stop", json_pack("{s:s}", "name", name),
			  &result, fault);
	if (!err)
		*info = json_incref(
		    json_array_get(json_object_get(result, "recordings"), 0));
	json_decref(result);
	if (!err)
		err = control_ask(
		    b->control, "rm",
		    json_pack("{s:s, s:b}", "name", name, "force", 1), NULL,
		    fault);
	return err;
}

static int
recording_begin(struct bench *b, unsigned i, struct fault *fault)
{
	char name[NAME], stream[32];

	name_make(b, i, name);
	snprintf(stream, sizeof stream, "rehearsal%u", i);
	return control_ask(
	    b->control, "record",
	    json_pack("{s:s, s:[s]}", "name", name, "streams", stream), NULL,
	    fault);
}

int
bench_run(struct bench *b, unsigned seconds, const volatile sig_atomic_t *stop,
	  struct bench_run *run, struct fault *fault)
{
	unsigned begun = 0, n = b->a.traffic->n;
	struct fault end;
	int err = 0, flowed = 0, ended;
	double waits = 0;

	*run = (struct bench_run){ 0 };
	b->runs++;
	while (begun < n && !err) {
		err = recording_begin(b, begun, fault);
		begun += !err;
	}
	if (!err)
		flowed = flow(b, seconds, stop);
	if (!err && !flowed)
		waits = backlog_of(b);
	if (!err && !flowed && b->a.way != BENCH_DISKS)
		settle(b);
	for (unsigned i = 0; i < begun; i++) {
		json_t *info;

		ended = recording_end(b, i, &info, &end);
		if (ended && !err && !flowed) {
			err = ended;
			*fault = end;
		}
		if (info && !err && !flowed)
			stream_judge(b, run, i, info, seconds);
		json_decref(info);
	}
	backlog_judge(b, run, waits);
	if (!err && flowed)
		err =
		    fault_set(fault, flowed, "cancelled", "it was interrupted");
	return err;
}
