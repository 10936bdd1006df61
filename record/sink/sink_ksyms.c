#include "sink/sink_ksyms.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

/* BPF programs loaded while we record and still there; lost records must not add up. */
#define KSYMS_MAX 16384

struct live_ksym {
	uint32_t len;
	char name[];
};

void sink_ksyms_fini(struct sink_ksyms *ks)
{
	uint64_t addr, val;

	for (size_t it = 0; u64map_next(&ks->live, &it, &addr, &val);)
		free((void *)(uintptr_t)val);
	u64map_fini(&ks->live);
}

void sink_ksyms_take(struct sink_ksyms *ks, const struct ev_ksymbol *ev)
{
	const size_t len = strlen(ev->name);
	uint64_t *slot = u64map_get(&ks->live, ev->addr);
	struct live_ksym *sym;

	if (slot) {
		free((void *)(uintptr_t)*slot);
		u64map_del(&ks->live, ev->addr);
	}
	if (ev->gone || ks->live.n >= KSYMS_MAX)
		return;
	sym = xcalloc(1, sizeof(*sym) + len + 1);
	sym->len = ev->len;
	memcpy(sym->name, ev->name, len);
	*u64map_put(&ks->live, ev->addr, NULL) = (uintptr_t)sym;
}

int sink_ksyms_write(const struct sink_ksyms *ks, struct rec_writer *w, uint64_t time)
{
	uint64_t addr, val;
	int err = 0;

	for (size_t it = 0; u64map_next(&ks->live, &it, &addr, &val);) {
		const struct live_ksym *sym = (const struct live_ksym *)(uintptr_t)val;
		const struct ev_ksymbol ev = {
			.time = time, .addr = addr, .len = sym->len, .name = sym->name,
		};
		int e = rec_writer_ksymbol(w, &ev);

		err = err ? err : e;
	}
	return err;
}
