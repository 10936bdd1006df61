/*
 * Messages for people, all on stderr, one write(2) each, prefixed with the program's name.
 * Text: lower case, names the object in single quotes, the errno text, and what to do.
 * A message is printed once, where the failure happened; callers pass the negative errno on.
 */
#ifndef NSPROF_LOG_H
#define NSPROF_LOG_H

#include <stdbool.h>
#include <stddef.h>

/*
 * First thing in main(): also sees to it that descriptors 0 to 2 are taken. @prog is borrowed for the
 * life of the process, e.g. "nsprof record".
 */
void log_init(const char *prog);
/*
 * The same for a program that others of ours run: started by sibling_exec_as(), it speaks as the one that the user
 * called. @argv0 is borrowed as well.
 */
void log_init_for(const char *argv0, const char *prog);
/* The name that messages carry. */
const char *log_name(void);

/* -1: errors only (-q), 0: default, 1 and up: verbose (-v, -vv). */
void log_set_verbosity(int verbosity);
int log_verbosity(void);

/* A message: @len bytes of a line with its newline, without the program's name and severity. Borrowed for the call. */
typedef void (*log_taker)(void *ctx, const char *line, size_t len);
/* From now on give messages to @to; NULL: print them again. For programs of one thread. */
void log_redirect(log_taker to, void *ctx);
struct strbuf;
/* The same, into memory: add messages to @to, one a line; NULL: print them again. In log_divert.c. */
void log_divert(struct strbuf *to);

/* "nsprof record: error: ..." Always printed. */
void pr_err(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "nsprof record: warning: ..." Printed unless -q. */
void pr_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "nsprof record: ..." Printed unless -q. */
void pr_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Another line of the message just printed, indented, without the program's name: one of several candidates. Always printed. */
void pr_detail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Only with -v. */
void pr_verbose(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
