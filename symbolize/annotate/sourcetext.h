/*
 * Text of source files, for people to read beside the code. It is read where the binary was found, and nowhere else: a binary names
 * the files itself, and that of a container shall not have us show this host's.
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
 * Line @line (1 and up) of file @path, as the debug info of @m has it: *@len bytes without the line feed, raw. NULL when the file is
 * not there or ends before. Borrowed.
 */
const char *sourcetext_line(struct sourcetext *st, const struct module *m, const char *path, uint32_t line, size_t *len);

#endif
