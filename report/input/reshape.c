#include "input/reshape.h"

#include <stdlib.h>
#include <string.h>

#include "base/threadname.h"
#include "base/util.h"
#include "base/xalloc.h"

/* ---- copies ---- */

static uint32_t copy_text(struct profile *to, const struct profile *p, uint32_t id)
{
	return profile_string(to, profile_text(p, id));
}

static uint32_t *copy_frames(struct profile *to, const struct profile *p, const bool *left_out)
{
	uint32_t *ids = xcalloc(p->nframes + 1, sizeof(*ids));

	for (uint32_t i = 1; i < p->nframes; i++) {
		struct profile_frame f = p->frames[i];

		if (left_out[i])
			continue;
		f.name = copy_text(to, p, f.name);
		f.dso = copy_text(to, p, f.dso);
		f.srcline = copy_text(to, p, f.srcline);
		f.source = copy_text(to, p, f.source);
		ids[i] = profile_frame(to, &f);
	}
	return ids;
}

uint32_t *reshape_nodes(struct profile *to, const struct profile *p, const uint32_t *frames)
{
	uint32_t *ids = xcalloc(p->nnodes + 1, sizeof(*ids));

	for (uint32_t i = 1; i < p->nnodes; i++) {
		uint32_t parent = ids[p->nodes[i].parent], f = frames[p->nodes[i].frame];

		ids[i] = f ? profile_child(to, parent, f) : parent;
	}
	return ids;
}

uint32_t *reshape_threads(struct profile *to, const struct profile *p)
{
	uint32_t *ids = xcalloc(p->nthreads + 1, sizeof(*ids));

	for (uint32_t i = 1; i < p->nthreads; i++) {
		struct profile_thread t = p->threads[i];

		t.container = copy_text(to, p, t.container);
		t.cgroup = copy_text(to, p, t.cgroup);
		t.comm = copy_text(to, p, t.comm);
		t.process = copy_text(to, p, t.process);
		t.fields = copy_text(to, p, t.fields);
		ids[i] = profile_thread(to, &t);
	}
	return ids;
}

/* ---- names of threads ---- */

struct file {
	int32_t pid;
	const char *name;	/* last component of the path; borrowed */
};

static int by_pid_and_name(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return strcmp(x->name, y->name);
}

/*
 * The files in which each process has functions; may contain duplicates. Counts are sorted by
 * event and thread.
 */
static struct file *files_of(const struct profile *p, size_t *n)
{
	uint32_t *node_seen = xcalloc(p->nnodes, sizeof(*node_seen)), *frame_seen = xcalloc(p->nframes, sizeof(*frame_seen));
	struct file *files = NULL;
	size_t cap = 0;

	*n = 0;
	for (size_t i = 0; i < p->ncounts; i++) {
		uint32_t thread = p->counts[i].thread;

		/* A node that this thread had before: so were its callers. */
		for (uint32_t at = p->counts[i].node; at && node_seen[at] != thread; at = p->nodes[at].parent) {
			uint32_t f = p->nodes[at].frame;
			const char *slash = strrchr(profile_text(p, p->frames[f].dso), '/');

			node_seen[at] = thread;
			if (!slash || frame_seen[f] == thread)
				continue;
			frame_seen[f] = thread;
			XGROW(files, *n, cap);
			files[(*n)++] = (struct file){ p->threads[thread].pid, slash + 1 };
		}
	}
	if (*n)
		qsort(files, *n, sizeof(*files), by_pid_and_name);
	free(node_seen);
	free(frame_seen);
	return files;
}

static bool is_programs(const char *comm, int32_t pid, const struct file *files, size_t n)
{
	const struct file least = { pid, comm };
	/* Names that begin with it come first among those that are not smaller. */
	const size_t i = BISECT(n, k, by_pid_and_name(&files[k], &least) < 0);

	return i < n && files[i].pid == pid && !strncmp(files[i].name, comm, strlen(comm));
}

static void merge_names(struct profile *p)
{
	struct strbuf merged = STRBUF_INIT;
	struct file *files;
	size_t n;

	files = files_of(p, &n);
	for (uint32_t i = 1; i < p->nthreads; i++) {
		struct profile_thread *t = &p->threads[i];
		const char *comm = profile_text(p, t->comm);

		if (!threadname_merge(comm, &merged) || is_programs(comm, t->pid, files, n))
			continue;
		t->comm = profile_string(p, merged.s);
		t->tid = PROFILE_TID_MERGED;
	}
	strbuf_fini(&merged);
	free(files);
}

/* ---- all of it ---- */

/* @move NULL: counts stay as they are. */
static struct profile *copy(struct profile *p, const bool *left_out,
			    void (*move)(void *ctx, struct profile *to, const struct profile_count *from, struct profile_count *c), void *ctx)
{
	struct profile *to = profile_new(), *sorted;
	uint32_t *frames = copy_frames(to, p, left_out), *nodes = reshape_nodes(to, p, frames), *threads = reshape_threads(to, p);

	for (uint32_t i = 0; i < p->nmeta; i++)
		profile_set_meta(to, profile_text(p, p->meta[i].key), profile_text(p, p->meta[i].value));
	profile_same_events(to, p);
	for (size_t i = 0; i < p->ncounts; i++) {
		struct profile_count c = p->counts[i];

		c.thread = threads[c.thread];
		c.node = nodes[c.node];
		if (move)
			move(ctx, to, &p->counts[i], &c);
		profile_count(to, &c);
	}
	to->block_ns = p->block_ns;
	to->nblocks = p->nblocks;
	to->cut = p->cut;
	profile_finish(to);
	free(frames);
	free(nodes);
	free(threads);
	profile_free(p);
	/* Equal rows keep the order of the profile. */
	sorted = profile_sorted(to);
	profile_free(to);
	return sorted;
}

struct profile *reshape_without(struct profile *p, const bool *left_out)
{
	return copy(p, left_out, NULL, NULL);
}

struct profile *reshape_counts(struct profile *p,
			       void (*move)(void *ctx, struct profile *to, const struct profile_count *from, struct profile_count *c),
			       void *ctx)
{
	bool *none = xcalloc(p->nframes, sizeof(*none));

	p = copy(p, none, move, ctx);
	free(none);
	return p;
}

struct profile *reshape(struct profile *p, bool no_inline, bool merge_threads)
{
	bool *left_out = xcalloc(p->nframes, sizeof(*left_out));

	if (merge_threads)
		merge_names(p);
	if (no_inline && profile_meta(p, "inlines")) {
		profile_unset_meta(p, "inlines");
		profile_set_meta(p, "inlines", "0");
	}
	for (uint32_t i = 1; i < p->nframes; i++)
		left_out[i] = no_inline && p->frames[i].kind == PROFILE_INLINED;
	p = reshape_without(p, left_out);
	free(left_out);
	return p;
}
