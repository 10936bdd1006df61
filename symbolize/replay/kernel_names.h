/* Where the kernel's names come from. */
#ifndef NSPROF_KERNEL_NAMES_H
#define NSPROF_KERNEL_NAMES_H

struct kallsyms;
struct kernel_names;
struct replay;

struct kernel_names *kernel_names_new(void);
void kernel_names_free(struct kernel_names *kn);
/*
 * The kernel's symbols: of the file @path, like /proc/kallsyms, if that is not NULL and has some,
 * after a warning otherwise; else those that the recording has (@captured); else those of the
 * running kernel, if it is the recorded one. NULL: there are none. Read once; owned by @kn, or as
 * @captured.
 */
const struct kallsyms *kernel_names_get(struct kernel_names *kn, const struct kallsyms *captured, const char *path);

#endif
