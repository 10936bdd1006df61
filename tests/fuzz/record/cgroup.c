/* Files of a cgroup (cpu.stat, cpu.max, cpu.pressure) and of /proc/PID/cgroup, all from the same text. */
#include "../fuzz.h"
#include "containers/cgroup_cpu.h"
#include "containers/ps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *path;
	struct cpu_reading r = { 0 };

	cpu_reading_stat(&r, text);
	cpu_reading_max(&r, text);
	cpu_reading_cfs(&r, text, text);
	ps_pressure(text);
	path = cgroup_cpu_path(text, "cpu", "/docker/0123");
	fuzz_read_text(path);
	free(path);
	path = cgroup_cpu_path(text, "cpuacct", "/");
	free(path);
	free(text);
	return 0;
}
