#include "input/load.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/tempfile.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "cli/filekind.h"
#include "cli/sibling.h"
#include "input/folded.h"
#include "input/reshape.h"
#include "input/select.h"
#include "recording.h"
#include "recording/rec_reader.h"

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* Sets what SIGINT does from now on, unless it was ignored from the start. */
static void handle_interrupt(void (*handler)(int), int flags)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = flags }, old;

	if (sigaction(SIGINT, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
		sigaction(SIGINT, &sa, NULL);
}

#define HEAD FILEKIND_HEAD	/* bytes that identify the kind of an input */

/*
 * Text has no NUL bytes: input with some in its head that is not a recording is not read to its
 * end.
 */
static bool foreign(const char *buf, size_t n)
{
	n = MIN(n, (size_t)HEAD);
	return memcmp(buf, REC_MAGIC, MIN(n, REC_MAGIC_LEN)) && !rec_reader_knows(buf, n) && memchr(buf, 0, n);
}

/* @path for messages, in @buf: "'x.data'", or the meaning of "-". */
static const char *shown(const char *path, char *buf, size_t size)
{
	if (!strcmp(path, "-"))
		return "standard input";
	snprintf(buf, size, "'%s'", path);
	return buf;
}

/*
 * Copies @from, which cannot be read twice, into an unlinked file. Only reading its beginning shows
 * which kind of input it is.
 */
static int spool(int from, const char *path)
{
	int fd = tempfile_open(), err = 0;
	char buf[65536], name[PATH_MAX + 3];
	bool begun = false;

	if (fd < 0)
		return fd;
	while (!err) {
		ssize_t n = read(from, buf, sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			err = -errno;
			pr_err("cannot read %s: %s", shown(path, name, sizeof(name)), strerror(errno));
		}
		if (n <= 0)
			break;
		err = tempfile_write(fd, buf, (size_t)n);
		if (!begun && foreign(buf, (size_t)n))
			break;
		begun = true;
	}
	if (!err && lseek(fd, 0, SEEK_SET) >= 0)
		return fd;
	close(fd);
	return err ? err : -EIO;
}

/* Reports the error, except an interruption by Ctrl-C. */
static int cannot_open(const char *path, int err)
{
	if (err != EINTR)
		pr_err("cannot open '%s': %s%s", path, strerror(err), rec_reader_open_hint(path, err));
	return -err;
}

/* Reports that input beginning with these @n bytes cannot be reported. */
static void tell_foreign(const char *path, const char *head, size_t n)
{
	const char *kind = filekind_text(head, n);
	char buf[PATH_MAX + 3];

	if (kind)
		pr_err("%s cannot be reported; it is %s", shown(path, buf, sizeof(buf)), kind);
	else
		pr_err("%s is neither a recording nor a profile nor folded text", shown(path, buf, sizeof(buf)));
}

/*
 * Checks that file @fd, called @path, is an input, by its kind, size and first bytes. 0, or
 * negative errno after a message.
 */
static int check_file(int fd, const char *path, const struct stat *st)
{
	char head[HEAD], buf[PATH_MAX + 3];
	ssize_t got;

	if (S_ISDIR(st->st_mode) && !rec_reader_knows_dir(fd)) {
		pr_err("'%s' is a directory; name a recording or folded text", path);
		return -EISDIR;
	}
	if (S_ISREG(st->st_mode) && !st->st_size) {
		pr_err("%s is empty; expected a recording, a profile or folded text", shown(path, buf, sizeof(buf)));
		return -ENODATA;
	}
	got = S_ISREG(st->st_mode) ? pread(fd, head, sizeof(head), 0) : 0;
	if (got > 0 && foreign(head, (size_t)got)) {
		tell_foreign(path, head, (size_t)got);
		return -EINVAL;
	}
	return 0;
}

int load_check_input(const char *path)
{
	struct stat st;
	int fd, err;

	if (!strcmp(path, "-"))
		return 0;
	if (stat(path, &st))
		return cannot_open(path, errno);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return cannot_open(path, errno);
	err = check_file(fd, path, &st);
	close(fd);
	return err;
}

static int open_input(const char *path)
{
	struct stat st;
	int fd, copy, err;

	if (!strcmp(path, "-"))
		return spool(STDIN_FILENO, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return cannot_open(path, errno);
	err = fstat(fd, &st) ? cannot_open(path, errno) : check_file(fd, path, &st);
	if (err) {
		close(fd);
		return err;
	}
	if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		return fd;
	/* "<(nsprof record -o - ...)" */
	copy = spool(fd, path);
	close(fd);
	return copy;
}

/* @input: the recording; "-" is standard input. */
static void exec_symbolize(const struct load_opts *o, const char *input)
{
	const char **argv = xcalloc(20 + 2 * (o->nfilters + o->nlists), sizeof(*argv));
	size_t i = 1;

	argv[i++] = "--format";
	argv[i++] = "profile";
	if (o->no_inline)
		argv[i++] = "--no-inline";
	if (o->normalize)
		argv[i++] = "--normalize";
	if (o->srcline)
		argv[i++] = "--srcline";
	if (o->quiet)
		argv[i++] = "-q";
	if (o->event)
		argv[i++] = xasprintf("--event=%s", o->event);
	for (size_t k = 0; k < o->nfilters; k++) {
		argv[i++] = "--filter";
		argv[i++] = o->filters[k];
	}
	for (size_t k = 0; k < o->nlists; k++)
		argv[i++] = xasprintf("%s=%s", o->lists[k].option, o->lists[k].list);
	if (o->max_stack)
		argv[i++] = xasprintf("--max-stack=%llu", (unsigned long long)o->max_stack);
	if (o->raw_names)
		argv[i++] = "--no-demangle";
	if (o->merge_threads)
		argv[i++] = "--merge-threads";
	argv[i++] = "-i";
	argv[i++] = input;
	argv[i] = NULL;
	pr_err("cannot run 'nsprof-symbolize': %s; it must be in the directory of nsprof-report",
	       strerror(-sibling_exec_as_us("nsprof-symbolize", (char **)argv)));
	_exit(127);
}

/* Reads what nsprof-symbolize writes to @in. Nothing: it failed and printed the reason. */
static int read_child(FILE *in, const char *name, struct profile **out)
{
	int c = getc(in);

	*out = NULL;
	if (c == EOF)
		return -EIO;
	ungetc(c, in);
	return profile_read(in, name, out);
}

static int load_recording(const struct load_opts *o, int fd, struct profile **out, struct load_info *info)
{
	int p[2], err, status;
	FILE *in;
	struct stat sb;
	pid_t pid;

	/* nsprof-symbolize decides which Ctrl-C ends it. */
	interrupted = 0;
	handle_interrupt(on_interrupt, SA_RESTART);
	if (pipe2(p, O_CLOEXEC) || (pid = fork()) < 0) {
		err = errno;
		pr_err("cannot start nsprof-symbolize: %s", strerror(err));
		return -err;
	}
	if (!pid) {
		dup2(fd, STDIN_FILENO);
		dup2(p[1], STDOUT_FILENO);
		/* A regular file or directory is passed by name, for messages. */
		exec_symbolize(o, !stat(o->path, &sb) && (S_ISREG(sb.st_mode) || S_ISDIR(sb.st_mode)) ? o->path : "-");
	}
	close(p[1]);
	in = fdopen(p[0], "r");
	err = in ? read_child(in, o->path, out) : -errno;
	if (in)
		fclose(in);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	handle_interrupt(SIG_DFL, 0);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT)
		raise(SIGINT);
	if (!err && (!WIFEXITED(status) || WEXITSTATUS(status))) {
		/*
		 * It printed the reason. The stacks that arrived are part of the samples, or of a
		 * damaged recording: show them.
		 */
		info->interrupted = interrupted;
		info->damaged = !interrupted;
		if (!(*out)->ncounts)
			err = -EIO;
	}
	return err;
}

/* Reads folded text into a profile. */
static int load_folded(const struct load_opts *o, FILE *in, struct profile **out, struct load_info *info)
{
	char head[HEAD];
	const ssize_t got = pread(fileno(in), head, sizeof(head), 0);
	struct folded_stats st;
	int err;

	info->folded = true;
	*out = profile_new();
	err = folded_read(in, o->path, *out, &st);
	profile_finish(*out);
	if (!err && !st.lines) {
		tell_foreign(o->path, head, got > 0 ? (size_t)got : 0);
		err = -EINVAL;
	}
	info->bad_lines = st.bad;
	return err;
}

/* The option that cannot be applied to text (a @profile, or folded stacks); NULL: none. */
static const char *recordings_only(const struct load_opts *o, bool profile)
{
	for (size_t k = 0; k < o->nlists; k++)
		if (!profile || o->lists[k].key == FILTER_TIME)
			return o->lists[k].option;
	if (o->event)
		return "--event";
	if (o->max_stack)
		return "--max-stack";
	if (o->raw_names)
		return "--no-demangle";
	if (profile)	/* it may have been written with --srcline */
		return NULL;
	return o->nfilters ? "--filter" : o->merge_threads ? "--merge-threads" : o->srcline ? "--sort srcline" : NULL;
}

/* The caller must free @f in any case. */
static int add_filters(const struct load_opts *o, struct filter *f)
{
	int err = 0;

	for (size_t i = 0; i < o->nfilters && !err; i++)
		err = filter_add(f, o->filters[i]);
	for (size_t i = 0; i < o->nlists && !err; i++)
		if (o->lists[i].key != FILTER_TIME)
			err = filter_add_list(f, o->lists[i].key, o->lists[i].option, o->lists[i].list);
	return err;
}

int load_check_filters(const struct load_opts *o)
{
	struct filter f = { 0 };
	int err = add_filters(o, &f);

	filter_fini(&f);
	return err;
}

static int select_all(const struct load_opts *o, struct profile *p)
{
	struct filter f = { 0 };
	int err = add_filters(o, &f);

	if (!err && f.n)
		err = select_counts(p, &f, o->path);
	filter_fini(&f);
	return err;
}

/* Reads text: a profile or folded stacks. Consumes @fd. */
static int load_text(const struct load_opts *o, int fd, bool profile, struct profile **out, struct load_info *info)
{
	char buf[PATH_MAX + 3];
	FILE *in;
	int err;

	if (recordings_only(o, profile)) {
		pr_err("%s works only on recordings%s, but %s is %s", recordings_only(o, profile),
		       !profile && !recordings_only(o, true) ? " and saved profiles" : "", shown(o->path, buf, sizeof(buf)),
		       profile ? "a saved profile: pass the option to the nsprof symbolize that writes it" : "folded text");
		close(fd);
		return -EINVAL;
	}
	in = fdopen(fd, "r");
	if (!in) {
		close(fd);
		return -errno;
	}
	err = profile ? profile_read(in, o->path, out) : load_folded(o, in, out, info);
	if (!err && profile)
		err = select_all(o, *out);
	if (!err && (o->no_inline || o->merge_threads))
		*out = reshape(*out, o->no_inline, o->merge_threads);
	info->damaged = !err && (*out)->cut;
	fclose(in);
	return err;
}

static int load_fd(const struct load_opts *o, int fd, struct profile **out, struct load_info *info)
{
	char head[HEAD] = "";
	struct stat sb;
	ssize_t got;
	bool told = !fstat(fd, &sb);
	int err;

	/* For a pipe, this is known only now. */
	if (told) {
		err = check_file(fd, o->path, &sb);
		if (err) {
			close(fd);
			return err;
		}
	}
	got = pread(fd, head, sizeof(head), 0);
	if ((told && S_ISDIR(sb.st_mode)) || (got > 0 && rec_reader_knows(head, (size_t)got))) {
		info->recording = true;
		err = load_recording(o, fd, out, info);
	} else {
		return load_text(o, fd, !memcmp(head, PROFILE_MAGIC, PROFILE_MAGIC_LEN), out, info);
	}
	close(fd);
	return err;
}

int load(const struct load_opts *o, struct profile **out, struct load_info *info)
{
	int fd, err;

	*out = NULL;
	memset(info, 0, sizeof(*info));
	/* Ctrl-C gives up on a pipe that no program opens for writing. */
	handle_interrupt(on_interrupt, (int)SA_RESETHAND);
	fd = open_input(o->path);
	handle_interrupt(SIG_DFL, 0);
	if (fd == -EINTR)
		raise(SIGINT);
	if (fd < 0)
		return fd;
	err = load_fd(o, fd, out, info);
	if (!err && (o->dsos || o->symbols))
		err = select_places(*out, o->dsos, o->symbols, o->path);
	if (!err && ((*out)->samples == UINT64_MAX || (*out)->period == UINT64_MAX)) {
		pr_warn("'%s': the sum of the counts overflows 64 bits; it stops at 18446744073709551615, and shares are wrong",
			o->path);
		info->damaged = true;
	}
	if (err) {
		profile_free(*out);
		*out = NULL;
	}
	return err;
}
