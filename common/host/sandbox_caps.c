/*
 * Capabilities of a thread, by the system calls themselves (capabilities(7), capget(2)): they are a
 * few lines, and libcap would be one more library in each program.
 */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/prctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"
#include "host/sandbox.h"

#define CAPS_MAX 64

struct sets {
	uint64_t effective, permitted, inheritable;
};

static int get(struct sets *s)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &h, d))
		return -errno;
	s->effective = d[0].effective | (uint64_t)d[1].effective << 32;
	s->permitted = d[0].permitted | (uint64_t)d[1].permitted << 32;
	s->inheritable = d[0].inheritable | (uint64_t)d[1].inheritable << 32;
	return 0;
}

static int set(const struct sets *s)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[_LINUX_CAPABILITY_U32S_3];

	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		d[i] = (struct __user_cap_data_struct){
			.effective = (uint32_t)(s->effective >> 32 * i),
			.permitted = (uint32_t)(s->permitted >> 32 * i),
			.inheritable = (uint32_t)(s->inheritable >> 32 * i),
		};
	return syscall(SYS_capset, &h, d) ? -errno : 0;
}

uint64_t sandbox_permitted(void)
{
	struct sets s;

	return get(&s) ? 0 : s.permitted;
}

int sandbox_try_with(uint64_t caps, int (*try)(void *ctx), void *ctx)
{
	struct sets s, less;
	int ret;

	if (get(&s))
		return try(ctx);
	less = s;
	less.effective = s.permitted & caps;
	set(&less);
	ret = try(ctx);
	set(&s);
	return ret;
}

bool sandbox_needs(uint64_t caps, uint64_t more, int (*try)(void *ctx), void *ctx)
{
	int err = sandbox_try_with(caps, try, ctx);

	return (err == -EPERM || err == -EACCES) && !sandbox_try_with(caps | more, try, ctx);
}

/*
 * Only CAP_SETPCAP may shrink the bounding set. A process without it, as with file capabilities,
 * relies on no_new_privs.
 */
static void shrink_bounds(uint64_t caps)
{
	for (int c = 0; c < CAPS_MAX; c++) {
		if (caps >> c & 1)
			continue;
		/* The kernel has no more capabilities. */
		if (prctl(PR_CAPBSET_READ, c, 0, 0, 0) < 0)
			break;
		prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
	}
}

int sandbox_keep(uint64_t caps)
{
	struct sets s;
	int err = get(&s);

	if (err)
		return err;
	shrink_bounds(caps);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	s.permitted &= caps;
	s.effective = s.permitted;
	s.inheritable = 0;
	err = set(&s);
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	return err;
}

int sandbox_become(uint32_t uid)
{
	if (geteuid())
		return 0;
	shrink_bounds(0);
	if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		return -errno;
	return 0;
}

int sandbox_file_user(uint32_t uid)
{
	struct sets s;
	int err = get(&s), set_err;

	if (err)
		return err;
	/*
	 * Not by the C library, which would change all threads. setfsuid(2) alone is not enough: in
	 * /proc/sys the effective user counts, and user 0 writes there without any capability.
	 */
	if (syscall(SYS_setresgid, -1, uid, -1) || syscall(SYS_setgroups, 0, NULL))
		err = -errno;
	if (syscall(SYS_setresuid, -1, uid, -1))
		err = -errno;
	/* Leaving user 0 empties the effective set. */
	set_err = set(&s);
	return err ? err : set_err;
}

void sandbox_cap_names(uint64_t caps, struct strbuf *out)
{
	static const struct {
		uint64_t bit;
		const char *name;
	} names[] = {
		{ SANDBOX_DAC_OVERRIDE, "dac_override" }, { SANDBOX_DAC_READ_SEARCH, "dac_read_search" },
		{ SANDBOX_KILL, "kill" }, { SANDBOX_SYS_PTRACE, "sys_ptrace" }, { SANDBOX_SYS_ADMIN, "sys_admin" },
		{ SANDBOX_SYS_NICE, "sys_nice" },
		{ SANDBOX_PERFMON, "perfmon" }, { SANDBOX_CHECKPOINT_RESTORE, "checkpoint_restore" },
	};
	const char *sep = "";

	if (!caps)
		strbuf_adds(out, "none");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!(caps & names[i].bit))
			continue;
		strbuf_addf(out, "%s%s", sep, names[i].name);
		caps &= ~names[i].bit;
		sep = ",";
	}
	if (caps)
		strbuf_addf(out, "%s0x%llx", sep, (unsigned long long)caps);
}

void sandbox_state(struct sandbox_state *st)
{
	*st = (struct sandbox_state){
		.caps = sandbox_permitted(),
		.no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1,
		.filter = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2,
	};
}
