// Products with packed matrices by one kernel, without the rest of a step: `kernels [name=value …]`, see usage().
// Threads take blocks as the executor's do. Time is of the wall, or with cpu=1 of one thread's processor.
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "../../native/kernels.h"
#include "../../native/memory.h"

using namespace halfbyte;

namespace {

double seconds(bool cpu) {
  timespec t;
  clock_gettime(cpu ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct Encoding {
  const char* name;
  int bits, group;
  Kind scale, offset;
  int super;
  bool codeBook;
};

constexpr Encoding kEncodings[] = {
    {"q4_0", 4, 32, Kind::f16, Kind::none, 0, false},
    {"q4_1", 4, 32, Kind::f16, Kind::f16, 0, false},
    {"q4_k", 4, 32, Kind::two_level_u8, Kind::two_level_u8, 256, false},
    {"q5_k", 5, 32, Kind::two_level_u8, Kind::two_level_u8, 256, false},
    {"q6_k", 6, 16, Kind::two_level_i8, Kind::none, 256, false},
    {"q8_0", 8, 32, Kind::f16, Kind::none, 0, false},
    {"iq4_nl", 4, 32, Kind::f16, Kind::none, 0, true},
    {"g64", 4, 64, Kind::bf16, Kind::none, 0, false},
    {"g128", 4, 128, Kind::bf16, Kind::none, 0, false},
};

size_t roundUp(size_t x, size_t unit) { return (x + unit - 1) / unit * unit; }
size_t valueBytes(Kind kind) { return kind == Kind::f16 || kind == Kind::bf16 ? 2 : kind == Kind::f32 ? 4 : 1; }

/** The packed layout of src/weights/packed-layout.ts, without bytes. */
Matrix layout(const Encoding& e, int N, int K) {
  Matrix m{};
  m.quantized = true;
  m.kind = e.scale;
  m.offset = e.offset;
  m.N = N;
  m.K = m.paddedK = K;
  m.blocks = N / 16;
  m.bits = e.bits;
  m.groupSize = e.group;
  m.groups = K / e.group;
  m.zero = e.offset == Kind::none && !e.codeBook ? 1 << (e.bits - 1) : 0;
  m.superSize = e.super;
  m.hasCodeBook = e.codeBook;
  for (int i = 0; i < 16 && e.codeBook; i++) m.codeBook[i] = static_cast<int8_t>(i * 16 - 120);
  const int supers = e.super ? K / e.super * 32 : 0;
  m.highAt = K * 8;
  m.superScaleAt = m.highAt + K * (e.bits == 8 ? 8 : 2 * (e.bits - 4));
  m.superOffsetAt = m.superScaleAt + (e.scale >= Kind::two_level_u8 ? supers : 0);
  m.scaleAt = m.superOffsetAt + (e.offset >= Kind::two_level_u8 ? supers : 0);
  m.zeroAt = m.scaleAt + m.groups * 16 * static_cast<int>(valueBytes(e.scale));
  m.offsetAt = m.zeroAt;
  m.blockBytes = roundUp(m.offsetAt + (e.offset == Kind::none ? 0 : m.groups * 16 * valueBytes(e.offset)), 64);
  return m;
}

/** Ordinary numbers for every kind of value, so that no sum is slow or infinite. */
void fill(uint8_t* p, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) p[i] = static_cast<uint8_t>(0x2b + i % 5);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Run {
  const Kernels* kernels;
  int threads, rounds, N, K;
  bool cpu;
  size_t megabytes;
};

double timeProducts(const Run& run, const Encoding& e, bool a16, int M, size_t& bytes) {
  const Matrix shape = layout(e, run.N, run.K);
  const size_t matrixBytes = shape.blockBytes * shape.blocks;
  const size_t copies = std::max<size_t>(1, (run.megabytes << 20) / matrixBytes);
  Region weights(matrixBytes * copies);
  fill(weights.data(), weights.size());
  std::vector<Matrix> matrices(copies, shape);
  for (size_t i = 0; i < copies; i++) matrices[i].bytes = weights.data() + i * matrixBytes;
  bytes = matrixBytes * copies;

  QuantizedShape q{run.K, run.K, std::min(128, std::max(32, e.group)), std::min(e.group, 128), 2 * run.K, 0, a16,
                   a16 ? 32767.0f : 127.0f};
  q.sumAt = q.scaleAt + static_cast<int>(roundUp(run.K / q.group * 4, 64));
  const size_t stride = roundUp(q.sumAt + run.K / q.run * 4, 64);
  Region rows(stride * M), out(static_cast<size_t>(M) * run.N * 4);
  std::vector<float> x(run.K);
  std::mt19937 random(1);
  for (int m = 0; m < M; m++) {
    for (float& v : x) v = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
    run.kernels->quantize(x.data(), rows.data() + m * stride, q);
  }
  std::vector<double> times;
  for (int round = 0; round < run.rounds + 1; round++) {
    std::atomic<int> next{0};
    constexpr int kStep = 8;
    const int perMatrix = (shape.blocks + kStep - 1) / kStep, items = perMatrix * static_cast<int>(copies);
    const auto work = [&] {
      std::vector<float> scratch(linearScratchBytes(shape) / 4);
      for (int item = next++; item < items; item = next++) {
        const int first = item % perMatrix * kStep;
        run.kernels->linear({&matrices[item / perMatrix], {rows.data(), stride}, &q, q.run, M,
                             {out.data(), static_cast<size_t>(run.N) * 4}, {nullptr, 0}, nullptr, first,
                             std::min(first + kStep, shape.blocks), scratch.data()});
      }
    };
    const double started = seconds(run.cpu);
    std::vector<std::thread> others;
    for (int t = 1; t < run.threads; t++) others.emplace_back(work);
    work();
    for (std::thread& thread : others) thread.join();
    if (round) times.push_back(seconds(run.cpu) - started);
  }
  return median(times);
}

/** Bytes per second of a plain loop over memory as large as the weights. */
double readCeiling(const Run& run) {
  const size_t bytes = run.megabytes << 20;
  Region memory(bytes);
  fill(memory.data(), bytes);
  std::vector<double> times;
  std::atomic<uint64_t> sink{0};
  for (int round = 0; round < run.rounds + 1; round++) {
    std::atomic<size_t> next{0};
    constexpr size_t kStep = 64 << 10;
    const auto work = [&] {
      uint64_t total[8] = {};
      for (size_t at = next.fetch_add(kStep); at < bytes; at = next.fetch_add(kStep)) {
        const auto* words = reinterpret_cast<const uint64_t*>(memory.data() + at);
        for (size_t i = 0; i < std::min(kStep, bytes - at) / 8; i += 8) {
          __builtin_prefetch(words + i + 256);
          for (int l = 0; l < 8; l++) total[l] += words[i + l];
        }
      }
      for (const uint64_t t : total) sink += t;
    };
    const double started = seconds(run.cpu);
    std::vector<std::thread> others;
    for (int t = 1; t < run.threads; t++) others.emplace_back(work);
    work();
    for (std::thread& thread : others) thread.join();
    if (round) times.push_back(seconds(run.cpu) - started);
  }
  return static_cast<double>(bytes) / *std::min_element(times.begin(), times.end());
}

void usage() {
  std::printf("kernels [kernel=NAME] [encoding=q4_0,…] [rows=1,2,…] [a16=0,1] [threads=1] [rounds=7] [N=4096] [K=2048]\n"
              "        [mb=256] [cpu=0]\n");
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> options{{"rows", "1,2,4,8,16,32,64,128"}, {"a16", "0,1"}, {"threads", "1"},
                                             {"rounds", "7"}, {"N", "4096"}, {"K", "2048"}, {"mb", "256"}, {"cpu", "0"},
                                             {"encoding", "q4_0,q4_1,q4_k,q5_k,q6_k,q8_0,iq4_nl,g64,g128"}};
  for (int i = 1; i < argc; i++) {
    const char* equals = std::strchr(argv[i], '=');
    if (!equals) usage();
    options[std::string(argv[i], static_cast<size_t>(equals - argv[i]))] = equals + 1;
  }
  const auto list = [&](const std::string& name) {
    std::vector<std::string> words;
    std::stringstream text(options[name]);
    for (std::string word; std::getline(text, word, ',');) words.push_back(word);
    return words;
  };
  const auto number = [&](const char* name) { return std::atoi(options[name].c_str()); };
  Run run{nullptr, number("threads"), number("rounds"), number("N"), number("K"), number("cpu") != 0,
          static_cast<size_t>(number("mb"))};
  for (const Candidate& candidate : kernelCandidates())
    if (candidate.reason.empty() && !run.kernels && (!options.count("kernel") || options["kernel"] == candidate.kernels->name))
      run.kernels = candidate.kernels;
  if (!run.kernels) usage();
  const double ceiling = readCeiling(run);
  std::printf("%s, %s, %d threads, [%d, %d], %d MB of weights, read ceiling %.1f GB/s\n", cpuName().c_str(),
              run.kernels->name, run.threads, run.N, run.K, number("mb"), ceiling / 1e9);
  std::printf("%-8s %-4s %5s %9s %9s %9s\n", "encoding", "in", "rows", "GB/s", "ceiling %", "Gop/s");
  for (const Encoding& e : kEncodings) {
    const auto wanted = list("encoding");
    if (std::find(wanted.begin(), wanted.end(), e.name) == wanted.end()) continue;
    for (const std::string& a16 : list("a16"))
      for (const std::string& rows : list("rows")) {
        const int M = std::atoi(rows.c_str());
        Run one = run;
        if (M >= 8) one.megabytes = std::max<size_t>(8, run.megabytes / 8 / static_cast<size_t>(M / 8));
        size_t bytes;
        const double time = timeProducts(one, e, a16 == "1", M, bytes);
        const Matrix shape = layout(e, run.N, run.K);
        const double products = 2.0 * M * run.N * run.K * static_cast<double>(bytes) /
                                static_cast<double>(shape.blockBytes * shape.blocks);
        std::printf("%-8s %-4s %5d %9.1f %9.0f %9.0f\n", e.name, a16 == "1" ? "a16" : "a8", M,
                    static_cast<double>(bytes) / time / 1e9, 100.0 * static_cast<double>(bytes) / time / ceiling,
                    products / time / 1e9);
        std::fflush(stdout);
      }
  }
}
