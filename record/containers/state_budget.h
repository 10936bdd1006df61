/*
 * How much of the state of one user's runtimes is read at a time. A user may put anything there:
 * links to one large file by the thousand, a folder with 100,000 others. What exceeds the limits is
 * counted and left out. Root's own state has only the limits of each file.
 */
#ifndef NSPROF_STATE_BUDGET_H
#define NSPROF_STATE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/strbuf.h"

/* Entries of folders and files; a container is 1 to 5 of them. */
#define STATE_BUDGET_FILES 4096u
/* Bytes of files. A container's configuration has 10 to 100 KB. */
#define STATE_BUDGET_BYTES ((size_t)16 << 20)
/* Bytes allocated for parsed JSON: up to 5 times the size of a real file. */
#define STATE_BUDGET_MEMORY ((size_t)48 << 20)

/* What is left for one user. */
struct state_budget {
	uint32_t uid;
	uint32_t files;
	size_t bytes, memory;
	uint64_t left_out;	/* files and entries that were not read */
};

/* All users whose state was read. Zeroed: none. */
struct state_budgets {
	struct state_budget *v;	/* owned */
	size_t n, cap;
	struct u64map by_uid;	/* -> index in @v */
};

/* Begins again: nobody has used anything. */
void state_budgets_reset(struct state_budgets *bs);
void state_budgets_fini(struct state_budgets *bs);
/* The rest for @uid; NULL for root, who has no limit. Valid until the next call. */
struct state_budget *state_budgets_of(struct state_budgets *bs, uint32_t uid);
/* Appends whose state was not read to the end; nothing if all was. */
void state_budgets_text(const struct state_budgets *bs, struct strbuf *sb);

/* From now on, this thread reads on account of @b; NULL: without limit. Returns the one before. */
struct state_budget *state_budget_use(struct state_budget *b);
/* Counts an entry or file of this thread's user. False: it must not be read. */
bool state_budget_file(void);
/* Bytes that a file may have, at most @max; 0: it must not be read. */
size_t state_budget_bytes(size_t max);
/* Counts the bytes of a file that was read. */
void state_budget_read(size_t bytes);
/* Counts one that must not be read. */
void state_budget_leave_out(void);
/* The account for memory; NULL: no limit. */
size_t *state_budget_memory(void);

#endif
