/*
 * Which program does a living process run? Its pid and start time stay the same when it begins another
 * one, and that writes to a perf map of the same name.
 */
#ifndef NSPROF_PROCESS_RUNS_H
#define NSPROF_PROCESS_RUNS_H

#include <stdint.h>

#include "host/parser.h"

/* What the recording knows of a program. Each exec draws new places. */
struct process_runs {
	uint32_t pid;
	uint64_t start_ticks;	/* of the process */
	uint64_t vdso;		/* where it begins; 0 = unknown */
	uint64_t exe_start;	/* where a mapping of its binary begins; 0 = unknown, as is the rest */
	uint64_t exe_ino;	/* 0 = unknown */
	const char *exe;	/* path as mapped; borrowed */
};

/*
 * 0: the process runs that program now. Ask after something of the process was read: then the answer
 * holds for what was read. -ESRCH: it has ended. -ESTALE: it runs another program. -ENODATA: nothing is
 * known of the program. Otherwise the errno of reading its mappings.
 *
 * Without address space randomization, only programs of different files are told apart.
 */
int process_runs(const struct process_runs *r);

/* In a parser, process_runs() asks the program to look, with this request. */
#define PROCESS_RUNS_ASK (PARSER_OTHER + 300)
/* Answers it; @text is untrusted. -ENOSYS: @kind is another request. */
int process_runs_serve(uint32_t kind, const char *text);

#endif
