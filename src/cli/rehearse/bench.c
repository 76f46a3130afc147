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
	PREFIX = 8,	 /* bytes before the payload, for the counter */
	READY_S = 120,	 /* how long a spated may take to be ready */
	WAIT_MS = 50,	 /* between two looks */
	STILL = 6,	 /* looks at which nothing more came */
	PACE = 98,	 /* percent of the rate that a sender has to keep */
	MADE = 95,	 /* the same of one that begins with the recording */
	GEN_EXTRA_S = 30 /* how much longer than asked a sender may take */
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
 * first one. */
static void
stream_copy(const config_setting_t *root, FILE *to)
{
	static const char *const keys[] = { "block", "blocks", "layout",
					    "socket_buffer", "gro" };
	const config_setting_t *streams, *stream;

	streams = config_setting_get_member(root, "streams");
	stream = streams ? config_setting_get_elem(streams, 0) : NULL;
	for (size_t i = 0; stream && i < sizeof keys / sizeof *keys; i++)
		setting_write(config_setting_get_member(stream, keys[i]), to);
}

/* Writes the settings of the machine's configuration that hold here, too, and
 * those of the stream to `stream`. */
static int
settings_copy(const struct bench *b, FILE *to, FILE *stream,
	      struct fault *fault)
{
	struct conf *conf;
	config_setting_t *root;
	int err = conf_open(&conf, b->a.conf, fault);

	if (err)
		return err;
	root = conf_root(conf);
	stream_copy(root, stream);
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

static void
stream_write(const struct bench *b, const char *copied, FILE *to)
{
	fprintf(to,
		"control : { socket = \"%s/socket\"; };\n"
		"streams : { rehearsal : { %sformat = \"raw\"; payload = %u; "
		"sequence = \"le64@0\"; rate = \"%" PRIu64 "bps\"; ",
		b->folder, copied, b->a.payload, b->a.rate);
	if (b->a.way == BENCH_DISKS)
		fprintf(to,
			"receive = \"gen\"; gen_rate = \"%" PRIu64 "bps\"; ",
			b->a.rate);
	else
		fprintf(to, "listen = [ \"127.0.0.1:%u\" ]; ", b->port);
	fprintf(to, "prefix = %u; }; };\n", PREFIX);
}

/* Returns a UDP port that is free now; 0: none. */
static unsigned
port_find(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof at;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return 0;
	if (bind(fd, (struct sockaddr *)&at, size) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &size) < 0)
		at.sin_port = 0;
	close(fd);
	return ntohs(at.sin_port);
}

static int
conf_write(struct bench *b, struct fault *fault)
{
	char path[PATH_MAX], *copied = NULL;
	size_t bytes;
	FILE *to, *stream;
	int err = 0;

	b->port = port_find();
	snprintf(path, sizeof path, "%s/none", b->folder);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/spate.conf", b->folder);
	to = fopen(path, "we");
	stream = open_memstream(&copied, &bytes);
	if (!to || !stream)
		err = fault_set(fault, -errno, "io", "cannot write %s: %s",
				path, strerror(errno));
	if (!err && b->a.conf)
		err = settings_copy(b, to, stream, fault);
	if (stream)
		fclose(stream);
	if (!err) {
		disks_write(b, to);
		stream_write(b, copied, to);
	}
	free(copied);
	if (to && fclose(to) != 0 && !err)
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
	static const char *const files[] = { "spate.conf", "log",
					     "out",	   "gen",
					     "socket",	   "socket.lock" };
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, files[i]);
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

static int
gen_start(const struct bench *b, unsigned seconds, pid_t *child)
{
	char to[64], rate[32], payload[16], span[16];
	char *argv[] = {
		(char[]){ "spate" },	  (char[]){ "gen" },
		(char[]){ "--to" },	  to,
		(char[]){ "--format" },	  (char[]){ "raw" },
		(char[]){ "--sequence" }, (char[]){ "le64@0" },
		(char[]){ "--rate" },	  rate,
		(char[]){ "--payload" },  payload,
		(char[]){ "--for" },	  span,
		(char[]){ "--json" },	  NULL,
	};

	snprintf(to, sizeof to, "udp://127.0.0.1:%u", b->port);
	snprintf(rate, sizeof rate, "%" PRIu64 "bps", b->a.rate);
	snprintf(payload, sizeof payload, "%u", b->a.payload);
	snprintf(span, sizeof span, "%us", seconds);
	*child = program_start(b, argv, "gen");
	return *child < 0 ? (int)*child : 0;
}

/* Waits for the sender, or without one for the time. */
static int
flow_wait(pid_t *child, unsigned seconds, const volatile sig_atomic_t *stop)
{
	int64_t until = clock_steady() + seconds * NS_SECOND;

	if (*child)
		until += GEN_EXTRA_S * NS_SECOND;
	while (clock_steady() < until && (!*child || program_runs(*child))) {
		if (*stop) {
			program_end(child);
			return -EINTR;
		}
		nap();
	}
	if (*child && program_runs(*child))
		program_end(child);
	return 0;
}

/* Reads what the sender did; NULL: it did not say. */
static json_t *
gen_did(const struct bench *b)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/gen", b->folder);
	return json_load_file(path, 0, NULL);
}

/* Waits until no more comes. */
static void
settle(struct bench *b, const char *name)
{
	uint64_t was = UINT64_MAX;
	struct fault fault;

	for (int still = 0; still < STILL; nap()) {
		json_t *result, *info;
		uint64_t n;

		if (control_ask(b->control, "info",
				json_pack("{s:s}", "name", name), &result,
				&fault))
			return;
		info = json_array_get(json_object_get(result, "recordings"), 0);
		n = field_number(info, "datagrams");
		still = n == was ? still + 1 : 0;
		was = n;
		json_decref(result);
	}
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

	if (drops && !strcmp(most, "no_buffer"))
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

static void
run_judge(const struct bench *b, struct bench_run *run, const json_t *info,
	  unsigned seconds)
{
	double packet = b->a.payload + PREFIX, least;
	uint64_t packets = field_number(info, "packets");
	json_t *did = b->a.way == BENCH_DISKS ? NULL : gen_did(b);
	const char *most;
	bool slow;

	least = (double)b->a.rate / 8 / packet * seconds * MADE / 100;
	run->sent =
	    did ? field_number(did, "sent") : packets + drops_of(info, &most);
	run->lost = run->sent > packets ? run->sent - packets : 0;
	slow = did ? field_real(did, "rate") * 100 < (double)b->a.rate * PACE
		   : !run->lost && (double)packets < least;
	run->result = slow ? BENCH_VOID : run->lost ? BENCH_LOST : BENCH_CLEAN;
	if (run->result == BENCH_VOID)
		snprintf(run->why, sizeof run->why,
			 "this machine cannot make packets at this rate while "
			 "it records them");
	else if (run->result == BENCH_LOST)
		why_write(run, info);
	json_decref(did);
}

/* Ends and removes what was recorded.  *info gets what came of it. */
static int
recording_end(struct bench *b, const char *name, json_t **info,
	      struct fault *fault)
{
	json_t *result = NULL;
	int err;

	*info = NULL;
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

int
bench_run(struct bench *b, unsigned seconds, const volatile sig_atomic_t *stop,
	  struct bench_run *run, struct fault *fault)
{
	char name[64];
	json_t *info = NULL;
	struct fault end;
	pid_t gen = 0;
	int err, flow = 0, ended_with;

	*run = (struct bench_run){ 0 };
	snprintf(name, sizeof name, "rehearsal-%d-%u", (int)getpid(),
		 ++b->runs);
	err = control_ask(
	    b->control, "record",
	    json_pack("{s:s, s:[s]}", "name", name, "streams", "rehearsal"),
	    NULL, fault);
	if (err)
		return err;
	if (b->a.way != BENCH_DISKS)
		flow = gen_start(b, seconds, &gen);
	if (!flow)
		flow = flow_wait(&gen, seconds, stop);
	if (!flow && b->a.way != BENCH_DISKS)
		settle(b, name);
	ended_with = recording_end(b, name, &info, &end);
	if (flow) {
		err = fault_set(fault, flow, "cancelled", "it was interrupted");
	} else if (ended_with) {
		err = ended_with;
		*fault = end;
	} else {
		run_judge(b, run, info, seconds);
	}
	json_decref(info);
	return err;
}
