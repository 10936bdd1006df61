#include "events/filter_try.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"

static int try_one(const struct evsel *ev)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .disabled = 1, .sample_period = 1 };
	int fd, err = 0;

	evsel_attr(ev, &attr);
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return 0;
	if (ioctl(fd, PERF_EVENT_IOC_SET_FILTER, ev->filter))
		err = -errno;
	close(fd);
	return err;
}

int filter_try(const struct evlist *el)
{
	/* perf_event_set_filter() in kernel/events/core.c. */
	const size_t most = (size_t)sysconf(_SC_PAGESIZE) - 1;

	for (size_t i = 0; i < el->n; i++) {
		const struct evsel *ev = &el->v[i];
		int err = ev->filter ? try_one(ev) : 0;

		if (err && strlen(ev->filter) > most) {
			pr_err("the kernel refuses --filter '%.40s...' of event '%s': it has %zu bytes, and the kernel takes at most %zu", ev->filter,
			       ev->name, strlen(ev->filter), most);
			return -EINVAL;
		}

		if (!err)
			continue;
		pr_err("the kernel refuses --filter '%s' of event '%s': %s; 'nsprof list -v %s' shows its fields", ev->filter,
		       ev->name, strerror(-err), ev->base);
		return err;
	}
	return 0;
}
