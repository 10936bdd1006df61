/*
 * The tracepoints of this kernel, as tracefs lists them: Documentation/trace/events.rst. Where
 * tracefs is not mounted, a mount of our own is used that nobody else sees, and that ends with us.
 */
#ifndef NSPROF_TRACEFS_H
#define NSPROF_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define TRACEFS_FORMAT_MAX 65536u	/* bytes; the longest have some 5,000 */

struct tracefs {
	int events;		/* owned descriptor of the folder "events"; -1: none */
	bool private_mount;	/* nobody else has it mounted */
};

/*
 * @path: where it is mounted; NULL: find it. 0, or negative errno without a message and *@why (of
 * @size bytes) says what was tried: "tracefs at '/sys/kernel/tracing' cannot be read: ...". Release
 * with tracefs_close() in any case.
 */
int tracefs_open(struct tracefs *t, const char *path, char *why, size_t size);
void tracefs_close(struct tracefs *t);

/*
 * Where @mountinfo (text of /proc/self/mountinfo, which is modified) says that tracefs is: its own
 * mount, or the folder "tracing" of debugfs. False if it is not mounted.
 */
bool tracefs_mounted_at(char *mountinfo, char *path, size_t size);

/* The id of a tracepoint, for attr.config. 0, or negative errno: -ENOENT if there is none. */
int tracefs_id(const struct tracefs *t, const char *group, const char *name, uint64_t *id);
/* Appends the file "format". 0 or negative errno. */
int tracefs_format(const struct tracefs *t, const char *group, const char *name, struct strbuf *out);

/*
 * Names of all groups (@group NULL), or of the tracepoints of one, sorted. *@names is owned, as are
 * its elements; NULL if there are none. Returns their number. Release with name_list_free().
 */
size_t tracefs_names(const struct tracefs *t, const char *group, char ***names);

#endif
