/*
 * Preload library: imitates a kernel that lacks the features in $OLDKERNEL (words of the table
 * below, separated by commas; "5.15": everything added after it), and rejects them as a kernel does
 * that does not know them. The version that added each is from include/uapi/linux/perf_event.h and
 * bpf.h.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

static bool lacks(const char *word)
{
	const char *list = getenv("OLDKERNEL"), *at = list;
	size_t len = strlen(word);

	for (; at && (at = strstr(at, word)); at += len)
		if ((at == list || at[-1] == ',') && (!at[len] || at[len] == ','))
			return true;
	return false;
}

static bool refuses_event(const struct perf_event_attr *a)
{
	return ((lacks("lost") || lacks("5.15")) && a->read_format & 1 << 4) ||		/* 6.0 */
	       (lacks("inherit_read") && a->inherit && a->sample_type & PERF_SAMPLE_READ) ||	/* 6.12 */
	       (lacks("sample_cgroup") && a->sample_type & PERF_SAMPLE_CGROUP) ||	/* 5.7 */
	       (lacks("cgroup") && a->cgroup) ||					/* 5.7 */
	       (lacks("ksymbol") && a->ksymbol) ||					/* 5.1 */
	       (lacks("namespaces") && a->namespaces);					/* 4.12 */
}

static bool refuses(long nr, const long *arg)
{
	if (nr == SYS_perf_event_open)
		return refuses_event((const struct perf_event_attr *)arg[0]);
	/* Program type SYSCALL came in 5.14. */
	return nr == SYS_bpf && lacks("bpf") && arg[0] == BPF_PROG_LOAD &&
	       ((const union bpf_attr *)arg[1])->prog_type == 31;
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
	if (!refuses(nr, arg))
		return next(nr, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
	errno = EINVAL;
	return -1;
}
