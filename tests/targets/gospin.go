// Burns CPU below goroutines, on the system stack and with signals arriving:
//
//	runtime.goexit -> runtime.main -> main.main -> main.outer -> main.inner -> main.leaf
//	runtime.goexit -> main.worker -> main.outer -> main.inner -> main.leaf
//
// gospin --chain prints the second without its root. gospin [--gc | --clock] SECONDS: with --gc the
// leaf allocates; with --clock it reads the time, which Go does on the thread's own stack.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

var keep [][]byte
var gc, clock bool

//go:noinline
func leaf(n uint64) uint64 {
	x := n | 1
	if gc {
		for i := 0; i < 2000; i++ {
			b := make([]byte, 1000+i)
			b[i/2] = byte(x)
			x += uint64(len(b))
		}
		return x
	}
	for i := 0; clock && i < 2000; i++ {
		x += uint64(time.Now().Nanosecond())
	}
	if clock {
		return x
	}
	for i := 0; i < 400000; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//go:noinline
func inner(n uint64, salt uint64) uint64 {
	r := leaf(n ^ salt)
	return r + salt
}

//go:noinline
func outer(end time.Time) uint64 {
	var pad [300]byte
	sum := uint64(0)
	for time.Now().Before(end) {
		sum += inner(sum, 7)
		pad[sum%300]++
	}
	return sum + uint64(pad[sum%300])
}

func worker(end time.Time, sum *uint64, wg *sync.WaitGroup) {
	*sum = outer(end)
	wg.Done()
}

func main() {
	seconds := 1.0
	for _, a := range os.Args[1:] {
		if a == "--chain" {
			fmt.Println("main.worker;main.outer;main.inner;main.leaf")
			return
		} else if a == "--gc" {
			gc = true
		} else if a == "--clock" {
			clock = true
		} else if v, err := strconv.ParseFloat(a, 64); err == nil {
			seconds = v
		}
	}
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	var sums [3]uint64
	var wg sync.WaitGroup
	wg.Add(2)
	go worker(end, &sums[0], &wg)
	go worker(end, &sums[1], &wg)
	sums[2] = outer(end)
	wg.Wait()
	fmt.Fprintln(os.Stderr, sums[0]+sums[1]+sums[2] == 42)
}
