/*
 * Jump tables: the targets of "switch" and computed gotos. Compilers put them among the constants,
 * as addresses (8 bytes each) or as offsets from the beginning of the table (4 bytes). The code
 * shows which, and usually how many.
 */
#ifndef NSPROF_CODE_TABLE_H
#define NSPROF_CODE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/code_walk.h"

/* No more entries are read: lexers have some hundred. */
#define TABLE_ENTRIES_MAX 1024

struct code_table {
	uint64_t jump;	/* svma of the jump */
	uint64_t *targets;	/* owned, svma, in ascending order, each once */
	size_t n;	/* 0: the jump uses no table, or an unreadable one */
	uint64_t first;	/* svma, the target of the first entry */
	bool whole;	/* these are all targets; otherwise the jump may lead elsewhere */
	/*
	 * Only its type limits the index. Either all values occur, like an interpreter's opcodes,
	 * or the last entries belong to another table.
	 */
	bool by_type;
};

/*
 * The table of the indirect jump at svma @jump, as the code before it shows it. Borrowed from @cr
 * until its next call.
 */
const struct code_table *code_table(struct code_rows *cr, uint64_t jump);
void code_tables_free(struct code_rows *cr);

#endif
