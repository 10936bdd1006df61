/* Which other processes can be seen, and what of them can be read. */
#ifndef NSPROF_VISIBLE_PROCS_H
#define NSPROF_VISIBLE_PROCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct visible_procs {
	/* Those that nsopen_proc() shows, but the kernel's own and zombies. */
	uint32_t seen;
	uint32_t readable;	/* of them: mappings and root directory can be opened */
	uint32_t elsewhere;	/* of these: in another mount namespace than we are */
	/* The one to try a recording with: another user's if there is one, and readable rather than not. 0 = none. */
	uint32_t choice;
	bool choice_readable;
	/* The first that cannot be read: what open(2) said, 0 = there is none; its pid; "maps" or "root", static. */
	int err;
	uint32_t err_pid;
	const char *err_file;
};

/* Opens files of each of them, and reads nothing but a byte. */
void visible_procs_look(struct visible_procs *n);

/* Not all can be read, and that is for want of a right: single ones may be protected from everybody. */
bool visible_procs_hidden(const struct visible_procs *n);

/* A file of nsopen_proc(), at most @max bytes, NUL-terminated, owned by the caller. NULL when it cannot be read. */
char *visible_procs_file(uint32_t pid, const char *name, size_t max);
bool visible_procs_is_kthread(uint32_t pid);

#endif
