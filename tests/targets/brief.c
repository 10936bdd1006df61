/* A program of a fraction of a millisecond, for exec storms: main -> brief_work. */
#include <stdint.h>

__attribute__((noinline, noclone)) uint64_t brief_work(uint64_t x)
{
	for (int i = 0; i < 60000; i++) {
		x = x * 6364136223846793005ul + 1442695040888963407ul;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

int main(int argc, char **argv)
{
	uint64_t x = brief_work((uintptr_t)argv);

	__asm__ volatile("" ::: "memory");
	return x == 42 && argc == 42;
}
