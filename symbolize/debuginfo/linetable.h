/*
 * The line table of one compilation unit: .debug_line (DWARF 2-5, 6.2). Works on bytes, not on
 * files.
 */
#ifndef NSPROF_LINETABLE_H
#define NSPROF_LINETABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct linetable;
struct strbuf;

struct linetable_bytes {
	const uint8_t *data;	/* NULL: missing */
	size_t size;
};

struct linetable_sections {
	struct linetable_bytes line;		/* .debug_line */
	struct linetable_bytes line_str;	/* .debug_line_str, DWARF 5 */
	struct linetable_bytes str;		/* .debug_str */
	const struct elf_file *code;	/* the binary: knows where code is; borrowed for the call */
};

/*
 * Reads the table at byte @offset of .debug_line, the value of DW_AT_stmt_list. Never NULL; empty
 * if there is no valid table. @rows_left: how many rows of this file may still be read, all tables
 * together; counted down. The sections are borrowed for the life of the table.
 */
struct linetable *linetable_new(const struct linetable_sections *secs, uint64_t offset,
				size_t *rows_left);
void linetable_free(struct linetable *lt);	/* accepts NULL */

/* The row that holds @svma: number of its file, and line (0: the compiler generated this code). */
bool linetable_find(const struct linetable *lt, uint64_t svma, uint64_t *file, uint32_t *line);
/* Base name of file @number in this table; NULL if there is no such file. Borrowed. */
const char *linetable_file(const struct linetable *lt, uint64_t number);
/*
 * Replaces the contents of @out with the file's path, including its folder. @comp_dir: the unit's
 * (may be NULL). False if there is no such file. Absolute only if the debug info says so.
 */
bool linetable_path(const struct linetable *lt, uint64_t number, const char *comp_dir, struct strbuf *out);

#endif
