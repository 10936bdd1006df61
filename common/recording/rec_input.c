/*
 * Opens recordings. Input from a pipe goes to an unnamed file, so that passes can be repeated.
 * perf.data is turned into a recording in such a file by nsprof-import.
 */
#include "recording/rec_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/tempfile.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "cli/sibling.h"
#include "recording.h"
#include "recording/rec_reader.h"

/* perf.data in either byte order. */
static bool is_perf(const void *buf, size_t n)
{
	return n >= 8 && (!memcmp(buf, "PERFILE2", 8) || !memcmp(buf, "2ELIFREP", 8));
}

const char *rec_reader_default(void)
{
	struct stat st;

	return !fstat(STDIN_FILENO, &st) && S_ISFIFO(st.st_mode) ? "-" : "nsprof.data";
}

const char *rec_reader_open_hint(const char *path, int err)
{
	struct stat st;

	if (err == ENOENT)
		return "; 'nsprof record' writes one";
	if (err == EACCES && !stat(path, &st) && st.st_uid != geteuid())
		return "; it belongs to another user: use sudo, or make it yours (sudo chown $USER FILE)";
	return "";
}

bool rec_reader_knows(const void *head, size_t n)
{
	return (n >= REC_MAGIC_LEN && !memcmp(head, REC_MAGIC, REC_MAGIC_LEN)) || is_perf(head, n);
}

bool rec_reader_knows_dir(int dirfd)
{
	int fd = openat(dirfd, "data", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	uint8_t magic[8];
	bool known;

	if (fd < 0)
		return false;
	known = pread(fd, magic, sizeof(magic), 0) == sizeof(magic) && is_perf(magic, sizeof(magic));
	close(fd);
	return known;
}

bool rec_reader_knows_path(const char *path)
{
	char head[REC_MAGIC_LEN > 16 ? REC_MAGIC_LEN : 16];
	bool known = false;
	struct stat st;
	ssize_t got;
	int fd;

	if (stat(path, &st))
		return false;
	/*
	 * Do not open it: opening it a second time would show the writer that its reader had gone.
	 */
	if (S_ISFIFO(st.st_mode))
		return true;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISDIR(st.st_mode)) {
		known = rec_reader_knows_dir(fd);
	} else if (S_ISREG(st.st_mode)) {
		got = pread(fd, head, sizeof(head), 0);
		known = got > 0 && rec_reader_knows(head, (size_t)got);
	}
	close(fd);
	return known;
}

/*
 * Copies @from to its end into an unnamed file. Input that does not begin like a recording is not
 * read to its end: /dev/zero has none.
 */
static int spool(int from, const char *shown)
{
	const size_t room = 256 << 10;
	bool foreign = false, begun = false;
	int fd = tempfile_open(), err = 0;
	char *buf;

	if (fd < 0)
		return fd;
	buf = xmalloc(room);
	while (!foreign && !err) {
		ssize_t n = read(from, buf, room);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			pr_err("cannot read %s: %s", shown, strerror(errno));
			err = -EIO;
		}
		if (n <= 0)
			break;
		if (!begun)
			foreign = memcmp(buf, REC_MAGIC, MIN((size_t)n, (size_t)REC_MAGIC_LEN)) &&
				  !is_perf(buf, (size_t)n);
		begun = true;
		err = tempfile_write(fd, buf, (size_t)n);
	}
	free(buf);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static bool no_sandbox;

void rec_input_no_sandbox(void)
{
	no_sandbox = true;
}

/* Run nsprof-import from @in to @out, both positioned at the start. It reports its own errors. */
static int import(int in, int out, const char *shown, const char *event)
{
	char *argv[] = { NULL, xstrdup("--name"), xstrdup(shown), xstrdup("-i"), xstrdup("-"), xstrdup("-o"), xstrdup("-"),
			 NULL, NULL, NULL, NULL };
	size_t n = ARRAY_SIZE(argv) - 4;
	int status = 0;
	pid_t pid;

	if (event)
		argv[n++] = xasprintf("--event=%s", event);
	if (log_verbosity() < 0)
		argv[n++] = xstrdup("-q");
	if (no_sandbox)
		argv[n++] = xstrdup("--no-sandbox");
	pid = fork();
	if (pid == 0) {
		dup2(in, STDIN_FILENO);
		dup2(out, STDOUT_FILENO);
		pr_err("cannot run 'nsprof-import': %s; it must be installed beside the other programs",
		       strerror(-sibling_exec_as_us("nsprof-import", argv)));
		_exit(127);
	}
	for (size_t i = 1; argv[i]; i++)
		free(argv[i]);
	if (pid < 0) {
		pr_err("cannot start 'nsprof-import': %s", strerror(errno));
		return -errno;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return 0;
}

/* Takes @in. Returns a recording made from it, or negative errno after a message. */
static int imported(int in, const char *shown, const char *event)
{
	int out = tempfile_open(), err = out < 0 ? out : 0;
	struct stat st;

	if (!err)
		err = lseek(in, 0, SEEK_SET) < 0 ? -errno : import(in, out, shown, event);
	close(in);
	/* An empty file: nsprof-import has reported why. */
	if (!err && (fstat(out, &st) || !st.st_size))
		err = -EINVAL;
	if (!err)
		return out;
	if (out >= 0)
		close(out);
	return err;
}

/* What rec_input_prepare() opened. */
static struct {
	const char *path;	/* borrowed; NULL: nothing */
	int fd;
	uint64_t size;
	bool imported;
} prepared;

static int open_input(const char *path, const char *shown, const char **event, uint64_t *size);

const char *rec_input_shown(const char *path)
{
	static char *shown;

	free(shown);
	shown = strcmp(path, "-") ? xasprintf("'%s'", path) : xstrdup("standard input");
	return shown;
}

int rec_input_prepare(const char *path, const char *event)
{
	const char *left = event;
	int fd = open_input(path, rec_input_shown(path), &left, &prepared.size);

	if (fd < 0)
		return fd;
	prepared.path = path;
	prepared.fd = fd;
	prepared.imported = event && !left;
	return 0;
}

int rec_input_open(const char *path, const char *shown, const char **event, uint64_t *size)
{
	int fd;

	if (!prepared.path || strcmp(path, prepared.path))
		return open_input(path, shown, event, size);
	*size = prepared.size;
	if (prepared.imported)
		*event = NULL;
	fd = fcntl(prepared.fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		pr_err("cannot open %s: %s", shown, strerror(errno));
	return fd < 0 ? -EIO : fd;
}

static int open_input(const char *path, const char *shown, const char **event, uint64_t *size)
{
	const bool is_stdin = !strcmp(path, "-");
	uint8_t magic[8];
	struct stat st;
	int fd, file;

	fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC);
	/* Ctrl-C on a pipe that nobody writes to needs no message. */
	if (fd < 0 && errno == EINTR)
		return -EINTR;
	if (fd < 0 || fstat(fd, &st)) {
		pr_err("cannot open %s: %s%s", shown, strerror(errno), rec_reader_open_hint(path, errno));
		if (fd >= 0)
			close(fd);
		return -EIO;
	}
	if (S_ISDIR(st.st_mode) && !rec_reader_knows_dir(fd)) {
		pr_err("%s is a directory, not an nsprof recording", shown);
		close(fd);
		return -EISDIR;
	}
	if (!S_ISDIR(st.st_mode) && (!S_ISREG(st.st_mode) || (is_stdin && lseek(fd, 0, SEEK_CUR) > 0))) {
		file = spool(fd, shown);
		close(fd);
		if (file < 0)
			return file;
		fd = file;
	}
	if (S_ISDIR(st.st_mode) || (pread(fd, magic, sizeof(magic), 0) == sizeof(magic) && is_perf(magic, sizeof(magic)))) {
		fd = imported(fd, shown, *event);
		*event = NULL;
	}
	if (fd < 0)
		return fd;
	if (fstat(fd, &st)) {
		pr_err("cannot read %s: %s", shown, strerror(errno));
		close(fd);
		return -EIO;
	}
	*size = (uint64_t)st.st_size;
	return fd;
}
