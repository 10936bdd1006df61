/*
 * Strips from function names what changes from one build to the next, so that profiles of two
 * builds compare. Works on names as shown (demangled or not); other text stays unchanged.
 */
#ifndef NSPROF_NORMALIZE_H
#define NSPROF_NORMALIZE_H

#include <stddef.h>

/*
 * Shorten @name (NUL-terminated) in place; returns its new length. It never becomes empty. Removed:
 *
 *   suffixes that compilers append to clones and parts: .cold .part.N .constprop.N .isra.N .lto_priv.N
 *   .localalias .llvm.N (GCC, LLVM), also in the form " [clone .cold]" (libiberty)
 *   ::h and 16 hexadecimal digits at the end (legacy Rust; 17h and these in a mangled name),
 *   "[0123456789abcdef]" after a crate's name (Rust v0)
 *   the number of a lambda: "{lambda(int)#2}", "'lambda0'", "$_3"
 *   the offset in a nameless frame: "[libx.so+0x1234]"; at the end of a name: "write+0x12"
 *   an address that stands for a name, except its "0x"
 *   the address in the name of a hidden class: "Foo$$Lambda/0x00007f12a0c43" (Java), "$Lambda$14"
 *
 * Two functions may end up with one name. That is the purpose.
 */
size_t normalize_name(char *name);

#endif
