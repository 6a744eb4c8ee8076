#include "pack.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace halfbyte {

namespace {

// Eight codes at a time, one in each byte of a word. Bytes are little-endian on every CPU with kernels here.

uint64_t eight(const uint8_t* codes) {
  uint64_t word;
  std::memcpy(&word, codes, 8);
  return word;
}

uint32_t four(const uint8_t* codes) {
  uint32_t word;
  std::memcpy(&word, codes, 4);
  return word;
}

/** Four low nibbles of the first codes, and above them those of the next four. */
uint32_t nibbleWord(uint64_t codes) {
  const uint64_t low = codes & 0x0f0f0f0f0f0f0f0f;
  return static_cast<uint32_t>(low) | static_cast<uint32_t>(low >> 32) << 4;
}

/** The planes of output c: src/weights/packed-layout.ts. */
void packCodes(const Matrix& m, const uint8_t* codes, uint8_t* block, int c) {
  auto* low = reinterpret_cast<uint32_t*>(block) + c;
  for (int k = 0; k < m.paddedK; k += 8, low += 16) *low = nibbleWord(eight(codes + k));
  auto* high = reinterpret_cast<uint32_t*>(block + m.highAt) + c;
  if (m.bits == 8) {
    for (int k = 0; k < m.paddedK; k += 8, high += 16) *high = nibbleWord(eight(codes + k) >> 4);
  } else if (m.bits > 4) {
    const int width = m.bits - 4, quads = 8 / width;
    const uint32_t mask = m.bits == 5 ? 0x01010101 : 0x03030303;
    for (int k = 0; k < m.paddedK; k += 4 * quads, high += 16) {
      uint32_t word = 0;
      for (int q = 0; q < quads; q++) word |= (four(codes + k + 4 * q) >> 4 & mask) << (width * q);
      *high = word;
    }
  }
}

template <class T>
void packFloats(int K, int rows, const uint8_t* source, uint8_t* block) {
  auto* out = reinterpret_cast<T*>(block);
  const size_t rowBytes = static_cast<size_t>(K) * sizeof(T);
  for (int k = 0; k < K; k++)
    for (int c = 0; c < rows; c++) std::memcpy(out + k * 16 + c, source + c * rowBytes + k * sizeof(T), sizeof(T));
}

void expect(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

}  // namespace

void checkPackRequest(const PackRequest& request) {
  const Matrix& m = *request.matrix;
  const GgmlType& type = *request.type;
  const bool floats = type.decode == nullptr;
  expect(m.quantized != floats && m.kind == type.scale, "rows are of another kind than the matrix");
  if (!floats)
    expect(m.bits == type.bits && m.groupSize == std::min(type.groupSize, m.K) && m.offset == type.offset &&
               m.hasCodeBook == type.codeBook && !m.zeroPerGroup && (type.size != 256 || m.superSize == 256),
           "rows are of another kind than the matrix");
  expect(m.K % type.size == 0 && request.firstRow >= 0 && request.firstRow % 16 == 0 && request.rows >= 1 &&
             request.rows <= m.N - request.firstRow &&
             (request.rows % 16 == 0 || request.firstRow + request.rows == m.N),
         "rows do not fit the matrix");
  expect(request.bytes.size() == static_cast<size_t>(m.K / type.size) * type.bytes * request.rows,
         "bytes do not fit the rows");
}

void PackJob::prepare(const PackRequest& request, int threads, std::function<void(bool)> done) {
  request_ = request;
  done_ = std::move(done);
  codes_.resize(threads);
  for (std::vector<uint8_t>& codes : codes_) codes.assign(request.matrix->paddedK, 0);
}

void PackJob::run(uint32_t, uint32_t item, int thread) {
  const Matrix& m = *request_.matrix;
  const GgmlType& type = *request_.type;
  const int first = static_cast<int>(item) * 16, rows = std::min(16, request_.rows - first);
  const size_t rowBytes = static_cast<size_t>(m.K / type.size) * type.bytes;
  const uint8_t* source = request_.bytes.data() + first * rowBytes;
  uint8_t* block = request_.target + static_cast<size_t>((request_.firstRow + first) / 16) * m.blockBytes;
  if (!type.decode) {
    if (type.bytes == 4) return packFloats<uint32_t>(m.K, rows, source, block);
    return packFloats<uint16_t>(m.K, rows, source, block);
  }
  uint8_t* codes = codes_[thread].data();
  for (int c = 0; c < rows; c++, source += rowBytes) {
    const Column column{m, block, c};
    for (int i = 0; i < m.K / type.size; i++) type.decode(source + i * type.bytes, i, codes + i * type.size, column);
    packCodes(m, codes, block, c);
  }
}

}  // namespace halfbyte
