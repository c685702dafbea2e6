// DeviceGemm: operands of C[m,n] = A[m,k] * B[n,k]^T on the current GPU, in
// bfloat16, and what C must be.
//
// Thread safety: one thread.
#ifndef WAVETUNE_TESTS_GPU_DEVICE_GEMM_H_
#define WAVETUNE_TESTS_GPU_DEVICE_GEMM_H_

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <vector>

#include "wavetune/problem.h"

namespace wavetune::testing {

class DeviceGemm {
 public:
  // Random operands, the same for the same extents. A failure of CUDA ends the
  // program: nothing can be tested then.
  DeviceGemm(int64_t m, int64_t n, int64_t k);
  ~DeviceGemm();
  DeviceGemm(const DeviceGemm&) = delete;
  DeviceGemm& operator=(const DeviceGemm&) = delete;

  ProblemView problem() const { return ProblemView(extents_); }
  // Device addresses of A, B and C.
  const std::vector<void*>& buffers() const { return buffers_; }

  // Enqueues the poisoning of C with NaN, also into a capture.
  void Poison(cudaStream_t stream) const;

  // Returns the bytes of C, once all that runs is done.
  std::string Result() const;

  // Returns ||C - reference||_2 / ||reference||_2 of such bytes; NaN where an
  // element is. The reference is computed on the host, in double.
  double RelativeError(const std::string& result) const;

 private:
  size_t Bytes() const;

  std::vector<int64_t> extents_;
  std::vector<void*> buffers_;
  std::vector<double> reference_;
};

// Ends the program where `code` is an error.
void CheckCuda(cudaError_t code, const char* what);

}  // namespace wavetune::testing

#endif  // WAVETUNE_TESTS_GPU_DEVICE_GEMM_H_
