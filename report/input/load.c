#include "input/load.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/signals.h"
#include "base/strbuf.h"
#include "base/tempfile.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "cli/filekind.h"
#include "host/parser.h"
#include "input/folded.h"
#include "input/reshape.h"
#include "input/select.h"
#include "input/source.h"
#include "profile/lead_frames.h"
#include "profile/profile_bound.h"
#include "profile/profile_names.h"
#include "recording.h"
#include "recording/rec_reader.h"

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* The second one ends the program. */
static void on_interrupt_once(int sig)
{
	if (signals_again())
		return;
	if (interrupted) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
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
	int fd = source_temp(), err = 0;
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

static int stat_file(int fd, const char *path, struct stat *st)
{
	if (!fstat(fd, st))
		return 0;
	pr_err("cannot read '%s': %s", path, strerror(errno));
	return -EIO;
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
 * Checks that file @fd, called @path, is an input, by its kind, size and first bytes. @perf: a folder
 * is one of perf's. 0, or negative errno after a message.
 */
static int check_file(int fd, const char *path, const struct stat *st, bool perf)
{
	char head[HEAD], buf[PATH_MAX + 3];
	ssize_t got;

	if (S_ISDIR(st->st_mode) && !perf) {
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
	bool perf;
	int fd, err;

	if (!strcmp(path, "-"))
		return 0;
	fd = source_look(path, &perf);
	if (fd == -EAGAIN)
		return 0;
	if (fd < 0)
		return fd;
	err = stat_file(fd, path, &st);
	err = err ? err : check_file(fd, path, &st, perf);
	close(fd);
	return err;
}

static int open_input(const char *path, bool *perf)
{
	struct stat st;
	int fd = source_open(path, perf), copy, err;

	if (fd < 0)
		return fd;
	if (strcmp(path, "-")) {
		err = stat_file(fd, path, &st);
		err = err ? err : check_file(fd, path, &st, *perf);
		if (err) {
			close(fd);
			return err;
		}
		if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
			return fd;
	}
	/* "<(nsprof record -o - ...)" */
	copy = spool(fd, path);
	close(fd);
	return copy;
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

static void bound(struct profile *p, const char *name)
{
	static const struct profile_limits limits = PROFILE_LIMITS;

	profile_bound(p, &limits, name);
	profile_bound_names(p, PROFILE_NAMES_LIMIT, name);
}

static int load_recording(const struct load_opts *o, struct profile **out, struct load_info *info)
{
	int fd, err, status;
	FILE *in;

	/* nsprof-symbolize decides which Ctrl-C ends it. */
	interrupted = 0;
	handle_interrupt(on_interrupt, SA_RESTART);
	fd = source_symbolize(o, o->path);
	if (fd < 0)
		return fd;
	in = fdopen(fd, "r");
	err = in ? read_child(in, o->path, out) : -errno;
	if (in)
		fclose(in);
	status = source_wait();
	handle_interrupt(SIG_DFL, 0);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT)
		raise(SIGINT);
	if (!err)
		bound(*out, o->path);
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
	if (o->event && !profile)
		return "--event";
	if (o->max_stack)
		return "--max-stack";
	if (o->all_waits)
		return "--all";
	if (o->raw_names)
		return "--no-demangle";
	if (profile)	/* it may have been written with --srcline, or --with-fields */
		return NULL;
	if (o->fields)
		return "field:NAME";
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

const char *load_shown(const char *path)
{
	static char buf[PATH_MAX + 3];

	return shown(path, buf, sizeof(buf));
}

int load_check_filters(const struct load_opts *o)
{
	struct filter f = { 0 };
	int err = add_filters(o, &f);

	filter_fini(&f);
	return err;
}

/* Does some thread of @p have the field @name (@len bytes)? */
static bool has_field(const struct profile *p, const char *name, size_t len)
{
	struct strbuf value = STRBUF_INIT;
	bool has = false;

	for (uint32_t i = 1; i < p->nthreads && !has; i++)
		has = lead_field_value(profile_text(p, p->threads[i].fields), name, len, &value);
	strbuf_fini(&value);
	return has;
}

/* Does a saved profile have the fields that are asked for? 0, or -ENOENT after a message. */
static int check_fields(const struct load_opts *o, const struct profile *p)
{
	for (const char *name = o->fields ? o->fields : ""; *name;) {
		const size_t len = strcspn(name, ",");

		if (!has_field(p, name, len)) {
			pr_err("the profile %s has no field '%.*s', which is not a sort key either; symbolize --format profile --with-fields %.*s "
			       "keeps it", load_shown(o->path), (int)len, name, (int)len, name);
			return -ENOENT;
		}
		name += len + (name[len] == ',');
	}
	return 0;
}

/* --event on a saved profile. */
static int select_event(const struct load_opts *o, struct profile **p)
{
	int at = profile_pick(*p, o->event, load_shown(o->path));

	if (at < 0)
		return at;
	if (o->event)
		*p = profile_only(*p, (uint32_t)at);
	return 0;
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
	if (!err)
		bound(*out, o->path);
	if (!err && profile)
		err = check_fields(o, *out);
	if (!err && profile)
		err = select_event(o, out);
	if (!err && profile)
		err = select_all(o, *out);
	if (!err && (o->no_inline || o->merge_threads))
		*out = reshape(*out, o->no_inline, o->merge_threads);
	info->damaged = !err && (*out)->cut;
	fclose(in);
	return err;
}

static int load_fd(const struct load_opts *o, int fd, bool perf, struct profile **out, struct load_info *info)
{
	char head[HEAD] = "";
	struct stat sb;
	ssize_t got;
	bool told = !fstat(fd, &sb);
	int err;

	/* For a pipe, this is known only now. */
	if (told) {
		err = check_file(fd, o->path, &sb, perf);
		if (err) {
			close(fd);
			return err;
		}
	}
	got = pread(fd, head, sizeof(head), 0);
	if ((told && S_ISDIR(sb.st_mode)) || (got > 0 && rec_reader_knows(head, (size_t)got))) {
		info->recording = true;
		err = load_recording(o, out, info);
	} else {
		return load_text(o, fd, !memcmp(head, PROFILE_MAGIC, PROFILE_MAGIC_LEN), out, info);
	}
	close(fd);
	return err;
}

int load(const struct load_opts *o, struct profile **out, struct load_info *info)
{
	bool perf = false;
	int fd, err;

	*out = NULL;
	memset(info, 0, sizeof(*info));
	/* Ctrl-C gives up on a pipe that no program opens for writing. */
	interrupted = 0;
	handle_interrupt(on_interrupt_once, SA_NODEFER);
	fd = open_input(o->path, &perf);
	handle_interrupt(SIG_DFL, 0);
	if (fd == -EINTR)
		raise(SIGINT);
	if (fd < 0)
		return fd;
	parser_working_on(0, o->path);
	err = load_fd(o, fd, perf, out, info);
	parser_working_on(0, NULL);
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
