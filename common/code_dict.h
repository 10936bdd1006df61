/*
 * Two dictionaries of the sample coding, each with the side that builds it and the side that
 * rebuilds it: code addresses to small ids, and call chains to nodes of a tree that is rooted at
 * their outer end. A KEY block empties both.
 */
#ifndef NSPROF_CODE_DICT_H
#define NSPROF_CODE_DICT_H

#include <stdbool.h>
#include <stdint.h>

#include "cursor.h"
#include "hash.h"
#include "strbuf.h"

struct code_enc {
	struct u64map ids;	/* address -> id */
	uint64_t last;		/* address defined last */
	uint32_t n;
};

struct code_dec {
	uint64_t *addr;		/* owned; by id */
	uint32_t n;
	size_t cap;
	uint64_t last;
};

/* Runtime address @addr as an id into column @ids; a new one is defined in column @defs. Its id. */
uint32_t code_enc_put(struct code_enc *d, struct strbuf *ids, struct strbuf *defs, uint64_t addr);
bool code_enc_known(const struct code_enc *d, uint64_t addr);
void code_enc_reset(struct code_enc *d);
void code_enc_fini(struct code_enc *d);

/* The inverse. Sets @ids->bad when an id is undefined or there are more than REC_CODE_MAX. */
uint64_t code_dec_get(struct code_dec *d, struct cursor *ids, struct cursor *defs);
void code_dec_reset(struct code_dec *d);
void code_dec_fini(struct code_dec *d);

/* Node 0 is the empty chain; a node is its parent (the caller's side) and one more address. */
struct chain_enc {
	struct u64map nodes;	/* parent << 32 | code id -> node */
	uint32_t n;
};

struct chain_dec {
	struct {
		uint64_t addr;
		uint32_t parent;
		uint32_t depth;	/* entries from here to the root */
	} *node;		/* owned; node[i] is node i + 1 */
	uint32_t n;
	size_t cap;
};

/* Columns a chain touches. */
struct chain_cols {
	struct strbuf *chain, *added, *defs;
};

/*
 * Chain @ip of @len addresses, leaf first, at most REC_CHAIN_LEN; @last: node of the thread's
 * previous chain. Returns this chain's node.
 */
uint32_t chain_enc_put(struct chain_enc *t, struct code_enc *d, const struct chain_cols *cols,
		       const uint64_t *ip, uint32_t len, uint32_t last);
void chain_enc_reset(struct chain_enc *t);
void chain_enc_fini(struct chain_enc *t);

/*
 * The inverse: fills @ip (room for REC_CHAIN_LEN) and *@len, returns the node. Sets @chain->bad
 * when the bytes make no sense.
 */
uint32_t chain_dec_get(struct chain_dec *t, struct code_dec *d, struct cursor *chain,
		       struct cursor *added, struct cursor *defs, uint32_t last, uint64_t *ip,
		       uint32_t *len);
void chain_dec_reset(struct chain_dec *t);
void chain_dec_fini(struct chain_dec *t);

#endif
