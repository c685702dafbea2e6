#include "tests/gpu/device_gemm.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "model/kernel/argument.h"
#include "tests/lib/lcg.h"

namespace wavetune::testing {
namespace {

float FromBfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

std::vector<uint16_t> RandomOperand(Lcg& random, int64_t size) {
  std::vector<uint16_t> values(static_cast<size_t>(size));
  for (uint16_t& value : values)
    value = ToBfloat16(static_cast<float>(random.Between(-128, 127)) / 128);
  return values;
}

void* Upload(const std::vector<uint16_t>& values) {
  void* address = nullptr;
  const size_t bytes = values.size() * sizeof(uint16_t);
  CheckCuda(cudaMalloc(&address, bytes), "allocating an operand");
  CheckCuda(cudaMemcpy(address, values.data(), bytes, cudaMemcpyHostToDevice),
            "copying an operand");
  return address;
}

std::vector<float> AsFloats(const std::vector<uint16_t>& values) {
  std::vector<float> floats;
  floats.reserve(values.size());
  for (const uint16_t value : values) floats.push_back(FromBfloat16(value));
  return floats;
}

}  // namespace

void CheckCuda(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
  std::abort();
}

DeviceGemm::DeviceGemm(int64_t m, int64_t n, int64_t k) : extents_({m, n, k}) {
  Lcg random(static_cast<uint64_t>(m * 1000003 + n * 1009 + k));
  const std::vector<uint16_t> a = RandomOperand(random, m * k);
  const std::vector<uint16_t> b = RandomOperand(random, n * k);
  const std::vector<uint16_t> c(static_cast<size_t>(m * n));
  buffers_ = {Upload(a), Upload(b), Upload(c)};
  const std::vector<float> a_values = AsFloats(a);
  const std::vector<float> b_values = AsFloats(b);
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      const float* const left = a_values.data() + row * k;
      const float* const right = b_values.data() + column * k;
      double sum = 0;
      for (int64_t p = 0; p < k; ++p)
        sum += static_cast<double>(left[p]) * right[p];
      reference_.push_back(sum);
    }
  }
}

DeviceGemm::~DeviceGemm() {
  for (void* const buffer : buffers_) cudaFree(buffer);
}

size_t DeviceGemm::Bytes() const {
  return reference_.size() * sizeof(uint16_t);
}

void DeviceGemm::Poison(cudaStream_t stream) const {
  CheckCuda(cudaMemsetAsync(buffers_[2], 0xff, Bytes(), stream), "poisoning");
}

std::string DeviceGemm::Result() const {
  std::string result(Bytes(), '\0');
  CheckCuda(
      cudaMemcpy(result.data(), buffers_[2], Bytes(), cudaMemcpyDeviceToHost),
      "copying a result");
  return result;
}

double DeviceGemm::RelativeError(const std::string& result) const {
  double difference = 0;
  double norm = 0;
  for (size_t i = 0; i < reference_.size(); ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, result.data() + i * sizeof(bits), sizeof(bits));
    const double off = FromBfloat16(bits) - reference_[i];
    difference += off * off;
    norm += reference_[i] * reference_[i];
  }
  return std::sqrt(difference / norm);
}

}  // namespace wavetune::testing
