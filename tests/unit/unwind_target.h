/*
 * For tests: a live process as the unwinders' input, with its executable mappings, the files they
 * map, and copies of its stack. Every failure ends the test program.
 */
#ifndef NSPROF_TEST_UNWIND_TARGET_H
#define NSPROF_TEST_UNWIND_TARGET_H

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/user.h>
#include <unistd.h>

#include "../../common/samples/shadow.h"
#include "base/xalloc.h"
#include "elf/elf_file.h"
#include "event.h"
#include "modules/addrspace.h"
#include "modules/module.h"
#include "unwind/unwind.h"

#define TARGET_MODULES 64

struct target {
	pid_t pid;
	int mem; /* /proc/PID/mem */
	struct addrspace *as;
	struct module mods[TARGET_MODULES];
	uint32_t nmods;
	uint64_t stack_end; /* of the mapping named [stack] */
	char *maps_seen; /* text from which @as was made */
	void *vdso;
	/* the stack copy */
	struct shadow_pool pool;
	struct shadow_thread shadow;
	struct stack_view view;
};

static inline void target_die(const char *what)
{
	printf("Bail out! %s\n", what);
	exit(1);
}

static inline char *target_read_maps(struct target *t)
{
	size_t len = 0, cap = 1 << 16;
	char path[64], *text = xmalloc(cap);
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", t->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		target_die("cannot open maps");
	while ((n = read(fd, text + len, cap - len - 1)) > 0) {
		len += n;
		if (cap - len < 4096)
			text = xrealloc(text, cap *= 2);
	}
	text[len] = 0;
	close(fd);
	return text;
}

/* The module of @path, opened as a file, so that it does not depend on module.c's search. */
static inline struct module *target_module(struct target *t, const char *path, uint64_t start,
					   uint64_t end)
{
	struct module *m;
	int fd, err;

	for (uint32_t i = 0; i < t->nmods; i++)
		if (strcmp(t->mods[i].dso.path, path) == 0)
			return &t->mods[i];
	if (t->nmods == TARGET_MODULES)
		target_die("too many modules");
	m = &t->mods[t->nmods++];
	m->id = t->nmods;
	m->dso.id = m->id;
	m->dso.path = xstrdup(path);
	m->source = MODULE_PROCESS;
	if (strcmp(path, "[vdso]") == 0) {
		t->vdso = xcalloc(1, end - start);
		if (pread(t->mem, t->vdso, end - start, start) != (ssize_t)(end - start))
			target_die("cannot read the vdso");
		m->vdso = true;
		m->elf = elf_file_open_mem(t->vdso, end - start, &err);
	} else {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			target_die(path);
		m->elf = elf_file_open_fd(fd, &err);
		close(fd);
	}
	if (!m->elf)
		target_die(path);
	return m;
}

/* Updates the mappings; if nothing changed, it costs only the reading. */
static inline void target_update_maps(struct target *t)
{
	char *text = target_read_maps(t), *save = NULL;

	if (t->maps_seen && strcmp(text, t->maps_seen) == 0) {
		free(text);
		return;
	}
	free(t->maps_seen);
	t->maps_seen = xstrdup(text);
	addrspace_free(t->as);
	t->as = addrspace_new();
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		uint64_t start, end, off;
		char prot[5];
		int pos = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &start, &end,
			   prot, &off, &pos) < 4)
			target_die("bad maps line");
		if (strcmp(line + pos, "[stack]") == 0)
			t->stack_end = end;
		if (prot[2] == 'x' && strcmp(line + pos, "[vsyscall]") != 0) {
			struct mapping m = {
				.start = start, .end = end, .pgoff = off, .path = "//anon"
			};

			if (line[pos]) {
				m.mod = target_module(t, line + pos, start, end);
				m.path = m.mod->dso.path;
			}
			addrspace_add(t->as, &m);
		}
	}
	free(text);
}

static inline void target_init(struct target *t, pid_t pid)
{
	char path[64];

	memset(t, 0, sizeof(*t));
	t->pid = pid;
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	t->mem = open(path, O_RDONLY | O_CLOEXEC);
	if (t->mem < 0)
		target_die("cannot open mem");
	shadow_pool_init(&t->pool, 1024);
	target_update_maps(t);
}

static inline void target_fini(struct target *t)
{
	for (uint32_t i = 0; i < t->nmods; i++) {
		cfi_free(t->mods[i].cfi);
		made_rows_free(t->mods[i].made);
		elf_file_close(t->mods[i].elf);
		free((char *)t->mods[i].dso.path);
	}
	addrspace_free(t->as);
	shadow_clear(&t->pool, &t->shadow);
	shadow_pool_fini(&t->pool);
	free(t->maps_seen);
	free(t->vdso);
	close(t->mem);
}

/* As in a sample; @regs has UREG_MAX. */
static inline void target_regs(const struct user_regs_struct *r, uint64_t *regs)
{
	memset(regs, 0, UREG_MAX * sizeof(*regs));
	regs[UREG_AX] = r->rax, regs[UREG_BX] = r->rbx, regs[UREG_CX] = r->rcx, regs[UREG_DX] = r->rdx;
	regs[UREG_SI] = r->rsi, regs[UREG_DI] = r->rdi, regs[UREG_BP] = r->rbp, regs[UREG_SP] = r->rsp;
	regs[UREG_IP] = r->rip;
	regs[UREG_R8] = r->r8, regs[UREG_R9] = r->r9, regs[UREG_R10] = r->r10,
	regs[UREG_R11] = r->r11;
	regs[UREG_R12] = r->r12, regs[UREG_R13] = r->r13, regs[UREG_R14] = r->r14,
	regs[UREG_R15] = r->r15;
}

/* Makes words[0..n) at runtime address @base the stack copy. */
static inline void target_set_stack(struct target *t, uint64_t base, const uint64_t *words,
				    size_t n)
{
	struct shadow_page *page = NULL;
	uint64_t no = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t a = base + 8 * i;

		if (!page || a >> SHADOW_PAGE_SHIFT != no) {
			no = a >> SHADOW_PAGE_SHIFT;
			page = shadow_page_make(&t->pool, &t->shadow, no);
			if (!page)
				target_die("too many stack pages");
		}
		shadow_page_set(page, a / 8 % SHADOW_PAGE_WORDS, words[i]);
	}
	t->view.shadow = &t->shadow;
	t->view.lo = base;
	t->view.hi = base + 8 * n;
}

/*
 * The masking rule of contrib/doc/masking.md: keep the words that point into code or into the copy.
 */
static inline uint64_t target_mask(const struct target *t, uint64_t lo, uint64_t hi, uint64_t v)
{
	struct avma a = { v };

	return (v >= lo && v <= hi) || addrspace_find(t->as, a) ? v : 0;
}

#endif
