/* Do the containers that run here have names (doctor.h)? */
#include <string.h>
#include <unistd.h>

#include "cgroup.h"
#include "containers.h"
#include "doctor.h"

void doctor_container_names(struct check *c)
{
	struct cgroup_fs fs;
	struct containers *cs;
	size_t n;
	int err = cgroup_fs_open(&fs);

	if (err) {
		c->verdict = VERDICT_UNKNOWN;
		strbuf_addf(&c->text, "no cgroup file system is to be seen: %s", strerror(-err));
		return;
	}
	cs = containers_new(&fs, NULL);
	containers_all(cs, &n);
	containers_why(cs, &c->text);
	if (!n)
		containers_unreadable(cs, &c->text);
	if (c->text.len) {
		c->verdict = VERDICT_NOT_OK;
		strbuf_adds(&c->remedy, geteuid() ? "run as root (sudo)" :
					"nsprof record and nsprof ps look into further directories with --runtime-root DIR");
	} else if (n) {
		strbuf_addf(&c->text, "%zu container%s, all of whose names are known", n, n > 1 ? "s" : "");
	} else {
		strbuf_adds(&c->text, "no container runs");
	}
	containers_free(cs);
	cgroup_fs_close(&fs);
}
