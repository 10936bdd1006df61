/*
 * Files mapped for reading that may shrink meanwhile. Where the file has ended, the mapping reads
 * as zeros and the loss is noted, instead of a SIGBUS that ends the program.
 */
#ifndef NSPROF_MAPPED_H
#define NSPROF_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Maps the first @size bytes of @fd, more than 0. Sets *@map. 0 or negative errno; -EMFILE: too
 * many are mapped. The first call sets a handler for SIGBUS.
 */
int mapped_open(int fd, size_t size, const uint8_t **map);
void mapped_close(const uint8_t *map, size_t size);
/* Has one of the mapped files, or of those that were closed last, ended before its mapping did? */
bool mapped_shrank(void);

#endif
