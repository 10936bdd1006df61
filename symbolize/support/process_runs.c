#include "support/process_runs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "host/nsopen.h"
#include "host/procfs.h"

#define STAT_MAX 4096		/* bytes; /proc/PID/stat is one line of some 300 */
/* 65,536 lines with paths of 1 KiB. */
#define MAPS_TEXT_MAX (64u << 20)

struct compared {
	const struct process_runs *r;
	bool any;		/* it maps anything */
	bool vdso, exe, place;	/* the recorded ones are there; the binary at its place */
};

static int compare_line(void *ctx, const struct proc_map *m)
{
	struct compared *c = ctx;
	const struct process_runs *r = c->r;

	c->any = true;
	c->vdso |= r->vdso && m->start == r->vdso && !strcmp(m->path, "[vdso]");
	/* It may have been renamed, or be mapped in another root. */
	if (r->exe_start && (!strcmp(m->path, r->exe) || (r->exe_ino && m->ino == r->exe_ino))) {
		c->exe = true;
		c->place |= m->start == r->exe_start;
	}
	return 0;
}

static bool began_at(int procfd, uint64_t start_ticks)
{
	const int fd = nsopen_process_file(procfd, "stat");
	uint64_t ticks;
	uint32_t ppid;
	char *text;
	bool same;
	int err;

	if (fd < 0)
		return false;
	text = nsopen_slurp(fd, STAT_MAX, NULL, &err);
	close(fd);
	same = text && !procfs_stat_start(text, &ticks, &ppid) && ticks == start_ticks;
	free(text);
	return same;
}

static int look(const struct process_runs *r)
{
	const int procfd = nsopen_process(r->pid);
	struct compared c = { .r = r };
	char *text = NULL;
	int err = -ESRCH;

	if (procfd < 0)
		return -ESRCH;
	if (began_at(procfd, r->start_ticks))
		text = nsopen_text(procfd, "maps", MAPS_TEXT_MAX, NULL, &err);
	close(procfd);
	if (!text)
		return err;
	procfs_maps(text, compare_line, &c);
	free(text);
	if (!c.any)
		return -ESRCH;
	/* A program may have moved its code to other memory at the same place, but its file stays mapped. */
	if ((r->vdso && !c.vdso) || (r->exe_start && !c.exe) || (!r->vdso && !c.place))
		return -ESTALE;
	return 0;
}

int process_runs(const struct process_runs *r)
{
	struct strbuf sb = STRBUF_INIT;
	int err;

	if (!r->vdso && !r->exe_start)
		return -ENODATA;
	if (!parser_is())
		return look(r);
	strbuf_addf(&sb, "%" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s", r->pid, r->start_ticks, r->vdso, r->exe_start,
		    r->exe_ino, r->exe_start ? r->exe : "");
	err = sb.len < PARSER_TEXT_MAX ? parser_ask(PROCESS_RUNS_ASK, sb.s, NULL, NULL) : -ENAMETOOLONG;
	strbuf_fini(&sb);
	return err;
}

int process_runs_serve(uint32_t kind, const char *text)
{
	struct process_runs r;
	int len = 0;

	if (kind != PROCESS_RUNS_ASK)
		return -ENOSYS;
	if (sscanf(text, "%" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 "%n", &r.pid, &r.start_ticks, &r.vdso, &r.exe_start,
		   &r.exe_ino, &len) != 5 || text[len] != ' ')
		return -EINVAL;
	r.exe = text + len + 1;
	return look(&r);
}
