// Decides, launches and checks a GEMM, then does the same inside a CUDA graph.
//
//   wavetune kernels export gemm_bf16 --out gemm_bf16.export
//   launch_gemm gemm_bf16.export 100 4096 4096
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "wavetune/client.h"
#include "wavetune/exported_kernel.h"

namespace {

void Must(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "launch_gemm: %s\n", status.ToString().c_str());
  std::exit(1);
}

template <typename T>
T Must(absl::StatusOr<T> value) {
  Must(value.status());
  return *std::move(value);
}

void Must(cudaError_t code) {
  if (code != cudaSuccess) Must(absl::InternalError(cudaGetErrorString(code)));
}

__global__ void Fill(__nv_bfloat16* values, size_t size, unsigned seed) {
  const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  const unsigned random = (unsigned(i) * 2654435761u + seed) ^ (seed >> 3);
  if (i < size) values[i] = float(random >> 8) * 0x1p-23f - 1;
}

// Adds (c - a * b^T)^2 to sums[0] and (a * b^T)^2 to sums[1].
__global__ void Compare(const __nv_bfloat16* a, const __nv_bfloat16* b,
                        const __nv_bfloat16* c, int m, int n, int k,
                        double* sums) {
  const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i >= size_t(m) * n) return;
  float sum = 0;
  for (int p = 0; p < k; ++p)
    sum += float(a[i / n * k + p]) * float(b[i % n * k + p]);
  const double off = double(float(c[i])) - sum;
  atomicAdd(&sums[0], off * off);
  atomicAdd(&sums[1], double(sum) * sum);
}

unsigned Blocks(size_t threads) { return unsigned((threads + 255) / 256); }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) Must(absl::InvalidArgumentError("give EXPORT M N K"));
  const int m = std::atoi(argv[2]), n = std::atoi(argv[3]);
  const int k = std::atoi(argv[4]);
  __nv_bfloat16 *a, *b, *c;
  double* sums;
  cudaStream_t stream;
  Must(cudaStreamCreate(&stream));
  Must(cudaMalloc(&a, size_t(m) * k * sizeof(*a)));
  Must(cudaMalloc(&b, size_t(n) * k * sizeof(*b)));
  Must(cudaMalloc(&c, size_t(m) * n * sizeof(*c)));
  Must(cudaMallocManaged(&sums, 2 * sizeof(*sums)));
  Fill<<<Blocks(size_t(m) * k), 256, 0, stream>>>(a, size_t(m) * k, 1);
  Fill<<<Blocks(size_t(n) * k), 256, 0, stream>>>(b, size_t(n) * k, 2);

  const auto client = Must(wavetune::Client::Connect({}));
  const wavetune::Tuner tuner = Must(client->GetTuner("gemm_bf16"));
  const auto gemm = Must(wavetune::ExportedKernel::Load(argv[1]));

  const auto launch = [&] {
    const wavetune::Decision decision = tuner.Resolve({m, n, k});
    Must(gemm->Launch(stream, decision, {m, n, k}, {a, b, c}));
  };
  const auto check = [&](const char* what) {
    sums[0] = sums[1] = 0;
    Compare<<<Blocks(size_t(m) * n), 256, 0, stream>>>(a, b, c, m, n, k, sums);
    Must(cudaStreamSynchronize(stream));
    const double error = std::sqrt(sums[0] / sums[1]);
    std::printf("%s: relative error %.2e\n", what, error);
    if (!(error < 1e-2)) Must(absl::InternalError("wrong result"));
    Must(cudaMemset(c, 0xff, size_t(m) * n * sizeof(*c)));  // NaN.
  };
  launch();
  check("launched");

  cudaGraph_t graph;
  cudaGraphExec_t executable;
  Must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  launch();  // Decided here, once; a replay runs what was decided.
  Must(cudaStreamEndCapture(stream, &graph));
  Must(cudaGraphInstantiate(&executable, graph, 0));
  Must(cudaGraphLaunch(executable, stream));
  check("replayed");
}
