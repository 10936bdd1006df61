/*
 * What is known about JIT code of process images: jitdumps, from the recording or from the living
 * process, and return addresses outside their frames.
 */
#ifndef NSPROF_JITSOURCE_H
#define NSPROF_JITSOURCE_H

#include <stddef.h>
#include <stdint.h>

struct jit_returns;
struct jitcode;
struct jitsource;

struct jitsource *jitsource_new(void);
void jitsource_free(struct jitsource *js);
/* Adds the captured jitdump of the process image @serial; the last one counts. @data is copied. */
void jitsource_add(struct jitsource *js, uint32_t serial, const void *data, size_t size);
/* NULL if there is none. Lives as long as the source. */
const struct jitcode *jitsource_find(const struct jitsource *js, uint32_t serial);
/*
 * Reads the file that living process @pid, started at @start_ticks, has mapped at @start..@end as a
 * jitdump. NULL if the process is gone or the file is not a jitdump. Lives as long as the source.
 */
const struct jitcode *jitsource_live(struct jitsource *js, uint32_t pid, uint64_t start_ticks,
				     uint64_t start, uint64_t end);

/*
 * Why a file that this process mapped as a jitdump was not used: static; NULL: none was, or it was
 * used.
 */
const char *jitsource_refused(const struct jitsource *js, uint32_t pid, uint64_t start_ticks);

/*
 * Adds the CAPTURE_JIT_RETURNS data of process image @serial: untrusted, copied; the last one
 * counts.
 */
void jitsource_add_returns(struct jitsource *js, uint32_t serial, const void *data, size_t size);
/* NULL if there is none. Lives as long as the source. */
const struct jit_returns *jitsource_returns(const struct jitsource *js, uint32_t serial);

#endif
