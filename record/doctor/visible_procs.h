/* Which other processes are visible, and what can be read of them. */
#ifndef NSPROF_VISIBLE_PROCS_H
#define NSPROF_VISIBLE_PROCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct visible_procs {
	/* Processes in nsopen_proc(), without kernel threads and zombies. */
	uint32_t seen;
	uint32_t readable;	/* number of those with readable mappings and root directory */
	/* number of the readable ones in another mount namespace than ours */
	uint32_t elsewhere;
	/*
	 * The process to try a recording with, preferably of another user and readable. 0 = none.
	 */
	uint32_t choice;
	bool choice_readable;
	/*
	 * The first unreadable one: error of open(2), 0 = none; its pid; "maps" or "root", static.
	 */
	int err;
	uint32_t err_pid;
	const char *err_file;
};

/* Opens files of each process, but reads at most one byte. */
void visible_procs_look(struct visible_procs *n);

/*
 * Some processes are unreadable because we lack a right. Without a lack of rights, some may still
 * be protected from everybody.
 */
bool visible_procs_hidden(const struct visible_procs *n);

/*
 * A file of nsopen_proc(), at most @max bytes, NUL-terminated, owned by the caller. NULL if it
 * cannot be read.
 */
char *visible_procs_file(uint32_t pid, const char *name, size_t max);
bool visible_procs_is_kthread(uint32_t pid);

#endif
