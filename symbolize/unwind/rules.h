/*
 * Unwind rules by (binary, address in the binary): compiled from CFI on first use, then a 64-bit
 * word each, shared by all processes that map the binary. The first level is a direct-mapped table
 * with as many slots as there are rules. Some rules share a slot and are looked up again. But each
 * step waits for a slot from memory, and a half-empty table would fit into fewer of the CPU's
 * caches. Behind it is a hash table of all rules so far.
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
	bool own_sp; /* the row has a rule for the stack pointer: not simply the CFA */
	uint8_t n; /* entries of regs[]: registers that do not keep their value */
	struct general_reg {
		struct cfi_rule rule;
		uint8_t reg; /* DWARF number, not the return address column */
	} regs[];
};

struct rule_slot {
	uint64_t key; /* rule_key(); 0 = empty, as module ids begin with 1 */
	rule_t rule;
};

/* What rules are compiled from. */
enum rules_from {
	RULES_CFI, /* the binary's CFI */
	RULES_MADE, /* made_rows.h: rows for an instruction */
	RULES_MADE_RETURN, /* the same, for the return behind the address */
};

struct rules {
	enum rules_from from;
	struct rule_slot *l1; /* owned; grows with rules_fill() */
	uint64_t l1_mask; /* number of slots (a power of two) less 1 */
	struct u64map all; /* rule_key() -> rule */
	struct u64map by_content; /* hash of a general rule -> its number */
	struct general_rule **general; /* owned, as are its entries */
	size_t ngeneral, general_cap;
};

struct rules *rules_new(enum rules_from from);
/* May be called before or after freeing the modules: it does not touch their bytes. */
void rules_free(struct rules *rs);

/* The rule that @r, a RULE_GENERAL, refers to. Borrowed for the life of @rs. */
static inline const struct general_rule *rules_general(const struct rules *rs, rule_t r)
{
	return rs->general[r >> 32];
}

/* rules_find() for a rule that is not in the first level. */
rule_t rules_fill(struct rules *rs, struct module *mod, uint64_t svma);

#define RULE_SVMA_BITS 40
/* Module ids are dense. For binaries with larger ids, rules are compiled each time. */
#define RULE_ID_MAX ((1u << (63 - RULE_SVMA_BITS)) - 1)

/*
 * Distance of the keys of two modules. It is slightly more than a power of two, so that the lowest
 * bits also distinguish copies of one library, which use the same addresses.
 */
#define RULE_ID_STEP ((1ull << RULE_SVMA_BITS) + 0x9e37)

static inline uint64_t rule_key(const struct module *mod, uint64_t svma)
{
	return mod->id * RULE_ID_STEP + svma;
}

/*
 * Are the keys of all addresses of @mod from @start to @end exact? Then each is the key of 0 plus
 * the address.
 */
static inline bool rule_key_fits(const struct module *mod, uint64_t start, uint64_t end)
{
	return mod->id && mod->id <= RULE_ID_MAX && start <= end && !(end >> RULE_SVMA_BITS);
}

/*
 * The lowest bits of call addresses are as good as random, and the rules of one function are
 * adjacent.
 */
static inline size_t rule_slot_of(uint64_t key, uint64_t l1_mask)
{
	return key & l1_mask;
}

/*
 * The rule in force at @svma of @mod. Never fails: RULE_NO_ROWS means that there is none. Keys are
 * exact as long as ids and addresses fit; otherwise the rule is compiled each time (an old kernel's
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
