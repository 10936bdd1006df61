/*
 * Looks up the names of single kernel addresses with a BPF program of a few instructions. The
 * program is loaded, run with BPF_PROG_TEST_RUN and unloaded; it is never attached or pinned. Needs
 * Linux 5.14 and CAP_BPF with CAP_PERFMON (or CAP_SYS_ADMIN).
 */
#ifndef NSPROF_KSYM_BPF_H
#define NSPROF_KSYM_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Addresses per call: a helper formats at most 12 values (MAX_BPRINTF_VARARGS). */
#define KSYM_BPF_BATCH 12

/* "vfs_read+0x1c/0x2f0" or "ip_rcv+0x0/0x40 [mod]". */
struct ksym {
	uint64_t offset;	/* bytes from the symbol's start, 0x1c */
	uint64_t size;		/* bytes up to the next symbol, 0x2f0 */
	const char *name;	/* not NUL-terminated */
	size_t name_len;	/* 0: the kernel has no symbol for the address */
	const char *module;	/* "mod"; NULL: the kernel itself, or a BPF program or trampoline */
	size_t module_len;
};

struct ksym_bpf_data;

struct ksym_bpf {
	int format, data, prog;		/* owned; -1 = none */
	struct ksym_bpf_data *map;	/* mapped memory of @data */
};

/*
 * Loads the program. Negative errno if the kernel or its policy does not permit it (-EPERM,
 * -ENOSYS, -EINVAL and others); then nothing stays open. Objects are independent of each other.
 */
int ksym_bpf_open(struct ksym_bpf *kb);
/*
 * Looks up @n runtime addresses, at most KSYM_BPF_BATCH, and fills one entry of @syms for each.
 * Names are borrowed until the next call. 0 or negative errno.
 */
int ksym_bpf_lookup(struct ksym_bpf *kb, const uint64_t *addrs, size_t n, struct ksym *syms);
void ksym_bpf_close(struct ksym_bpf *kb);

/*
 * Parses one line of @len bytes, as printed by "%pS" (Linux, kernel/kallsyms.c __sprint_symbol). A
 * bare hex number means no symbol. False: neither of them.
 */
bool ksym_parse(const char *line, size_t len, struct ksym *sym);

#endif
