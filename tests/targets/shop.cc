// What the demo profiles: a small server's kind of work, with names a reader can follow.
// shop SECONDS
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

struct Item {
	std::string name;
	unsigned price;
};

class Shop {
	std::map<std::string, unsigned> stock;
	uint64_t sum = 0;

	NOINLINE static uint32_t checksum(const std::string &s)
	{
		uint32_t c = ~0u;

		for (char ch : s) {
			c ^= static_cast<unsigned char>(ch);
			for (int k = 0; k < 8; k++)
				c = c & 1 ? (c >> 1) ^ 0xedb88320u : c >> 1;
		}
		return ~c;
	}

	NOINLINE std::vector<Item> parse_order(unsigned n)
	{
		std::vector<Item> items;

		for (unsigned i = 0; i < 60; i++)
			items.push_back({"item-" + std::to_string((n * 7919 + i * 104729) % 5000), (n ^ i) % 997});
		return items;
	}

	NOINLINE void reserve_stock(const std::vector<Item> &items)
	{
		for (const Item &it : items)
			stock[it.name] += it.price;
	}

	NOINLINE void sort_by_price(std::vector<Item> &items)
	{
		std::sort(items.begin(), items.end(), [](const Item &a, const Item &b) { return a.price < b.price; });
	}

	NOINLINE void sign_receipt(const std::vector<Item> &items)
	{
		std::string receipt;

		for (const Item &it : items)
			receipt += it.name + ": " + std::to_string(it.price) + "\n";
		sum += checksum(receipt);
	}

	NOINLINE void handle_order(unsigned n)
	{
		std::vector<Item> items = parse_order(n);

		reserve_stock(items);
		sort_by_price(items);
		sign_receipt(items);
	}

public:
	NOINLINE uint64_t serve(double seconds)
	{
		auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);

		for (unsigned n = 0; std::chrono::steady_clock::now() < end; n++)
			handle_order(n);
		return sum;
	}
};

int main(int argc, char **argv)
{
	Shop shop;

	return shop.serve(argc > 1 ? atof(argv[1]) : 1) == 42;
}
