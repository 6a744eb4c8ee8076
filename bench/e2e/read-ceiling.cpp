// The rate at which plain loops of 1 and 2 threads read 256 MiB again and again: one line of bytes per second each.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

constexpr size_t kWords = size_t{256} << 17;  // of 8 bytes
constexpr int kPasses = 8;

static uint64_t sum(const uint64_t* from, const uint64_t* to) {
  uint64_t total = 0;
  for (; from < to; from++) total += *from;
  return total;
}

int main() {
  std::vector<uint64_t> words(kWords, 1);
  volatile uint64_t sink = 0;
  for (int threads : {1, 2}) {
    double best = 0;
    for (int round = 0; round < 5; round++) {
      const auto began = std::chrono::steady_clock::now();
      std::vector<std::thread> pool;
      std::vector<uint64_t> sums(threads);
      for (int t = 0; t < threads; t++)
        pool.emplace_back([&, t] {
          const uint64_t* part = words.data() + kWords / threads * t;
          for (int pass = 0; pass < kPasses; pass++) sums[t] += sum(part, part + kWords / threads) ^ pass;
        });
      for (auto& thread : pool) thread.join();
      for (uint64_t each : sums) sink = sink + each;
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
      const double rate = 8.0 * kWords * kPasses / seconds.count();
      if (rate > best) best = rate;
    }
    std::printf("%.0f\n", best);
  }
}
