#include "host/opener_rights.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"
#include "host/fileop.h"
#include "host/sandbox.h"

static bool prepared;
static uint64_t caps;
static const struct sandbox_program *program;

/* Opens the file behind one of our own mappings, as openers do with those of others. */
static int try_mapping(void *unused)
{
	const struct fileop op = {
		.kind = FILEOP_MAPPING_AT, .fd = { open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC), -1 },
		.from = (uintptr_t)&try_mapping,
	};
	struct fileop_result r;
	int err = fileop_run(&op, &r);

	(void)unused;
	if (!err)
		fileop_result_fini(&r);
	close(op.fd[0]);
	return err;
}

static uint64_t wanted(uint64_t have)
{
	uint64_t want = SANDBOX_SYS_PTRACE | SANDBOX_DAC_READ_SEARCH | SANDBOX_CHECKPOINT_RESTORE;

	/*
	 * Without CAP_SYS_PTRACE, all count: it can look only at processes with no other ones.
	 */
	if (!(have & SANDBOX_SYS_PTRACE))
		return have;
	if (!(have & SANDBOX_DAC_READ_SEARCH))
		want |= SANDBOX_DAC_OVERRIDE;
	/* Linux before 5.9. */
	if ((have & SANDBOX_SYS_ADMIN) && sandbox_needs(want, SANDBOX_SYS_ADMIN, try_mapping, NULL))
		want |= SANDBOX_SYS_ADMIN;
	return have & want;
}

void opener_rights_prepare(void)
{
	static const struct sandbox_call own[] = { { SYS_openat2, 0, 0, 0, 0 }, { SYS_memfd_create, 0, 0, 0, 0 } };
	struct sandbox_calls lists[3] = { { own, ARRAY_SIZE(own) } };
	const uint64_t have = sandbox_permitted();
	int err;

	if (SANDBOX_SANITIZED)
		return;
	caps = wanted(have);
	/*
	 * Root without capabilities still owns root's files; openat2(2) could write to them. The two
	 * capabilities read everything that root can read.
	 */
	if (!geteuid() && (caps & SANDBOX_SYS_PTRACE) && (caps & SANDBOX_DAC_READ_SEARCH))
		sandbox_file_user(SANDBOX_NOBODY);
	sandbox_keep(caps | SANDBOX_SYS_NICE);
	lists[1].v = sandbox_basic_calls(&lists[1].n);
	lists[2].v = sandbox_reading_calls(&lists[2].n);
	program = sandbox_filter_make(lists, ARRAY_SIZE(lists), &err);
	prepared = true;
}

void opener_rights_give_up(void)
{
	if (!prepared)
		return;
	sandbox_keep(caps);
	if (program)
		sandbox_filter_load(program);
}
