/*
 * Opening files below a root whose owner tries to make us leave it, block, or read another file.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/nsopen.h"
#include "host/opener.h"
#include "host/openwhy.h"

static char top[32];	/* holds "outside" and the root "r" */
static int rootfd = -1;

static void put(const char *path, const char *text)
{
	char full[256];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", top, path);
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void link_to(const char *target, const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/r/%s", top, path);
	assert_int_equal(symlink(target, full), 0);
}

static int setup(void **state)
{
	char full[256], target[300];

	(void)state;
	strcpy(top, "/tmp/nsopen-XXXXXX");
	assert_non_null(mkdtemp(top));
	snprintf(full, sizeof(full), "%s/r", top);
	assert_int_equal(mkdir(full, 0755), 0);
	snprintf(full, sizeof(full), "%s/r/etc", top);
	assert_int_equal(mkdir(full, 0755), 0);
	snprintf(full, sizeof(full), "%s/r/fifo", top);
	assert_int_equal(mkfifo(full, 0644), 0);
	put("outside", "OUT");
	put("r/etc/hostname", "IN");
	put("r/big", "0123456789");
	link_to("/etc/hostname", "abs");
	link_to("etc/hostname", "rel");
	link_to("../../../../../../etc/hostname", "climb");
	link_to("nowhere", "dangling");
	link_to("loop2", "loop1");
	link_to("loop1", "loop2");
	link_to("/proc/self/fd/0", "magic");
	link_to("/etc", "etcdir");
	snprintf(target, sizeof(target), "%s/outside", top);
	link_to(target, "escape");
	snprintf(full, sizeof(full), "%s/r", top);
	rootfd = open(full, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return rootfd < 0;
}

static int teardown(void **state)
{
	char cmd[300];

	(void)state;
	close(rootfd);
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", top);
	return system(cmd);
}

static void assert_reads(int fd, const char *want)
{
	char buf[64] = "";

	assert_true(fd >= 0);
	assert_int_equal(read(fd, buf, sizeof(buf) - 1), strlen(want));
	assert_string_equal(buf, want);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	close(fd);
}

static void test_inside(void **state)
{
	struct stat st;

	(void)state;
	assert_reads(nsopen_file(rootfd, "/etc/hostname", 0, &st), "IN");
	assert_int_equal(st.st_size, 2);
	assert_reads(nsopen_file(rootfd, "etc/hostname", 0, NULL), "IN");
	assert_reads(nsopen_file(rootfd, "/rel", 0, NULL), "IN");
}

/*
 * Each would give the host's file, or another one outside, if the path were appended to the root's.
 */
static void test_escapes_stay_inside(void **state)
{
	(void)state;
	assert_reads(nsopen_file(rootfd, "/abs", 0, NULL), "IN");
	assert_reads(nsopen_file(rootfd, "/climb", 0, NULL), "IN");
	assert_reads(nsopen_file(rootfd, "/etcdir/hostname", 0, NULL), "IN");
	assert_reads(nsopen_file(rootfd, "../../etc/hostname", 0, NULL), "IN");
	assert_int_equal(nsopen_file(rootfd, "/escape", 0, NULL), -ENOENT);
	assert_int_equal(nsopen_file(rootfd, "../outside", 0, NULL), -ENOENT);
}

static void test_refused(void **state)
{
	(void)state;
	assert_int_equal(nsopen_file(rootfd, "/dangling", 0, NULL), -ENOENT);
	assert_int_equal(nsopen_file(rootfd, "/loop1", 0, NULL), -ELOOP);
	assert_int_equal(nsopen_file(rootfd, "/magic", 0, NULL), -ENOENT);
	assert_int_equal(nsopen_file(rootfd, "/etc", 0, NULL), -EINVAL);
	assert_int_equal(nsopen_file(rootfd, "", 0, NULL), -ENOENT);
	/* Without a writer a blocking open would hang: alarm(2) ends the test then. */
	alarm(10);
	assert_int_equal(nsopen_file(rootfd, "/fifo", 0, NULL), -EINVAL);
	alarm(0);
}

static void test_magic_links(void **state)
{
	int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_true(proc >= 0);
	assert_int_equal(nsopen_file(proc, "self/exe", 0, NULL), -ELOOP);
	assert_int_equal(nsopen_dir(proc, "self/root", NULL), -ELOOP);
	close(proc);
}

static void test_device(void **state)
{
	char full[256];

	(void)state;
	snprintf(full, sizeof(full), "%s/r/dev", top);
	if (mknod(full, S_IFCHR | 0666, makedev(1, 3))) {
		print_message("# cannot make a device node: %s\n", strerror(errno));
		skip();
	}
	assert_int_equal(nsopen_file(rootfd, "/dev", 0, NULL), -EINVAL);
}

static void test_size_cap(void **state)
{
	(void)state;
	assert_reads(nsopen_file(rootfd, "/big", 10, NULL), "0123456789");
	assert_int_equal(nsopen_file(rootfd, "/big", 9, NULL), -EFBIG);
}

static void test_dir(void **state)
{
	int fd = nsopen_dir(rootfd, "/etcdir", NULL);

	(void)state;
	assert_true(fd >= 0);
	assert_reads(nsopen_file(fd, "hostname", 0, NULL), "IN");
	close(fd);
	assert_int_equal(nsopen_dir(rootfd, "/etc/hostname", NULL), -ENOTDIR);
	assert_int_equal(nsopen_dir(rootfd, "/none", NULL), -ENOENT);
}

/* The links must be rejected while something that looks like a race happens below the same root. */
static void test_renames_meanwhile(void **state)
{
	char a[256], b[256];
	int i, wrong = 0;
	pid_t pid;

	(void)state;
	snprintf(a, sizeof(a), "%s/r/d1", top);
	snprintf(b, sizeof(b), "%s/r/d2", top);
	assert_int_equal(mkdir(a, 0755), 0);
	pid = fork();
	if (!pid) {
		for (;;) {
			if (rename(a, b) || rename(b, a))
				_exit(1);
		}
	}
	for (i = 0; i < 2000; i++) {
		int fd = nsopen_file(rootfd, "/climb", 0, NULL);

		/*
		 * -EAGAIN is correct when renames never stop; opening anything but our file is not.
		 */
		if (fd >= 0)
			close(fd);
		else if (fd != -EAGAIN)
			wrong++;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(wrong, 0);
}

static void test_process(void **state)
{
	struct stat st, host;
	int fd;

	(void)state;
	fd = nsopen_root((uint32_t)getpid());
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(stat("/", &host), 0);
	assert_int_equal(st.st_ino, host.st_ino);
	close(fd);
	fd = nsopen_host_root();
	assert_true(fd >= 0);
	close(fd);
	/* Beyond PID_MAX_LIMIT: no process ever has it. */
	assert_int_equal(nsopen_root(4194305), -ENOENT);
	assert_int_equal(nsopen_procfile(4194305, "maps"), -ENOENT);
}

static void test_proc_dir(void **state)
{
	char full[256], dir[256];

	(void)state;
	snprintf(full, sizeof(full), "%s/r/77", top);
	assert_int_equal(mkdir(full, 0755), 0);
	put("r/77/stat", "77 (x)");
	snprintf(dir, sizeof(dir), "%s/r", top);
	nsopen_set_proc(dir);
	assert_string_equal(nsopen_proc(), dir);
	assert_reads(nsopen_procfile(77, "stat"), "77 (x)");
	nsopen_set_proc("/proc");
}

static void test_mapping(void **state)
{
	char full[256];
	struct stat st, want;
	void *p;
	int fd;

	(void)state;
	snprintf(full, sizeof(full), "%s/mapped", top);
	put("mapped", "MAPPED");
	fd = open(full, O_RDONLY);
	assert_int_equal(fstat(fd, &want), 0);
	p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	close(fd);
	/* Replaced, as by a deployment: the path now names another file. */
	assert_int_equal(unlink(full), 0);
	put("mapped", "OTHER");
	fd = nsopen_mapping((uint32_t)getpid(), (uintptr_t)p, (uintptr_t)p + 4096, &st);
	if (fd == -EPERM || fd == -EACCES) {
		munmap(p, 4096);
		print_message("# no right to open map_files\n");
		skip();
	}
	assert_reads(fd, "MAPPED");
	assert_int_equal(st.st_ino, want.st_ino);
	assert_int_equal(nsopen_mapping((uint32_t)getpid(), (uintptr_t)p, (uintptr_t)p + 8192, &st),
			 -ENOENT);
	fd = nsopen_mapping_at((uint32_t)getpid(), (uintptr_t)p + 4095, &st);
	assert_reads(fd, "MAPPED");
	assert_int_equal(st.st_ino, want.st_ino);
	munmap(p, 4096);
	assert_int_equal(nsopen_mapping_at((uint32_t)getpid(), (uintptr_t)p, &st), -ENOENT);
	assert_int_equal(nsopen_mapping_at((uint32_t)getpid(), (uintptr_t)&fd, &st), -ENOENT);
}

/* An open file of our own is found by its name alone. */
static void test_held(void **state)
{
	static const char *const names[] = { "not-perf-7.map", "perf-7.map.old", "fifo-7.map", "perf-7.map" };
	int procfd = nsopen_process((uint32_t)getpid()), fds[4], fd;
	char path[4][256], text[8] = "";
	struct stat st;

	(void)state;
	assert_true(procfd >= 0);
	for (int i = 0; i < 4; i++) {
		snprintf(path[i], sizeof(path[i]), "%s/%s", top, names[i]);
		if (i == 2)
			assert_int_equal(mkfifo(path[i], 0600), 0);
		/* O_RDWR, because opening a FIFO for writing alone would block. */
		fds[i] = open(path[i], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		assert_true(fds[i] >= 0);
		assert_int_equal(write(fds[i], i == 3 ? "MAP" : "BAD", 3), 3);
	}
	for (int gone = 0; gone < 2; gone++) {
		fd = nsopen_held(procfd, "perf-7.map", &st);
		assert_true(fd >= 0);
		assert_int_equal(st.st_size, 3);
		assert_int_equal(read(fd, text, sizeof(text)), 3);
		assert_string_equal(text, "MAP");
		close(fd);
		if (!gone)
			assert_int_equal(unlink(path[3]), 0);
	}
	assert_int_equal(nsopen_held(procfd, "fifo-7.map", &st), -EINVAL);
	assert_int_equal(nsopen_held(procfd, "perf-8.map", &st), -ENOENT);
	for (int i = 0; i < 4; i++) {
		close(fds[i]);
		unlink(path[i]);
	}
	assert_int_equal(nsopen_held(procfd, "perf-7.map", &st), -ENOENT);
	close(procfd);
}

static void test_slurp(void **state)
{
	char full[256], *text;
	size_t len = 0;
	int fd, err = 0, i;
	FILE *f;

	(void)state;
	snprintf(full, sizeof(full), "%s/slurp", top);
	f = fopen(full, "w");
	for (i = 0; i < 10000; i++)
		fputc('a' + i % 26, f);
	fclose(f);
	fd = open(full, O_RDONLY);
	text = nsopen_slurp(fd, 10000, &len, &err);
	assert_non_null(text);
	assert_int_equal(len, 10000);
	assert_int_equal(strlen(text), 10000);
	assert_int_equal(text[9999], 'a' + 9999 % 26);
	free(text);
	lseek(fd, 0, SEEK_SET);
	assert_null(nsopen_slurp(fd, 9999, &len, &err));
	assert_int_equal(err, -EFBIG);
	/* At the end of the file the result is empty, not an error. */
	lseek(fd, 0, SEEK_END);
	text = nsopen_slurp(fd, 100, &len, &err);
	assert_non_null(text);
	assert_int_equal(len, 0);
	assert_string_equal(text, "");
	free(text);
	close(fd);
	fd = open(top, O_RDONLY | O_DIRECTORY);
	assert_null(nsopen_slurp(fd, 100, &len, &err));
	assert_int_equal(err, -EISDIR);
	close(fd);
}

/* A file that is not there has no reason; what else fails has one, whatever it is about. */
static void test_why(void **state)
{
	static const int absent[] = { ENOENT, ENOTDIR, ESRCH };
	static const struct {
		int err;
		const char *part;
	} refused[] = {
		{ EINVAL, "is not a regular file" }, { EFBIG, "is too large" }, { ELOOP, "loop of symbolic links" }, { EACCES, "no permission" },
		{ EPERM, "no permission" }, { ENOSYS, "openat2(2)" }, { ETIMEDOUT, "does not answer" }, { ESTALE, "not the one that was mapped" },
		{ EIO, "cannot be read" }, { EMFILE, "cannot be read" },
	};

	(void)state;
	for (int what = 0; what < OPENWHYS; what++) {
		for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
			assert_null(openwhy((enum openwhy)what, -absent[i]));
		for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
			const char *why = openwhy((enum openwhy)what, -refused[i].err);

			assert_non_null(why);
			assert_non_null(strstr(why, refused[i].part));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inside),
		cmocka_unit_test(test_escapes_stay_inside),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_magic_links),
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_size_cap),
		cmocka_unit_test(test_dir),
		cmocka_unit_test(test_renames_meanwhile),
		cmocka_unit_test(test_process),
		cmocka_unit_test(test_proc_dir),
		cmocka_unit_test(test_mapping),
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_slurp),
		cmocka_unit_test(test_why),
	};

	int failed;

	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed = cmocka_run_group_tests(tests, setup, teardown);
	/* The same in an opener. */
	if (opener_start(true))
		return 1;
	failed += cmocka_run_group_tests(tests, setup, teardown);
	opener_stop();
	return failed;
}
