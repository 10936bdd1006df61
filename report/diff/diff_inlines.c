#include "diff/diff_inlines.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "input/reshape.h"
#include "profile/profile.h"

/* A binary in one profile. */
struct binary {
	const char *path;	/* borrowed */
	bool inlined;		/* has inlined functions in this profile */
	bool captured;		/* has names that came from the recording: the file was not found */
};

struct binaries {
	struct binary *b;	/* owned */
	size_t n, cap;
	struct u64map at;	/* number of the path -> index */
	uint32_t *of;		/* owned; frame -> index + 1; 0: none */
};

/* @paths: numbers of the paths of all profiles. */
static struct binaries binaries_of(const struct profile *p, struct intern *paths)
{
	struct binaries all = { .of = xcalloc(p->nframes, sizeof(*all.of)) };

	for (uint32_t f = 1; f < p->nframes; f++) {
		const char *path = profile_text(p, p->frames[f].dso);
		struct binary *b;
		uint64_t *at;
		bool is_new;

		if (!*path || (p->frames[f].kind != PROFILE_USER && p->frames[f].kind != PROFILE_INLINED))
			continue;
		at = u64map_put(&all.at, intern_add(paths, path), &is_new);
		if (is_new) {
			*at = all.n;
			XGROW(all.b, all.n, all.cap);
			all.b[all.n++] = (struct binary){ .path = path };
		}
		b = &all.b[*at];
		all.of[f] = (uint32_t)*at + 1;
		b->inlined = b->inlined || p->frames[f].kind == PROFILE_INLINED;
		b->captured = b->captured || !strcmp(profile_text(p, p->frames[f].source), "captured");
	}
	return all;
}

/* Does another profile lack the inlined functions of the path because the file was gone? */
static bool gone_elsewhere(const struct binaries *all, size_t n, uint32_t path)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t *at = u64map_get(&all[i].at, path);

		if (at && all[i].b[*at].captured && !all[i].b[*at].inlined)
			return true;
	}
	return false;
}

static void note(const char *path, struct strbuf *notes)
{
	strbuf_adds(notes, "inlined functions of '");
	escape_text(notes, path);
	strbuf_adds(notes, "' count for their callers: its debug info was gone for some of the recordings\n");
}

/*
 * [frame of @p]: inlined frames to leave out, or NULL if there are none. @own: the binaries of @p. @noted:
 * paths with a note. Owned by the caller.
 */
static bool *left_out(const struct profile *p, const struct binaries *own, const struct binaries *all, size_t n,
		      const struct intern *paths, struct u64map *noted, struct strbuf *notes)
{
	bool *gone = xcalloc(own->n + 1, sizeof(*gone)), *out = NULL;

	for (size_t i = 0; i < own->n; i++) {
		const uint32_t path = intern_find(paths, own->b[i].path);
		bool is_new;

		gone[i] = own->b[i].inlined && gone_elsewhere(all, n, path);
		if (!gone[i])
			continue;
		u64map_put(noted, path, &is_new);
		if (is_new)
			note(own->b[i].path, notes);
		if (!out)
			out = xcalloc(p->nframes, sizeof(*out));
	}
	for (uint32_t f = 1; out && f < p->nframes; f++)
		out[f] = p->frames[f].kind == PROFILE_INLINED && own->of[f] && gone[own->of[f] - 1];
	free(gone);
	return out;
}

void diff_inlines(struct profile **profiles, size_t n, struct strbuf *notes)
{
	struct binaries *all = xcalloc(n, sizeof(*all));
	bool **out = xcalloc(n, sizeof(bool *));
	struct intern *paths = intern_new();
	struct u64map noted = U64MAP_INIT;

	for (size_t i = 0; i < n; i++)
		all[i] = binaries_of(profiles[i], paths);
	for (size_t i = 0; i < n; i++)
		out[i] = left_out(profiles[i], &all[i], all, n, paths, &noted, notes);
	/* Paths belong to the profiles: they may be freed only now. */
	for (size_t i = 0; i < n; i++) {
		if (out[i])
			profiles[i] = reshape_without(profiles[i], out[i]);
		free(out[i]);
		free(all[i].b);
		free(all[i].of);
		u64map_fini(&all[i].at);
	}
	intern_free(paths);
	u64map_fini(&noted);
	free(out);
	free(all);
}
