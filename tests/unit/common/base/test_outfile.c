/* Output files: the old file survives every failure, and every write error is reported. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/outfile.h"
#include "base/xalloc.h"

static char dir[] = "/tmp/nsprof-outfile.XXXXXX";
static char *path, *link_path;

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	path = xasprintf("%s/out", dir);
	link_path = xasprintf("%s/link", dir);
	return 0;
}

/* Counts the names in the folder: one more than expected is a temporary file left behind. */
static int entries(void)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int n = 0;

	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	unlink(link_path);
	free(path);
	free(link_path);
	return rmdir(dir);
}

static void put(const char *s)
{
	FILE *f = fopen(path, "w");

	fputs(s, f);
	fclose(f);
}

static void assert_content(const char *want)
{
	char buf[64] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	buf[fread(buf, 1, sizeof(buf) - 1, f)] = '\0';
	fclose(f);
	assert_string_equal(buf, want);
}

/* Runs with stderr redirected: the message is expected and would only clutter the result. */
static int quiet_begin(void)
{
	int saved = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);

	dup2(null, STDERR_FILENO);
	close(null);
	return saved;
}

static void quiet_end(int saved)
{
	dup2(saved, STDERR_FILENO);
	close(saved);
}

static void new_file_appears_at_close(void **state)
{
	struct outfile *o = outfile_open(path);
	struct stat st;
	mode_t mask = umask(0);

	(void)state;
	umask(mask);
	assert_non_null(o);
	fputs("new", outfile_stream(o));
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(outfile_close(o), 0);
	assert_content("new");
	assert_int_equal(stat(path, &st), 0);
	/* Only root can read what root writes. */
	assert_int_equal(st.st_mode & 0777, (geteuid() ? 0666 : 0600) & ~mask);
	assert_int_equal(entries(), 1);
}

static void old_file_stays_until_close(void **state)
{
	struct outfile *o;
	struct stat st;

	(void)state;
	put("old");
	chmod(path, 0640);
	o = outfile_open(path);
	fputs("new", outfile_stream(o));
	fflush(outfile_stream(o));
	assert_content("old");
	assert_int_equal(outfile_close(o), 0);
	assert_content("new");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(entries(), 1);
}

static void abort_keeps_the_old_file(void **state)
{
	struct outfile *o;

	(void)state;
	put("old");
	o = outfile_open(path);
	fputs("new", outfile_stream(o));
	outfile_abort(o);
	assert_content("old");
	assert_int_equal(entries(), 1);
}

static void symbolic_link_stays_one(void **state)
{
	struct outfile *o;
	struct stat st;

	(void)state;
	put("old");
	assert_int_equal(symlink("out", link_path), 0);
	o = outfile_open(link_path);
	fputs("through", outfile_stream(o));
	assert_int_equal(outfile_close(o), 0);
	assert_content("through");
	assert_int_equal(lstat(link_path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	unlink(link_path);
	assert_int_equal(entries(), 1);
}

static void full_device_is_noticed(void **state)
{
	struct outfile *o = outfile_open("/dev/full");
	int saved, err;

	(void)state;
	assert_non_null(o);
	fputs("x", outfile_stream(o));
	saved = quiet_begin();
	err = outfile_close(o);
	quiet_end(saved);
	assert_int_equal(err, -ENOSPC);
	assert_int_equal(access("/dev/full", F_OK), 0);
	/* More than a buffer, so the first failure comes before the close. */
	o = outfile_open("/dev/full");
	for (err = 0; err < 100000; err++)
		putc('x', outfile_stream(o));
	saved = quiet_begin();
	err = outfile_close(o);
	quiet_end(saved);
	assert_true(err < 0);
}

/* A disk that fills up while a regular file is written: the old content must survive. */
static void full_disk_keeps_the_old_file(void **state)
{
	struct outfile *o;
	int saved, err, full;

	(void)state;
	put("old");
	o = outfile_open(path);
	fputs("new", outfile_stream(o));
	/* The stream's descriptor is redirected to a device that takes nothing. */
	full = open("/dev/full", O_WRONLY);
	dup2(full, fileno(outfile_stream(o)));
	close(full);
	saved = quiet_begin();
	err = outfile_close(o);
	quiet_end(saved);
	assert_int_equal(err, -ENOSPC);
	assert_content("old");
	assert_int_equal(entries(), 1);
}

/* A failure in the middle counts, even if the disk has room again for the rest. */
static void passing_failure_is_not_forgotten(void **state)
{
	struct outfile *o;
	int saved, err, full, good, i;

	(void)state;
	put("old");
	o = outfile_open(path);
	good = dup(fileno(outfile_stream(o)));
	full = open("/dev/full", O_WRONLY);
	dup2(full, fileno(outfile_stream(o)));
	for (i = 0; i < 100000; i++)
		putc('x', outfile_stream(o));
	dup2(good, fileno(outfile_stream(o)));
	close(good);
	close(full);
	saved = quiet_begin();
	err = outfile_close(o);
	quiet_end(saved);
	assert_true(err < 0);
	assert_content("old");
	assert_int_equal(entries(), 1);
}

static void full_stdout_is_noticed(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		struct outfile *o = outfile_open("-");

		dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO);
		quiet_begin();
		fputs("x", outfile_stream(o));
		_exit(outfile_close(o) == -ENOSPC ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void devices_are_written_in_place(void **state)
{
	struct outfile *o = outfile_open("/dev/null");
	struct stat st;

	(void)state;
	assert_non_null(o);
	fputs("x", outfile_stream(o));
	assert_int_equal(outfile_close(o), 0);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

static void impossible_places_are_refused(void **state)
{
	char *missing = xasprintf("%s/no/such", dir);
	int saved = quiet_begin();

	(void)state;
	assert_null(outfile_open(missing));
	assert_null(outfile_open(dir));
	assert_null(outfile_open(""));
	quiet_end(saved);
	free(missing);
	assert_true(entries() <= 1);
}

static void dash_is_stdout(void **state)
{
	struct outfile *o = outfile_open("-");

	(void)state;
	assert_ptr_equal(outfile_stream(o), stdout);
	assert_int_equal(outfile_close(o), 0);
	o = outfile_open(NULL);
	assert_ptr_equal(outfile_stream(o), stdout);
	outfile_abort(o);
	/* stdout is still open. */
	assert_true(fcntl(STDOUT_FILENO, F_GETFD) >= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_file_appears_at_close),
		cmocka_unit_test(old_file_stays_until_close),
		cmocka_unit_test(abort_keeps_the_old_file),
		cmocka_unit_test(symbolic_link_stays_one),
		cmocka_unit_test(full_device_is_noticed),
		cmocka_unit_test(full_disk_keeps_the_old_file),
		cmocka_unit_test(passing_failure_is_not_forgotten),
		cmocka_unit_test(full_stdout_is_noticed),
		cmocka_unit_test(devices_are_written_in_place),
		cmocka_unit_test(impossible_places_are_refused),
		cmocka_unit_test(dash_is_stdout),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
