/*
 * The addresses seen in one stretch of a recording (a file, or a segment of a flight recorder), by
 * what their rows come from: what is left to capture when the stretch is over.
 */
#ifndef NSPROF_CAPLIST_H
#define NSPROF_CAPLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/leaf_counts.h"
#include "event.h"
#include "procfs/proc_facts.h"

struct dso;

struct cap_entry {
	enum capture_kind kind;
	uint32_t id;		/* as in struct capture */
	uint64_t *addrs;	/* owned, sorted, each once */
	size_t n;
	struct dso *dso;	/* CAPTURE_ELF; borrowed: the table keeps all */
	struct leaf_counts leafs;	/* CAPTURE_ELF; what its code is captured for */
	struct proc_facts *facts;	/* CAPTURE_PERF_MAP, CAPTURE_JITDUMP: one reference; NULL = none known */
	char comm[COMM_LEN];	/* and the process's name, for messages */
	bool done;		/* the rows are in the recording already */
};

struct caplist {
	struct cap_entry *v;	/* owned; sorted by kind and id once caplist_seal() was called */
	size_t n, cap;
	uint32_t *order;	/* owned; indices for caplist_next(), NULL before its first call */
	size_t next;		/* in @order */
	struct code_budget code;	/* what entries have not taken yet */
	size_t bytes;		/* of addresses held */
};

struct caplist *caplist_new(void);
void caplist_free(struct caplist *cl, struct pins *pins);	/* accepts NULL */
/* A new entry, takes @addrs; the caller fills in the rest. Borrowed until the next call. */
struct cap_entry *caplist_add(struct caplist *cl, enum capture_kind kind, uint32_t id,
			      uint64_t *addrs, size_t n);
void caplist_seal(struct caplist *cl);
/* Of a sealed list, one entry after the other, those with most samples first; NULL after the last. */
struct cap_entry *caplist_next(struct caplist *cl);
struct cap_entry *caplist_find(const struct caplist *cl, enum capture_kind kind, uint32_t id);

/*
 * One list of what is in the @n sealed lists, the oldest first. An entry is done when it is in the
 * newest list that has it.
 */
struct caplist *caplist_merge(struct caplist *const *lists, size_t n);

/* The sorted union of two sorted arrays, owned by the caller; *@n: its length. */
uint64_t *caplist_union(const uint64_t *a, size_t na, const uint64_t *b, size_t nb, size_t *n);

#endif
