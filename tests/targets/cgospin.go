// C below Go: runtime.goexit -> main.main -> C -> burn(); the C code runs on the thread's own
// stack. With an argument, C calls back into Go, which continues on the goroutine's stack. Because
// of the export this preamble is compiled twice, hence weak.
package main

// #include <stdint.h>
// __attribute__((weak, noinline)) uint64_t c_leaf(uint64_t n)
// {
// 	for (int i = 0; i < 4000000; i++)
// 		n = n * 6364136223846793005ull + 1442695040888963407ull;
// 	return n;
// }
// __attribute__((weak, noinline)) uint64_t c_outer(uint64_t n)
// {
// 	uint64_t r = c_leaf(n);
// 	__asm__ volatile("" ::: "memory");
// 	return r + n;
// }
// extern uint64_t goBack(uint64_t);
// static uint64_t c_back(uint64_t n)
// {
// 	return goBack(n) + n;
// }
import "C"
import (
	"os"
	"time"
)

//export goBack
func goBack(n C.uint64_t) C.uint64_t {
	return goLeaf(n) + n
}

//go:noinline
func goLeaf(n C.uint64_t) C.uint64_t {
	for i := 0; i < 4000000; i++ {
		n = n*6364136223846793005 + 1442695040888963407
	}
	return n
}

func main() {
	end := time.Now().Add(time.Second)
	sum := C.uint64_t(1)
	for time.Now().Before(end) {
		if len(os.Args) > 1 {
			sum += C.c_back(sum)
		} else {
			sum += C.c_outer(sum)
		}
	}
}
