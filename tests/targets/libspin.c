/* A shared library that exists only inside a container; see uselib.c for the chain. */
typedef unsigned long (*burn_fn)(unsigned long);
unsigned long lib_enter(burn_fn fn, unsigned long n);

__attribute__((noinline, noclone)) static unsigned long lib_walk(burn_fn fn, unsigned long n)
{
	unsigned long r = fn(n + 1);

	__asm__ volatile("" ::: "memory");
	return r * 3;
}

unsigned long lib_enter(burn_fn fn, unsigned long n)
{
	unsigned long r = lib_walk(fn, n);

	__asm__ volatile("" ::: "memory");
	return r + 1;
}
