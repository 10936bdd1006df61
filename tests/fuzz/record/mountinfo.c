/* /proc/PID/mountinfo: mounts, the cgroup hierarchies in it, and state directories of runtimes. */
#include "../fuzz.h"
#include "containers/cgroup.h"
#include "containers/state_hints.h"
#include "host/procfs.h"

static void take(void *ctx, const struct proc_mount *m)
{
	char out[100];

	(void)ctx;
	fuzz_read_text(m->root);
	fuzz_read_text(m->point);
	fuzz_read_text(m->type);
	fuzz_read_text(m->options);
	if (procfs_mount_option(m->options, "upperdir", out, sizeof(out)))
		fuzz_read_text(out);
	if (state_hint_mount(m, out, sizeof(out)))
		fuzz_read_text(out);
	if (state_hint_overlay(m, out, sizeof(out)))
		fuzz_read_text(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct cgroup_fs fs;

	if (!cgroup_fs_parse(&fs, text))
		fuzz_read_text(fs.mount);
	if (!cgroup_fs_parse_for(&fs, "cpu", text))
		fuzz_read_text(fs.mount);
	procfs_mountinfo(text, take, NULL);
	free(text);
	return 0;
}
