/*
 * Large output, with and without a thread: every byte, in order, and write errors in the caller and
 * in the thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "base/write_behind.h"

/*
 * More than the caller writes itself (BESIDE_BYTES in write_behind.c) and all pieces that may be
 * queued.
 */
#define MUCH (40u << 20)
/* A prime, so that its period matches no buffer size. */
#define PERIOD 65521u

static char text[2 * PERIOD];

static int setup(void **state)
{
	uint64_t x = 1;

	(void)state;
	for (size_t i = 0; i < PERIOD; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		text[i] = text[i + PERIOD] = (char)(x >> 56);
	}
	return 0;
}

/* Puts the bytes [@from, @to) of an endless text, @step at a time. */
static void put(FILE *f, size_t from, size_t to, size_t step)
{
	while (from < to) {
		size_t n = MIN(step, to - from);

		if (fwrite(text + from % PERIOD, 1, n, f) != n)
			break;
		from += n;
	}
}

/* How many bytes @fd has up to its end. SIZE_MAX if they are not that text. */
static size_t take(int fd)
{
	static char buf[1 << 16];
	size_t at = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		for (size_t i = 0; i < (size_t)n; i++, at++)
			if (buf[i] != text[at % PERIOD])
				return SIZE_MAX;
	return n ? SIZE_MAX : at;
}

static int empty_file(void)
{
	int fd = memfd_create("behind", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void to_file(size_t size, size_t step, bool beside)
{
	int fd = empty_file();
	struct write_behind *wb;
	FILE *f;

	wb = write_behind_new(fd, beside, &f);
	assert_non_null(wb);
	put(f, 0, size, step);
	assert_int_equal(write_behind_end(wb), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_true(take(fd) == size);
	close(fd);
}

static void every_byte_arrives(void **state)
{
	static const size_t steps[] = { 100, 8192, 34567, PERIOD };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		to_file(MUCH + 1, steps[i], true);
		to_file(MUCH / 8 + 1, steps[i], false);
	}
	/* No bytes, less than a piece, exact multiples of a piece. */
	to_file(0, 1, true);
	to_file(1, 1, true);
	to_file(1 << 20, 4096, true);
	to_file(16 << 20, 4096, true);
}

struct reader {
	int fd;
	size_t got;
};

static void *read_slowly(void *arg)
{
	struct reader *r = arg;

	r->got = take(r->fd);
	return NULL;
}

/* A pipe takes what it has room for: writes are short or fail. */
static void short_writes_go_on(void **state)
{
	(void)state;
	for (int flags = 0; flags <= O_NONBLOCK; flags += O_NONBLOCK) {
		struct write_behind *wb;
		struct reader r;
		pthread_t tid;
		int p[2];
		FILE *f;

		assert_int_equal(pipe(p), 0);
		assert_int_equal(fcntl(p[1], F_SETFL, flags), 0);
		r = (struct reader){ .fd = p[0] };
		assert_int_equal(pthread_create(&tid, NULL, read_slowly, &r), 0);
		wb = write_behind_new(p[1], true, &f);
		put(f, 0, MUCH, 1000);
		assert_int_equal(write_behind_end(wb), 0);
		close(p[1]);
		pthread_join(tid, NULL);
		assert_true(r.got == MUCH);
		close(p[0]);
	}
}

/* From byte @at on, writes fail; with @again they succeed again near the end. */
static void full_after(size_t at, bool again)
{
	int fd = empty_file(), keep = dup(fd), full = open("/dev/full", O_WRONLY);
	struct write_behind *wb;
	struct stat st;
	FILE *f;

	wb = write_behind_new(fd, true, &f);
	put(f, 0, at, 1000);
	dup2(full, fd);
	put(f, at, at + MUCH, 1000);
	if (again)
		dup2(keep, fd);
	put(f, at + MUCH, at + MUCH + 1000, 1000);
	assert_int_equal(write_behind_end(wb), -ENOSPC);
	/* Nothing is written after a failure, even when there is room again. */
	assert_int_equal(fstat(keep, &st), 0);
	assert_true((size_t)st.st_size <= at);
	assert_int_equal(lseek(keep, 0, SEEK_SET), 0);
	assert_true(take(keep) == (size_t)st.st_size);
	close(keep);
	close(full);
	close(fd);
}

static void a_full_disk_is_noticed(void **state)
{
	(void)state;
	full_after(0, false);
	full_after(MUCH, false);
}

static void and_not_forgotten(void **state)
{
	(void)state;
	full_after(0, true);
	full_after(MUCH, true);
}

/* A program whose reader closes after @size bytes; returns its exit status. */
static int reader_leaves(size_t size, bool ignored)
{
	int p[2], status;
	pid_t pid;

	assert_int_equal(pipe(p), 0);
	pid = fork();
	if (!pid) {
		struct write_behind *wb;
		FILE *f;

		close(p[0]);
		signal(SIGPIPE, ignored ? SIG_IGN : SIG_DFL);
		wb = write_behind_new(p[1], true, &f);
		put(f, 0, 2 * (size_t)MUCH, 1000);
		_exit(write_behind_end(wb) == -EPIPE ? 7 : 1);
	}
	close(p[1]);
	while (size) {
		char buf[4096];
		ssize_t n = read(p[0], buf, MIN(size, sizeof(buf)));

		assert_true(n > 0);
		size -= (size_t)n;
	}
	close(p[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void readers_may_leave(void **state)
{
	(void)state;
	for (size_t size = 1; size <= MUCH; size += MUCH - 1) {
		int status = reader_leaves(size, false);

		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGPIPE);
		status = reader_leaves(size, true);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 7);
	}
}

/* An empty file on ext4 that is deleted when closed, or -1. */
static int ext4_file(int flags)
{
	const char *dir = getenv("TMPDIR");
	struct statfs fs;
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/behind.XXXXXX", dir ? dir : "/tmp");
	fd = mkostemp(path, flags);
	assert_true(fd >= 0);
	unlink(path);
	if (!fstatfs(fd, &fs) && fs.f_type == EXT4_SUPER_MAGIC)
		return fd;
	close(fd);
	return -1;
}

/* Whether @fd has a whole page in [@start, @end) whose block is not allocated yet. */
static bool blocks_are_missing(int fd, uint64_t start, uint64_t end)
{
	uint64_t first = align_up(start, 4096);

	struct {
		struct fiemap map;
		struct fiemap_extent room[256];
	} m = { .map = { .fm_start = first, .fm_length = align_down(end, 4096) - first, .fm_extent_count = ARRAY_SIZE(m.room) } };

	assert_int_equal(ioctl(fd, FS_IOC_FIEMAP, &m), 0);
	assert_true(m.map.fm_mapped_extents > 0 && m.map.fm_mapped_extents < ARRAY_SIZE(m.room));
	for (uint32_t i = 0; i < m.map.fm_mapped_extents; i++)
		if (m.map.fm_extents[i].fe_flags & FIEMAP_EXTENT_DELALLOC)
			return true;
	return false;
}

/*
 * Appending to existing content, on ext4. Blocks of pieces that are written whole are allocated
 * ahead; none is allocated beyond what is written.
 */
static void behind_others(int flags, size_t before, size_t size)
{
	int fd = ext4_file(flags);
	struct write_behind *wb;
	struct stat st;
	FILE *f;

	if (fd < 0) {
		print_message("no ext4 in TMPDIR\n");
		skip();
	}
	assert_true(write(fd, text, before) == (ssize_t)before);
	wb = write_behind_new(fd, true, &f);
	put(f, before, before + size, 1000);
	assert_int_equal(write_behind_end(wb), 0);
	if (!flags && size >= 1 << 20)
		assert_false(blocks_are_missing(fd, before, before + align_down(size, 1 << 20)));
	assert_int_equal(fstat(fd, &st), 0);
	assert_true((size_t)st.st_size == before + size);
	/* 64 KiB for the file system's own metadata. */
	assert_true((size_t)st.st_blocks * 512 <= before + size + 4096 + (64u << 10));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_true(take(fd) == before + size);
	close(fd);
}

static void blocks_come_first(void **state)
{
	(void)state;
	for (int flags = 0; flags <= O_APPEND; flags += O_APPEND) {
		behind_others(flags, 0, MUCH + 1);
		behind_others(flags, 12345, MUCH);
		behind_others(flags, 4096, 1 << 20);
		behind_others(flags, 1, 1000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_arrives),
		cmocka_unit_test(short_writes_go_on),
		cmocka_unit_test(a_full_disk_is_noticed),
		cmocka_unit_test(and_not_forgotten),
		cmocka_unit_test(readers_may_leave),
		cmocka_unit_test(blocks_come_first),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, NULL);
}
