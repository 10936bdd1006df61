/* JIT code by process image (jitsource.h). */
#include "modules/jitsource.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "host/clock.h"
#include "host/nsopen.h"
#include "host/openwhy.h"
#include "jitdump.h"
#include "modules/addrspace.h"
#include "modules/jitcode.h"
#include "support/process_alive.h"

/*
 * Module ids for JIT functions. Those of binaries are dense from 1 on and stay far below. Rules are
 * cached by ids of 24 bits (rules.h).
 */
#define FIRST_ID (1u << 23)
#define LAST_ID ((1u << 24) - 1)

/* Largest file that is copied, bytes. */
#define COPY_MAX (256u << 20)

struct jitsource {
	struct u64map by_serial; /* -> struct jitcode *, owned */
	struct u64map returns;	/* by serial, too -> struct jit_returns *, owned */
	struct u64map refused;	/* hash of pid and start time -> the pointer of a static text */
	struct jitcode **live;	/* owned */
	size_t nlive, live_cap;
	uint32_t next_id;
};

struct jitsource *jitsource_new(void)
{
	struct jitsource *js = xcalloc(1, sizeof(*js));

	js->next_id = FIRST_ID;
	return js;
}

void jitsource_free(struct jitsource *js)
{
	uint64_t serial, val;
	size_t it = 0;

	if (!js)
		return;
	while (u64map_next(&js->by_serial, &it, &serial, &val))
		jitcode_free((struct jitcode *)(uintptr_t)val);
	for (size_t i = 0; i < js->nlive; i++)
		jitcode_free(js->live[i]);
	for (it = 0; u64map_next(&js->returns, &it, &serial, &val);)
		free((struct jit_returns *)(uintptr_t)val);
	u64map_fini(&js->by_serial);
	u64map_fini(&js->returns);
	u64map_fini(&js->refused);
	free(js->live);
	free(js);
}

void jitsource_add(struct jitsource *js, uint32_t serial, const void *data, size_t size)
{
	uint64_t *slot = u64map_put(&js->by_serial, serial, NULL);

	jitcode_free((struct jitcode *)(uintptr_t)*slot);
	*slot = (uintptr_t)jitcode_new(data, size, &js->next_id, LAST_ID);
}

const struct jitcode *jitsource_find(const struct jitsource *js, uint32_t serial)
{
	const uint64_t *slot = serial ? u64map_get(&js->by_serial, serial) : NULL;

	return slot ? (const struct jitcode *)(uintptr_t)*slot : NULL;
}

void jitsource_add_returns(struct jitsource *js, uint32_t serial, const void *data, size_t size)
{
	const size_t n = size / sizeof(uint64_t);
	struct jit_returns *jr = xmalloc(sizeof(*jr) + n * sizeof(*jr->v));
	uint64_t *slot = u64map_put(&js->returns, serial, NULL);

	free((struct jit_returns *)(uintptr_t)*slot);
	jr->n = n;
	memcpy(jr->v, data, n * sizeof(*jr->v));
	*slot = (uintptr_t)jr;
}

const struct jit_returns *jitsource_returns(const struct jitsource *js, uint32_t serial)
{
	const uint64_t *slot = serial ? u64map_get(&js->returns, serial) : NULL;

	return slot ? (const struct jit_returns *)(uintptr_t)*slot : NULL;
}

/* As the recorder writes it (PERFMAP_REFUSED). */
static const char *why_refused(int err)
{
	switch (err) {
	case 0:
		return NULL;
	case -ENOEXEC:
		return "its jitdump is not used: it is not a jitdump";
	case -ENOTSUP:
		return "its jitdump is not used: it has an unsupported version or byte order";
	case -ESTALE:
		return "its jitdump is not used: the process ended, or began another program, while it was read";
	default:
		return openwhy(OPENWHY_DUMP, err);
	}
}

static void note_refused(struct jitsource *js, uint32_t pid, uint64_t start_ticks, int err)
{
	const char *why = why_refused(err);

	if (why)
		*u64map_put(&js->refused, hash_combine(start_ticks, pid), NULL) = (uintptr_t)why;
}

const char *jitsource_refused(const struct jitsource *js, uint32_t pid, uint64_t start_ticks)
{
	const uint64_t *slot = u64map_get(&js->refused, hash_combine(start_ticks, pid));

	return slot ? (const char *)(uintptr_t)*slot : NULL;
}

/* Is the file of @st still mapped there? If so, no other program has written to it so far. */
static bool still_mapped(uint32_t pid, uint64_t start_ticks, uint64_t start, uint64_t end, const struct stat *st)
{
	struct stat now;
	const int fd = nsopen_mapping(pid, start, end, &now);

	if (fd < 0)
		return false;
	nsopen_close(fd);
	return now.st_dev == st->st_dev && now.st_ino == st->st_ino && !alive_check(pid, start_ticks);
}

const struct jitcode *jitsource_live(struct jitsource *js, uint32_t pid, uint64_t start_ticks,
				     uint64_t start, uint64_t end)
{
	struct strbuf slice = STRBUF_INIT;
	struct jitcode *jc = NULL;
	int64_t shift = 0;
	struct stat st;
	int held, fd, procfd, err;

	if (!start_ticks || alive_check(pid, start_ticks))
		return NULL;
	procfd = nsopen_process(pid);
	if (procfd >= 0) {
		shift = clock_mono_shift(procfd);
		close(procfd);
	}
	held = nsopen_mapping(pid, start, end, &st);
	if (held < 0) {
		note_refused(js, pid, start_ticks, held);
		return NULL;
	}
	fd = nsopen_copy(held, COPY_MAX);
	nsopen_close(held);
	if (fd < 0) {
		note_refused(js, pid, start_ticks, fd);
		pr_verbose("cannot read the jitdump of process %u: %s", pid, strerror(-fd));
		return NULL;
	}
	err = jitdump_slice(fd, NULL, 0, shift, &slice);
	close(fd);
	if (!err && !still_mapped(pid, start_ticks, start, end, &st)) {
		strbuf_reset(&slice);
		err = -ESTALE;
	}
	note_refused(js, pid, start_ticks, err);
	if (err)
		pr_verbose("cannot read the jitdump of process %u: %s", pid, jitdump_why(err));
	if (slice.len)
		jc = jitcode_new(slice.s, slice.len, &js->next_id, LAST_ID);
	strbuf_fini(&slice);
	if (!jc)
		return NULL;
	XGROW(js->live, js->nlive, js->live_cap);
	js->live[js->nlive++] = jc;
	return jc;
}
