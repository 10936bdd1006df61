#include "diff/diff_side.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "input/reshape.h"
#include "profile/normalize.h"
#include "profile/profile.h"

/*
 * Sources, files and lines do not distinguish functions: a rebuild moves them. Neither does
 * inlining.
 */
uint32_t *diff_side_frames(struct profile *to, const struct profile *p, const struct diff_opts *o)
{
	uint32_t *ids = xcalloc(p->nframes + 1, sizeof(*ids));

	for (uint32_t f = 1; f < p->nframes; f++) {
		struct profile_frame frame = { .kind = p->frames[f].kind };
		char *name;

		if (frame.kind == PROFILE_INLINED)
			frame.kind = PROFILE_USER;
		name = xstrdup(profile_text(p, p->frames[f].name));
		if (!o->keep_names && frame.kind != PROFILE_LEADING)
			normalize_name(name);
		frame.name = profile_string(to, name);
		ids[f] = profile_frame(to, &frame);
		free(name);
	}
	return ids;
}

static void add_input(struct profile *to, const struct profile *p, const struct diff_opts *o)
{
	uint32_t *frames = diff_side_frames(to, p, o), *nodes = reshape_nodes(to, p, frames), *threads = reshape_threads(to, p);

	for (size_t i = 0; i < p->ncounts; i++) {
		struct profile_count c = p->counts[i];

		c.thread = threads[c.thread];
		c.node = nodes[c.node];
		c.block = to->block_ns ? c.block : 0;
		profile_count(to, &c);
	}
	for (uint32_t i = 0; i < p->nmeta; i++)
		profile_set_meta(to, profile_text(p, p->meta[i].key), profile_text(p, p->meta[i].value));
	free(frames);
	free(nodes);
	free(threads);
}

struct profile *diff_side(const struct diff_input *in, size_t n, unsigned int side, const struct diff_opts *o)
{
	struct profile *to = profile_new();
	bool first = true;

	for (size_t i = 0; i < n; i++) {
		if (in[i].side != side)
			continue;
		if (first || to->block_ns == in[i].profile->block_ns)
			to->block_ns = in[i].profile->block_ns;
		else
			to->block_ns = 0;
		first = false;
	}
	for (size_t i = 0; i < n; i++)
		if (in[i].side == side)
			add_input(to, in[i].profile, o);
	profile_finish(to);
	return to;
}
