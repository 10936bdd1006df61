/* The kernel's names (kernel_names.h). */
#include "replay/kernel_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "host/kept.h"
#include "host/nsopen.h"
#include "support/process_alive.h"
#include "symbols/kallsyms.h"

#define KALLSYMS_MAX (256u << 20)	/* bytes; a kernel with all modules has about 15 MiB */

struct kernel_names {
	bool tried;
	const struct kallsyms *names;	/* NULL if there are none */
	struct kallsyms *own;		/* owned */
};

struct kernel_names *kernel_names_new(void)
{
	return xcalloc(1, sizeof(struct kernel_names));
}

void kernel_names_free(struct kernel_names *kn)
{
	if (kn)
		kallsyms_free(kn->own);
	free(kn);
}

static struct kallsyms *read_kallsyms(const char *path)
{
	int fd = kept_open(path, false), err = 0;
	struct kallsyms *ks;
	size_t len;
	char *text;

	if (fd < 0)
		return NULL;
	text = nsopen_slurp(fd, KALLSYMS_MAX, &len, &err);
	close(fd);
	if (!text)
		return NULL;
	ks = kallsyms_new(text, len);
	free(text);
	return ks;
}

/*
 * The running kernel's own symbols move at every boot, so they are valid only for recordings of
 * this boot.
 */
const struct kallsyms *kernel_names_get(struct kernel_names *kn, const struct kallsyms *captured, const char *path)
{
	if (kn->tried)
		return kn->names;
	kn->tried = true;
	if (path) {
		kn->names = kn->own = read_kallsyms(path);
		if (!kn->names)
			pr_warn("'%s' has no kernel symbols: using those of the recording or of this kernel; give a copy of /proc/kallsyms",
				path);
	}
	if (!kn->names)
		kn->names = captured;
	if (!kn->names && alive_same_boot())
		kn->names = kn->own = read_kallsyms("/proc/kallsyms");
	return kn->names;
}
