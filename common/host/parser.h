/*
 * A parser: a child without rights that reads what others wrote. The program keeps its own rights,
 * opens files for it, and starts it again without a file that ended it (contrib/doc/parser.md).
 *
 * The child runs as a user of its own if the program is root's, without capabilities and new
 * privileges, and can neither open a path nor start anything. It reads and writes what is open when
 * it starts, and what the program opens for it through two sockets: files of processes by nsopen
 * (opener.h), and outputs by outfile.
 */
#ifndef NSPROF_PARSER_H
#define NSPROF_PARSER_H

#include <stdbool.h>
#include <stdint.h>

/* A request for the program, other than for files of processes. */
enum parser_request {
	PARSER_OUT_OPEN,	/* text: the path; answer: fd, value: its number */
	PARSER_OUT_KEEP,	/* value: the number */
	PARSER_OUT_DROP,	/* the same */
	PARSER_OUT_FOLDER,	/* text: the path */
	PARSER_TEMP,		/* answer: fd of an unnamed temporary file (tempfile.h) */
	PARSER_OTHER,		/* from here on: see @serve */
};

#define PARSER_TEXT_MAX 32768

struct parser_message {
	uint32_t kind;
	int32_t value;
	char text[PARSER_TEXT_MAX];
};

struct parser {
	const char *output;	/* the only file that it may write, or folder; NULL: none; borrowed */
	bool folder;		/* @output is a folder: it may write files in it */
	const char *suffix;	/* of those files */
	/* May it write file @path, too? Makes the folders for it. NULL: no. */
	bool (*allow)(void *ctx, const char *path);
	bool no_files;		/* it may read no files of processes, binaries or maps */
	bool sources;		/* it may read source text of others, not only binaries and maps */
	bool temp;		/* it may have temporary files */
	bool kernel_names;	/* it may run the BPF program that is open (ksym_bpf.h) */
	int failed;		/* exit status after a fault; 0: EXIT_FAILURE */
	const char *input;	/* for messages: what it reads; NULL: "the recording"; borrowed */
	/*
	 * Answers a request from PARSER_OTHER on: 0 or negative errno, and *@fd owned by the caller,
	 * or -1. @text ends with a NUL.
	 */
	int (*serve)(void *ctx, uint32_t kind, int *value, const char *text, int *fd);
	void *ctx;
};

/*
 * Runs @fn in a parser and serves it. Call it before any thread is started. Returns the exit status
 * that @fn returned, or @p->failed after a message. If a signal other than a fault's ended the
 * parser, the program ends by the same signal.
 */
int parser_run(const struct parser *p, int (*fn)(void *ctx), void *ctx);

/* ---- in the parser ---- */

/* Is this process one? */
bool parser_is(void);
/*
 * Asks the program: 0 or negative errno. *@fd: what it opened, owned, or -1; may be NULL. *@value:
 * in and out; may be NULL.
 */
int parser_ask(uint32_t kind, const char *text, int *value, int *fd);

/* Added to a PID, tells perf maps from binaries. */
#define PARSER_MAP 0x80000000u

/*
 * What this thread reads now: if a fault ends the parser meanwhile, the next parser leaves it out.
 */
struct parser_work {
	uint32_t what;		/* a number of the caller's; 0: nothing that could be left out */
	const char *name;	/* borrowed */
	bool begun;		/* this thread has a stack for its signal handler */
};
extern __thread struct parser_work parser_work;

void parser_work_begin(void);

/* @name is borrowed until the next call. In other programs this has no effect. */
static inline void parser_working_on(uint32_t what, const char *name)
{
	if (!parser_work.begun)
		parser_work_begin();
	parser_work.what = what;
	parser_work.name = name;
}

/* Did @what end an earlier parser of this program? */
bool parser_avoids(uint32_t what);
/* From now on standard output is written to: a parser that dies is not started again. */
void parser_output_begins(void);

#endif
