/*
 * A parser tries, from inside, what it must not be able to do, and what it must. Nothing here may
 * depend on who runs it: root and others.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/outfile.h"
#include "base/tempfile.h"
#include "host/fileop.h"
#include "host/nsopen.h"
#include "host/opener.h"
#include "host/opener_wire.h"
#include "host/parser.h"
#include "host/sandbox.h"

static char top[] = "/tmp/parser-XXXXXX";
static int wrong;

static void expect(const char *what, int ok)
{
	if (!ok)
		fprintf(stderr, "# %s: errno %d\n", what, errno);
	wrong += !ok;
}

static void fails(const char *what, long ret)
{
	expect(what, ret < 0 && (errno == EPERM || errno == EACCES));
}

static char *in_top(const char *name)
{
	static char path[2][512];
	static int i;

	i = !i;
	snprintf(path[i], sizeof(path[i]), "%s/%s", top, name);
	return path[i];
}

/* Runs @fn in a parser, in a child: parser_run() may end its caller. Wait status. */
static int in_parser(const struct parser *p, int (*fn)(void *ctx))
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		dup2(open(in_top("messages"), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
		_exit(parser_run(p, fn, NULL));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static char *read_all(const char *path)
{
	static char text[65536];
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void well(const struct parser *p, int (*fn)(void *ctx))
{
	int status = in_parser(p, fn);

	if (status)
		print_message("%s", read_all(in_top("messages")));
	assert_int_equal(status, 0);
}

static int was_root;

static int tries(void *unused)
{
	char *const argv[] = { (char *)(uintptr_t) "true", NULL };
	struct sandbox_state st;
	struct rlimit rl;
	struct stat sb;

	(void)unused;
	fails("open", open("/etc/passwd", O_RDONLY));
	fails("open /etc/shadow", open("/etc/shadow", O_RDONLY));
	fails("open a folder", open("/", O_RDONLY | O_DIRECTORY));
	fails("open O_PATH", open("/", O_PATH));
	fails("create", open(in_top("made"), O_WRONLY | O_CREAT, 0600));
	fails("stat", stat("/etc/passwd", &sb));
	fails("unlink", unlink(in_top("messages")));
	fails("socket", socket(AF_INET, SOCK_STREAM, 0));
	fails("unix socket", socket(AF_UNIX, SOCK_STREAM, 0));
	fails("execve", execv("/bin/true", argv));
	/* fork(3) of newer C libraries blocks signals, and a blocked SIGSYS ends the process. */
	fails("fork", syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	fails("ptrace", ptrace(PTRACE_ATTACH, getppid(), 0, 0));
	fails("kill the program", kill(getppid(), 0));
	fails("kill", kill(1, 0));
	fails("setuid", setuid(0));
	fails("setgid", setgid(0));
	fails("chroot", chroot("/"));
	fails("raise a limit", setrlimit(RLIMIT_CORE, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY }));
	sandbox_state(&st);
	expect("no capabilities", !st.caps);
	expect("no new privileges", st.no_new_privs);
	expect("filter", st.filter);
	expect("user", was_root ? geteuid() && getuid() == geteuid() && getgid() && getegid() : geteuid() > 0);
	expect("core", !getrlimit(RLIMIT_CORE, &rl) && !rl.rlim_max);
	expect("memory", !getrlimit(RLIMIT_DATA, &rl) && rl.rlim_max != RLIM_INFINITY);
	return wrong;
}

static void test_tries(void **state)
{
	const struct parser p = { .output = NULL };

	(void)state;
	was_root = !geteuid();
	well(&p, tries);
	/* Each of these calls was named: nothing failed for another reason. */
	assert_non_null(strstr(read_all(in_top("messages")), "the sandbox refused system call"));
}

/* What the program opens for it: binaries, and nothing else. */
static int asks(void *unused)
{
	int root = nsopen_host_root(), fd;
	char magic[4] = "";
	struct stat st;
	char path[256];

	(void)unused;
	expect("root", root >= 0);
	fd = nsopen_file(root, "/bin/true", 0, &st);
	expect("binary", fd >= 0 && read(fd, magic, 4) == 4 && !memcmp(magic, "\177ELF", 4));
	expect("its size", st.st_size > 1000);
	fd = nsopen_file(root, "/etc/shadow", 0, &st);
	expect("/etc/shadow", fd == -EACCES || (fd >= 0 && !read(fd, magic, 1) && !pread(fd, magic, 1, 0)));
	fd = nsopen_file(root, "/etc/passwd", 0, &st);
	expect("/etc/passwd", fd >= 0 && !read(fd, magic, 1) && !pread(fd, magic, 1, 0) && st.st_size > 10);
	expect("none", nsopen_file(root, "/none", 0, NULL) == -ENOENT);
	fd = nsopen_file(root, in_top("perf-7.map"), 0, NULL);
	expect("perf map", fd >= 0);
	fails("write to it", write(fd, "", 1) < 0 && errno == EBADF ? (errno = EPERM, -1) : 0);
	fd = nsopen_procfile((uint32_t)getppid(), "stat");
	expect("stat of a process", fd >= 0 && read(fd, path, sizeof(path)) > 10);
	expect("environ of a process", nsopen_procfile((uint32_t)getppid(), "environ") == -EPERM);
	expect("mem of a process", nsopen_procfile((uint32_t)getppid(), "mem") == -EPERM);
	expect("a way out", nsopen_procfile((uint32_t)getppid(), "../../etc/shadow") == -EPERM);
	return wrong;
}

static void make(const char *name, const void *bytes, size_t len)
{
	int fd = open(in_top(name), O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

static void test_asks(void **state)
{
	const struct parser p = { .output = NULL };

	(void)state;
	make("perf-7.map", "1 2 a\n", 6);
	well(&p, asks);
}

/* All that @path gives, in place or as a copy. */
static bool gives_nothing(int root, const char *path)
{
	char bytes[16];
	int fd = nsopen_file(root, path, 0, NULL), copy = fd;
	const struct fileop op = { .kind = FILEOP_COPY, .fd = { fd, -1 }, .max = sizeof(bytes) };
	struct fileop_result r;

	if (fd >= 0 && nsopen_is_remote(fd))
		copy = opener_run(&op, &r) ? -1 : r.fd;
	return copy < 0 || (pread(copy, bytes, sizeof(bytes), 0) <= 0);
}

static pid_t tenant;	/* has mounts of its own; 0: it may not */

/* What a tenant has called like something for parsers: by mounts, and as a process. */
static void asks_tenant(int root)
{
	const int own = tenant ? nsopen_root((uint32_t)tenant) : -1, dir = nsopen_dir(root, in_top("process"), NULL);
	struct fileop op = { .kind = FILEOP_MAPPING, .fd = { dir, -1 }, .from = 0x1000, .to = 0x2000 };
	struct fileop_result r;

	if (tenant) {
		expect("the tenant's root", own >= 0);
		expect("the tenant's own map", !gives_nothing(own, in_top("perf-7.map")));
		expect("a secret mounted like a perf map", gives_nothing(own, in_top("mounted/perf-9.map")));
		expect("a folder mounted like one of headers", gives_nothing(own, in_top("mounted/include/secret")));
	}
	expect("a folder", dir >= 0);
	expect("the mapping of no process", opener_run(&op, &r) == -EPERM);
	op.kind = FILEOP_MAPPING_AT;
	expect("whatever is mapped there", opener_run(&op, &r) == -EPERM);
	expect("a descriptor of no process", nsopen_held(dir, "perf-7.map", NULL) == -EPERM);
	op = (struct fileop){ .kind = FILEOP_COPY, .fd = { STDERR_FILENO, -1 }, .max = 100 };
	expect("what its messages are added to", opener_run(&op, &r) == -EPERM);
}

/* Ways to files that are not for parsers, as one that is taken over would try them. */
static int asks_badly(void *unused)
{
	char path[64];
	int root = nsopen_host_root();

	(void)unused;
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)getppid());
	expect("environ by its path", gives_nothing(root, path));
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)getppid());
	expect("maps by its path", gives_nothing(root, path));
	expect("/proc/kcore", gives_nothing(root, "/proc/kcore"));
	expect("a core dump", gives_nothing(root, in_top("core")));
	expect("a core dump of the other byte order", gives_nothing(root, in_top("core.msb")));
	expect("a binary that is one", !gives_nothing(root, in_top("binary")));
	expect("a secret called like source text", gives_nothing(root, in_top("link.c")));
	expect("a secret called like a perf map", gives_nothing(root, in_top("perf-8.map")));
	expect("a secret behind a folder of headers", gives_nothing(root, in_top("include/../secret")));
	expect("source text", !gives_nothing(root, in_top("text.c")));
	expect("a header without an ending", !gives_nothing(root, in_top("include/vector")));
	asks_tenant(root);
	return wrong;
}

/* A process that has mounted the secret as "mounted/perf-9.map", and its folder as "mounted/include". */
static void tenant_begins(void)
{
	char secret[512], to[512], c = '0';
	int done[2];

	assert_int_equal(mkdir(in_top("mounted"), 0755), 0);
	assert_int_equal(mkdir(in_top("mounted/include"), 0755), 0);
	make("mounted/perf-9.map", "", 0);
	assert_int_equal(pipe(done), 0);
	tenant = fork();
	assert_true(tenant >= 0);
	if (!tenant) {
		snprintf(secret, sizeof(secret), "%s/secret", top);
		snprintf(to, sizeof(to), "%s/mounted/perf-9.map", top);
		if (!unshare(CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0)) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
		    !mount(secret, to, NULL, MS_BIND, NULL) && !mount(top, in_top("mounted/include"), NULL, MS_BIND, NULL))
			c = '1';
		_exit(write(done[1], &c, 1) == 1 && pause());
	}
	assert_int_equal(read(done[0], &c, 1), 1);
	close(done[0]);
	close(done[1]);
	if (c == '0') {
		print_message("# no mounts of its own here\n");
		kill(tenant, SIGKILL);
		waitpid(tenant, NULL, 0);
		tenant = 0;
	}
}

static void tenant_ends(void)
{
	if (!tenant)
		return;
	kill(tenant, SIGKILL);
	waitpid(tenant, NULL, 0);
	tenant = 0;
}

static void test_asks_badly(void **state)
{
	const struct parser p = { .output = NULL, .sources = true };
	unsigned char head[64] = { 0x7f, 'E', 'L', 'F', 2, 1, 1, [16] = 4 };

	(void)state;
	make("secret", "secret", 6);
	make("core", head, sizeof(head));
	head[5] = 2;
	head[16] = 0;
	head[17] = 4;
	make("core.msb", head, sizeof(head));
	head[17] = 3;
	make("binary", head, sizeof(head));
	make("text.c", "int i;", 6);
	assert_int_equal(mkdir(in_top("include"), 0755), 0);
	make("include/vector", "int i;", 6);
	assert_int_equal(symlink("secret", in_top("link.c")), 0);
	assert_int_equal(symlink("secret", in_top("perf-8.map")), 0);
	assert_int_equal(mkdir(in_top("process"), 0755), 0);
	assert_int_equal(mkdir(in_top("process/map_files"), 0755), 0);
	assert_int_equal(mkdir(in_top("process/fd"), 0755), 0);
	assert_int_equal(symlink(in_top("binary"), in_top("process/map_files/1000-2000")), 0);
	assert_int_equal(symlink(in_top("perf-7.map"), in_top("process/fd/0")), 0);
	make("process/maps", "1000-2000 r-xp 00000000 08:01 7 /x\n", 36);
	tenant_begins();
	well(&p, asks_badly);
}

static int inherited;

/* The zygote forks an opener for whoever has its socket. */
static int takes_rights(void *unused)
{
	const struct zygote_request rq = { .kind = ZYGOTE_FORK };
	char answer[PARSER_TEXT_MAX + 64];
	int fds[WIRE_FDS], n;
	struct stat st;

	(void)unused;
	for (int fd = STDERR_FILENO + 1; fd < 256; fd++) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };

		if (fstat(fd, &st))
			continue;
		if (!S_ISSOCK(st.st_mode) || wire_send(fd, &rq, sizeof(rq), NULL, 0, NULL, 0) || poll(&ready, 1, 1000) <= 0)
			continue;
		expect("an opener of its own", wire_recv(fd, answer, sizeof(answer), fds, &n) <= 0 || !n);
	}
	expect("a file of the caller", fcntl(inherited, F_GETFD) < 0);
	fails("signals to others", fcntl(STDERR_FILENO, F_SETOWN, getppid()));
	return wrong;
}

static int with_opener(void *unused)
{
	const struct parser p = { .output = NULL };

	(void)unused;
	return opener_start(true) ? 1 : parser_run(&p, takes_rights, NULL) + parser_run(&p, asks, NULL) +
	       parser_run(&(struct parser){ .sources = true }, asks_badly, NULL);
}

static void test_takes_rights(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	inherited = open("/etc/passwd", O_RDONLY);
	assert_true(inherited > STDERR_FILENO);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		dup2(open(in_top("messages"), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
		_exit(with_opener(NULL));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	tenant_ends();
	if (status)
		print_message("%s", read_all(in_top("messages")));
	assert_int_equal(status, 0);
	close(inherited);
}

static int writes(void *unused)
{
	struct outfile *o = outfile_open(in_top("out"));

	(void)unused;
	expect("its output", o != NULL);
	if (!o)
		return 1;
	fputs("whole\n", outfile_stream(o));
	expect("closed", !outfile_close(o));
	o = outfile_open(in_top("out"));
	fputs("given up\n", outfile_stream(o));
	outfile_abort(o);
	expect("another file", !outfile_open(in_top("other")));
	expect("another folder", outfile_folder(top) < 0);
	return wrong;
}

static void test_writes(void **state)
{
	char out[600];
	struct parser p = { .output = out };

	(void)state;
	snprintf(out, sizeof(out), "%s/out", top);
	well(&p, writes);
	assert_string_equal(read_all(in_top("out")), "whole\n");
	assert_int_equal(access(in_top("other"), F_OK), -1);
}

/* ---- what some programs grant ---- */

static bool allow(void *ctx, const char *path)
{
	(void)ctx;
	return !strcmp(path, in_top("allowed"));
}

static int is_granted(void *unused)
{
	struct outfile *o = outfile_open(in_top("allowed"));
	int fd = tempfile_open();

	(void)unused;
	expect("an output that is allowed", o && !outfile_close(o));
	expect("others", !outfile_open(in_top("other")));
	expect("a temporary file", fd >= 0 && write(fd, "x", 1) == 1);
	expect("no files of processes", nsopen_host_root() == -EPERM && nsopen_procfile((uint32_t)getppid(), "stat") == -EPERM);
	return wrong;
}

static int is_not_granted(void *unused)
{
	(void)unused;
	expect("an output", !outfile_open(in_top("allowed")));
	expect("a temporary file", tempfile_open() == -EPERM);
	fails("bpf", syscall(SYS_bpf, 10, NULL, 0));
	return wrong;
}

static void test_grants(void **state)
{
	const struct parser all = { .no_files = true, .temp = true, .allow = allow }, none = { .output = NULL };

	(void)state;
	well(&all, is_granted);
	assert_int_equal(access(in_top("allowed"), F_OK), 0);
	assert_int_equal(access(in_top("other"), F_OK), -1);
	well(&none, is_not_granted);
}

static int splits(void *unused)
{
	static const char *const bad[] = { "f/a", "f/.a.folded", "f/../a.folded", "f/b/a.folded", "a.folded", "f/" };
	struct outfile *o;

	(void)unused;
	expect("folder", !outfile_folder(in_top("f")));
	o = outfile_open(in_top("f/a.folded"));
	expect("file", o && !outfile_close(o));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect(bad[i], !outfile_open(in_top(bad[i])));
	return wrong;
}

static void test_splits(void **state)
{
	char out[600];
	struct parser p = { .output = out, .folder = true, .suffix = ".folded" };

	(void)state;
	snprintf(out, sizeof(out), "%s/f", top);
	well(&p, splits);
	assert_int_equal(access(in_top("f/a.folded"), F_OK), 0);
	assert_int_equal(access(in_top("a.folded"), F_OK), -1);
}

/* ---- ends ---- */

static int exits(void *unused)
{
	(void)unused;
	return 7;
}

static int is_interrupted(void *unused)
{
	(void)unused;
	raise(SIGTERM);
	return 0;
}

static int dies(void *unused)
{
	(void)unused;
	raise(SIGSEGV);
	return 0;
}

/* Does the first time, with half an output. */
static int dies_of_a_file(void *unused)
{
	struct outfile *o = outfile_open(in_top("out"));

	(void)unused;
	if (!o)
		return 2;
	if (!parser_avoids(4711)) {
		parser_working_on(4711, "/lib/bad\x1b.so");
		fputs("half", outfile_stream(o));
		fflush(outfile_stream(o));
		raise(SIGSEGV);
	}
	fputs("without it", outfile_stream(o));
	return outfile_close(o) ? 3 : 0;
}

static int dies_of_an_input(void *unused)
{
	(void)unused;
	parser_working_on(0, "in.folded");
	raise(SIGSEGV);
	return 0;
}

static int dies_late(void *unused)
{
	(void)unused;
	parser_working_on(4711, "/lib/bad.so");
	parser_output_begins();
	raise(SIGSEGV);
	return 0;
}

static void test_ends(void **state)
{
	char out[600];
	struct parser p = { .output = out };
	int status;

	(void)state;
	snprintf(out, sizeof(out), "%s/out", top);
	status = in_parser(&p, exits);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	status = in_parser(&p, is_interrupted);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	status = in_parser(&p, dies);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_non_null(strstr(read_all(in_top("messages")), "was ended by signal 11"));
	p.failed = 3;
	p.input = "the inputs";
	status = in_parser(&p, dies_of_an_input);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	assert_non_null(strstr(read_all(in_top("messages")), "the process that reads the inputs was ended by signal 11"));
	assert_non_null(strstr(read_all(in_top("messages")), "while it read 'in.folded'"));
	p.failed = 0;
	status = in_parser(&p, dies_late);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_int_equal(in_parser(&p, dies_of_a_file), 0);
	assert_non_null(strstr(read_all(in_top("messages")), "reading '/lib/bad?.so' ended the process"));
	assert_string_equal(read_all(out), "without it");
}

static int setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(top));
	assert_int_equal(chmod(top, 0755), 0);
	return 0;
}

static int teardown(void **state)
{
	char command[600];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	return system(command) ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tries), cmocka_unit_test(test_asks), cmocka_unit_test(test_asks_badly),
		cmocka_unit_test(test_takes_rights), cmocka_unit_test(test_writes),
		cmocka_unit_test(test_grants), cmocka_unit_test(test_splits), cmocka_unit_test(test_ends),
	};

	log_init("test");
	cmocka_set_message_output(CM_OUTPUT_TAP);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	puts("1..0 # SKIP sanitizers make calls of their own");
	return 0;
#endif
	return cmocka_run_group_tests(tests, setup, teardown);
}
