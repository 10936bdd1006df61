#include "diff/diff_inlines.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
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
};

static struct binary *find(const struct binaries *all, const char *path)
{
	for (size_t i = 0; i < all->n; i++)
		if (!strcmp(all->b[i].path, path))
			return &all->b[i];
	return NULL;
}

static struct binaries binaries_of(const struct profile *p)
{
	struct binaries all = { NULL, 0, 0 };

	for (uint32_t f = 1; f < p->nframes; f++) {
		const char *path = profile_text(p, p->frames[f].dso);
		struct binary *b;

		if (!*path || (p->frames[f].kind != PROFILE_USER && p->frames[f].kind != PROFILE_INLINED))
			continue;
		b = find(&all, path);
		if (!b) {
			XGROW(all.b, all.n, all.cap);
			b = &all.b[all.n++];
			*b = (struct binary){ .path = path };
		}
		b->inlined = b->inlined || p->frames[f].kind == PROFILE_INLINED;
		b->captured = b->captured || !strcmp(profile_text(p, p->frames[f].source), "captured");
	}
	return all;
}

/* Does another profile lack the inlined functions of @path because the file was gone? */
static bool gone_elsewhere(const struct binaries *all, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++) {
		const struct binary *b = find(&all[i], path);

		if (b && b->captured && !b->inlined)
			return true;
	}
	return false;
}

static void note(const char *path, struct strbuf *notes)
{
	struct strbuf line = STRBUF_INIT;

	strbuf_adds(&line, "inlined functions of '");
	escape_text(&line, path);
	strbuf_adds(&line, "' count for their callers: its debug info was gone for some of the recordings\n");
	if (!strstr(notes->s ? notes->s : "", line.s))
		strbuf_adds(notes, line.s);
	strbuf_fini(&line);
}

/*
 * [frame of @p]: inlined frames to leave out, or NULL if there are none. @own: the binaries of @p.
 * Owned by the caller.
 */
static bool *left_out(const struct profile *p, const struct binaries *own, const struct binaries *all, size_t n, struct strbuf *notes)
{
	bool *out = NULL;

	for (size_t i = 0; i < own->n; i++) {
		const char *path = own->b[i].path;

		if (!own->b[i].inlined || !gone_elsewhere(all, n, path))
			continue;
		note(path, notes);
		if (!out)
			out = xcalloc(p->nframes, sizeof(*out));
		for (uint32_t f = 1; f < p->nframes; f++)
			if (p->frames[f].kind == PROFILE_INLINED && !strcmp(profile_text(p, p->frames[f].dso), path))
				out[f] = true;
	}
	return out;
}

void diff_inlines(struct profile **profiles, size_t n, struct strbuf *notes)
{
	struct binaries *all = xcalloc(n, sizeof(*all));
	bool **out = xcalloc(n, sizeof(bool *));

	for (size_t i = 0; i < n; i++)
		all[i] = binaries_of(profiles[i]);
	for (size_t i = 0; i < n; i++)
		out[i] = left_out(profiles[i], &all[i], all, n, notes);
	/* Paths belong to the profiles: they may be freed only now. */
	for (size_t i = 0; i < n; i++) {
		if (out[i])
			profiles[i] = reshape_without(profiles[i], out[i]);
		free(out[i]);
		free(all[i].b);
	}
	free(out);
	free(all);
}
