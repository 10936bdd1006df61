#include "samples/code_dict.h"

#include <errno.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "recording.h"
#include "samples/sample_ctx.h"

/* ---- code addresses ---- */

bool code_enc_find(const struct code_enc *d, uint64_t addr, uint32_t *id)
{
	const uint64_t *known = u64map_get(&d->ids, addr);

	if (known)
		*id = (uint32_t)*known;
	return known;
}

void code_enc_add(struct code_enc *d, struct strbuf *out, uint64_t addr)
{
	*u64map_put(&d->ids, addr, NULL) = d->n++;
	nibble_put_snum(out, CTX_DEF, (int64_t)(addr - d->last));
	d->last = addr;
}

uint32_t code_enc_put(struct code_enc *d, struct strbuf *out, uint32_t ctx_new, uint32_t ctx_id,
		      uint64_t addr)
{
	uint32_t id;
	bool known = code_enc_find(d, addr, &id);

	nibble_put(out, ctx_new, !known);
	if (known) {
		nibble_put_id(out, ctx_id, id, d->n);
		return id;
	}
	code_enc_add(d, out, addr);
	return d->n - 1;
}

int code_dec_find(const struct code_dec *d, uint32_t id, uint64_t *addr)
{
	if (id >= d->n)
		return -EINVAL;
	*addr = d->addr[id];
	return 0;
}

int code_dec_add(struct code_dec *d, struct nibble_dec *in, uint64_t *addr)
{
	if (d->n >= REC_CODE_MAX)
		return -EINVAL;
	XGROW(d->addr, d->n, d->cap);
	d->last += (uint64_t)nibble_get_snum(in, CTX_DEF);
	*addr = d->addr[d->n++] = d->last;
	return 0;
}

int code_dec_get(struct code_dec *d, struct nibble_dec *in, uint32_t ctx_new, uint32_t ctx_id,
		 uint64_t guess, uint64_t *addr)
{
	switch (nibble_get(in, ctx_new)) {
	case CODE_ID:
		return code_dec_find(d, nibble_get_id(in, ctx_id, d->n), addr);
	case CODE_NEW:
		return code_dec_add(d, in, addr);
	case CODE_GUESS:
		*addr = guess;
		return guess ? 0 : -EINVAL;
	default:
		return -EINVAL;
	}
}

void code_enc_reset(struct code_enc *d)
{
	u64map_clear(&d->ids);
	d->n = 0;
	d->last = 0;
}

void code_enc_fini(struct code_enc *d)
{
	u64map_fini(&d->ids);
}

void code_dec_reset(struct code_dec *d)
{
	d->n = 0;
	d->last = 0;
}

void code_dec_fini(struct code_dec *d)
{
	free(d->addr);
}

/* ---- chains ---- */

/*
 * A chain is coded as the thread's previous one, as an existing node, or as an existing node plus
 * the chain below it: the number of further addresses, then these, outermost first. Each of them
 * becomes a node, in this order.
 */
enum chain_op { CHAIN_LAST, CHAIN_NODE, CHAIN_MORE, CHAIN_GUESS };

uint32_t chain_enc_put(struct chain_enc *t, struct code_enc *d, struct strbuf *out,
		       const uint64_t *ip, uint32_t len, uint32_t last, uint32_t guess)
{
	uint32_t node = 0, i = len, id;

	while (i) {
		uint64_t *next = NULL;

		if (code_enc_find(d, ip[i - 1], &id))
			next = u64map_get(&t->nodes, (uint64_t)node << 32 | id);
		if (!next)
			break;
		node = (uint32_t)*next;
		i--;
	}
	if (!i && (node == last || node == guess)) {
		nibble_put(out, CTX_CHAIN, node == guess ? CHAIN_GUESS : CHAIN_LAST);
		return node;
	}
	nibble_put(out, CTX_CHAIN, i ? CHAIN_MORE : CHAIN_NODE);
	nibble_put_id(out, CTX_NODE, node, t->n + 1);
	if (i)
		nibble_put_num(out, CTX_CHAIN_LEN, i);
	while (i) {
		id = code_enc_put(d, out, CTX_CODE_NEW, CTX_CODE, ip[--i]);
		*u64map_put(&t->nodes, (uint64_t)node << 32 | id, NULL) = ++t->n;
		node = t->n;
	}
	return node;
}

static int add_nodes(struct chain_dec *t, struct code_dec *d, struct nibble_dec *in, uint32_t *node)
{
	uint64_t more = nibble_get_num(in, CTX_CHAIN_LEN);
	uint32_t depth = *node ? t->node[*node - 1].depth : 0;

	if (more > REC_CHAIN_LEN - depth || more > REC_CHAIN_MAX - t->n)
		return -EINVAL;
	while (more--) {
		XGROW(t->node, t->n, t->cap);
		if (code_dec_get(d, in, CTX_CODE_NEW, CTX_CODE, 0, &t->node[t->n].addr))
			return -EINVAL;
		t->node[t->n].parent = *node;
		t->node[t->n].depth = ++depth;
		*node = ++t->n;
	}
	return 0;
}

int chain_dec_get(struct chain_dec *t, struct code_dec *d, struct nibble_dec *in, uint32_t guess,
		  uint32_t *node, uint64_t *ip, uint32_t *len)
{
	uint32_t op = nibble_get(in, CTX_CHAIN), at;

	if (op > CHAIN_GUESS)
		return -EINVAL;
	if (op == CHAIN_GUESS)
		*node = guess;
	else if (op != CHAIN_LAST)
		*node = nibble_get_id(in, CTX_NODE, t->n + 1);
	if (*node > t->n || (op == CHAIN_MORE && add_nodes(t, d, in, node)))
		return -EINVAL;
	*len = *node ? t->node[*node - 1].depth : 0;
	at = *node;
	for (uint32_t i = 0; i < *len; i++) {
		ip[i] = t->node[at - 1].addr;
		at = t->node[at - 1].parent;
	}
	return 0;
}

void chain_enc_reset(struct chain_enc *t)
{
	u64map_clear(&t->nodes);
	t->n = 0;
}

void chain_enc_fini(struct chain_enc *t)
{
	u64map_fini(&t->nodes);
}

void chain_dec_reset(struct chain_dec *t)
{
	t->n = 0;
}

void chain_dec_fini(struct chain_dec *t)
{
	free(t->node);
}
