#include "doctor/can_record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "events/ringplan.h"
#include "procfs/pidns.h"

static void lacks(struct can_record *a, const char *what, const char *remedy)
{
	a->works = WORKS_IN_PART;
	strbuf_addf(&a->text, "%s%s", a->text.len ? ", " : "", what);
	if (!a->remedy.len)
		strbuf_adds(&a->remedy, remedy);
}

static void judge(const struct visible_procs *n, size_t i, struct can_record *a)
{
	const struct trial_open *t = &a->trial;
	char *text;

	if (t->err) {
		a->works = WORKS_NOT;
		trial_open_explain(t, &a->text, &a->remedy);
		return;
	}
	if (i < CAN_RECORD_OTHER && !pidns_is_first())
		lacks(a, "processes outside this pid namespace have no names and no stacks",
		      "run in the host's pid namespace (hostPID: true, docker run --pid host), or on the host");
	if (i == CAN_RECORD_OTHER ? !n->choice_readable : i < CAN_RECORD_OTHER && visible_procs_hidden(n))
		lacks(a, "processes that cannot be read have no names",
		      "run as root; in a container, with CAP_SYS_PTRACE");
	if (i == CAN_RECORD_CGROUP && t->reach != CGROUP_REACH_ALL)
		lacks(a, t->reach == CGROUP_REACH_ROOT ? "no cgroup but '/'" : "perhaps no cgroup but '/'", "see cgroups");
	if (t->narrowed)
		lacks(a, "user space only",
		      "run as root (sudo), or: sysctl kernel.perf_event_paranoid=1");
	if (t->side_err) {
		text = xasprintf("mappings are not traced (%s)", strerror(-t->side_err));
		lacks(a, text, "");
		free(text);
	}
	if (t->ring_ms < RING_MS_SCARCE) {
		text = xasprintf("rings hold %" PRIu64 " ms, so some samples may be lost",
				 t->ring_ms);
		lacks(a, text, "see locked memory");
		free(text);
	}
}

void can_record_try(struct can_record *all, const struct visible_procs *n, uint32_t other)
{
	static const struct {
		const char *name;
		enum target_kind kind;
	} kinds[CAN_RECORD_KINDS] = {
		[CAN_RECORD_ALL] = { "-a", TARGET_ALL },
		[CAN_RECORD_CGROUP] = { "-G NAME", TARGET_CGROUPS },
		[CAN_RECORD_OTHER] = { "-p PID, another's", TARGET_TIDS },
		[CAN_RECORD_OWN] = { "-p PID, one's own", TARGET_TIDS },
		[CAN_RECORD_COMMAND] = { "a command", TARGET_COMMAND },
	};

	for (size_t i = 0; i < CAN_RECORD_KINDS; i++) {
		struct can_record *a = &all[i];
		uint32_t pid = i == CAN_RECORD_OTHER ? other
			       : i == CAN_RECORD_OWN ? (uint32_t)getpid()
						  : 0;

		a->name = kinds[i].name;
		if (i == CAN_RECORD_OTHER && !pid) {
			a->works = WORKS_UNKNOWN;
			strbuf_adds(&a->text, "there is no other process to try it with");
			continue;
		}
		trial_open_run(&a->trial, kinds[i].kind, NULL, pid);
		if (i == CAN_RECORD_OTHER && a->trial.err == -ESRCH) {
			a->works = WORKS_UNKNOWN;
			strbuf_adds(&a->text, "the process to try it with has just ended");
			continue;
		}
		judge(n, i, a);
	}
}

void can_record_fini(struct can_record *a)
{
	strbuf_fini(&a->text);
	strbuf_fini(&a->remedy);
	trial_open_fini(&a->trial);
}
