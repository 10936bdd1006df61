/*
 * Whose files perf.data speaks of: is it this host, is it this kernel, and can the build-id that perf gives a path be
 * that of a mapping?
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
	bool named;			/* build-ids are looked up by path from now on */
	char kernel_sym[64];		/* the symbol the kernel's map record is relative to, "_text"; "" = none met */
	uint64_t kernel_addr;		/* its address then */
	struct u64map files;		/* hash of a path -> hash of the one file seen there; 0: there were several */
	struct u64map ids;		/* hash of a path -> 1 + index in perfdata.build_ids; 0: it has several */
};

/* A PERF_RECORD_MMAP or MMAP2 as @m, whose path is the record's. -EINVAL when its inner lengths do not fit. */
int import_mmap(const struct perfdata *pd, const struct perfdata_record *r, struct kmmap *m);

/* Each record once, before anything is identified; of a pipe as they come. */
void import_host_look(struct import_host *h, const struct perfdata *pd, const struct perfdata_record *r);
/* The header is read: is it this host? */
void import_host_name(struct import_host *h, const struct perfdata *pd);
/*
 * Give @m the build-id that perf has for its path, if that can be this file's: it was the only file there. On the recorded
 * host it must not be the build-id of another file that lies there now, which is where perf gets it from when
 * the container is gone.
 */
void import_host_identify(struct import_host *h, const struct perfdata *pd, struct kmmap *m);
/* Does this kernel run since then? By its release and by where it lies, which is drawn at each boot. */
bool import_host_same_kernel(const struct import_host *h, const struct perfdata *pd);
/* The build-id that perf has for "[vdso]"; NULL: none. Of user space alone it is all that tells which kernel it was. */
const struct perfdata_build_id *import_host_vdso(struct import_host *h, const struct perfdata *pd);
void import_host_fini(struct import_host *h);

#endif
