// The pool under ThreadSanitizer: jobs of many shapes, cancelled or not, one after another and while threads sleep. Run by
// test/native/sanitizers.mjs; exits with 1 where an item is lost, done twice or done before an earlier phase has ended.
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <random>
#include <vector>

#include "../../native/pool.h"

namespace {

using halfbyte::Job;
using halfbyte::Pool;

/** Plain memory for every item: what the pool must order, the sanitizer watches. */
class CountingJob : public Job {
 public:
  CountingJob(std::vector<uint32_t> sizes, int cancelAt, Pool& pool)
      : sizes_(std::move(sizes)), cancelAt_(cancelAt), pool_(pool) {
    for (const uint32_t size : sizes_) done_.emplace_back(size, 0);
  }
  uint32_t phases() const override { return static_cast<uint32_t>(sizes_.size()); }
  uint32_t items(uint32_t phase) const override { return sizes_[phase]; }
  void run(uint32_t phase, uint32_t item, int) override {
    // Reads what every item of the phase before has written, as an op reads what the ops before it wrote.
    uint32_t before = 0;
    if (phase > 0)
      for (const int count : done_[phase - 1]) before += count;
    if (phase > 0 && before != sizes_[phase - 1]) fail("a phase began before the one before it had ended");
    done_[phase][item]++;
    if (static_cast<int>(phase) == cancelAt_) pool_.cancel();
  }
  void finished(bool cancelled) override { end_.set_value(cancelled); }

  void wait() {
    const bool cancelled = end_.get_future().get();
    bool whole = true;
    for (const std::vector<int>& phase : done_)
      for (const int count : phase) {
        if (count > 1) fail("an item was done twice");
        whole = whole && count == 1;
      }
    if (!cancelled && !whole) fail("an item was lost");
    if (cancelled && cancelAt_ < 0) fail("a job ended that nobody had cancelled");
  }

 private:
  [[noreturn]] static void fail(const char* what) {
    std::fprintf(stderr, "pool: %s\n", what);
    std::exit(1);
  }

  std::vector<uint32_t> sizes_;
  int cancelAt_;
  Pool& pool_;
  std::vector<std::vector<int>> done_;
  std::promise<bool> end_;
};

}  // namespace

int main() {
  std::mt19937 random(1);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  int jobs = 0;
  for (int threads = 1; threads <= 5; threads++) {
    for (int life = 0; life < 20; life++) {
      Pool pool(threads);
      for (int i = 0; i < 40; i++, jobs++) {
        std::vector<uint32_t> sizes(below(12));
        for (uint32_t& size : sizes) size = below(4) == 0 ? below(2) : 1 + below(40);
        const int cancelAt = below(4) == 0 && !sizes.empty() ? static_cast<int>(below(static_cast<uint32_t>(sizes.size()))) : -1;
        CountingJob job(std::move(sizes), cancelAt, pool);
        pool.start(job);
        job.wait();
      }
    }
    // Ends while a job runs: the destructor cancels it and waits.
    for (int life = 0; life < 20; life++, jobs++) {
      auto pool = std::make_unique<Pool>(threads);
      CountingJob job(std::vector<uint32_t>(50, 20), 100, *pool);
      pool->start(job);
      pool.reset();
      job.wait();
    }
  }
  std::printf("pool: %d jobs on 1 to 5 threads\n", jobs);
}
