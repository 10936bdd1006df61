/*
 * Periods that do not fall into step with what they count. A fixed period meets what repeats always
 * at the same place: if two waits alternate, an even one never sees the second. An odd prime sees
 * all places of any cycle that is no multiple of it.
 */
#ifndef NSPROF_ODD_PERIOD_H
#define NSPROF_ODD_PERIOD_H

#include <stdint.h>

/*
 * A period around @mean, an odd prime or 1, so that @mean is the mean of many. @random: any number,
 * a new one each time.
 */
uint64_t odd_period_draw(uint64_t mean, uint64_t random);
/*
 * One of the two odd primes (or 1) next to @mean, for the event number @i of those that share it: in
 * such turns that @mean is the mean of all.
 */
uint64_t odd_period_near(uint64_t mean, uint64_t i);

#endif
