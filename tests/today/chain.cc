// C++ of today: the leaf is below a virtual function, a template, a lambda in std::function and a coroutine. "chain --chain"
// prints the names, root first. chain [--throw] SECONDS; with --throw the leaf ends with an exception now and then.
#include <chrono>
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>

#define NOINLINE __attribute__((noinline))
#define KEEP() __asm__ volatile("" ::: "memory")

static bool throwing;

namespace today {

NOINLINE unsigned long leaf(unsigned long n)
{
	unsigned long x = n | 1;

	for (int i = 0; i < 400000; i++) {
		x = x * 6364136223846793005ul + 1442695040888963407ul;
		__asm__ volatile("" : "+r"(x));
	}
	if (throwing && x % 4 == 1)
		throw std::runtime_error("now and then");
	return x;
}

template <typename T> NOINLINE T generic(T n)
{
	T r = leaf(n);

	KEEP();
	return r + 1;
}

struct shape {
	virtual ~shape() = default;
	virtual unsigned long area(unsigned long n) = 0;
};

struct square : shape {
	NOINLINE unsigned long area(unsigned long n) override
	{
		unsigned long r = generic<unsigned long>(n);

		KEEP();
		return r ^ n;
	}
};

struct task {
	struct promise_type {
		unsigned long value = 0;
		task get_return_object() { return { std::coroutine_handle<promise_type>::from_promise(*this) }; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		std::suspend_always yield_value(unsigned long v) { value = v; return {}; }
		void return_void() {}
		void unhandled_exception() { throw; }
	};
	std::coroutine_handle<promise_type> h;
};

NOINLINE task numbers(shape *s)
{
	for (unsigned long n = 1;; n++) {
		unsigned long r = 0;

		try {
			r = s->area(n);
		} catch (const std::runtime_error &) {
			KEEP();
		}
		co_yield r;
	}
}

NOINLINE unsigned long outer(double seconds)
{
	using clock = std::chrono::steady_clock;
	const auto end = clock::now() + std::chrono::duration<double>(seconds);
	square s;
	task t = numbers(&s);
	unsigned long sum = 0;
	std::function<void()> step = [&] { t.h.resume(); sum += t.h.promise().value; KEEP(); };

	while (clock::now() < end)
		step();
	t.h.destroy();
	return sum;
}

}

int main(int argc, char **argv)
{
	double seconds = 1;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--chain")) {
			puts("main;today::outer;today::numbers;today::square::area;today::generic;today::leaf");
			return 0;
		} else if (!strcmp(argv[i], "--throw")) {
			throwing = true;
		} else {
			seconds = atof(argv[i]);
		}
	}
	return today::outer(seconds) == 42 ? 3 : 0;
}
