/*
 * Sliced ELF files in a recording. Not their bytes are stored, but what they were made from.
 * Numbers are coded like samples (nibble_codec.h); names and other text are compressed. All headers
 * and tables follow from these (elf_write.h). nsprof.data(5) describes the coding.
 */
#ifndef NSPROF_SLICE_CODEC_H
#define NSPROF_SLICE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct codec_enc;
struct slice_enc;
struct slice_dec;
struct strbuf;

struct slice_enc *slice_enc_new(void);
void slice_enc_free(struct slice_enc *e);	/* accepts NULL */
/*
 * Append @elf, @size bytes of any kind, to @out. False, with @out unchanged, when it would not come
 * back as the same bytes or would not get smaller: it is not from elf_write(), or its call frame
 * information is not from cfi_emit(). @codec is for the text.
 */
bool slice_pack(struct slice_enc *e, struct codec_enc *codec, const void *elf, size_t size,
		struct strbuf *out);

/* State for unpacking slices, about 1 MiB, for one thread at a time. */
struct slice_dec *slice_dec_new(void);
void slice_dec_free(struct slice_dec *d);	/* accepts NULL */
/*
 * Append the file of @size bytes that @len bytes at @data encode to @out. 0, or -EBADMSG for damage
 * or more than REC_BLOCK_MAX bytes; then the appended bytes are meaningless. Safe on untrusted
 * input, for which it takes at most about 150 MiB.
 */
int slice_unpack(struct slice_dec *d, const void *data, size_t len, uint64_t size,
		 struct strbuf *out);
/*
 * The same file without its call frame information, which would take most of the time. Damage after
 * the symbols goes unnoticed.
 */
int slice_unpack_names(struct slice_dec *d, const void *data, size_t len, uint64_t size, struct strbuf *out);

#endif
