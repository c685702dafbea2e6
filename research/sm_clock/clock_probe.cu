// What moves the latency of a matrix product at the power limit: the clock that
// the multiprocessors count, or the one that NVML says. Stand-alone:
//
//   nvcc -O2 -std=c++17 -arch=native clock_probe.cu -o clock_probe -lcublas
//   -ldl
//   ./clock_probe > clock.csv && python3 analyse.py clock.csv
//
// Takes 21 s: seven products in bursts of about 3 ms, in random order (phase
// 0), the large ones in random order (1), 60 bursts of each in turn (2).
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define CHECK(call)                                                     \
  do {                                                                  \
    if (const auto code = (call); code != 0) {                          \
      std::fprintf(stderr, "line %d: error %d\n", __LINE__, (int)code); \
      std::exit(1);                                                     \
    }                                                                   \
  } while (0)

struct Look {
  unsigned long long nanoseconds, cycles;
  unsigned multiprocessor;
};

// Both counters at a tick of the coarser one.
__global__ void LookAtClock(Look* looks) {
  unsigned multiprocessor;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  unsigned long long before, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(before));
  now = before;
  for (int i = 0; i < 2000 && now == before; ++i) {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  }
  const auto cycles = static_cast<unsigned long long>(clock64());
  looks[blockIdx.x] = {now, cycles, multiprocessor};
}

// Anything but zeros, which run faster.
__global__ void Fill(__nv_bfloat16* values, size_t count, unsigned seed) {
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    unsigned x = static_cast<unsigned>(i) * 2654435761u + seed;
    x = (x ^ (x >> 15)) * 2246822519u;
    x ^= x >> 13;
    values[i] = __float2bfloat16(static_cast<float>(x & 0xffff) / 32768 - 1);
  }
}

// MHz: the median over the multiprocessors that took both looks.
double ClockBetween(const std::vector<Look>& first,
                    const std::vector<Look>& last) {
  std::vector<double> mhz;
  for (const Look& a : first) {
    for (const Look& b : last) {
      if (a.multiprocessor != b.multiprocessor) continue;
      mhz.push_back(1e3 * static_cast<double>(b.cycles - a.cycles) /
                    static_cast<double>(b.nanoseconds - a.nanoseconds));
      break;
    }
  }
  std::sort(mhz.begin(), mhz.end());
  return mhz.empty() ? 0 : mhz[mhz.size() / 2];
}

class Nvml {
 public:
  Nvml() {
    library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    CHECK(Get<int (*)()>("nvmlInit_v2")());
    CHECK(Get<int (*)(unsigned, void**)>("nvmlDeviceGetHandleByIndex_v2")(
        0, &device_));
    clock_ = Get<int (*)(void*, int, unsigned*)>("nvmlDeviceGetClockInfo");
  }

  unsigned SmClockMhz() const {
    unsigned mhz = 0;
    CHECK(clock_(device_, /*NVML_CLOCK_SM=*/1, &mhz));
    return mhz;
  }

 private:
  template <typename Function>
  Function Get(const char* name) {
    return reinterpret_cast<Function>(dlsym(library_, name));
  }

  void* library_ = nullptr;
  void* device_ = nullptr;
  int (*clock_)(void*, int, unsigned*) = nullptr;
};

struct Product {
  int m, n, k;
};

class Probe {
 public:
  Probe() {
    CHECK(cudaStreamCreate(&stream_));
    CHECK(cublasCreate(&cublas_));
    CHECK(cublasSetStream(cublas_, stream_));
    for (__nv_bfloat16** matrix : {&a_, &b_, &c_}) {
      CHECK(cudaMalloc(matrix, kMost * sizeof(__nv_bfloat16)));
      Fill<<<1024, 256, 0, stream_>>>(*matrix, kMost, 7);
    }
    CHECK(cudaMalloc(&looks_, 2 * kLooks * sizeof(Look)));
    CHECK(cudaEventCreate(&begin_));
    CHECK(cudaEventCreate(&end_));
  }

  // One burst; microseconds a launch, and the clock counted meanwhile.
  void Run(const Product& product, double* us, double* mhz) {
    // 700 TFLOP/s or 4.5 TB/s, whichever takes longer.
    const double estimate =
        std::max(2e-9 * product.m * product.n * product.k / 0.7,
                 2.0 * product.k * (product.n + product.m) / 4.5e6);
    const int launches = std::max(2, static_cast<int>(3000 / estimate));
    Multiply(product);
    LookAtClock<<<kLooks, 1, 0, stream_>>>(looks_);
    CHECK(cudaEventRecord(begin_, stream_));
    for (int i = 0; i < launches; ++i) Multiply(product);
    CHECK(cudaEventRecord(end_, stream_));
    LookAtClock<<<kLooks, 1, 0, stream_>>>(looks_ + kLooks);
    std::vector<Look> looks(2 * kLooks);
    CHECK(cudaMemcpyAsync(looks.data(), looks_, looks.size() * sizeof(Look),
                          cudaMemcpyDeviceToHost, stream_));
    CHECK(cudaStreamSynchronize(stream_));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, begin_, end_));
    *us = 1e3 * ms / launches;
    *mhz = ClockBetween({looks.begin(), looks.begin() + kLooks},
                        {looks.begin() + kLooks, looks.end()});
  }

 private:
  static constexpr size_t kMost = size_t{16384} * 16384;
  static constexpr int kLooks = 264;  // Two for each multiprocessor.

  void Multiply(const Product& p) {
    const float one = 1, zero = 0;
    CHECK(cublasGemmEx(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, p.n, p.m, p.k, &one,
                       a_, CUDA_R_16BF, p.k, b_, CUDA_R_16BF, p.k, &zero, c_,
                       CUDA_R_16BF, p.n, CUBLAS_COMPUTE_32F,
                       CUBLAS_GEMM_DEFAULT));
  }

  cudaStream_t stream_ = nullptr;
  cublasHandle_t cublas_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  __nv_bfloat16 *a_ = nullptr, *b_ = nullptr, *c_ = nullptr;
  Look* looks_ = nullptr;
};

int main() {
  const std::vector<Product> products = {
      {4096, 8192, 8192}, {2048, 16384, 3072}, {4096, 5120, 13824},
      {1024, 8192, 7168}, {512, 2560, 8192},   {16, 8192, 8192},
      {2048, 7168, 5120}};
  const std::vector<size_t> large = {0, 1, 2, 6};
  const Nvml nvml;
  Probe probe;
  std::mt19937 random(1);
  std::printf("phase,m,n,k,us,counted_mhz,nvml_mhz\n");
  for (int phase = 0; phase < 3; ++phase) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0;
         std::chrono::steady_clock::now() - begin < std::chrono::seconds(7);
         ++i) {
      const size_t index = phase == 0   ? random() % products.size()
                           : phase == 1 ? large[random() % large.size()]
                                        : i / 60 % products.size();
      const Product& p = products[index];
      double us = 0, mhz = 0;
      probe.Run(p, &us, &mhz);
      std::printf("%d,%d,%d,%d,%.3f,%.2f,%u\n", phase, p.m, p.n, p.k, us, mhz,
                  nvml.SmClockMhz());
    }
  }
}
