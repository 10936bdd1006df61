/*
 * Unwind rules by (binary, address in the binary): compiled from CFI on first use, then a 64-bit
 * word each, shared by all processes that map the binary. The first level is a direct-mapped table
 * with as many slots as there are rules: some share one and are looked up again, but each step waits for a slot to come from memory,
 * and a table that is half empty is in fewer of the CPU's caches. Behind it is a hash of everything seen.
 */
#ifndef NSPROF_RULES_H
#define NSPROF_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "cfi/cfi.h"
#include "modules/module.h"

/*
 * A rule. Bits 0-2: enum rule_kind. For RULE_COMMON:
 *	3	1: CFA is based on %rbp, 0: on %rsp
 *	4-33	six fields of 5 bits for rbx, rbp, r12-r15: 0 = the caller's value is still in the
 *		register, k = it is saved at CFA - 8k
 *	34-63	CFA = base + 8 times this
 * and the return address is at CFA - 8. For RULE_GENERAL, bits 32-63 are its number.
 */
typedef uint64_t rule_t;

enum rule_kind {
	RULE_COMMON = 1,
	RULE_GENERAL,
	RULE_OUTERMOST, /* the return address is undefined: no caller */
	RULE_NO_ROWS, /* no rows for the address, or damaged ones */
};

#define RULE_NSAVED 6
#define RULE_SAVED_SHIFT 4
#define RULE_SAVED_MAX 31
#define RULE_OFF_SHIFT 34

static inline enum rule_kind rule_kind(rule_t r)
{
	return r & 7;
}

static inline bool rule_base_is_bp(rule_t r)
{
	return r >> 3 & 1;
}

/* RULE_COMMON, and the CFA is based on %rsp. */
static inline bool rule_is_common_sp(rule_t r)
{
	return (r & 15) == RULE_COMMON;
}

/* CFA minus base register, bytes. */
static inline uint64_t rule_cfa_off(rule_t r)
{
	return r >> RULE_OFF_SHIFT << 3;
}

/* The six fields, the first in the lowest bits. */
static inline uint32_t rule_saved(rule_t r)
{
	return r >> RULE_SAVED_SHIFT & ((1u << 5 * RULE_NSAVED) - 1);
}

/* A rule of any other shape. Expressions are borrowed from the binary's sections. */
struct general_rule {
	struct cfi_rule cfa;
	struct cfi_rule ra;
	uint8_t cfa_how; /* as in struct cfi_row */
	bool signal_frame;
	bool own_sp; /* there is a rule for the stack pointer: not simply the CFA */
	uint8_t n; /* entries of regs[]: registers that do not keep their value */
	struct general_reg {
		struct cfi_rule rule;
		uint8_t reg; /* DWARF number, not the return address column */
	} regs[];
};

struct rule_slot {
	uint64_t key; /* rule_key(); 0 = empty, as ids of modules begin with 1 */
	rule_t rule;
};

/* What rules are compiled from. */
enum rules_from {
	RULES_CFI, /* what the binary states */
	RULES_MADE, /* made_rows.h: for an instruction */
	RULES_MADE_RETURN, /* the same, for a return behind the address */
};

struct rules {
	enum rules_from from;
	struct rule_slot *l1; /* owned; grows with rules_fill() */
	uint64_t l1_mask; /* its slots less 1, their number being a power of two */
	struct u64map all; /* rule_key() to rule */
	struct u64map by_content; /* hash of a general rule to its number */
	struct general_rule **general; /* owned, as are its entries */
	size_t ngeneral, general_cap;
};

struct rules *rules_new(enum rules_from from);
/* Before the modules are freed whose rules it holds, or after: their bytes are not touched. */
void rules_free(struct rules *rs);

/* Number @i from a RULE_GENERAL. Borrowed for the life of @rs. */
static inline const struct general_rule *rules_general(const struct rules *rs, rule_t r)
{
	return rs->general[r >> 32];
}

/* The way of rules_find() that is not in the first level. */
rule_t rules_fill(struct rules *rs, struct module *mod, uint64_t svma);

#define RULE_SVMA_BITS 40
/* Ids of modules are dense; of binaries beyond, rules are compiled each time. */
#define RULE_ID_MAX ((1u << (63 - RULE_SVMA_BITS)) - 1)

/*
 * Ids are that far apart, and a bit more: the lowest bits tell copies of one library apart, too, which go by the same
 * addresses.
 */
#define RULE_ID_STEP ((1ull << RULE_SVMA_BITS) + 0x9e37)

static inline uint64_t rule_key(const struct module *mod, uint64_t svma)
{
	return mod->id * RULE_ID_STEP + svma;
}

/*
 * Are the keys of all addresses of @mod from @start up to @end exact? Then they are that of 0 plus the
 * address.
 */
static inline bool rule_key_fits(const struct module *mod, uint64_t start, uint64_t end)
{
	return mod->id && mod->id <= RULE_ID_MAX && start <= end && !(end >> RULE_SVMA_BITS);
}

/* Addresses of calls are as good as random in their lowest bits, and a function's have their rules side by side. */
static inline size_t rule_slot_of(uint64_t key, uint64_t l1_mask)
{
	return key & l1_mask;
}

/*
 * The rule in force at @svma of @mod. Never fails: RULE_NO_ROWS says that there is none. Keys are
 * exact as long as ids and addresses fit; what does not fit is compiled each time (an old kernel's
 * vdso is linked at the top of the address space).
 */
static inline rule_t rules_find(struct rules *rs, struct module *mod, uint64_t svma)
{
	uint64_t key = rule_key(mod, svma);
	const struct rule_slot *slot = &rs->l1[rule_slot_of(key, rs->l1_mask)];

	if (slot->key == key && !(svma >> RULE_SVMA_BITS))
		return slot->rule;
	return rules_fill(rs, mod, svma);
}

#endif
