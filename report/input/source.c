#include "input/source.h"

#include <errno.h>
#include <fcntl.h>
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
#include "cli/sibling.h"
#include "host/parser.h"
#include "input/load.h"
#include "recording/rec_reader.h"

enum { ASK_OPEN = PARSER_OTHER + 400, ASK_LOOK, ASK_TEMP, ASK_SYMBOLIZE, ASK_WAIT };

static int ask(uint32_t kind, const char *path, bool *perf)
{
	int value = 0, fd, err = parser_ask(kind, path, &value, &fd);

	if (perf)
		*perf = value;
	return err ? err : fd;
}

/* ---- files ---- */

static int cannot_open(const char *path, int err)
{
	if (err != EINTR)
		pr_err("cannot open '%s': %s%s", path, strerror(err), rec_reader_open_hint(path, err));
	return -err;
}

static int opened(const char *path, int fd, bool *perf)
{
	struct stat st;

	if (fd < 0)
		return cannot_open(path, errno);
	*perf = !fstat(fd, &st) && S_ISDIR(st.st_mode) && rec_reader_knows_dir(fd);
	return fd;
}

int source_open(const char *path, bool *perf)
{
	if (parser_is())
		return ask(ASK_OPEN, path, perf);
	return opened(path, strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), perf);
}

int source_look(const char *path, bool *perf)
{
	struct stat st;

	if (parser_is())
		return ask(ASK_LOOK, path, perf);
	if (stat(path, &st))
		return cannot_open(path, errno);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return -EAGAIN;
	return opened(path, open(path, O_RDONLY | O_CLOEXEC), perf);
}

/* The last source_temp(); owned. */
static int spooled = -1;

int source_temp(void)
{
	int fd;

	if (parser_is())
		return ask(ASK_TEMP, NULL, NULL);
	if (spooled >= 0)
		close(spooled);
	fd = tempfile_open();
	spooled = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return fd;
}

/* ---- nsprof-symbolize ---- */

static pid_t child;		/* 0: none */

/* @input: the recording; "-" is standard input. */
static void __attribute__((noreturn)) exec_symbolize(const struct load_opts *o, const char *input)
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
	if (o->all_waits)
		argv[i++] = "--all";
	if (o->keep_parked)
		argv[i++] = "--keep-parked";
	if (o->quiet)
		argv[i++] = "-q";
	if (o->no_sandbox)
		argv[i++] = "--no-sandbox";
	if (o->event)
		argv[i++] = xasprintf("--event=%s", o->event);
	if (o->fields)
		argv[i++] = xasprintf("--with-fields=%s", o->fields);
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

int source_symbolize(const struct load_opts *o, const char *path)
{
	struct stat st;
	int p[2] = { -1, -1 }, err;

	if (parser_is())
		return ask(ASK_SYMBOLIZE, path, NULL);
	if (pipe2(p, O_CLOEXEC) || (child = fork()) < 0) {
		err = errno;
		child = 0;
		if (p[0] >= 0) {
			close(p[0]);
			close(p[1]);
		}
		pr_err("cannot start 'nsprof-symbolize': %s; raise the limit of %s", strerror(err),
		       err == EMFILE || err == ENFILE ? "open files (ulimit -n)" : "processes (ulimit -u)");
		return -err;
	}
	if (!child) {
		/* A file or folder is passed by name, for messages. */
		const bool named = strcmp(path, "-") && !stat(path, &st) && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));

		dup2(p[1], STDOUT_FILENO);
		if (!named && spooled >= 0) {
			lseek(spooled, 0, SEEK_SET);
			dup2(spooled, STDIN_FILENO);
		}
		exec_symbolize(o, named ? path : "-");
	}
	close(p[1]);
	return p[0];
}

int source_wait(void)
{
	int status = 0;

	if (parser_is()) {
		if (parser_ask(ASK_WAIT, NULL, &status, NULL))
			status = W_EXITCODE(EXIT_FAILURE, 0);
		return status;
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	child = 0;
	return status;
}

/* ---- in the program ---- */

static void on_interrupt(int signo)
{
	(void)signo;
}

/* Ctrl-C gives up on a FIFO that no program opens for writing. */
static int open_interruptible(const char *path, bool *perf)
{
	const struct sigaction ends = { .sa_handler = on_interrupt };
	struct sigaction before;
	int fd;

	if (sigaction(SIGINT, NULL, &before) || before.sa_handler == SIG_IGN)
		return source_open(path, perf);
	sigaction(SIGINT, &ends, NULL);
	fd = source_open(path, perf);
	sigaction(SIGINT, &before, NULL);
	return fd;
}

static bool is_served(const struct source_served *s, const char *path)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->paths[i], path))
			return true;
	return false;
}

int source_serve(const struct source_served *s, uint32_t kind, int *value, const char *path, int *fd)
{
	bool perf = false;

	if (kind < ASK_OPEN || kind > ASK_WAIT)
		return -ENOSYS;
	if ((kind == ASK_OPEN || kind == ASK_LOOK || kind == ASK_SYMBOLIZE) && !is_served(s, path))
		return -EPERM;
	switch (kind) {
	case ASK_OPEN:
		*fd = open_interruptible(path, &perf);
		break;
	case ASK_LOOK:
		*fd = source_look(path, &perf);
		break;
	case ASK_TEMP:
		*fd = source_temp();
		break;
	case ASK_SYMBOLIZE:
		*fd = child ? -EBUSY : source_symbolize(s->o, path);
		break;
	case ASK_WAIT:
		if (!child)
			return -ECHILD;
		*value = source_wait();
		return 0;
	}
	*value = perf;
	return MIN(*fd, 0);
}
