#include "doctor/ability.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "events/ringplan.h"
#include "procfs/pidns.h"

static void lacks(struct ability *a, const char *what, const char *remedy)
{
	a->works = WORKS_IN_PART;
	strbuf_addf(&a->text, "%s%s", a->text.len ? ", " : "", what);
	if (!a->remedy.len)
		strbuf_adds(&a->remedy, remedy);
}

static void judge(const struct neighbours *n, size_t i, struct ability *a)
{
	const struct trial *t = &a->trial;
	char *text;

	if (t->err) {
		a->works = WORKS_NOT;
		trial_explain(t, &a->text, &a->remedy);
		return;
	}
	if (i < ABILITY_OTHER && !pidns_is_first())
		lacks(a, "what runs outside this pid namespace has no names and no stacks",
		      "run in the host's (hostPID: true, docker run --pid host), or on the host");
	if (i == ABILITY_OTHER ? !n->choice_readable : i < ABILITY_OTHER && neighbours_hidden(n))
		lacks(a, "processes that cannot be read have no names",
		      "run as root, in a container with CAP_SYS_PTRACE");
	if (i == ABILITY_CGROUP && t->reach != CGROUP_REACH_ALL)
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

void abilities_try(struct ability *all, const struct neighbours *n, uint32_t other)
{
	static const struct {
		const char *name;
		enum target_kind kind;
	} kinds[ABILITIES] = {
		[ABILITY_ALL] = { "-a", TARGET_ALL },
		[ABILITY_CGROUP] = { "-G NAME", TARGET_CGROUPS },
		[ABILITY_OTHER] = { "-p PID, another's", TARGET_TIDS },
		[ABILITY_OWN] = { "-p PID, one's own", TARGET_TIDS },
		[ABILITY_COMMAND] = { "a command", TARGET_COMMAND },
	};

	for (size_t i = 0; i < ABILITIES; i++) {
		struct ability *a = &all[i];
		uint32_t pid = i == ABILITY_OTHER ? other
			       : i == ABILITY_OWN ? (uint32_t)getpid()
						  : 0;

		a->name = kinds[i].name;
		if (i == ABILITY_OTHER && !pid) {
			a->works = WORKS_UNKNOWN;
			strbuf_adds(&a->text, "there is no other process to try it with");
			continue;
		}
		trial_run(&a->trial, kinds[i].kind, NULL, pid);
		if (i == ABILITY_OTHER && a->trial.err == -ESRCH) {
			a->works = WORKS_UNKNOWN;
			strbuf_adds(&a->text, "the process to try it with has just ended");
			continue;
		}
		judge(n, i, a);
	}
}

void ability_fini(struct ability *a)
{
	strbuf_fini(&a->text);
	strbuf_fini(&a->remedy);
	trial_fini(&a->trial);
}
