/* Where the debug info of a module is looked for. Each file has to prove that it belongs to it. */
#ifndef NSPROF_DEBUGSOURCE_H
#define NSPROF_DEBUGSOURCE_H

struct elf_file;
struct module;

/*
 * --debug-dir: one more folder of this host, behind /usr/lib/debug. 0, or negative errno after a
 * message.
 */
int debugsource_add_dir(const char *dir);

/*
 * Sets m->debug and m->alt, as far as they are not known, from the places that binaries below
 * @rootfd have (a container's root, or the host's). Negative @rootfd: does nothing. Leaves the reason
 * in m->why_not[MODULE_NONE].
 */
void debugsource_look(struct module *m, int rootfd);

/* The same in the folders of --debug-dir (@rootfd: the host's root), then from debuginfod. */
void debugsource_look_further(struct module *m, int rootfd);

/*
 * Split debug info. Candidate @i (from 0) for the file @name of a unit that was compiled in @comp_dir
 * (may be NULL): an owned fd; -ENOENT: it is not there, the next may be; -ERANGE: no more. The unit in
 * it has to be proven by the caller.
 */
int debugsource_dwo(struct module *m, const char *comp_dir, const char *name, unsigned int i);
/* The package BINARY.dwp beside the binary or in a --debug-dir; NULL when there is none. Borrowed. */
struct elf_file *debugsource_dwp(struct module *m);

#endif
