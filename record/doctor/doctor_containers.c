/* Do the running containers have names (doctor.h)? */
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "containers/cgroup.h"
#include "containers/containers.h"
#include "doctor/doctor.h"

void doctor_container_names(struct check *c)
{
	struct cgroup_fs fs;
	struct containers *cs;
	const struct container *all;
	struct strbuf over = STRBUF_INIT;
	size_t n, live = 0;
	int err = cgroup_fs_open(&fs);

	if (err) {
		c->verdict = VERDICT_UNKNOWN;
		strbuf_addf(&c->text, "no cgroup file system is visible: %s", strerror(-err));
		return;
	}
	cs = containers_new(&fs, NULL);
	all = containers_all(cs, &n);
	for (size_t i = 0; i < n; i++)
		live += containers_populated(cs, &all[i]);
	containers_why(cs, &c->text);
	if (!live)
		containers_unreadable(cs, &c->text);
	containers_over_budget(cs, &over);
	if (over.len)
		strbuf_addf(&c->text, "%s%s", c->text.len ? "; " : "", over.s);
	strbuf_fini(&over);
	if (c->text.len) {
		c->verdict = VERDICT_NOT_OK;
		strbuf_adds(&c->remedy, geteuid() ? "run as root (sudo)" :
					"--runtime-root DIR of nsprof record and nsprof ps names further directories");
	} else if (live) {
		strbuf_addf(&c->text, "%zu container%s with known name%s", live, plural(live), plural(live));
	} else {
		strbuf_adds(&c->text, "no container is running");
	}
	containers_free(cs);
	cgroup_fs_close(&fs);
}
