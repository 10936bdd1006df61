/* Files of /proc as procfs parses them: maps, stat, status and cgroup, all from the same text. */
#include "../fuzz.h"
#include "host/procfs.h"

static int map(void *ctx, const struct proc_map *m)
{
	(void)ctx;
	fuzz_read_text(m->path);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), path[64];
	uint32_t pids[8], n;
	uint64_t ticks;

	procfs_stat_start(text, &ticks, &n);
	procfs_stat_running(text);
	procfs_stat_kthread(text);
	procfs_stat_forked(text);
	procfs_stat_image(text, &ticks);
	fuzz_read(pids, procfs_status_nstgid(text, pids, ARRAY_SIZE(pids)) * sizeof(*pids));
	procfs_status_tgid(text);
	procfs_status_fsuid(text, &n);
	if (procfs_cgroup_path(text, "perf_event", path, sizeof(path)))
		fuzz_read_text(path);
	procfs_ns_inode(text);
	procfs_maps(text, map, NULL);
	free(text);
	return 0;
}
