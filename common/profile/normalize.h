/*
 * Names of functions without what changes from one build to the next, so that profiles of two builds
 * compare. Works on names as they are shown (demangled or not); other text stays as it is.
 */
#ifndef NSPROF_NORMALIZE_H
#define NSPROF_NORMALIZE_H

#include <stddef.h>

/*
 * Shortens @name (NUL-terminated) in place and returns its new length. Never makes it empty. Goes:
 *
 *   what compilers append to clones and parts: .cold .part.N .constprop.N .isra.N .lto_priv.N
 *   .localalias .llvm.N (GCC, LLVM), as a suffix or as " [clone .cold]" (libiberty)
 *   ::h and 16 hexadecimal digits at the end (legacy Rust; 17h and these in a mangled name),
 *   "[0123456789abcdef]" behind a crate's name (Rust v0)
 *   the number of a lambda: "{lambda(int)#2}", "'lambda0'", "$_3"
 *   the offset in a frame without a name: "[libx.so+0x1234]"; at a name's end: "write+0x12"
 *   an address instead of a name, but for its "0x"
 *   the address in the name of a hidden class: "Foo$$Lambda/0x00007f12a0c43" (Java), "$Lambda$14"
 *
 * Two functions may get one name by it. That is the purpose.
 */
size_t normalize_name(char *name);

#endif
