/*
 * For tests of the process table: a recording through the real writer and back through the real
 * reader, child processes, and side-band records.
 */
#ifndef TEST_PROCTAB_FIXTURE_H
#define TEST_PROCTAB_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/clock.h"
#include "procs/proc.h"
#include "procs/proctab.h"
#include "recording/rec_reader.h"
#include "recording/rec_writer.h"

/* No process has these PIDs: PID_MAX_LIMIT is 4,194,304. */
#define GONE 5000000u

struct got_dso {
	struct ev_dso ev;
	char path[256];
};

struct got_mmap {
	struct ev_mmap ev;
	char path[256];
	uint32_t nproc;		/* ev_procs before it */
};

struct got {
	struct got_dso dso[2000];
	uint32_t ndso;
	struct ev_proc proc[128];
	char comm[128][32], exe[128][256], cgroup[128][256];
	uint32_t nproc;
	struct got_mmap mmap[2000];
	uint32_t nmmap;
	struct ev_comm tcomm[64];
	char tcomm_text[64][32];
	uint32_t ntcomm;
	uint32_t nfork, nexit;
	struct {
		enum capture_kind kind;
		uint32_t id;
		char data[512];
		size_t size;
	} cap[300];
	uint32_t ncap;
};

static struct got got;
static char file[] = "/tmp/proctab-XXXXXX";
static int rec_fd;
static struct rec_writer *w;
static struct proctab *pt;

/* The kernel's clock, which side-band and samples use in a time namespace, too. */
static inline uint64_t now(void)
{
	return clock_mono_ns();
}

static inline int setup(void **state)
{
	int err;

	(void)state;
	strcpy(file, "/tmp/proctab-XXXXXX");
	rec_fd = mkstemp(file);
	w = rec_writer_new(rec_fd, &err);
	pt = proctab_new(w);
	return !w;
}

static inline int on_dso(void *ctx, const struct ev_dso *ev)
{
	struct got *g = ctx;

	assert_true(g->ndso < 2000);
	g->dso[g->ndso].ev = *ev;
	snprintf(g->dso[g->ndso++].path, 256, "%s", ev->path);
	return 0;
}

static inline int on_proc(void *ctx, const struct ev_proc *ev)
{
	struct got *g = ctx;

	assert_true(g->nproc < 128);
	snprintf(g->comm[g->nproc], 32, "%s", ev->comm);
	snprintf(g->exe[g->nproc], 256, "%s", ev->exe);
	snprintf(g->cgroup[g->nproc], 256, "%s", ev->cgroup);
	g->proc[g->nproc++] = *ev;
	return 0;
}

static inline int on_mmap(void *ctx, const struct ev_mmap *ev)
{
	struct got *g = ctx;

	assert_true(g->nmmap < 2000);
	/* A binary is defined before the first mapping that uses it. */
	assert_true(ev->dso <= g->ndso);
	g->mmap[g->nmmap].ev = *ev;
	g->mmap[g->nmmap].nproc = g->nproc;
	snprintf(g->mmap[g->nmmap++].path, 256, "%s", ev->path);
	return 0;
}

static inline int on_comm(void *ctx, const struct ev_comm *ev)
{
	struct got *g = ctx;

	assert_true(g->ntcomm < 64);
	snprintf(g->tcomm_text[g->ntcomm], 32, "%s", ev->comm);
	g->tcomm[g->ntcomm++] = *ev;
	return 0;
}

static inline int on_fork(void *ctx, const struct ev_task *ev)
{
	(void)ev;
	((struct got *)ctx)->nfork++;
	return 0;
}

static inline int on_exit_ev(void *ctx, const struct ev_task *ev)
{
	(void)ev;
	((struct got *)ctx)->nexit++;
	return 0;
}

static inline int on_capture(void *ctx, const struct capture *cap)
{
	struct got *g = ctx;

	assert_true(g->ncap < 300);
	g->cap[g->ncap].kind = cap->kind;
	g->cap[g->ncap].id = cap->id;
	g->cap[g->ncap].size = cap->size;
	memcpy(g->cap[g->ncap].data, cap->data, cap->size < 511 ? cap->size : 511);
	g->ncap++;
	return 0;
}

/* Finishes the recording and reads it back into got. */
static inline void read_back(void)
{
	static const struct event_ops ops = {
		.dso = on_dso, .proc = on_proc, .mmap = on_mmap, .comm = on_comm,
		.fork = on_fork, .exit = on_exit_ev,
	};
	struct rec_reader *r;
	uint32_t i;

	assert_int_equal(rec_writer_finish(w), 0);
	r = rec_reader_open(file);
	assert_non_null(r);
	memset(&got, 0, sizeof(got));
	assert_int_equal(rec_reader_events(r, &ops, &got), 0);
	assert_int_equal(rec_reader_captures(r, on_capture, &got), 0);
	assert_int_equal(rec_reader_damage(r)->bad_blocks, 0);
	rec_reader_close(r);
	for (i = 0; i < got.ndso; i++)
		assert_int_equal(got.dso[i].ev.id, i + 1);
}

static inline int teardown(void **state)
{
	(void)state;
	proctab_free(pt);
	rec_writer_free(w);
	close(rec_fd);
	unlink(file);
	return 0;
}

/* ---- processes ---- */

/* Waits at the pipe's other end until the test is done with us. */
static inline void wait_here(int ready, int go)
{
	char c = 1;

	if (write(ready, &c, 1) != 1)
		_exit(1);
	while (read(go, &c, 1) < 0 && errno == EINTR)
		;
}

struct child {
	pid_t pid;
	int go;		/* closing it ends the child */
};

static inline struct child start(void (*fn)(int ready, int go, void *arg), void *arg)
{
	int ready[2], go[2];
	struct child c;
	char byte;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(go), 0);
	c.pid = fork();
	assert_true(c.pid >= 0);
	if (!c.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ready[0]);
		close(go[1]);
		fn(ready[1], go[0], arg);
		_exit(0);
	}
	close(ready[1]);
	close(go[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	c.go = go[1];
	return c;
}

static inline void stop_child(struct child *c)
{
	close(c->go);
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
}

static inline void plain_child(int ready, int go, void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "plain one");
	wait_here(ready, go);
}

/* ---- side-band ---- */

static inline struct kmmap kmmap(uint32_t pid, uint64_t start, uint64_t len, const char *path)
{
	return (struct kmmap){ .time = 1, .pid = pid, .tid = pid, .start = start, .len = len,
			       .prot = PROT_READ | PROT_EXEC, .flags = MAP_PRIVATE, .path = path };
}

static inline struct kmmap with_id(struct kmmap m, uint8_t fill)
{
	m.has_build_id = true;
	m.build_id_len = 20;
	memset(m.build_id, fill, 20);
	return m;
}

static inline void exec_comm(uint32_t pid, const char *comm)
{
	proctab_comm(pt, &(struct ev_comm){
				 .time = 1, .pid = pid, .tid = pid, .exec = true, .comm = comm });
}

static inline void fork_of(uint32_t pid, uint32_t ppid)
{
	proctab_fork(pt, &(struct ev_task){
				 .time = 1, .pid = pid, .tid = pid, .ppid = ppid, .ptid = ppid });
}

static inline void exit_of(uint32_t pid, uint32_t tid, uint64_t time)
{
	proctab_exit(pt, &(struct ev_task){
				 .time = time, .pid = pid, .tid = tid, .ppid = 1, .ptid = 1 });
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
