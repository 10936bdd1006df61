/*
 * Two dictionaries of the sample coding, each with its encoder and decoder. One maps code addresses
 * to small ids. The other maps call chains to nodes of a tree that is rooted at their outer end. A
 * KEY block empties both.
 */
#ifndef NSPROF_CODE_DICT_H
#define NSPROF_CODE_DICT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "samples/nibble_codec.h"

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

/* Symbols that say how an address is coded. */
enum code_op { CODE_ID, CODE_NEW, CODE_GUESS };

/* True if runtime address @addr has an id, *@id. */
bool code_enc_find(const struct code_enc *d, uint64_t addr, uint32_t *id);
/* Give @addr the next id. It must not have one. */
void code_enc_add(struct code_enc *d, struct strbuf *out, uint64_t addr);
/*
 * Encode @addr completely: under context @ctx_new whether it is new, then its definition, or its id
 * under @ctx_id. Returns its id.
 */
uint32_t code_enc_put(struct code_enc *d, struct strbuf *out, uint32_t ctx_new, uint32_t ctx_id,
		      uint64_t addr);
void code_enc_reset(struct code_enc *d);
void code_enc_fini(struct code_enc *d);

/* The inverses. 0, or -EINVAL when an id is undefined or there are more than REC_CODE_MAX. */
int code_dec_find(const struct code_dec *d, uint32_t id, uint64_t *addr);
int code_dec_add(struct code_dec *d, struct nibble_dec *in, uint64_t *addr);
/* @guess: what the symbol CODE_GUESS under @ctx_new stands for; 0: it is not allowed. */
int code_dec_get(struct code_dec *d, struct nibble_dec *in, uint32_t ctx_new, uint32_t ctx_id,
		 uint64_t guess, uint64_t *addr);
void code_dec_reset(struct code_dec *d);
void code_dec_fini(struct code_dec *d);

/* Node 0 is the empty chain; any other node is its parent (the caller) plus one more address. */
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

#define CHAIN_NO_GUESS UINT32_MAX

/*
 * Encode chain @ip of @len addresses, leaf first, at most REC_CHAIN_LEN. @last: node of the
 * thread's previous chain; @guess: the node expected, or CHAIN_NO_GUESS. Returns this chain's node.
 */
uint32_t chain_enc_put(struct chain_enc *t, struct code_enc *d, struct strbuf *out,
		       const uint64_t *ip, uint32_t len, uint32_t last, uint32_t guess);
void chain_enc_reset(struct chain_enc *t);
void chain_enc_fini(struct chain_enc *t);

/*
 * The inverse: fills @ip (room for REC_CHAIN_LEN), *@len and *@node. On entry *@node is the
 * thread's previous node. 0, or -EINVAL when the symbols are invalid.
 */
int chain_dec_get(struct chain_dec *t, struct code_dec *d, struct nibble_dec *in, uint32_t guess,
		  uint32_t *node, uint64_t *ip, uint32_t *len);
void chain_dec_reset(struct chain_dec *t);
void chain_dec_fini(struct chain_dec *t);

#endif
