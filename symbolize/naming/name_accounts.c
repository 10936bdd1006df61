/* Accounts for names (name_accounts.h). */
#include "naming/name_accounts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/longname.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "host/cgroup_path.h"
#include "recording/ctr_table.h"
#include "replay/sample_cgroups.h"
#include "replay/stacktree.h"

/*
 * Bytes of long names beyond LONGNAME_BRIEF that are kept in memory. All symbols of libxul, clang and
 * LLVM together have fewer.
 */
#define KEPT_MAX ((size_t)16 << 20)
/* Bytes of the same in stacks that are written: this much, and LONGNAME_BRIEF more for each frame. */
#define SHOWN_MAX ((uint64_t)64 << 20)
/* Bytes of perf maps of living processes: 2 s of reading. */
#define READ_MAX ((uint64_t)1 << 30)
#define TOLD_MAX 5	/* accounts with a warning of their own */

struct account {
	uint32_t name;		/* in @texts */
	size_t kept;		/* left */
	uint64_t shown, read;	/* left */
	uint64_t cut, unread;	/* names and perf maps that were refused */
};

struct name_accounts {
	const struct replay *rp;
	const struct locations *ls;
	struct intern *texts;		/* texts that name accounts; owned */
	struct account *v;		/* owned; by text id */
	size_t n, cap;
	uint32_t *by_image;		/* owned; account + 1 */
	struct u64map by_module;	/* module id -> account */
	struct u64map by_process;	/* pid and start time -> image index */
	uint32_t *weights;		/* owned; by location: how often it is written */
	struct account *at;		/* of the present location */
	uint64_t weight;
};

/* ---- who ---- */

/* The part of a cgroup's path that belongs to one user, or all of it. */
static size_t tenant_len(const char *path)
{
	struct cgroup_path p;
	const char *user, *end;

	if (cgroup_path_parse(path, &p))
		return p.own_len;
	user = strstr(path, "/user-");
	end = user ? strstr(user, ".slice") : NULL;
	return end ? (size_t)(end - path) + strlen(".slice") : strlen(path);
}

static void tenant_of(const struct name_accounts *na, const struct image *img, struct strbuf *out)
{
	const struct ctr *c = ctr_table_of(sample_cgroups_containers(replay_cgroups(na->rp)), img->cgroup);

	strbuf_reset(out);
	if (c && ctr_is_container(c))
		ctr_name_text(c, out);
	else if (img->cgroup[0])
		strbuf_addf(out, "cgroup '%.*s'", (int)tenant_len(img->cgroup), img->cgroup);
	else
		strbuf_adds(out, "processes without a known cgroup");
}

static uint32_t account(struct name_accounts *na, const char *text, size_t len)
{
	const uint32_t id = intern_addn(na->texts, text, len);

	while (na->n <= id) {
		XGROW(na->v, na->n, na->cap);
		na->v[na->n] = (struct account){ (uint32_t)na->n, KEPT_MAX, SHOWN_MAX, READ_MAX, 0, 0 };
		na->n++;
	}
	return id;
}

static uint32_t of_image(struct name_accounts *na, const struct image *img)
{
	struct strbuf text = STRBUF_INIT;
	uint32_t *slot = &na->by_image[img->index];

	if (!*slot) {
		tenant_of(na, img, &text);
		*slot = account(na, text.s, text.len) + 1;
		strbuf_fini(&text);
	}
	return *slot - 1;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The account of all who were seen to map @m. */
static uint32_t of_module(struct name_accounts *na, const struct module *m)
{
	uint32_t users[MODULE_USERS_MAX], n = 0, pid;
	struct strbuf text = STRBUF_INIT;
	uint64_t ticks, *slot;
	bool is_new;

	slot = u64map_put(&na->by_module, m->id, &is_new);
	if (!is_new)
		return (uint32_t)*slot;
	for (uint32_t i = 0; module_user(m, i, &pid, &ticks); i++) {
		const uint64_t *img = u64map_get(&na->by_process, hash_combine(ticks, pid));

		if (img)
			users[n++] = of_image(na, replay_image(na->rp, (uint32_t)*img));
	}
	if (n)
		qsort(users, n, sizeof(*users), by_number);
	for (uint32_t i = 0; i < n; i++)
		if (!i || users[i] != users[i - 1])
			strbuf_addf(&text, "%s%s", text.len ? " and " : "", intern_str(na->texts, users[i]));
	*slot = account(na, text.s ? text.s : "", text.len);
	strbuf_fini(&text);
	return (uint32_t)*slot;
}

static uint32_t of_location(struct name_accounts *na, const struct location *loc)
{
	switch ((enum location_kind)loc->kind) {
	case LOC_FILE:
		return of_module(na, loc->mod);
	case LOC_NOELF:
	case LOC_ANON:
	case LOC_NOMAP:
		return of_image(na, replay_image(na->rp, loc->owner));
	case LOC_JIT:
		return of_image(na, replay_image(na->rp, loc->image));
	default:
		return 0;
	}
}

/* Valid until the next account is opened. */
static struct account *account_of(struct name_accounts *na, const struct location *loc)
{
	const uint32_t id = of_location(na, loc);

	return &na->v[id];
}

/* ---- how often ---- */

/* A frame is written for each stack that ends in it or above it. */
static void weigh(struct name_accounts *na, const struct stacktree *tree, bool each)
{
	uint32_t *ends = xcalloc(tree->n + 1, sizeof(*ends));

	for (size_t i = tree->n; i-- > 1;) {
		const struct stacknode *node = &tree->nodes[i];
		const uint64_t own = each ? node->samples : node->samples != 0;

		ends[i] = (uint32_t)MIN(ends[i] + own, (uint64_t)UINT32_MAX);
		ends[node->parent] = (uint32_t)MIN((uint64_t)ends[node->parent] + ends[i], (uint64_t)UINT32_MAX);
		if (node->loc < na->ls->n)
			na->weights[node->loc] = (uint32_t)MIN((uint64_t)na->weights[node->loc] + ends[i], (uint64_t)UINT32_MAX);
	}
	free(ends);
	for (size_t i = 0; i < na->ls->n; i++)
		account_of(na, &na->ls->locs[i])->shown += (uint64_t)na->weights[i] * LONGNAME_BRIEF;
}

struct name_accounts *name_accounts_new(const struct replay *rp, const struct locations *ls, const struct stacktree *tree, bool each)
{
	struct name_accounts *na = xcalloc(1, sizeof(*na));
	const size_t images = replay_images(rp);

	na->rp = rp;
	na->ls = ls;
	na->texts = intern_new();
	account(na, "", 0);
	na->by_image = xcalloc(images + 1, sizeof(*na->by_image));
	for (size_t i = 0; i < images; i++) {
		const struct image *img = replay_image(rp, (uint32_t)i);

		*u64map_put(&na->by_process, hash_combine(img->start_ticks, img->pid), NULL) = i;
	}
	na->at = na->v;
	if (tree) {
		na->weights = xcalloc(ls->n + 1, sizeof(*na->weights));
		weigh(na, tree, each);
	}
	return na;
}

void name_accounts_free(struct name_accounts *na)
{
	if (!na)
		return;
	u64map_fini(&na->by_module);
	u64map_fini(&na->by_process);
	intern_free(na->texts);
	free(na->v);
	free(na->by_image);
	free(na->weights);
	free(na);
}

/* ---- what is left ---- */

void name_accounts_at(struct name_accounts *na, size_t i)
{
	const uint32_t id = of_location(na, &na->ls->locs[i]);

	na->at = &na->v[id];
	na->weight = na->weights ? na->weights[i] : 0;
}

static uint64_t more_than_brief(size_t len)
{
	return len > LONGNAME_BRIEF ? len - LONGNAME_BRIEF : 0;
}

bool name_accounts_keep(struct name_accounts *na, size_t len)
{
	const uint64_t more = more_than_brief(len);

	if (more > na->at->kept) {
		na->at->cut++;
		return false;
	}
	na->at->kept -= (size_t)more;
	return true;
}

bool name_accounts_show(struct name_accounts *na, size_t len)
{
	const uint64_t more = more_than_brief(len);

	if (!more || !na->weight)
		return true;
	if (na->at->shown / na->weight < more) {
		na->at->cut++;
		return false;
	}
	na->at->shown -= more * na->weight;
	return true;
}

bool name_accounts_spent(const struct name_accounts *na)
{
	return na->at->cut;
}

size_t *name_accounts_room(struct name_accounts *na, const struct image *img)
{
	const uint32_t id = of_image(na, img);

	return &na->v[id].kept;
}

bool name_accounts_read(struct name_accounts *na, const struct image *img, uint64_t bytes)
{
	const uint32_t id = of_image(na, img);
	struct account *a = &na->v[id];

	if (bytes > a->read) {
		a->unread++;
		return false;
	}
	a->read -= bytes;
	return true;
}

/* ---- what was refused ---- */

static const char *who(const struct name_accounts *na, const struct account *a, struct strbuf *out)
{
	const char *text = intern_str(na->texts, a->name);

	if (!*text)
		text = "files of unknown processes";
	strbuf_reset(out);
	escape_text(out, text);
	return out->s;
}

void name_accounts_tell(const struct name_accounts *na)
{
	struct strbuf text = STRBUF_INIT;
	size_t told = 0, more = 0;

	for (size_t i = 0; i < na->n; i++) {
		const struct account *a = &na->v[i];

		if (!a->cut && !a->unread)
			continue;
		if (told++ >= TOLD_MAX) {
			more++;
			continue;
		}
		if (a->cut)
			pr_warn("%s: %" PRIu64 " long name%s cut to %zu bytes: together they exceed what one container or user may have",
				who(na, a, &text), a->cut, plural_of(a->cut, " is", "s are"), LONGNAME_BRIEF);
		if (a->unread)
			pr_warn("%s: %" PRIu64 " perf map%s not read: together they exceed %" PRIu64 " MiB", who(na, a, &text), a->unread,
				plural_of(a->unread, " is", "s are"), READ_MAX >> 20);
	}
	if (more)
		pr_warn("the same holds for %zu more", more);
	strbuf_fini(&text);
}
