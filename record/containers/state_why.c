/* Explains in words how reading the state directories went (state_dirs.h). */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "containers/state_dirs.h"

#define LISTED 4	/* directories per reason */

struct asked {
	const struct state_dirs *sd;
	bool (*concerns)(void *ctx, const struct state_dir *d);
	void *ctx;
};

static bool is_missing(int err)
{
	return err == -ENOENT || err == -ENOTDIR;
}

/*
 * Lists the directories with result @err, "'/a' (dockerd), '/b' and 2 more". Returns their
 * number.
 */
static size_t list(const struct asked *a, int err, struct strbuf *sb)
{
	size_t n = 0;

	for (size_t i = 0; i < a->sd->n; i++) {
		const struct state_dir *d = &a->sd->v[i];

		if (d->err != err || !a->concerns(a->ctx, d) || n++ >= LISTED)
			continue;
		strbuf_addf(sb, "%s'%s'", n > 1 ? ", " : "", d->path);
		if (d->from[0])
			strbuf_addf(sb, " (%s)", d->from);
	}
	if (n > LISTED)
		strbuf_addf(sb, " and %zu more", n - LISTED);
	return n;
}

static void add_reason(struct strbuf *sb, const char *before, const struct strbuf *dirs, const char *behind)
{
	strbuf_addf(sb, "%s%s%s%s", sb->len ? "; " : "", before, dirs->s, behind);
}

/* Lists the directories that cannot be read, grouped by reason. False if there are none. */
static bool add_errors(const struct asked *a, struct strbuf *sb)
{
	bool any = false;

	for (size_t i = 0; i < a->sd->n; i++) {
		const int err = a->sd->v[i].err;
		struct strbuf dirs = STRBUF_INIT, behind = STRBUF_INIT;
		bool told = !err || is_missing(err) || !a->concerns(a->ctx, &a->sd->v[i]);

		for (size_t k = 0; k < i && !told; k++)
			told = a->sd->v[k].err == err && a->concerns(a->ctx, &a->sd->v[k]);
		if (!told && err == STATE_DIR_DISTRUSTED && list(a, err, &dirs)) {
			add_reason(sb, "not trusted: ", &dirs, ", to which others than the user who named it can write");
		} else if (!told && list(a, err, &dirs)) {
			strbuf_addf(&behind, ": %s", strerror(-err));
			if ((err == -EACCES || err == -EPERM) && getuid())
				strbuf_adds(&behind, " (names need root)");
			add_reason(sb, "cannot read ", &dirs, behind.s);
		}
		any |= !told;
		strbuf_fini(&dirs);
		strbuf_fini(&behind);
	}
	return any;
}

void state_dirs_why(const struct state_dirs *sd, bool (*concerns)(void *ctx, const struct state_dir *d), void *ctx,
		    struct strbuf *sb)
{
	const struct asked a = { sd, concerns, ctx };
	struct strbuf dirs = STRBUF_INIT, reasons = STRBUF_INIT;
	const bool errors = add_errors(&a, &reasons);

	if (list(&a, 0, &dirs))
		add_reason(&reasons, "no state file in ", &dirs, "");
	strbuf_reset(&dirs);
	/* Missing directories matter only if there is nothing else to report. */
	if (!errors && !reasons.len && list(&a, -ENOENT, &dirs))
		add_reason(&reasons, "no such directory: ", &dirs, "");
	strbuf_addf(sb, "%s", reasons.len ? reasons.s : "no state directory is known");
	strbuf_fini(&dirs);
	strbuf_fini(&reasons);
}
