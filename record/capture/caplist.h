/*
 * The addresses seen in one part of a recording (a file, or a segment of a flight recorder),
 * grouped by the source of their rows. When the part ends, it tells what is left to capture.
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
	uint64_t *addrs;	/* owned, sorted, without duplicates */
	size_t n;
	struct dso *dso;	/* CAPTURE_ELF; borrowed: the table keeps all of them */
	struct leaf_counts leafs;	/* CAPTURE_ELF; its code is captured for these */
	/* CAPTURE_PERF_MAP, CAPTURE_JITDUMP: one reference; NULL = unknown */
	struct proc_facts *facts;
	struct tenant *tenant;	/* the same; borrowed, NULL = unknown */
	char comm[COMM_LEN];	/* the process's name, for messages */
	bool done;		/* the rows are in the recording already */
};

struct caplist {
	struct cap_entry *v;	/* owned; sorted by kind and id after caplist_seal() */
	size_t n, cap;
	uint32_t *order;	/* owned; indices for caplist_next(), NULL before its first call */
	size_t next;		/* index in @order */
	struct code_budget code;	/* what entries have not taken yet */
	size_t bytes;		/* of all addresses */
};

struct caplist *caplist_new(void);
void caplist_free(struct caplist *cl, struct pins *pins);	/* accepts NULL */
/* Adds an entry, which takes @addrs; the caller fills in the rest. Borrowed until the next call. */
struct cap_entry *caplist_add(struct caplist *cl, enum capture_kind kind, uint32_t id,
			      uint64_t *addrs, size_t n);
/* Sets entry @e's facts to @f, which may be NULL, with a reference. */
void cap_entry_hold(struct cap_entry *e, struct proc_facts *f);
void caplist_seal(struct caplist *cl);
/* Iterates over a sealed list, entries with most samples first; NULL after the last. */
struct cap_entry *caplist_next(struct caplist *cl);
struct cap_entry *caplist_find(const struct caplist *cl, enum capture_kind kind, uint32_t id);

/*
 * Merges @n sealed lists, oldest first, into a new one. An entry is done if it is done in the
 * newest list that has it.
 */
struct caplist *caplist_merge(struct caplist *const *lists, size_t n);

/* The union of two sorted arrays, sorted and owned by the caller; *@n: its length. */
uint64_t *caplist_union(const uint64_t *a, size_t na, const uint64_t *b, size_t nb, size_t *n);

#endif
