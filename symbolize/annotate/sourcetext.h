/*
 * The text of source files, shown next to the code. Files are read only in the root in which the
 * binary was found: the binary itself names the files, and one in a container must not make us show
 * files of the host.
 */
#ifndef NSPROF_SOURCETEXT_H
#define NSPROF_SOURCETEXT_H

#include <stddef.h>
#include <stdint.h>

struct module;
struct sourcetext;

struct sourcetext *sourcetext_new(void);
void sourcetext_free(struct sourcetext *st);	/* accepts NULL */
/*
 * Line @line (from 1) of file @path, as the debug info of @m names it: *@len raw bytes, without the
 * line feed. NULL if the file does not exist or is shorter. Borrowed.
 */
const char *sourcetext_line(struct sourcetext *st, const struct module *m, const char *path, uint32_t line, size_t *len);

#endif
