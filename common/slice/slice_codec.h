/*
 * Sliced ELF files in a recording: not their bytes, but what they were made from. Numbers are coded
 * as samples are (nibble_codec.h), names and other text are compressed; all headers and tables
 * follow from these (elf_write.h). nsprof.data(5) describes it.
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
 * Append @elf, @size bytes of any kind, to @out. False, with @out as it was, when it would not come
 * back as the same bytes: not from elf_write(), or call frame information that is not from
 * cfi_emit(), or would not get smaller. @codec is for the text.
 */
bool slice_pack(struct slice_enc *e, struct codec_enc *codec, const void *elf, size_t size,
		struct strbuf *out);

/* What slices are unpacked with, a MiB, for one thread at a time. */
struct slice_dec *slice_dec_new(void);
void slice_dec_free(struct slice_dec *d);	/* accepts NULL */
/*
 * The file of @size bytes that @len bytes at @data stand for, appended to @out. 0, or -EBADMSG for
 * damage or more than REC_BLOCK_MAX bytes; then what was appended means nothing. Safe on hostile
 * input, which takes at most about 150 MiB.
 */
int slice_unpack(struct slice_dec *d, const void *data, size_t len, uint64_t size,
		 struct strbuf *out);
/*
 * The same file without its call frame information, which most of the time would go into. Of damage behind the
 * symbols nothing is seen.
 */
int slice_unpack_names(struct slice_dec *d, const void *data, size_t len, uint64_t size, struct strbuf *out);

#endif
