/*
 * Which bytes count as a binary's. This test's own process is the live one and its executable the
 * file. The rule under test: a file needs proof; a matching path is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/log.h"
#include "modules/module.h"
#include "recording/rec_reader.h"
#include "recording/rec_writer.h"
#include "support/process_alive.h"

static char exe[PATH_MAX];
static struct stat exe_st;
static uint8_t exe_id[BUILD_ID_MAX];
static uint8_t exe_id_len;
static uint64_t own_start;		/* field 22 of /proc/self/stat */
static uint64_t map_start, map_end;	/* a mapping of the executable */

/* A recording that states that it was made on @host, in boot @boot (NULL: it does not state it). */
static void pretend_recorded_on(const char *host, const char *boot)
{
	char path[] = "/tmp/nsprof-test-module.XXXXXX";
	int fd = mkstemp(path), err;
	struct rec_writer *w = rec_writer_new(fd, &err);
	struct rec_reader *r;

	assert_non_null(w);
	rec_writer_info(w, "hostname", host);
	if (boot)
		rec_writer_info(w, "boot_id", boot);
	assert_int_equal(rec_writer_finish(w), 0);
	rec_writer_free(w);
	close(fd);
	r = rec_reader_open(path);
	unlink(path);
	assert_non_null(r);
	alive_init(r);
	rec_reader_close(r);
}

static void here(void)
{
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	pretend_recorded_on(host, NULL);
}

static int setup(void **state)
{
	FILE *f;
	char line[4096], *p;
	struct elf_file *ef;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	int fd, err, i;

	(void)state;
	if (n <= 0 || stat(exe, &exe_st))
		return -1;
	fd = open(exe, O_RDONLY | O_CLOEXEC);
	ef = elf_file_open_fd(fd, &err);
	close(fd);
	exe_id_len = (uint8_t)elf_file_build_id(ef, exe_id);
	elf_file_close(ef);

	f = fopen("/proc/self/stat", "r");
	if (!f || !fgets(line, sizeof(line), f))
		return -1;
	fclose(f);
	p = strrchr(line, ')') + 2;		/* at field 3 */
	for (i = 3; i < 22; i++)
		p = strchr(p, ' ') + 1;
	own_start = strtoull(p, NULL, 10);

	f = fopen("/proc/self/maps", "r");
	while (f && !map_start && fgets(line, sizeof(line), f)) {
		unsigned long long a, b;

		if (strstr(line, exe) && strstr(line, "r-xp") &&
		    sscanf(line, "%llx-%llx", &a, &b) == 2) {
			map_start = a;
			map_end = b;
		}
	}
	fclose(f);
	return exe_id_len == 20 && own_start && map_start ? 0 : -1;
}

/* This test's executable as the recorder would describe it. */
static struct ev_dso own_dso(const char *path, bool with_id)
{
	struct ev_dso d = {
		.id = 1, .path = path, .ino = exe_st.st_ino, .size = (uint64_t)exe_st.st_size,
		.dev_major = major(exe_st.st_dev), .dev_minor = minor(exe_st.st_dev),
		.mtime_ns = (int64_t)exe_st.st_mtim.tv_sec * 1000000000 + exe_st.st_mtim.tv_nsec,
	};

	if (with_id) {
		d.build_id_len = exe_id_len;
		memcpy(d.build_id, exe_id, exe_id_len);
	}
	return d;
}

static struct module *load(struct modules *ms, const struct ev_dso *d, uint32_t pid,
			   uint64_t start_ticks, uint64_t start, uint64_t end)
{
	struct module *m;

	assert_int_equal(modules_add(ms, d), 0);
	m = modules_get(ms, d->id);
	assert_non_null(m);
	if (pid)
		modules_add_user(m, pid, start_ticks, start, end, 0);
	module_load(m);
	return m;
}

static void check_source(const struct ev_dso *d, uint32_t pid, uint64_t start_ticks,
			 enum module_source want)
{
	struct modules *ms = modules_new();
	struct module *m = load(ms, d, pid, start_ticks, 0x1000, 0x2000);

	assert_int_equal(m->source, want);
	assert_int_equal(m->elf != NULL, want == MODULE_PROCESS || want == MODULE_HOST);
	if (want == MODULE_NONE)
		assert_non_null(m->why);
	assert_non_null(module_cfi(m));
	modules_free(ms);
}

static void test_living_process(void **state)
{
	struct ev_dso d = own_dso(exe, true);

	(void)state;
	here();
	check_source(&d, (uint32_t)getpid(), own_start, MODULE_PROCESS);
	/* The PID has been reused: only the build-id of the host's file is left as proof. */
	check_source(&d, (uint32_t)getpid(), own_start + 1, MODULE_HOST);
}

static void test_by_identity(void **state)
{
	struct ev_dso d = own_dso(exe, false);

	(void)state;
	here();
	check_source(&d, (uint32_t)getpid(), own_start, MODULE_PROCESS);
	d.mtime_ns++;
	check_source(&d, (uint32_t)getpid(), own_start, MODULE_NONE);
	d = own_dso(exe, false);
	d.size++;
	check_source(&d, (uint32_t)getpid(), own_start, MODULE_NONE);
	d = own_dso(exe, false);
	d.ino++;
	check_source(&d, (uint32_t)getpid(), own_start, MODULE_NONE);
	/* Only a path and an inode number. */
	d = own_dso(exe, false);
	d.size = 0;
	d.mtime_ns = 0;
	check_source(&d, (uint32_t)getpid(), own_start, MODULE_NONE);
	/* Without a start time it may be any process. */
	d = own_dso(exe, false);
	check_source(&d, (uint32_t)getpid(), 0, MODULE_NONE);
}

static void test_another_file_at_the_path(void **state)
{
	struct modules *ms = modules_new();
	struct ev_dso d = own_dso(exe, true);
	struct module *m;

	(void)state;
	here();
	d.build_id[0] ^= 1;
	m = load(ms, &d, (uint32_t)getpid(), own_start, 0x1000, 0x2000);
	assert_int_equal(m->source, MODULE_NONE);
	assert_string_equal(m->why, "file has another build-id");
	assert_null(m->elf);
	modules_free(ms);
}

/* The file is gone from its path; the mapping still leads to it. */
static void test_deleted_file(void **state)
{
	struct ev_dso d = own_dso("/nonexistent/app", true);
	struct modules *ms;
	struct module *m;
	char link[128];
	struct stat st;

	(void)state;
	here();
	snprintf(link, sizeof(link), "/proc/self/map_files/%llx-%llx",
		 (unsigned long long)map_start, (unsigned long long)map_end);
	if (stat(link, &st)) {
		print_message("# no right to follow /proc/PID/map_files\n");
		skip();
	}
	ms = modules_new();
	d.deleted = true;
	m = load(ms, &d, (uint32_t)getpid(), own_start, map_start, map_end);
	assert_int_equal(m->source, MODULE_PROCESS);
	modules_free(ms);
}

static void test_other_host_or_boot(void **state)
{
	struct ev_dso d = own_dso(exe, false), by_id = own_dso(exe, true);

	(void)state;
	pretend_recorded_on("some-other-host", NULL);
	assert_int_equal(alive_check((uint32_t)getpid(), own_start), -EXDEV);
	check_source(&d, (uint32_t)getpid(), own_start, MODULE_NONE);
	/* A build-id is valid on any host. */
	check_source(&by_id, (uint32_t)getpid(), own_start, MODULE_HOST);

	pretend_recorded_on("localhost", "00000000-0000-0000-0000-000000000000");
	assert_false(alive_same_boot());
	assert_int_equal(alive_check((uint32_t)getpid(), own_start), -EXDEV);
}

static void *slurp_exe(void)
{
	void *buf = malloc((size_t)exe_st.st_size);
	FILE *f = fopen(exe, "r");

	assert_int_equal(fread(buf, 1, (size_t)exe_st.st_size, f), exe_st.st_size);
	fclose(f);
	return buf;
}

static void test_captured(void **state)
{
	struct ev_dso d = own_dso("/nonexistent/app", true);
	struct modules *ms = modules_new();
	void *bytes = slurp_exe();
	struct module *m;

	(void)state;
	here();
	/* Captures come before the definitions. */
	modules_add_capture(ms, 1, bytes, (size_t)exe_st.st_size);
	modules_add_capture(ms, 2, "no ELF file", 11);
	modules_add_capture(ms, 3, bytes, (size_t)exe_st.st_size);
	free(bytes);
	assert_null(modules_get(ms, 1));
	m = load(ms, &d, 0, 0, 0, 0);
	assert_int_equal(m->source, MODULE_CAPTURED);
	assert_null(m->elf);
	assert_non_null(m->captured);
	assert_false(cfi_empty(module_cfi(m)));

	d.id = 2;
	m = load(ms, &d, 0, 0, 0, 0);
	assert_int_equal(m->source, MODULE_NONE);

	/* Rows that state another binary's build-id. */
	d.id = 3;
	d.build_id[19] ^= 1;
	m = load(ms, &d, 0, 0, 0, 0);
	assert_int_equal(m->source, MODULE_NONE);
	assert_null(m->captured);
	modules_free(ms);
}

/* A binary captured when its file had to be closed, and again with the addresses seen since. */
static void test_captured_twice(void **state)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	struct ev_dso d = own_dso("/nonexistent/app", true);
	struct modules *ms = modules_new();
	void *bytes = slurp_exe();
	struct module *m;

	(void)state;
	here();
	/*
	 * Another ELF file takes the place of the first slice: the build-id decides which of them
	 * is used.
	 */
	if (eh)
		modules_add_capture(ms, 1, eh, eh->e_shoff + (size_t)eh->e_shnum * eh->e_shentsize);
	modules_add_capture(ms, 1, bytes, (size_t)exe_st.st_size);
	modules_add_capture(ms, 1, "damaged", 7);
	free(bytes);
	m = load(ms, &d, 0, 0, 0, 0);
	assert_int_equal(m->source, MODULE_CAPTURED);
	assert_false(cfi_empty(module_cfi(m)));
	modules_free(ms);
}

/* A library's first processes are gone when it is looked up; a later one is alive. */
static void test_retry_with_later_process(void **state)
{
	struct ev_dso d = own_dso(exe, false);
	struct modules *ms = modules_new();
	struct module *m;

	(void)state;
	here();
	m = load(ms, &d, (uint32_t)getpid(), own_start - 1, 0x1000, 0x2000);
	assert_int_equal(m->source, MODULE_NONE);
	module_retry(m);
	assert_int_equal(m->source, MODULE_NONE);
	modules_add_user(m, (uint32_t)getpid(), own_start, 0x1000, 0x2000, 0);
	module_retry(m);
	assert_int_equal(m->source, MODULE_PROCESS);
	assert_non_null(m->elf);
	modules_free(ms);
}

static void test_vdso(void **state)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	struct ev_dso d = { .id = 1, .path = "[vdso]" };
	struct elf_file *ef;
	int err;

	(void)state;
	if (!eh) {
		print_message("# this process has no vdso\n");
		skip();
	}
	ef = elf_file_open_mem(eh, eh->e_shoff + (size_t)eh->e_shnum * eh->e_shentsize, &err);
	assert_non_null(ef);
	d.build_id_len = (uint8_t)elf_file_build_id(ef, d.build_id);
	elf_file_close(ef);
	pretend_recorded_on("some-other-host", NULL);
	check_source(&d, 1, 1, MODULE_HOST);
	d.build_id[3] ^= 1;
	check_source(&d, 1, 1, MODULE_NONE);
}

static void test_table(void **state)
{
	struct ev_dso d = own_dso("/bin/x", false), bad = d;
	struct modules *ms = modules_new();
	size_t it = 0;

	(void)state;
	assert_null(modules_get(ms, 0));
	assert_null(modules_get(ms, 4000000000u));
	d.id = 4000000000u;	/* a hostile id must not determine a size */
	assert_int_equal(modules_add(ms, &d), 0);
	/*
	 * A recording in segments defines it again; another binary under the same id is rejected.
	 */
	assert_int_equal(modules_add(ms, &d), 0);
	bad.id = d.id;
	bad.path = "/bin/y";
	assert_true(modules_add(ms, &bad) < 0);
	bad.build_id_len = 21;
	bad.id = 5;
	assert_true(modules_add(ms, &bad) < 0);
	assert_string_equal(module_name(modules_get(ms, 4000000000u)), "x");
	assert_ptr_equal(modules_next(ms, &it), modules_get(ms, 4000000000u));
	assert_null(modules_next(ms, &it));
	modules_free(ms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_living_process),
		cmocka_unit_test(test_by_identity),
		cmocka_unit_test(test_another_file_at_the_path),
		cmocka_unit_test(test_deleted_file),
		cmocka_unit_test(test_other_host_or_boot),
		cmocka_unit_test(test_captured),
		cmocka_unit_test(test_captured_twice),
		cmocka_unit_test(test_retry_with_later_process),
		cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_table),
	};

	log_init("test");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, NULL);
}
