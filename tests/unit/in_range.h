/*
 * assert_within(VALUE, FROM, TO) for unsigned values: cmocka 2 deprecates the name that cmocka 1
 * has for it.
 */
#ifndef NSPROF_TEST_IN_RANGE_H
#define NSPROF_TEST_IN_RANGE_H

#ifdef assert_uint_in_range
#define assert_within assert_uint_in_range
#else
#define assert_within assert_in_range
#endif

#endif
