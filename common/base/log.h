/*
 * Messages for people, all on stderr, one write(2) each, prefixed with the program's name. A
 * message is lower case and names the object in single quotes, the errno text, and what to do. It
 * is printed once, where the failure happened; callers pass the negative errno on.
 */
#ifndef NSPROF_LOG_H
#define NSPROF_LOG_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Call this first in main(). It also makes sure that descriptors 0 to 2 are open. @prog, such as
 * "nsprof record", is borrowed for the life of the process.
 */
void log_init(const char *prog);
/*
 * The same for a program that other programs of nsprof run. When sibling_exec_as_us() started it,
 * its messages carry the name of the command that the user ran. @argv0 is borrowed like @prog.
 */
void log_init_for(const char *argv0, const char *prog);
/* The program name in messages. */
const char *log_name(void);

/* -1: errors only (-q), 0: default, 1 and up: verbose (-v, -vv). */
void log_set_verbosity(int verbosity);
int log_verbosity(void);

/*
 * Receives one message: a line of @len bytes with its newline, without the program's name and
 * severity. Borrowed for the call.
 */
typedef void (*log_taker)(void *ctx, const char *line, size_t len);
/* Passes messages to @to from now on; NULL: prints them again. For single-threaded programs. */
void log_redirect(log_taker to, void *ctx);
struct strbuf;
/*
 * Like log_redirect(), into memory: appends messages to @to, one per line; NULL: prints them again.
 * Returns where they went before, for the caller to put back. In log_divert.c.
 */
struct strbuf *log_divert(struct strbuf *to);

/* "nsprof record: error: ..." Always printed. */
void pr_err(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "nsprof record: warning: ..." Printed unless -q. */
void pr_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "nsprof record: ..." Printed unless -q. */
void pr_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/*
 * Another line of the message just printed, such as one of several candidates: indented, without
 * the program's name. Always printed.
 */
void pr_detail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Printed only with -v. */
void pr_verbose(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
