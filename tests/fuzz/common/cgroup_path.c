/* A cgroup's path: the container it tells of, systemd's escapes. */
#include "../fuzz.h"
#include "host/cgroup_path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *path = fuzz_text(data, size), out[48];
	struct cgroup_path cp;

	if (cgroup_path_parse(path, &cp)) {
		fuzz_read(cp.id, cp.id_len);
		fuzz_read_text(cp.runtime);
		if (cp.own_len > strlen(path) || cp.pod_len > cp.own_len)
			abort();
		cgroup_path_unescape(cp.id, cp.id_len, out, sizeof(out));
	}
	fuzz_read_text(cgroup_path_id(path));
	cgroup_path_within(path, "/docker");
	cgroup_path_unescape(path, strlen(path), out, sizeof(out));
	fuzz_read_text(out);
	free(path);
	return 0;
}
