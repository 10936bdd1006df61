/*
 * What the host can tell about a perf.data: is it the recorded host, is it the recorded kernel, and
 * can the build-id that perf has for a path be that of a mapping?
 */
#ifndef NSPROF_IMPORT_HOST_H
#define NSPROF_IMPORT_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "import/perfdata.h"
#include "procs/proctab.h"

struct import_host {
	bool same_host;			/* by its name */
	bool named;			/* build-ids are indexed by path */
	/* the symbol that the kernel's map record refers to, "_text"; "" = no such record yet */
	char kernel_sym[64];
	uint64_t kernel_addr;		/* its address when recorded */
	/* hash of a path -> hash of the only file seen there; 0: there were several */
	struct u64map files;
	/* hash of a path -> 1 + index in perfdata.build_ids; 0: it has several */
	struct u64map ids;
};

/*
 * Parses a PERF_RECORD_MMAP or MMAP2 into @m; the path points into the record. -EINVAL if its inner
 * lengths do not fit.
 */
int import_mmap(const struct perfdata *pd, const struct perfdata_record *r, struct kmmap *m);

/* Call once for each record, before identifying anything; for a pipe, as records arrive. */
void import_host_look(struct import_host *h, const struct perfdata *pd, const struct perfdata_record *r);
/* Call after the header was read. Decides whether this is the recorded host. */
void import_host_name(struct import_host *h, const struct perfdata *pd);
/*
 * Sets the build-id of @m to the one that perf has for its path, if it can belong to this file: no
 * other file was mapped from that path. On the recorded host, it must not be the build-id of
 * another file that lies there now. That is where perf reads it from once the container is gone.
 */
void import_host_identify(struct import_host *h, const struct perfdata *pd, struct kmmap *m);
/*
 * Has the recorded kernel run without a reboot since then? Compares its release and its address,
 * which is random at each boot.
 */
bool import_host_same_kernel(const struct import_host *h, const struct perfdata *pd);
/*
 * The build-id that perf has for "[vdso]"; NULL: none. Without kernel samples, only this identifies
 * the kernel.
 */
const struct perfdata_build_id *import_host_vdso(struct import_host *h, const struct perfdata *pd);
void import_host_fini(struct import_host *h);

#endif
