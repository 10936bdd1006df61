/*
 * Jump tables: where "switch" and computed gotos lead. The compilers put them beside the other constants, as addresses
 * (8 bytes each), or as offsets from the table's own beginning (4 bytes); the code says which, and mostly how many.
 */
#ifndef NSPROF_CODE_TABLE_H
#define NSPROF_CODE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/code_walk.h"

/* More are not looked at: lexers have some hundred. */
#define TABLE_ENTRIES_MAX 1024

struct code_table {
	uint64_t jump;	/* svma of the jump */
	uint64_t *targets;	/* owned, svma, in ascending order, each once */
	size_t n;	/* 0: what is jumped through is no table, or none that can be read */
	uint64_t first;	/* svma, of the first entry */
	bool whole;	/* these are all; else a way may lead elsewhere */
	/* Nothing but its type limits the index: as with an interpreter's opcodes, or the last ones may be another table's. */
	bool by_type;
};

/*
 * The table of the jump through a register or memory at svma @jump, as the code before it shows it. Borrowed from @cr, until
 * its next call.
 */
const struct code_table *code_table(struct code_rows *cr, uint64_t jump);
void code_tables_free(struct code_rows *cr);

#endif
