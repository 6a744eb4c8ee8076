#include "pool.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace halfbyte {

namespace {

// Some 20 µs: longer than the gaps between phases, shorter than a time slice that another process could use.
constexpr int kSpins = 1000;

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");
#endif
}

}  // namespace

Pool::Pool(int threads) {
  threads_.reserve(threads);
  try {
    for (int t = 0; t < threads; t++) threads_.emplace_back([this, t] { work(t); });
  } catch (...) {
    stopping_ = true;
    epoch_++;
    epoch_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    throw;
  }
}

Pool::~Pool() {
  cancel();
  stopping_ = true;
  epoch_++;
  epoch_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Pool::start(Job& job) {
  job_ = &job;
  cancelled_.store(false, std::memory_order_relaxed);
  phase_ = 0;
  while (phase_ < job.phases() && job.items(phase_) == 0) phase_++;
  if (phase_ == job.phases()) return job.finished(false);
  publish(job.items(phase_));
}

void Pool::publish(uint32_t items) {
  unfinished_.store(items, std::memory_order_relaxed);
  ticket_.store(static_cast<uint64_t>(items) << 32, std::memory_order_release);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
}

void Pool::work(int thread) {
  for (;;) {
    // Read first: whatever is published after this, waitFor sees.
    const uint32_t epoch = epoch_.load(std::memory_order_acquire);
    const uint64_t ticket = ticket_.fetch_add(1, std::memory_order_acq_rel);
    const uint32_t item = static_cast<uint32_t>(ticket), items = static_cast<uint32_t>(ticket >> 32);
    if (item < items) {
      // A valid claim holds the phase open, so the job and the phase stand still until it is given back.
      job_->run(phase_, item, thread);
      if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) advance(thread);
    } else {
      if (stopping_.load(std::memory_order_acquire)) return;
      waitFor(epoch);
    }
  }
}

void Pool::advance(int thread) {
  Job& job = *job_;
  const uint32_t phases = job.phases();
  while (++phase_ < phases && !cancelled_.load(std::memory_order_relaxed)) {
    const uint32_t items = job.items(phase_);
    if (items > 1) return publish(items);
    if (items == 1) job.run(phase_, 0, thread);
  }
  const bool cancelled = phase_ < phases;
  job_ = nullptr;
  job.finished(cancelled);
}

void Pool::waitFor(uint32_t epoch) {
  for (int spin = 0; spin < kSpins; spin++) {
    if (epoch_.load(std::memory_order_acquire) != epoch) return;
    relax();
  }
  epoch_.wait(epoch, std::memory_order_acquire);
}

}  // namespace halfbyte
