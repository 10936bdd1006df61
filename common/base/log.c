/*
 * Messages for people. A message is composed first and written by one write(2), so that lines of
 * several threads and programs on one terminal never mix.
 */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/unicode.h"

/* Longer than any message we write. A hostile name in a message is truncated here. */
#define MESSAGE_MAX 4096

static const char *log_prog = "nsprof";
static atomic_int log_level;
static log_taker log_to;	/* NULL = stderr */
static void *log_ctx;	/* passed to log_to */

/*
 * If the program starts with one of the first three descriptors closed, the next file it opens gets
 * that number, and messages or data would be written into that file. /dev/null is opened read-only,
 * so that writing output to a closed descriptor is an error.
 */
static void fill_standard_fds(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

void log_init(const char *prog)
{
	log_prog = prog;
	fill_standard_fds();
}

void log_init_for(const char *argv0, const char *prog)
{
	/*
	 * None of our files has a blank in its name, so only sibling_exec_as_us() starts a program
	 * with such a name.
	 */
	log_init(argv0 && !strncmp(argv0, "nsprof ", strlen("nsprof ")) ? argv0 : prog);
}

const char *log_name(void)
{
	return log_prog;
}

void log_set_verbosity(int verbosity)
{
	atomic_store(&log_level, verbosity);
}

int log_verbosity(void)
{
	return atomic_load(&log_level);
}

void log_redirect(log_taker to, void *ctx)
{
	log_to = to;
	log_ctx = ctx;
}

static void write_all(const char *s, size_t len)
{
	/* A loop only because write(2) may be interrupted and stderr may be a full pipe. */
	while (len) {
		ssize_t n = write(STDERR_FILENO, s, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		s += n;
		len -= (size_t)n;
	}
}

/* @severity NULL: print neither the severity nor the program's name. */
static void __attribute__((format(printf, 2, 0)))
emit(const char *severity, const char *fmt, va_list ap)
{
	char said[MESSAGE_MAX], buf[MESSAGE_MAX];
	int saved = errno;
	size_t len, used, taken;
	int n;

	n = log_to ? 0 : severity ? snprintf(buf, sizeof(buf), "%s: %s", log_prog, severity) : snprintf(buf, sizeof(buf), "  ");
	len = n < 0 ? 0 : (size_t)n;
	if (len > sizeof(buf) / 2)
		len = sizeof(buf) / 2;
	n = vsnprintf(said, sizeof(said), fmt, ap);
	used = n < 0 ? 0 : (size_t)n;
	/*
	 * Names of files, threads and containers are in it as they are. Whoever chose one must not
	 * be able to steer the reader's terminal, or to make a line that looks like ours. The "..."
	 * and the newline are reserved.
	 */
	taken = used < sizeof(said) ? used : utf8_whole(said, sizeof(said) - 1);
	len += escape_into(buf + len, sizeof(buf) - strlen("...\n") - len, said, &taken);
	if (taken < used) {
		memcpy(buf + len, "...", strlen("..."));
		len += strlen("...");
	}
	buf[len++] = '\n';
	if (log_to)
		log_to(log_ctx, buf, len);
	else
		write_all(buf, len);
	errno = saved;
}

void pr_err(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	emit("error: ", fmt, ap);
	va_end(ap);
}

void pr_detail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	emit(NULL, fmt, ap);
	va_end(ap);
}

void pr_warn(const char *fmt, ...)
{
	va_list ap;

	if (log_verbosity() < 0)
		return;
	va_start(ap, fmt);
	emit("warning: ", fmt, ap);
	va_end(ap);
}

void pr_info(const char *fmt, ...)
{
	va_list ap;

	if (log_verbosity() < 0)
		return;
	va_start(ap, fmt);
	emit("", fmt, ap);
	va_end(ap);
}

void pr_verbose(const char *fmt, ...)
{
	va_list ap;

	if (log_verbosity() < 1)
		return;
	va_start(ap, fmt);
	emit("", fmt, ap);
	va_end(ap);
}
