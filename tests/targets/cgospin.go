// C below Go: runtime.goexit -> main.main -> C -> burn(); the C code runs on the thread's own stack.
package main

// #include <stdint.h>
// __attribute__((noinline)) uint64_t c_leaf(uint64_t n)
// {
// 	for (int i = 0; i < 4000000; i++)
// 		n = n * 6364136223846793005ull + 1442695040888963407ull;
// 	return n;
// }
// __attribute__((noinline)) uint64_t c_outer(uint64_t n)
// {
// 	uint64_t r = c_leaf(n);
// 	__asm__ volatile("" ::: "memory");
// 	return r + n;
// }
import "C"
import "time"

func main() {
	end := time.Now().Add(time.Second)
	sum := C.uint64_t(1)
	for time.Now().Before(end) {
		sum += C.c_outer(sum)
	}
}
