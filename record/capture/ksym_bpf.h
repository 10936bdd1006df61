/*
 * Names of single kernel addresses, asked of the kernel by a BPF program of a few instructions. It
 * is loaded, run with BPF_PROG_TEST_RUN and dropped again: attached to nothing, pinned nowhere.
 * Wants Linux 5.14 and CAP_BPF with CAP_PERFMON (or CAP_SYS_ADMIN).
 */
#ifndef NSPROF_KSYM_BPF_H
#define NSPROF_KSYM_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Addresses asked at once: a helper formats at most 12 values (MAX_BPRINTF_VARARGS). */
#define KSYM_BPF_BATCH 12

/* "vfs_read+0x1c/0x2f0" or "ip_rcv+0x0/0x40 [mod]". */
struct ksym {
	uint64_t offset;	/* bytes from the symbol's start, 0x1c */
	uint64_t size;		/* bytes, up to the next symbol, 0x2f0 */
	const char *name;	/* not terminated */
	size_t name_len;	/* 0: the kernel has no symbol for that address */
	const char *module;	/* "mod"; NULL: the kernel, or a BPF program or trampoline */
	size_t module_len;
};

struct ksym_bpf_data;

struct ksym_bpf {
	int format, data, prog;		/* owned; -1 = none */
	struct ksym_bpf_data *map;	/* memory of @data */
};

/*
 * Load the program. Negative errno where the kernel or its policy does not allow it (-EPERM,
 * -ENOSYS, -EINVAL and others), with nothing left open. Objects are independent of each other.
 */
int ksym_bpf_open(struct ksym_bpf *kb);
/*
 * Look up @n runtime addresses, at most KSYM_BPF_BATCH, one in @syms for each. Names are borrowed
 * until the next call. 0 or negative errno.
 */
int ksym_bpf_lookup(struct ksym_bpf *kb, const uint64_t *addrs, size_t n, struct ksym *syms);
void ksym_bpf_close(struct ksym_bpf *kb);

/*
 * One line of @len bytes as "%pS" writes it (Linux, kernel/kallsyms.c __sprint_symbol); a bare hex
 * number means no symbol. False: neither.
 */
bool ksym_parse(const char *line, size_t len, struct ksym *sym);

#endif
