/* What is known of jitted code of images: jitdumps, of the recording or else the living process's file, and where code was outside of its frame. */
#ifndef NSPROF_JITSOURCE_H
#define NSPROF_JITSOURCE_H

#include <stddef.h>
#include <stdint.h>

struct jit_returns;
struct jitcode;
struct jitsource;

struct jitsource *jitsource_new(void);
void jitsource_free(struct jitsource *js);
/* What was captured of the process with that serial; the last one counts. @data is copied. */
void jitsource_add(struct jitsource *js, uint32_t serial, const void *data, size_t size);
/* NULL when there is none. Lives as long as the source. */
const struct jitcode *jitsource_find(const struct jitsource *js, uint32_t serial);
/*
 * What living process @pid, which started at @start_ticks, has mapped at @start..@end, read as a
 * jitdump now. NULL when it is gone or that is none. Lives as long as the source.
 */
const struct jitcode *jitsource_live(struct jitsource *js, uint32_t pid, uint64_t start_ticks,
				     uint64_t start, uint64_t end);

/* What CAPTURE_JIT_RETURNS has of the process with that serial, untrusted, copied; the last one counts. */
void jitsource_add_returns(struct jitsource *js, uint32_t serial, const void *data, size_t size);
/* NULL when there is none. Lives as long as the source. */
const struct jit_returns *jitsource_returns(const struct jitsource *js, uint32_t serial);

#endif
