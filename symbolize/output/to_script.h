/*
 * Writes the collected and named samples as the text of perf script: each sample with its stack, in
 * the order of the recording. stackcollapse-perf.pl, inferno, speedscope and the Firefox Profiler
 * read all of it correctly, whatever bytes are in names: see enum text_kind in to_script.c.
 */
#ifndef NSPROF_TO_SCRIPT_H
#define NSPROF_TO_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct collect;
struct naming;
struct rec_reader;

enum script_field {
	SCRIPT_COMM = 1 << 0,
	SCRIPT_PID = 1 << 1,
	SCRIPT_TID = 1 << 2,
	SCRIPT_CPU = 1 << 3,
	SCRIPT_TIME = 1 << 4,
	SCRIPT_PERIOD = 1 << 5,
	SCRIPT_EVENT = 1 << 6,
	SCRIPT_IP = 1 << 7,
	SCRIPT_SYM = 1 << 8,
	SCRIPT_SYMOFF = 1 << 9,
	SCRIPT_DSO = 1 << 10,
	SCRIPT_SRCLINE = 1 << 11,
	SCRIPT_CGROUP = 1 << 12,
	SCRIPT_TRACE = 1 << 13,
	SCRIPT_DEFAULT = SCRIPT_COMM | SCRIPT_PID | SCRIPT_TID | SCRIPT_CPU | SCRIPT_TIME | SCRIPT_PERIOD | SCRIPT_EVENT |
			 SCRIPT_IP | SCRIPT_SYM | SCRIPT_DSO,
};

/*
 * Parses perf's "-F": names separated by commas replace the default; "+name" and "-name" change it.
 * 0 or -EINVAL after a message.
 */
int script_parse_fields(const char *text, uint32_t *fields);

struct to_script {
	const char *input;		/* name of the recording */
	const struct collect *col;	/* with opts.each */
	const struct naming *nm;	/* with opts.detail */
	struct rec_reader *reader;
	uint32_t fields;
	bool header;			/* perf's "--header" */
	bool header_only;		/* write nothing else */
	bool ns;			/* print times in ns, not us */
	bool reltime, deltatime;	/* relative to the first sample; to the previous one */
};

/* Write errors are left in @to's error flag. */
void to_script(const struct to_script *in, FILE *to);

#endif
