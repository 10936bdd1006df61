/*
 * Predicts which debug info will be needed (inlines_expect.h). Compressed sections can only be
 * unpacked from the front, so the last unit with an address counts: in a C library, that is mostly
 * somewhere in the middle.
 */
#include "debuginfo/inlines_expect.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/sort_u64.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "dwarf/aranges.h"
#include "base/ranges.h"

struct inlines_expect {
	struct elf_file *from;	/* borrowed */
	pthread_mutex_t lock;	/* protects the members below */
	bool known;		/* the units are known */
	struct ranges units;	/* svma -> the unit's offset in .debug_info */
	uint64_t *starts;	/* owned; offsets of those units, ascending */
	uint64_t *met;		/* owned; svmas seen before @known */
	size_t nmet, cap;
	uint64_t end;		/* expected end so far, bytes of .debug_info */
};

/* Where the unit of @svma ends at the latest. If .debug_aranges lacks it, all units are needed. */
static uint64_t needed_for(const struct inlines_expect *ie, uint64_t svma)
{
	const struct range *r = ranges_find(&ie->units, svma);
	size_t next;

	if (!r)
		return UINT64_MAX;
	next = BISECT(ie->units.n, i, ie->starts[i] <= r->id);
	return next < ie->units.n ? ie->starts[next] : UINT64_MAX;
}

/* Called with the lock held. */
static void expect(struct inlines_expect *ie, uint64_t svma)
{
	uint64_t end = needed_for(ie, svma);

	if (end <= ie->end)
		return;
	ie->end = end;
	elf_file_expect_info(ie->from, end);
}

/* Runs in the thread that unpacks. If @data is missing or damaged, no unit is known. */
static void on_aranges(void *ctx, const uint8_t *data, size_t size)
{
	struct inlines_expect *ie = ctx;

	pthread_mutex_lock(&ie->lock);
	/* The unpacked size of .debug_info does not matter: nothing beyond its end is ever read. */
	if (size)
		aranges_read(data, size, UINT32_MAX, &ie->units);
	ie->starts = xcalloc(ie->units.n ? ie->units.n : 1, sizeof(*ie->starts));
	for (size_t i = 0; i < ie->units.n; i++)
		ie->starts[i] = ie->units.v[i].id;
	sort_u64(ie->starts, ie->units.n);
	ie->known = true;
	for (size_t i = 0; i < ie->nmet; i++)
		expect(ie, ie->met[i]);
	pthread_mutex_unlock(&ie->lock);
}

struct inlines_expect *inlines_expect_new(struct elf_file *from, unsigned int threads)
{
	struct inlines_expect *ie = xcalloc(1, sizeof(*ie));

	ie->from = from;
	ie->units = (struct ranges)RANGES_INIT;
	pthread_mutex_init(&ie->lock, NULL);
	elf_file_unpack_ahead(from, threads, on_aranges, ie);
	return ie;
}

void inlines_expect_at(struct inlines_expect *ie, const struct elf_file *code, uint64_t svma)
{
	if (elf_file_in_plt(code, svma))	/* in no unit */
		return;
	pthread_mutex_lock(&ie->lock);
	if (ie->known) {
		expect(ie, svma);
	} else {
		XGROW(ie->met, ie->nmet, ie->cap);
		ie->met[ie->nmet++] = svma;
	}
	pthread_mutex_unlock(&ie->lock);
}

void inlines_expect_free(struct inlines_expect *ie)
{
	if (!ie)
		return;
	elf_file_unpack_stop(ie->from);
	pthread_mutex_destroy(&ie->lock);
	ranges_fini(&ie->units);
	free(ie->starts);
	free(ie->met);
	free(ie);
}
