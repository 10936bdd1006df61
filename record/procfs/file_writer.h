/*
 * The program that writes a file: a perf map, a jitdump. After an exec, or with the same pid in a pid
 * namespace, another program may write to a file of the same name. So what was read of the file is the
 * program's own only if nobody else can have written to it before the reading was over.
 */
#ifndef NSPROF_FILE_WRITER_H
#define NSPROF_FILE_WRITER_H

#include <stdint.h>
#include <sys/stat.h>

struct proc_facts;

/* A copy of what is known, for any thread. */
struct file_writer {
	/* ns of the wall clock: what is written later is another program's; INT64_MAX = not known */
	int64_t until;
	/* Its end is not known: the process to look at. 0 = none */
	uint32_t pid;
	uint64_t start_ticks, image;	/* as in struct proc_facts */
	int64_t ran;		/* ns of the wall clock: what was written before is its own, whatever it runs by now */
};

/* A writer of which nothing is known: every file is its own. */
#define FILE_WRITER_ANY { .until = INT64_MAX }

/* The program with facts @f, as far as it is known now. */
struct file_writer file_writer_of(const struct proc_facts *f);
/* Can a file with attributes @st have been written to after the end of @w? NULL, or why it is not used. */
const char *file_writer_over(const struct file_writer *w, const struct stat *st);
/*
 * May what was read of @fd, of nsopen, be used as @w's? NULL, or why not. Ask after the reading: the
 * kernel sets the time of a file before it writes to it (generic_file_write_iter() in mm/filemap.c).
 */
const char *file_writer_changed(const struct file_writer *w, int fd);

#endif
