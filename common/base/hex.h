/* Hexadecimal numbers in text from the kernel and from processes. */
#ifndef NSPROF_HEX_H
#define NSPROF_HEX_H

/* Value of a hexadecimal digit in either case, independent of the locale; -1: not a digit. */
static inline int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

#endif
