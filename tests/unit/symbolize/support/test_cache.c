/*
 * The cache: an entry comes back for its own key only, the least recently used entry is evicted
 * first, and bytes that the cache did not write are rejected.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "debuginfo/inline_cache.h"
#include "in_range.h"
#include "support/cache.h"

static char tmpdir[32], dir[64];

static int setup(void **state)
{
	(void)state;
	snprintf(tmpdir, sizeof(tmpdir), "/tmp/nsprof-cache-XXXXXX");
	if (!mkdtemp(tmpdir))
		return -1;
	snprintf(dir, sizeof(dir), "%s/nsprof", tmpdir);
	return setenv("XDG_CACHE_HOME", tmpdir, 1);
}

static int teardown(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof(cmd), "chmod -R u+w '%s'; rm -rf '%s'", tmpdir, tmpdir);
	return system(cmd);
}

static struct cache_key make_key(unsigned int i)
{
	struct cache_key key;

	memset(&key, 0, sizeof(key));
	key.build_id_len = 20;
	memset(key.build_id, (int)i, 20);
	key.nfiles = 1;
	key.files[0] = (struct elf_identity){ .dev = 1, .ino = 100 + i, .size = 7, .ctime_ns = 5 };
	return key;
}

/* Whether @c has the @size bytes @want for @key. */
static bool holds(struct cache *c, const struct cache_key *key, const void *want, size_t size)
{
	size_t got;
	void *data = cache_read(c, key, "t", 1, &got);
	bool same = data && got == size && !memcmp(data, want, size);

	if (data)
		assert_true(same);
	free(data);
	return data != NULL;
}

static void test_keys(void **state)
{
	struct cache *c = cache_open(0);
	struct cache_key key = make_key(1), other;
	size_t size;

	(void)state;
	assert_non_null(c);
	assert_false(holds(c, &key, "x", 1));
	cache_write(c, &key, "t", 1, "hello", 5);
	assert_true(holds(c, &key, "hello", 5));
	cache_write(c, &key, "t", 1, "hello, world", 12);
	assert_true(holds(c, &key, "hello, world", 12));
	assert_null(cache_read(c, &key, "t", 2, &size));
	assert_null(cache_read(c, &key, "u", 1, &size));
	for (int i = 0; i < 6; i++) {
		other = key;
		if (i == 0)
			other.files[0].ino++;
		if (i == 1)
			other.files[0].ctime_ns++;
		if (i == 2)
			other.files[0].size++;
		if (i == 3)
			other.files[0].mount++;
		if (i == 4)
			other.nfiles = 2;
		if (i == 5)
			other.build_id[19]++;
		assert_false(holds(c, &other, "", 0));
	}
	other = key;
	other.unknown = 1;
	assert_false(holds(c, &other, "", 0));
	cache_write(c, &other, "t", 1, "?", 1);
	assert_true(holds(c, &key, "hello, world", 12));
	cache_write(c, &key, "t", 1, "", 0);
	assert_true(holds(c, &key, "", 0));
	cache_close(c);
}

/* An entry under another key's file name is not that key's: the key in the file counts. */
static void test_renamed(void **state)
{
	struct cache *c = cache_open(0);
	struct cache_key a = make_key(1), b = make_key(2);
	char cmd[512];

	(void)state;
	cache_write(c, &a, "t", 1, "of a", 4);
	cache_write(c, &b, "t", 1, "of b", 4);
	snprintf(cmd, sizeof(cmd), "cd '%s' && cp 01*.t 02*.t && ln -sf /etc/passwd 01*.t", dir);
	assert_int_equal(system(cmd), 0);
	assert_false(holds(c, &b, "of b", 4));
	assert_false(holds(c, &a, "of a", 4));
	cache_close(c);
}

/*
 * Reads the entry of make_key(1), flips a bit of each byte in turn, then truncates it: each damaged
 * entry is rejected.
 */
static void test_damaged(void **state)
{
	struct cache *c = cache_open(0);
	struct cache_key key = make_key(1);
	char cmd[256], path[256], file[4096];
	size_t size, got;
	FILE *f;

	(void)state;
	cache_write(c, &key, "t", 1, "hello, world", 12);
	snprintf(path, sizeof(path), "%s/entry", dir);
	snprintf(cmd, sizeof(cmd), "cd '%s' && ln 01*.t entry", dir);
	assert_int_equal(system(cmd), 0);
	f = fopen(path, "r+");
	assert_non_null(f);
	setbuf(f, NULL);
	size = fread(file, 1, sizeof(file), f);
	assert_within(size, 12, sizeof(file) - 1);
	for (size_t i = 0; i < size; i++) {
		/* Nothing reads the padding of the header. */
		bool pad = i >= 12 && i < 16;

		file[i] ^= 1;
		assert_int_equal(pwrite(fileno(f), file, size, 0), size);
		assert_int_equal(holds(c, &key, "hello, world", 12), pad);
		file[i] ^= 1;
	}
	assert_int_equal(pwrite(fileno(f), file, size, 0), size);
	assert_true(holds(c, &key, "hello, world", 12));
	for (size_t cut = 0; cut < size; cut++) {
		assert_int_equal(ftruncate(fileno(f), 0), 0);
		assert_int_equal(pwrite(fileno(f), file, cut, 0), cut);
		assert_null(cache_read(c, &key, "t", 1, &got));
	}
	fclose(f);
	cache_close(c);
}

/*
 * A reader that has opened an entry reads that version to its end, even if it is replaced
 * meanwhile.
 */
static void test_replaced(void **state)
{
	struct cache *c = cache_open(0);
	struct cache_key key = make_key(1);
	char cmd[256];

	(void)state;
	cache_write(c, &key, "t", 1, "of the first", 12);
	snprintf(cmd, sizeof(cmd), "cd '%s' && ln 01*.t entry && cp entry before", dir);
	assert_int_equal(system(cmd), 0);
	cache_write(c, &key, "t", 1, "of the second", 13);
	assert_true(holds(c, &key, "of the second", 13));
	snprintf(cmd, sizeof(cmd), "cd '%s' && cmp -s entry before", dir);
	assert_int_equal(system(cmd), 0);
	cache_close(c);
}

static uint64_t used_bytes(void)
{
	DIR *d = opendir(dir);
	struct dirent *de;
	uint64_t sum = 0;
	struct stat st;

	assert_non_null(d);
	while ((de = readdir(d)))
		if (!fstatat(dirfd(d), de->d_name, &st, 0) && S_ISREG(st.st_mode))
			sum += (uint64_t)st.st_size;
	closedir(d);
	return sum;
}

static void test_limit(void **state)
{
	struct cache *c = cache_open(100000);
	char data[20000];
	struct cache_key key;
	char cmd[256];

	(void)state;
	memset(data, 7, sizeof(data));
	for (unsigned int i = 1; i <= 4; i++) {
		key = make_key(i);
		cache_write(c, &key, "t", 1, data, sizeof(data));
	}
	/*
	 * Times of use that do not depend on the clock's resolution: 1 was used first, then 2 ...
	 */
	for (int i = 1; i <= 4; i++) {
		snprintf(cmd, sizeof(cmd), "touch -d '2020-01-0%d' '%s'/0%d*.t", i, dir, i);
		assert_int_equal(system(cmd), 0);
	}
	snprintf(cmd, sizeof(cmd), "touch -d '2020-01-01' '%s'/.tmp-1-2; touch '%s'/.tmp-3-4", dir, dir);
	assert_int_equal(system(cmd), 0);
	key = make_key(1);
	assert_true(holds(c, &key, data, sizeof(data)));	/* so 2 is now the oldest */
	key = make_key(5);
	cache_write(c, &key, "t", 1, data, sizeof(data));
	assert_true(used_bytes() <= 100000);
	for (unsigned int i = 1; i <= 5; i++) {
		key = make_key(i);
		assert_int_equal(holds(c, &key, data, sizeof(data)), i != 2);
	}
	/* A temporary file being written now stays; one left behind long ago is deleted. */
	snprintf(cmd, sizeof(cmd), "cd '%s' && [ ! -e .tmp-1-2 ] && [ -e .tmp-3-4 ]", dir);
	assert_int_equal(system(cmd), 0);
	cache_close(c);
}

static void test_place(void **state)
{
	char path[256];
	struct cache *c;

	(void)state;
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(chmod(dir, 0777), 0);
	assert_null(cache_open(0));		/* anyone can write there */
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(symlink("/tmp", dir), 0);
	assert_null(cache_open(0));
	assert_int_equal(unlink(dir), 0);

	/* Without XDG_CACHE_HOME: ~/.cache, created if necessary. */
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", tmpdir, 1);
	c = cache_open(0);
	assert_non_null(c);
	cache_close(c);
	snprintf(path, sizeof(path), "%s/.cache/nsprof", tmpdir);
	assert_int_equal(access(path, W_OK), 0);
	setenv("HOME", "relative", 1);
	assert_null(cache_open(0));
	unsetenv("HOME");
	assert_null(cache_open(0));
	if (geteuid() == 0) {
		assert_int_equal(chown(tmpdir, 1, 1), 0);
		setenv("HOME", tmpdir, 1);
		assert_null(cache_open(0));	/* another user's */
		setenv("XDG_CACHE_HOME", tmpdir, 1);
		assert_null(cache_open(0));
	}
}

/* ---- inlined functions ---- */

static struct inline_cache *example(void)
{
	struct inline_cache *ic = inline_cache_new();
	uint32_t outer = inline_cache_add(ic, "outer", INLINE_NOTHING);
	uint32_t nameless = inline_cache_add(ic, NULL, outer);
	uint32_t inner = inline_cache_add(ic, "inner", nameless);

	ranges_add(&ic->ranges, 100, 110, INLINE_NOTHING);
	ranges_add(&ic->ranges, 110, 120, outer);
	ranges_add(&ic->ranges, 120, 130, inner);
	ranges_add(&ic->ranges, 0xffffffff00000000, UINT64_MAX, outer);
	return ic;
}

static void test_inlines(void **state)
{
	struct inline_cache *ic = example(), *back;
	const char *names[8];
	size_t size, n;
	void *data = inline_cache_format(ic, &size);

	(void)state;
	inline_cache_free(ic);
	back = inline_cache_parse(data, size);
	free(data);
	assert_non_null(back);
	assert_false(inline_cache_find(back, 99, names, 8, &n));
	assert_true(inline_cache_find(back, 100, names, 8, &n));
	assert_int_equal(n, 0);
	assert_true(inline_cache_find(back, 119, names, 8, &n));
	assert_int_equal(n, 1);
	assert_string_equal(names[0], "outer");
	assert_true(inline_cache_find(back, 120, names, 8, &n));
	assert_int_equal(n, 2);
	assert_string_equal(names[0], "inner");
	assert_string_equal(names[1], "outer");
	assert_true(inline_cache_find(back, 120, names, 1, &n));
	assert_int_equal(n, 1);
	assert_false(inline_cache_find(back, 130, names, 8, &n));
	assert_true(inline_cache_find(back, UINT64_MAX - 1, names, 8, &n));
	inline_cache_free(back);
}

/* Whatever the bytes are: rejected, or every lookup stays within bounds and ends. */
static void test_inlines_damaged(void **state)
{
	struct inline_cache *ic = example();
	const char *names[8];
	size_t size, n;
	uint8_t *data = inline_cache_format(ic, &size), *copy;

	(void)state;
	inline_cache_free(ic);
	for (size_t cut = 0; cut < size; cut++) {
		copy = malloc(cut + 1);
		memcpy(copy, data, cut);
		assert_null(inline_cache_parse(copy, cut));
		free(copy);
	}
	for (size_t i = 0; i < size; i++) {
		for (int bit = 0; bit < 8; bit++) {
			data[i] ^= (uint8_t)(1 << bit);
			ic = inline_cache_parse(data, size);
			for (uint64_t at = 90; ic && at < 140; at++)
				inline_cache_find(ic, at, names, 8, &n);
			inline_cache_free(ic);
			data[i] ^= (uint8_t)(1 << bit);
		}
	}
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_keys, setup, teardown),
		cmocka_unit_test_setup_teardown(test_renamed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_place, setup, teardown),
		cmocka_unit_test(test_inlines),
		cmocka_unit_test(test_inlines_damaged),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
