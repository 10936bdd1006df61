#include "code_dict.h"

#include <stdlib.h>

#include "recording.h"
#include "xalloc.h"

/* ---- code addresses ---- */

uint32_t code_enc_put(struct code_enc *d, struct strbuf *ids, struct strbuf *defs, uint64_t addr)
{
	bool is_new;
	uint64_t *id = u64map_put(&d->ids, addr, &is_new);

	if (is_new) {
		/* Ids are dense, so the id that comes next says "new" by itself. */
		*id = d->n++;
		strbuf_add_svarint(defs, (int64_t)(addr - d->last));
		d->last = addr;
	}
	strbuf_add_varint(ids, *id);
	return (uint32_t)*id;
}

uint64_t code_dec_get(struct code_dec *d, struct cursor *ids, struct cursor *defs)
{
	uint64_t id = cursor_varint(ids);

	if (id < d->n)
		return d->addr[id];
	if (id > d->n || d->n >= REC_CODE_MAX) {
		ids->bad = true;
		return 0;
	}
	XGROW(d->addr, d->n, d->cap);
	d->last += (uint64_t)cursor_svarint(defs);
	return d->addr[d->n++] = d->last;
}

bool code_enc_known(const struct code_enc *d, uint64_t addr)
{
	return u64map_get(&d->ids, addr);
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
 * Column chain: 0 = the thread's previous chain again, else 1 + (node << 1 | more), where @node is
 * the deepest known part; with more = 1, column added has the number of further addresses and their
 * code ids, outermost first. Each of them becomes a node, in this order.
 */
uint32_t chain_enc_put(struct chain_enc *t, struct code_enc *d, const struct chain_cols *cols,
		       const uint64_t *ip, uint32_t len, uint32_t last)
{
	uint32_t node = 0, i = len;

	while (i) {
		uint64_t *id = u64map_get(&d->ids, ip[i - 1]);
		uint64_t *next = id ? u64map_get(&t->nodes, (uint64_t)node << 32 | *id) : NULL;

		if (!next)
			break;
		node = (uint32_t)*next;
		i--;
	}
	if (!i) {
		strbuf_add_varint(cols->chain, node == last ? 0 : 1 + ((uint64_t)node << 1));
		return node;
	}
	strbuf_add_varint(cols->chain, 1 + ((uint64_t)node << 1 | 1));
	strbuf_add_varint(cols->added, i);
	while (i) {
		uint32_t id = code_enc_put(d, cols->added, cols->defs, ip[--i]);

		*u64map_put(&t->nodes, (uint64_t)node << 32 | id, NULL) = ++t->n;
		node = t->n;
	}
	return node;
}

uint32_t chain_dec_get(struct chain_dec *t, struct code_dec *d, struct cursor *chain,
		       struct cursor *added, struct cursor *defs, uint32_t last, uint64_t *ip,
		       uint32_t *len)
{
	uint64_t v = cursor_varint(chain);
	uint64_t node = v ? (v - 1) >> 1 : last;
	uint32_t depth, i;

	*len = 0;
	if (node > t->n)
		goto bad;
	if (v && (v - 1) & 1) {
		uint64_t more = cursor_varint(added);

		depth = node ? t->node[node - 1].depth : 0;
		if (more > REC_CHAIN_LEN - depth || more > REC_CHAIN_MAX - t->n)
			goto bad;
		while (more--) {
			XGROW(t->node, t->n, t->cap);
			t->node[t->n].addr = code_dec_get(d, added, defs);
			t->node[t->n].parent = (uint32_t)node;
			t->node[t->n].depth = ++depth;
			node = ++t->n;
		}
	}
	depth = node ? t->node[node - 1].depth : 0;
	for (i = 0, v = node; i < depth; i++) {
		ip[i] = t->node[v - 1].addr;
		v = t->node[v - 1].parent;
	}
	*len = depth;
	return (uint32_t)node;
bad:
	chain->bad = true;
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
