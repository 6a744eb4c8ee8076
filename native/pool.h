#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace halfbyte {

/** Work in phases: the items of one run in any order on any thread, and all of them before those of the next. */
class Job {
 public:
  virtual ~Job() = default;
  virtual uint32_t phases() const = 0;
  virtual uint32_t items(uint32_t phase) const = 0;
  virtual void run(uint32_t phase, uint32_t item, int thread) = 0;
  /** Called once, by the last thread at work, after which no thread touches the job. */
  virtual void finished(bool cancelled) = 0;
};

/**
 * Threads that claim items one by one. Nobody waits for a thread, only for items: one that the system has put aside
 * holds up nothing but the item it was in, and finds the right phase when it comes back.
 */
class Pool {
 public:
  explicit Pool(int threads);
  /** Cancels what runs, waits for it, joins. */
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /** One job at a time; `job` must live until it has finished. */
  void start(Job& job);
  /** The running job ends before its next phase. */
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  int threads() const { return static_cast<int>(threads_.size()); }

 private:
  void work(int thread);
  void waitFor(uint32_t epoch);
  /** Opens the next phase that is worth sharing, after running those of one item; ends the job after the last. */
  void advance(int thread);
  void publish(uint32_t items);

  Job* job_ = nullptr;
  uint32_t phase_ = 0;
  std::atomic<bool> cancelled_ = false;
  std::atomic<bool> stopping_ = false;
  // Each on its own cache line: all threads write the first two.
  /** Items of the phase in the upper half, the next one to claim in the lower. */
  alignas(64) std::atomic<uint64_t> ticket_ = 0;
  alignas(64) std::atomic<uint32_t> unfinished_ = 0;
  /** Counts phases over all jobs: what idle threads watch. */
  alignas(64) std::atomic<uint32_t> epoch_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace halfbyte
