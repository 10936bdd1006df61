/*
 * dump FILE: prints what the reader finds in a recording, one line per item, in the format of
 * tests/tools/read_recording.py, which reads it by the manual page alone. Captures, with their
 * kind, come after all events.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "recording.h"
#include "recording/rec_reader.h"

#define U PRIu64

/* CRC-32 as in zlib, over words as they are in memory. */
static uint32_t crc32_add(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;

	crc = ~crc;
	while (len--) {
		crc ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

static int on_dso(void *ctx, const struct ev_dso *e)
{
	fprintf(ctx, "event dso id=%u buildid=", e->id);
	for (int i = 0; i < e->build_id_len; i++)
		fprintf(ctx, "%02x", e->build_id[i]);
	fprintf(ctx,
		" major=%u minor=%u inode=%" U " generation=%" U " size=%" U " mtime=%" PRId64
		" mntns=%" U " deleted=%d path=%s\n",
		e->dev_major, e->dev_minor, e->ino, e->ino_gen, e->size, e->mtime_ns, e->mnt_ns,
		e->deleted, e->path);
	return 0;
}

static int on_proc(void *ctx, const struct ev_proc *e)
{
	fprintf(ctx, "event proc time=%" U " serial=%u pid=%u ppid=%u start=%" U " pids=[", e->time,
		e->serial, e->pid, e->ppid, e->start_ticks);
	for (uint32_t i = 0; i < e->nspid_n; i++)
		fprintf(ctx, "%s%u", i ? "," : "", e->nspid[i]);
	fprintf(ctx,
		"] mntns=%" U " pidns=%" U " userns=%" U
		" flags=%d comm=%s exe=%s root=%s cgroup=%s\n",
		e->mnt_ns, e->pid_ns, e->user_ns, e->maps_known | e->inherited << 1, e->comm,
		e->exe, e->root, e->cgroup);
	return 0;
}

static int on_mmap(void *ctx, const struct ev_mmap *e)
{
	fprintf(ctx,
		"event mmap time=%" U " pid=%u tid=%u start=%" U " length=%" U " offset=%" U
		" prot=%u flags=%u dso=%u path=%s\n",
		e->time, e->pid, e->tid, e->start, e->len, e->pgoff, e->prot, e->flags, e->dso,
		e->path);
	return 0;
}

static int on_comm(void *ctx, const struct ev_comm *e)
{
	fprintf(ctx, "event comm time=%" U " pid=%u tid=%u exec=%d comm=%s\n", e->time, e->pid,
		e->tid, e->exec, e->comm);
	return 0;
}

static int task(FILE *ctx, const char *what, const struct ev_task *e)
{
	fprintf(ctx, "event %s time=%" U " pid=%u tid=%u ppid=%u ptid=%u\n", what, e->time, e->pid,
		e->tid, e->ppid, e->ptid);
	return 0;
}

static int on_fork(void *ctx, const struct ev_task *e)
{
	return task(ctx, "fork", e);
}

static int on_exit_event(void *ctx, const struct ev_task *e)
{
	return task(ctx, "exit", e);
}

static int on_cgroup(void *ctx, const struct ev_cgroup *e)
{
	fprintf(ctx, "event cgroup id=%" U " path=%s\n", e->id, e->path);
	return 0;
}

static int on_ksymbol(void *ctx, const struct ev_ksymbol *e)
{
	fprintf(ctx, "event ksymbol time=%" U " address=%" U " length=%u gone=%d name=%s\n",
		e->time, e->addr, e->len, e->gone, e->name);
	return 0;
}

static int on_pressure(void *ctx, const struct ev_pressure *e)
{
	fprintf(ctx, "event pressure time=%" U " level=%u cause=%u\n", e->time, e->level, e->cause);
	return 0;
}

static int on_absence(void *ctx, const struct ev_absence *e)
{
	fprintf(ctx, "event absence time=%" U " kind=%u cpu=%u cgroup=%s\n", e->time, e->kind,
		e->cpu, e->cgroup);
	return 0;
}

static int on_budget(void *ctx, const struct ev_budget *e)
{
	fprintf(ctx, "event budget time=%" U " kind=%u count=%" U " cgroup=%s byuser=%d uid=%u\n", e->time, e->kind, e->count,
		e->cgroup, e->by_user, e->uid);
	return 0;
}

static int on_container(void *ctx, const struct ev_container *e)
{
	fprintf(ctx,
		"event container time=%" U " node=%" U " flags=%d quota=%" U " period=%" U
		" usage=%" U " periods=%" U " throttled=%" U " waited=%" U
		" cgroup=%s runtime=%s id=%s name=%s image=%s pod=%s namespace=%s uid=%s\n",
		e->time, e->node, e->have_usage | e->have_throttling << 1 | e->gone << 2,
		e->quota_us, e->period_us, e->usage_us, e->nr_periods, e->nr_throttled,
		e->throttled_us, e->cgroup, e->runtime, e->id, e->name, e->image, e->pod, e->pod_ns,
		e->pod_uid);
	return 0;
}

/* Lines of text on one line. */
static void put_lines(FILE *f, const char *s)
{
	for (; *s; s++)
		if (*s == '\n')
			fputs("\\n", f);
		else
			putc(*s, f);
}

static int on_event(void *ctx, const struct ev_event *e)
{
	fprintf(ctx,
		"event event time=%" U " index=%u role=%u leader=%u type=%u config=%" U " config1=%" U " config2=%" U
		" frequency=%" U " period=%" U " name=%s modifier=%s unit=%s filter=%s fields=",
		e->time, e->index, e->role, e->leader, e->type, e->config, e->config1, e->config2, e->freq, e->period,
		e->name, e->modifier, e->unit, e->filter);
	put_lines(ctx, e->fields);
	fprintf(ctx, " callgraph=%u dumpsize=%u maxstack=%u\n", e->callgraph, e->dump_size, e->max_stack);
	return 0;
}

static int on_schedstat(void *ctx, const struct ev_schedstat *e)
{
	fprintf(ctx, "event schedstat time=%" U " pid=%u tid=%u run=%" U " wait=%" U " slices=%" U "\n", e->time, e->pid, e->tid,
		e->run_ns, e->wait_ns, e->slices);
	return 0;
}

static int on_wakeup(void *ctx, const struct ev_wakeup *e)
{
	fprintf(ctx, "event wakeup time=%" U " pid=%u tid=%u cpu=%u\n", e->time, e->pid, e->tid, e->cpu);
	return 0;
}

static int on_toggle(void *ctx, const struct ev_toggle *e)
{
	fprintf(ctx, "event toggle time=%" U " on=%d\n", e->time, e->on);
	return 0;
}

static int on_switch(void *ctx, const struct ev_switch *e)
{
	fprintf(ctx, "event switch time=%" U " cpu=%u pid=%u tid=%u %s\n", e->time, e->cpu, e->pid, e->tid,
		!e->out ? "in" : e->preempted ? "preempted" : "out");
	return 0;
}

static bool events;		/* samples are of several events */

static const struct {
	uint32_t reg;
	const char *name;
} regs[] = {
	{ UREG_BP, "bp" },   { UREG_BX, "bx" },	  { UREG_R12, "r12" }, { UREG_R13, "r13" },
	{ UREG_R14, "r14" }, { UREG_R15, "r15" }, { UREG_AX, "ax" },   { UREG_CX, "cx" },
	{ UREG_DX, "dx" },   { UREG_SI, "si" },	  { UREG_DI, "di" },   { UREG_R8, "r8" },
	{ UREG_R9, "r9" },   { UREG_R10, "r10" }, { UREG_R11, "r11" }, { UREG_SP, "sp" },
	{ UREG_IP, "ip" },
};

static int on_sample(void *ctx, const struct ev_sample *e)
{
	const uint64_t lo = e->stack.lo, hi = e->stack.hi;
	uint32_t crc = 0;

	fprintf(ctx, "sample time=%" U " pid=%u tid=%u cpu=%u period=%" U " cgroup=%" U, e->time,
		e->pid, e->tid, e->cpu, e->period, e->cgroup);
	fprintf(ctx, "%s%s%s chain=", e->copy_full ? " full" : "", e->unmasked ? " unmasked" : "",
		e->cut ? " cut" : "");
	for (uint32_t i = 0; i < e->nchain; i++)
		fprintf(ctx, "%s%" PRIx64, i ? "," : "", e->chain[i]);
	for (uint64_t addr = lo, word; addr < hi; addr += 8) {
		if (stack_view_read(&e->stack, addr, &word))
			return -1;
		crc = crc32_add(crc, &word, sizeof(word));
	}
	fprintf(ctx, " stack=%" PRIx64 "+%" U " crc=%08" PRIx32, lo, hi - lo, crc);
	for (size_t i = 0; e->has_regs && i < ARRAY_SIZE(regs); i++)
		fprintf(ctx, " %s=%" PRIx64, regs[i].name, e->regs[regs[i].reg]);
	fputs(e->has_regs ? "" : " no registers", ctx);
	if (events)
		fprintf(ctx, " event=%u payload=%u crc=%08" PRIx32, e->event, e->payload_len,
			crc32_add(0, e->payload, e->payload_len));
	fputc('\n', ctx);
	return 0;
}

static int on_capture(void *ctx, const struct capture *cap)
{
	fprintf(ctx, "capture kind=%d id=%u bytes=%zu crc=%08" PRIx32 "\n", cap->kind, cap->id,
		cap->size, crc32_add(0, cap->data, cap->size));
	return 0;
}

static int on_tally(void *ctx, const struct ev_tally *r)
{
	fprintf(ctx,
		"tally second=%" U " cpu=%u kept=%" U " cut=%" U " dropped=%" U " own=%" U
		" lost=%" U " throttled=%" U " throttled_ns=%" U " lost_sideband=%" U "\n",
		r->second, r->cpu, r->kept, r->cut, r->dropped, r->own, r->lost, r->throttled,
		r->throttled_ns, r->side_lost);
	return 0;
}

static int on_counts(void *ctx, const struct ev_counts *r)
{
	fprintf(ctx,
		"counts cpu=%u events=%u count=%" U " samples=%" U " periods=%" U " lost=%" U
		" enabled=%" U " running=%" U,
		r->cpu, r->events, r->count, r->samples, r->periods, r->lost, r->enabled,
		r->running);
	if (events)
		fprintf(ctx, " event=%" U " throttled=%" U " throttled_ns=%" U " throttled_samples=%" U, r->event,
			r->throttled, r->throttled_ns, r->throttled_samples);
	fputc('\n', ctx);
	return 0;
}

static void dump_ledger(const struct ev_ledger *l)
{
	printf("ledger %" U " %" U " %" U " %" U " %" U " %" U " %" U " %" U " %d %" U " %" U " %" U
	       " %" U " %" U " %" U " %" U " %" U,
	       l->kept, l->lost_kernel, l->lost_sideband, l->dropped, l->throttled, l->unordered,
	       l->maps_unknown, l->copy_full,
	       l->have_format_lost | l->have_count << 1 | l->exact << 2, l->cut, l->own,
	       l->throttled_ns, l->throttled_samples, l->count, l->periods, l->pool_waits,
	       l->pool_peak);
	for (int i = 0; i < PRESSURE_LEVELS; i++)
		printf(" %" U, l->pressure_n[i]);
	for (int i = 0; i < PRESSURE_LEVELS; i++)
		printf(" %" U, l->pressure_ns[i]);
	printf(" %" U " %" U " %" U " %" U, l->cpus_away, l->cgroups_gone, l->withheld, l->unread);
	if (l->switches || l->lost_switches || l->wakeups || l->lost_wakeups)
		printf(" %" U " %" U, l->switches, l->lost_switches);
	if (l->wakeups || l->lost_wakeups)
		printf(" %" U " %" U, l->wakeups, l->lost_wakeups);
	putchar('\n');
}

int main(int argc, char **argv)
{
	static const struct event_ops ops = {
		.dso = on_dso,
		.proc = on_proc,
		.mmap = on_mmap,
		.comm = on_comm,
		.fork = on_fork,
		.exit = on_exit_event,
		.cgroup = on_cgroup,
		.ksymbol = on_ksymbol,
		.pressure = on_pressure,
		.absence = on_absence,
		.container = on_container,
		.budget = on_budget,
		.event = on_event,
		.cpu_switch = on_switch,
		.schedstat = on_schedstat,
		.wakeup = on_wakeup,
		.toggle = on_toggle,
		.sample = on_sample,
	};
	struct ev_ledger ledger;
	const char *key, *val;
	struct rec_reader *r;
	size_t it = 0;
	int err;

	log_init("dump");
	if (argc != 2) {
		fprintf(stderr, "usage: dump FILE\n");
		return 2;
	}
	r = rec_reader_open(argv[1]);
	if (!r)
		return 1;
	events = rec_reader_version(r) == REC_VERSION;
	while (rec_reader_info_next(r, &it, &key, &val))
		if (strcmp(key, "start_wall_ns")) /* from the file header */
			printf("info %s=%s\n", key, val);
	err = rec_reader_events(r, &ops, stdout);
	if (!err)
		err = rec_reader_captures(r, on_capture, stdout);
	if (!err)
		err = rec_reader_tally(r, on_tally, stdout);
	if (!err)
		err = rec_reader_counts(r, on_counts, stdout);
	if (!err && rec_reader_ledger(r, &ledger))
		dump_ledger(&ledger);
	rec_reader_warn_damage(r);
	rec_reader_close(r);
	return err ? 1 : 0;
}
