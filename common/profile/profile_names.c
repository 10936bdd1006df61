#include "profile/profile_names.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/intern.h"
#include "base/log.h"
#include "base/longname.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"

#define TEXTS 3		/* of a frame */

/* The strings of a frame that views repeat. */
static void texts_of(struct profile_frame *f, uint32_t *texts[TEXTS])
{
	texts[0] = &f->name;
	texts[1] = &f->dso;
	texts[2] = &f->srcline;
}

/* The longest of a frame's texts, bytes. */
static size_t longest(struct profile *p, uint32_t frame)
{
	uint32_t *texts[TEXTS];
	size_t len = 0;

	texts_of(&p->frames[frame], texts);
	for (size_t i = 0; i < TEXTS; i++)
		len = MAX(len, intern_len(p->strings, *texts[i]));
	return len;
}

/* How long texts may be; FAIR_WHOLE: as they are. */
static uint64_t level_of(struct profile *p, struct fair_limit limit)
{
	uint64_t more = 0, level = FAIR_WHOLE, *levels;
	struct fair_item *items;

	for (uint32_t i = 1; i < p->nnodes; i++)
		more += MAX(longest(p, p->nodes[i].frame), LONGNAME_BRIEF) - LONGNAME_BRIEF;
	if (more <= limit.pool)
		return FAIR_WHOLE;
	items = xcalloc(p->nnodes, sizeof(*items));
	for (uint32_t i = 1; i < p->nnodes; i++)
		items[i] = (struct fair_item){ 0, LONGNAME_BRIEF, MAX(longest(p, p->nodes[i].frame), LONGNAME_BRIEF) };
	levels = fair_levels(items + 1, p->nnodes - 1, 1, limit);
	if (levels)
		level = MAX(levels[0], (uint64_t)LONGNAME_BRIEF);
	free(levels);
	free(items);
	return level;
}

uint64_t profile_bound_names(struct profile *p, struct fair_limit limit, const char *name)
{
	const uint64_t level = level_of(p, limit);
	struct strbuf sb = STRBUF_INIT;
	uint64_t cut = 0;

	if (level == FAIR_WHOLE)
		return 0;
	for (uint32_t i = 1; i < p->nframes; i++) {
		uint32_t *texts[TEXTS];

		texts_of(&p->frames[i], texts);
		for (size_t k = 0; k < TEXTS; k++) {
			const size_t len = intern_len(p->strings, *texts[k]);

			if (len <= level)
				continue;
			strbuf_reset(&sb);
			longname_add(&sb, profile_text(p, *texts[k]), len, (size_t)level);
			*texts[k] = intern_addn(p->strings, sb.s, sb.len);
			cut++;
		}
	}
	strbuf_reset(&sb);
	strbuf_addf(&sb, "%" PRIu64 " long name%s cut to %" PRIu64 " bytes, because all together are too long", cut,
		    plural_of(cut, " is", "s are"), level);
	pr_warn("'%s': %s", name, sb.s);
	profile_set_meta(p, "note", sb.s);
	strbuf_fini(&sb);
	return cut;
}
