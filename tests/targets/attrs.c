/*
 * Preload library. For each perf_event_open(2) it appends a line to the file $ATTRS that states the
 * attributes in words: TYPE:CONFIG, freq=HZ or period=N, pid, cpu, the bits that are set, the
 * fields of a sample. The bits have their names from perf_event_open(2).
 */
#include <dlfcn.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

static void put_bits(FILE *f, const struct perf_event_attr *a)
{
#define BIT(name) do { if (a->name) fputs(" " #name, f); } while (0)
	BIT(disabled);
	BIT(inherit);
	BIT(exclude_user);
	BIT(exclude_kernel);
	BIT(mmap);
	BIT(comm);
	BIT(comm_exec);
	BIT(task);
	BIT(mmap2);
	BIT(enable_on_exec);
	BIT(sample_id_all);
	BIT(exclude_callchain_kernel);
	BIT(exclude_callchain_user);
#undef BIT
}

static void put_sample(FILE *f, const struct perf_event_attr *a)
{
	static const struct {
		unsigned long bit;
		const char *name;
	} fields[] = {
		{ PERF_SAMPLE_IP, "ip" }, { PERF_SAMPLE_TID, "tid" }, { PERF_SAMPLE_TIME, "time" },
		{ PERF_SAMPLE_CALLCHAIN, "callchain" }, { PERF_SAMPLE_REGS_USER, "regs_user" },
		{ PERF_SAMPLE_STACK_USER, "stack_user" },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (a->sample_type & fields[i].bit)
			fprintf(f, " %s", fields[i].name);
	if (a->sample_regs_user)
		fprintf(f, " regs=%#llx", (unsigned long long)a->sample_regs_user);
	if (a->sample_stack_user)
		fprintf(f, " stack=%u", a->sample_stack_user);
	if (a->sample_max_stack)
		fprintf(f, " max_stack=%u", a->sample_max_stack);
	if (a->use_clockid)
		fprintf(f, " clock=%d", a->clockid);
}

static void put(const struct perf_event_attr *a, const long *arg)
{
	static const char *const types[] = { "hardware", "software", "tracepoint", "cache", "raw", "breakpoint" };
	const char *path = getenv("ATTRS");
	FILE *f = path ? fopen(path, "ae") : NULL;

	if (!f)
		return;
	if (a->type < sizeof(types) / sizeof(*types))
		fprintf(f, "%s:%llu ", types[a->type], (unsigned long long)a->config);
	else
		fprintf(f, "%u:%llu ", a->type, (unsigned long long)a->config);
	fprintf(f, "%s=%llu pid=%d cpu=%d", a->freq ? "freq" : "period", (unsigned long long)a->sample_period, (int)arg[1], (int)arg[2]);
	put_bits(f, a);
	put_sample(f, a);
	fputc('\n', f);
	fclose(f);
}

__attribute__((visibility("default"))) long syscall(long nr, ...)
{
	long (*next)(long nr, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	long arg[6];
	va_list ap;

	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	if (nr == SYS_perf_event_open)
		put((const struct perf_event_attr *)arg[0], arg);
	return next(nr, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}
