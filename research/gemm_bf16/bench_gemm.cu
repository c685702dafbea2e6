// Checks and times gemm_bf16 candidates against a reference and cuBLASLt.
//
//   bench_gemm KERNEL_DIR CONFIGS SHAPES OUT_DIR [seconds for the sweep, 0:
//   check only]
//
// Compiles every configuration with NVRTC (16 processes), checks each at
// awkward problems, times all plausible ones at every shape, then times the
// leaders again interleaved with cuBLASLt. B is rotated over more than the
// second-level cache.
#include <cublasLt.h>
#include <cuda.h>
#include <nvrtc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#define CU(call)                                                             \
  do {                                                                       \
    CUresult r_ = (call);                                                    \
    if (r_ != CUDA_SUCCESS) {                                                \
      const char* s_;                                                        \
      cuGetErrorString(r_, &s_);                                             \
      std::fprintf(stderr, "%s:%d %s: %s\n", __FILE__, __LINE__, #call, s_); \
      std::exit(1);                                                          \
    }                                                                        \
  } while (0)
#define LT(call)                                                             \
  do {                                                                       \
    cublasStatus_t r_ = (call);                                              \
    if (r_ != CUBLAS_STATUS_SUCCESS) {                                       \
      std::fprintf(stderr, "%s:%d %s: %d\n", __FILE__, __LINE__, #call, r_); \
      std::exit(1);                                                          \
    }                                                                        \
  } while (0)

using Clock = std::chrono::steady_clock;
double Seconds(Clock::time_point since) {
  return std::chrono::duration<double>(Clock::now() - since).count();
}

struct Config {
  std::map<std::string, int> v;
  std::string name;
  CUmodule module = nullptr;
  CUfunction fn = nullptr;
  int regs = 0, local = 0,
      resident = 0;  // resident: blocks on the whole device
  bool ok = false;
  std::string why;
  int operator[](const char* k) const { return v.at(k); }
  int cluster() const {
    return v.at("CLUSTER_M") * v.at("CLUSTER_N") * v.at("SPLIT_K");
  }
  int threads() const { return 128 * (v.at("CONSUMERS") + v.at("HOPPER")); }
  int shared() const {
    return 2048 +
           2 * v.at("STAGES") * v.at("BLOCK_K") *
               (v.at("BLOCK_M") + v.at("BLOCK_N")) +
           8192 * v.at("CONSUMERS") * v.at("HOPPER");
  }
};
struct Shape {
  std::string model;
  int m, n, k;
};

std::string ReadFile(const std::string& path) {
  std::ifstream f(path, std::ios::binary);
  std::stringstream s;
  s << f.rdbuf();
  return s.str();
}

// Result of a compilation, in memory shared with the compiling processes.
struct Compiled {
  float ms;
  int status;  // 0 fine
};

bool Compile(const std::string& dir, const std::string& file,
             const std::map<std::string, int>& defines, const std::string& arch,
             const std::string& out, float* ms) {
  const auto start = Clock::now();
  std::string source = ReadFile(dir + "/" + file);
  nvrtcProgram prog;
  nvrtcCreateProgram(&prog, source.c_str(), file.c_str(), 0, nullptr, nullptr);
  std::vector<std::string> opts = {"--gpu-architecture=" + arch, "-std=c++17",
                                   "-I" + dir, "-default-device"};
  for (auto& d : defines)
    opts.push_back("-D" + d.first + "=" + std::to_string(d.second));
  std::vector<const char*> p;
  for (auto& o : opts) p.push_back(o.c_str());
  nvrtcResult r = nvrtcCompileProgram(prog, p.size(), p.data());
  size_t n;
  nvrtcGetProgramLogSize(prog, &n);
  std::string log(n, 0);
  nvrtcGetProgramLog(prog, &log[0]);
  if (r == NVRTC_SUCCESS) {
    nvrtcGetCUBINSize(prog, &n);
    std::string bin(n, 0);
    nvrtcGetCUBIN(prog, &bin[0]);
    std::ofstream(out, std::ios::binary) << bin;
  }
  std::ofstream(out + ".log") << log;
  *ms = Seconds(start) * 1e3;
  return r == NVRTC_SUCCESS;
}

// Device kernels of the harness itself.
const char* kHelpers = R"(
typedef unsigned short u16; typedef unsigned int u32; typedef unsigned long long u64;
extern "C" __global__ void fill(u16* p, u64 n, u32 seed) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x) {
    u32 h = (u32)i * 2654435761u ^ (u32)(i >> 32) * 40503u ^ seed;
    h ^= h >> 16; h *= 0x7feb352du; h ^= h >> 15; h *= 0x846ca68bu; h ^= h >> 16;
    float f = ((h & 0xffff) + (h >> 16)) * (1.0f / 65536) - 1.0f;
    p[i] = (u16)(__float_as_uint(f) >> 16);
  }
}
extern "C" __global__ void reference32(const u16* a, const u16* b, float* c, int m, int n, int k) {
  u64 e = blockIdx.x * (u64)blockDim.x + threadIdx.x;
  if (e >= (u64)m * n) return;
  const u16* x = a + e / n * k; const u16* y = b + e % n * k;
  float s = 0;
  for (int p = 0; p < k; ++p) s += __uint_as_float(x[p] << 16) * __uint_as_float(y[p] << 16);
  c[e] = s;
}
// out[0] += |c - ref|^2, out[1] += |ref|^2, out[2]: elements far off
extern "C" __global__ void compare(const u16* c, const float* ref, u64 n, int k, double* out) {
  double d2 = 0, r2 = 0, bad = 0;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x) {
    float x = __uint_as_float(c[i] << 16), r = ref[i];
    double d = (double)x - r;
    d2 += d * d; r2 += (double)r * r;
    if (!(fabs(d) <= 0.00391 * fabs(r) + 1e-5 * sqrt((float)k) + 1e-6)) bad += 1;
  }
  atomicAdd(out, d2); atomicAdd(out + 1, r2); atomicAdd(out + 2, bad);
}
extern "C" __global__ void widen(const u16* c, float* out, u64 n) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
    out[i] = __uint_as_float(c[i] << 16);
}
extern "C" __global__ void count_changed(const u16* c, u64 n, double* out) {
  for (u64 i = threadIdx.x; i < n; i += blockDim.x) if (c[i] != 0xffff) atomicAdd(out, 1.0);
}
// Holds the stream until the host says go (or 2 s are over).
extern "C" __global__ void hold(volatile int* go) {
  long long t0; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t0));
  while (!*go) { long long t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); if (t - t0 > 2000000000ll) break; }
}
)";

CUstream stream;
CUevent ev0, ev1;
CUfunction f_fill, f_ref, f_reference, f_cmp, f_count, f_hold, f_widen;
volatile int* go_host;
CUdeviceptr go_dev, d_out;
int sms;

void Launch(CUfunction f, unsigned grid, unsigned block, void** args) {
  CU(cuLaunchKernel(f, grid, 1, 1, block, 1, 1, 0, stream, args, nullptr));
}
void Fill(CUdeviceptr p, size_t n, unsigned seed) {
  unsigned long long nn = n;
  void* a[] = {&p, &nn, &seed};
  Launch(f_fill, 1056, 512, a);
}

CUtensorMap EncodeMap(CUdeviceptr p, int inner, int outer, int box_outer) {
  CUtensorMap map;
  cuuint64_t dims[2] = {(cuuint64_t)inner, (cuuint64_t)outer};
  cuuint64_t strides[1] = {(cuuint64_t)inner * 2};
  cuuint32_t box[2] = {64, (cuuint32_t)box_outer}, es[2] = {1, 1};
  CU(cuTensorMapEncodeTiled(
      &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, (void*)p, dims, strides, box,
      es, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

bool Legal(const Config& c, int m, int n, int k) {
  return c.ok && n % c["VECTOR"] == 0 && k % c["VECTOR"] == 0;
}
int CeilDiv(long a, long b) { return (a + b - 1) / b; }

// A candidate bound to buffers, ready to launch with any of the copies of B.
struct Bound {
  const Config* c;
  CUtensorMap ma{}, mc{};
  std::vector<CUtensorMap> mb;
  std::vector<CUdeviceptr> b;
  CUdeviceptr a, out;
  int m, n, k;
  unsigned grid;
  Bound(const Config& cfg, CUdeviceptr a_, const std::vector<CUdeviceptr>& b_,
        CUdeviceptr out_, int m_, int n_, int k_)
      : c(&cfg), b(b_), a(a_), out(out_), m(m_), n(n_), k(k_) {
    const Config& x = *c;
    mb.resize(b.size());
    const int cl = x.cluster();
    long work = (long)CeilDiv(m, x["BLOCK_M"] * x["CLUSTER_M"]) *
                CeilDiv(n, x["BLOCK_N"] * x["CLUSTER_N"]) * cl;
    if (x["HOPPER"]) {
      ma = EncodeMap(a, k, m, x["BLOCK_M"] / x["CLUSTER_N"]);
      for (size_t i = 0; i < b.size(); ++i)
        mb[i] = EncodeMap(b[i], k, n, x["BLOCK_N"] / x["CLUSTER_M"]);
      mc = EncodeMap(out, n, m, 16);
      if (x["SPLIT_K"] == 1)
        work = std::min<long>(work, x.resident);  // persistent
    }
    grid = work;
  }
  void Run(int copy) {
    void* args[] = {&ma, &mb[copy], &mc, &a, &b[copy], &out, &m, &n, &k};
    CUlaunchAttribute attr[1];
    CUlaunchConfig lc{};
    lc.gridDimX = grid;
    lc.gridDimY = lc.gridDimZ = lc.blockDimY = lc.blockDimZ = 1;
    lc.blockDimX = c->threads();
    lc.sharedMemBytes = c->shared();
    lc.hStream = stream;
    if (c->cluster() > 1) {
      attr[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
      attr[0].value.clusterDim = {(unsigned)c->cluster(), 1, 1};
      lc.attrs = attr;
      lc.numAttrs = 1;
    }
    CU(cuLaunchKernelEx(&lc, c->fn, args, nullptr));
  }
};

cublasLtHandle_t lt;
CUdeviceptr lt_workspace;
const size_t kWorkspace = 32u << 20;
struct Cublas {
  cublasLtMatmulDesc_t op;
  cublasLtMatrixLayout_t la, lb, lc;
  cublasLtMatmulAlgo_t algo;
  CUdeviceptr a, out;
  std::vector<CUdeviceptr> b;
  Cublas(CUdeviceptr a_, const std::vector<CUdeviceptr>& b_, CUdeviceptr out_,
         int m, int n, int k)
      : a(a_), out(out_), b(b_) {
    LT(cublasLtMatmulDescCreate(&op, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    cublasOperation_t t = CUBLAS_OP_T, nn = CUBLAS_OP_N;
    LT(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_TRANSA, &t,
                                      sizeof t));
    LT(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_TRANSB, &nn,
                                      sizeof nn));
    LT(cublasLtMatrixLayoutCreate(&la, CUDA_R_16BF, k, n, k));
    LT(cublasLtMatrixLayoutCreate(&lb, CUDA_R_16BF, k, m, k));
    LT(cublasLtMatrixLayoutCreate(&lc, CUDA_R_16BF, n, m, n));
    cublasLtMatmulPreference_t pref;
    LT(cublasLtMatmulPreferenceCreate(&pref));
    LT(cublasLtMatmulPreferenceSetAttribute(
        pref, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace,
        sizeof kWorkspace));
    cublasLtMatmulHeuristicResult_t res;
    int found = 0;
    LT(cublasLtMatmulAlgoGetHeuristic(lt, op, la, lb, lc, lc, pref, 1, &res,
                                      &found));
    if (!found) std::exit(2);
    algo = res.algo;
    cublasLtMatmulPreferenceDestroy(pref);
  }
  void Run(int copy) {
    float one = 1, zero = 0;
    LT(cublasLtMatmul(lt, op, &one, (void*)b[copy], la, (void*)a, lb, &zero,
                      (void*)out, lc, (void*)out, lc, &algo,
                      (void*)lt_workspace, kWorkspace, (cudaStream_t)stream));
  }
};

// Waits for the stream; a candidate that hangs ends the process, and is skipped
// next time.
void SyncOrQuit(const std::string& name) {
  const auto start = Clock::now();
  while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) {
    if (Seconds(start) > 20) {
      std::printf("HANGS %s\n", name.c_str());
      std::fflush(stdout);
      std::ofstream("/tmp/hangs", std::ios::app) << name << "\n";
      _exit(9);
    }
  }
}

int rotation = 0;
// Microseconds per launch of a burst that is enqueued whole before it starts.
template <class Runner>
double Burst(Runner& r, int launches) {
  *go_host = 0;
  void* a[] = {&go_dev};
  Launch(f_hold, 1, 1, a);
  CU(cuEventRecord(ev0, stream));
  for (int i = 0; i < launches; ++i) r.Run(rotation++ % r.b.size());
  CU(cuEventRecord(ev1, stream));
  __sync_synchronize();
  *go_host = 1;
  CU(cuStreamSynchronize(stream));
  float ms;
  CU(cuEventElapsedTime(&ms, ev0, ev1));
  return ms * 1e3 / launches;
}
double Median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}
double GeoMean(const std::vector<double>& v) {
  double s = 0;
  for (double x : v) s += std::log(x);
  return v.empty() ? 0 : std::exp(s / v.size());
}
double Percentile10(std::vector<double> v) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  double at = 0.1 * (v.size() - 1);
  int i = at;
  return i + 1 < (int)v.size() ? v[i] + (at - i) * (v[i + 1] - v[i]) : v[i];
}

int main(int argc, char** argv) {
  const std::string dir = argv[1], out_dir = argv[4];
  std::vector<Config> configs;
  const std::string hangs = ReadFile("/tmp/hangs");
  {
    std::ifstream f(argv[2]);
    std::string line;
    while (std::getline(f, line)) {
      if (line.empty() || line[0] == '#') continue;
      Config c;
      std::stringstream s(line);
      std::string kv;
      while (s >> kv) {
        auto eq = kv.find('=');
        c.v[kv.substr(0, eq)] = std::atoi(kv.c_str() + eq + 1);
      }
      char b[128];
      std::snprintf(b, sizeof b, "%s%dx%dx%d_s%d_w%d_k%d_c%dx%d_r%d%s",
                    c["HOPPER"]        ? "H"
                    : c["VECTOR"] == 8 ? "P"
                                       : "V",
                    c["BLOCK_M"], c["BLOCK_N"], c["BLOCK_K"], c["STAGES"],
                    c["CONSUMERS"], c["SPLIT_K"], c["CLUSTER_M"],
                    c["CLUSTER_N"], c["RESIDENT"], c["PINGPONG"] ? "_p" : "");
      c.name = b;

      if (hangs.find(c.name + "\n") == std::string::npos) configs.push_back(c);
    }
  }
  std::vector<Shape> shapes;
  {
    std::ifstream f(argv[3]);
    std::string line;
    std::getline(f, line);
    while (std::getline(f, line)) {
      for (char& ch : line)
        if (ch == ',') ch = ' ';
      std::stringstream s(line);
      Shape sh;
      s >> sh.model >> sh.m >> sh.n >> sh.k;
      shapes.push_back(sh);
    }
  }
  const double sweep_seconds = argc > 5 ? std::atof(argv[5]) : 120;

  // ---- compile, in processes that never touch the device
  const auto t_start = Clock::now();
  mkdir("/tmp/cubins", 0755);
  auto* done = (Compiled*)mmap(nullptr, sizeof(Compiled) * configs.size(),
                               PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const int workers = std::max(1l, sysconf(_SC_NPROCESSORS_ONLN));
  std::vector<pid_t> kids;
  for (int w = 0; w < workers; ++w) {
    pid_t pid = fork();
    if (pid == 0) {
      for (size_t i = w; i < configs.size(); i += workers) {
        const std::string o = "/tmp/cubins/" + std::to_string(i);
        done[i].status = 3;
        done[i].status =
            Compile(dir, "gemm_bf16.cu", configs[i].v,
                    configs[i]["HOPPER"] ? "sm_90a" : "sm_90", o, &done[i].ms)
                ? 0
                : 1;
      }
      _exit(0);
    }
    kids.push_back(pid);
  }
  for (pid_t p : kids) waitpid(p, nullptr, 0);
  std::vector<double> ms;
  for (size_t i = 0; i < configs.size(); ++i) {
    ms.push_back(done[i].ms);
    configs[i].ok = done[i].status == 0;
    if (!configs[i].ok) {
      configs[i].why = "compile";
      std::string log = ReadFile("/tmp/cubins/" + std::to_string(i) + ".log");
      std::printf("COMPILE FAIL %s: %.300s\n", configs[i].name.c_str(),
                  log.c_str());
    }
  }
  std::printf(
      "compiled %zu in %.1f s on %d cores; ms per candidate: median %.0f max "
      "%.0f\n",
      configs.size(), Seconds(t_start), workers, Median(ms),
      *std::max_element(ms.begin(), ms.end()));

  // ---- device
  CU(cuInit(0));
  CUdevice dev;
  CUcontext ctx;
  CU(cuDeviceGet(&dev, 0));
  CU(cuDevicePrimaryCtxRetain(&ctx, dev));
  CU(cuCtxSetCurrent(ctx));
  CU(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev));
  int l2, driver;
  CU(cuDeviceGetAttribute(&l2, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, dev));
  CU(cuDriverGetVersion(&driver));
  char dev_name[100];
  cuDeviceGetName(dev_name, 100, dev);
  std::printf(
      "%s, %d multiprocessors, L2 %d MiB, driver API %d, cuBLASLt %zu\n",
      dev_name, sms, l2 >> 20, driver, cublasLtGetVersion());
  CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CU(cuEventCreate(&ev0, 0));
  CU(cuEventCreate(&ev1, 0));
  LT(cublasLtCreate(&lt));
  CU(cuMemAlloc(&lt_workspace, kWorkspace));
  CU(cuMemAlloc(&d_out, 64));
  void* host;
  CU(cuMemHostAlloc(&host, 64, CU_MEMHOSTALLOC_DEVICEMAP));
  go_host = (volatile int*)host;
  CU(cuMemHostGetDevicePointer(&go_dev, host, 0));
  {
    std::ofstream("/tmp/cubins/helpers.cu") << kHelpers;
    float t;
    if (!Compile("/tmp/cubins", "helpers.cu", {}, "sm_90",
                 "/tmp/cubins/helpers", &t)) {
      std::printf("%s\n", ReadFile("/tmp/cubins/helpers.log").c_str());
      return 1;
    }
    CUmodule h;
    std::string bin = ReadFile("/tmp/cubins/helpers");
    CU(cuModuleLoadData(&h, bin.data()));
    CU(cuModuleGetFunction(&f_fill, h, "fill"));
    CU(cuModuleGetFunction(&f_ref, h, "reference32"));
    CU(cuModuleGetFunction(&f_cmp, h, "compare"));
    CU(cuModuleGetFunction(&f_count, h, "count_changed"));
    CU(cuModuleGetFunction(&f_hold, h, "hold"));
    CU(cuModuleGetFunction(&f_widen, h, "widen"));
    if (!Compile(dir, "reference.cu", {}, "sm_90", "/tmp/cubins/reference", &t))
      return 1;
    bin = ReadFile("/tmp/cubins/reference");
    CU(cuModuleLoadData(&h, bin.data()));
    CU(cuModuleGetFunction(&f_reference, h, "gemm_bf16_reference"));
  }
  std::ofstream facts(out_dir + "/candidates.csv");
  facts << "config,compile_ms,registers,local_bytes,shared_bytes,cluster,"
           "resident_blocks\n";
  int spilled = 0;
  for (size_t i = 0; i < configs.size(); ++i) {
    Config& c = configs[i];
    if (!c.ok) continue;
    std::string bin = ReadFile("/tmp/cubins/" + std::to_string(i));
    CUresult r = cuModuleLoadData(&c.module, bin.data());
    if (r != CUDA_SUCCESS ||
        cuModuleGetFunction(&c.fn, c.module, "gemm_bf16") != CUDA_SUCCESS) {
      c.ok = false;
      std::printf("LOAD FAIL %s %d\n", c.name.c_str(), r);
      continue;
    }
    if (cuFuncSetAttribute(c.fn,
                           CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                           c.shared()) != CUDA_SUCCESS) {
      c.ok = false;
      std::printf("SHARED TOO LARGE %s %d\n", c.name.c_str(), c.shared());
      continue;
    }
    CU(cuFuncGetAttribute(&c.regs, CU_FUNC_ATTRIBUTE_NUM_REGS, c.fn));
    CU(cuFuncGetAttribute(&c.local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, c.fn));
    if (c.local) {
      ++spilled;
      std::printf("local memory %s: %d bytes\n", c.name.c_str(), c.local);
    }
    if (c.cluster() > 1) {
      CUlaunchAttribute attr[1];
      CUlaunchConfig lc{};
      lc.gridDimX = c.cluster() * 64;
      lc.gridDimY = lc.gridDimZ = lc.blockDimY = lc.blockDimZ = 1;
      lc.blockDimX = c.threads();
      lc.sharedMemBytes = c.shared();
      attr[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
      attr[0].value.clusterDim = {(unsigned)c.cluster(), 1, 1};
      lc.attrs = attr;
      lc.numAttrs = 1;
      int clusters = 0;
      CU(cuOccupancyMaxActiveClusters(&clusters, c.fn, &lc));
      c.resident = clusters * c.cluster();
    } else {
      int blocks = 0;
      CU(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, c.fn, c.threads(),
                                                     c.shared()));
      c.resident = blocks * sms;
    }
    if (c.resident == 0) {
      c.ok = false;
      std::printf("NOT RESIDENT %s\n", c.name.c_str());
      continue;
    }
    facts << c.name << "," << done[i].ms << "," << c.regs << "," << c.local
          << "," << c.shared() << "," << c.cluster() << "," << c.resident
          << "\n";
  }
  facts.flush();

  // ---- buffers
  size_t max_a = 0, max_c = 0;
  for (auto& s : shapes) {
    max_a = std::max(max_a, (size_t)s.m * s.k);
    max_c = std::max(max_c, (size_t)s.m * s.n);
  }
  max_a = std::max(max_a, (size_t)4097 * 8192);
  max_c = std::max(max_c, (size_t)4097 * 8192);
  const size_t pool = (size_t)768 << 20;  // bytes of B
  CUdeviceptr a, c, b_pool, ref, ref16;
  CU(cuMemAlloc(&a, max_a * 2));
  CU(cuMemAlloc(&c, max_c * 2 + 4096));
  CU(cuMemAlloc(&b_pool, pool));
  CU(cuMemAlloc(&ref, max_c * 4));
  CU(cuMemAlloc(&ref16, max_c * 4));
  Fill(a, max_a, 1);
  Fill(b_pool, pool / 2, 2);
  CU(cuStreamSynchronize(stream));

  // ---- correctness
  const auto t_check = Clock::now();
  struct P {
    int m, n, k;
  };
  std::vector<P> problems = {
      {1, 1000, 1048},  {17, 520, 4104}, {4097, 1000, 1048}, {33, 72, 8},
      {129, 200, 2120}, {1, 1003, 1047}, {17, 67, 33},       {4097, 515, 519}};
  int checks = 0, failures = 0;
  double worst = 0, worst16 = 0;
  for (auto& p : problems) {
    Fill(a, (size_t)p.m * p.k, 100 + p.m);
    Fill(b_pool, (size_t)p.n * p.k, 200 + p.n);
    void* ra[] = {&a, &b_pool, &ref, &p.m, &p.n, &p.k};
    Launch(f_ref, CeilDiv((long)p.m * p.n, 256), 256, ra);
    CU(cuStreamSynchronize(stream));
    // The kernel folder's own reference rounds to bf16 as well.
    void* rb[] = {&a, &b_pool, &c, &p.m, &p.n, &p.k};
    Launch(f_reference, CeilDiv((long)p.m * p.n, 256), 256, rb);
    unsigned long long elements = (unsigned long long)p.m * p.n;
    void* rw[] = {&c, &ref16, &elements};
    Launch(f_widen, 1056, 512, rw);
    for (auto& cfg : configs) {
      if (!Legal(cfg, p.m, p.n, p.k)) continue;
      for (int again = 0; again < 3; ++again) {
        CU(cuMemsetD16Async(c, 0xffff, (size_t)p.m * p.n + 2048, stream));
        CU(cuMemsetD8Async(d_out, 0, 64, stream));
        Bound bound(cfg, a, {b_pool}, c, p.m, p.n, p.k);
        bound.Run(0);
        unsigned long long n = (unsigned long long)p.m * p.n, guard = 2048;
        CUdeviceptr tail = c + n * 2, out3 = d_out + 24, out4 = d_out + 32;
        void* ca[] = {&c, &ref, &n, &p.k, &d_out};
        Launch(f_cmp, 264, 256, ca);
        void* ga[] = {&tail, &guard, &out3};
        Launch(f_count, 1, 256, ga);
        void* cb[] = {&c, &ref16, &n, &p.k, &out4};
        Launch(f_cmp, 264, 256, cb);
        SyncOrQuit(cfg.name);
        CUresult r = cuStreamSynchronize(stream);
        if (r != CUDA_SUCCESS) {
          std::printf("FATAL %s at %d %d %d: error %d\n", cfg.name.c_str(), p.m,
                      p.n, p.k, r);
          return 1;
        }
        double o[6];
        CU(cuMemcpyDtoH(o, d_out, sizeof o));
        const double rel = std::sqrt(o[0] / o[1]),
                     rel16 = std::sqrt(o[4] / o[5]);
        ++checks;
        if (!(rel < 3e-3) || o[2] != 0 || o[3] != 0) {
          ++failures;
          if (failures < 40)
            std::printf(
                "WRONG %s at m=%d n=%d k=%d: rel %.3g, %g far off, %g written "
                "outside\n",
                cfg.name.c_str(), p.m, p.n, p.k, rel, o[2], o[3]);
          cfg.why = "wrong";
        } else {
          worst = std::max(worst, rel);
          worst16 = std::max(worst16, rel16);
        }
      }
    }
  }
  for (auto& cfg : configs)
    if (cfg.why == "wrong") cfg.ok = false;
  int usable = 0;
  for (auto& cfg : configs) usable += cfg.ok;
  std::printf(
      "correctness: %d checks, %d failures, worst relative error of the rest "
      "%.3g, %.3g to reference.cu (%.1f s); %d usable, %d with local memory\n",
      checks, failures, worst, worst16, Seconds(t_check), usable, spilled);
  std::fflush(stdout);
  Fill(a, max_a, 1);
  Fill(b_pool, pool / 2, 2);
  CU(cuStreamSynchronize(stream));

  if (sweep_seconds == 0) return failures ? 3 : 0;
  // ---- timing
  std::ofstream csv(out_dir + "/timings.csv");
  csv << "model,m,n,k,config,us\n";
  std::ofstream best_csv(out_dir + "/best.csv");
  best_csv << "model,m,n,k,config,us,cublaslt_us,ratio,cublaslt_spread,rel_vs_"
              "cublaslt\n";
  std::vector<double> prefill, decode;
  std::map<std::string, int> wins;
  std::map<std::string, std::string> cache;
  const auto t_sweep = Clock::now();
  std::printf("%-18s %5s %6s %6s %-34s %9s %9s %6s\n", "model", "m", "n", "k",
              "best", "us", "cublaslt", "ratio");
  // Good ones first, so that the rest can be dropped early.
  std::vector<size_t> order(configs.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::vector<int> score(configs.size());
  for (size_t si = 0; si < shapes.size(); ++si) {
    const Shape& s = shapes[si];
    if (Seconds(t_sweep) > sweep_seconds) {
      std::printf("out of time after %zu shapes\n", si);
      break;
    }
    const size_t b_bytes = ((size_t)s.n * s.k * 2 + 255) / 256 * 256;
    const int copies = std::max<size_t>(
        2, std::min<size_t>(pool / b_bytes, (256ull << 20) / b_bytes + 1));
    std::vector<CUdeviceptr> b;
    for (int i = 0; i < copies; ++i) b.push_back(b_pool + i * b_bytes);
    if (copies * b_bytes > pool) {
      std::printf("pool too small\n");
      return 1;
    }
    Cublas blas(a, b, c, s.m, s.n, s.k);
    Burst(blas, 2);
    const double blas_us = Burst(blas, 5);
    double best = 1e30;
    std::vector<std::pair<double, const Config*>> found;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t x, size_t y) { return score[x] > score[y]; });
    for (size_t index : order) {
      auto& cfg = configs[index];
      if (!Legal(cfg, s.m, s.n, s.k)) continue;
      const int bm = cfg["BLOCK_M"];
      if (bm > 16 && bm >= 2 * ((s.m + 15) / 16 * 16))
        continue;                                     // mostly empty
      if (CeilDiv(s.m, bm) > 4 && bm < 64) continue;  // far too low
      if (CeilDiv(s.m, bm) > 16 && bm < 128 && cfg["HOPPER"]) continue;
      Bound bound(cfg, a, b, c, s.m, s.n, s.k);
      double us = Burst(bound, 1);
      if (us < 1.7 * std::min(best, 1.2 * blas_us) + 3) us = Burst(bound, 3);
      if (us < 1.2 * std::min(best, 1.2 * blas_us)) {
        const int reps = std::max(3, std::min(30, (int)(400 / us)));
        us = std::min(Burst(bound, reps), Burst(bound, reps));
      }
      csv << s.model << "," << s.m << "," << s.n << "," << s.k << ","
          << cfg.name << "," << us << "\n";
      best = std::min(best, us);
      found.push_back({us, &cfg});
    }
    std::sort(found.begin(), found.end());
    const int leaders = std::min<size_t>(5, found.size());
    std::vector<Bound> bound;
    for (int i = 0; i < leaders; ++i) score[found[i].second - &configs[0]] += 1;
    for (int i = 0; i < leaders; ++i)
      bound.emplace_back(*found[i].second, a, b, c, s.m, s.n, s.k);
    std::vector<std::vector<double>> t(leaders + 1);
    const int reps = std::max(5, std::min(60, (int)(1000 / blas_us)));
    for (int round = 0; round < 7; ++round) {
      t[leaders].push_back(Burst(blas, reps));
      for (int i = 0; i < leaders; ++i) t[i].push_back(Burst(bound[i], reps));
    }
    int w = 0;
    for (int i = 1; i < leaders; ++i)
      if (Median(t[i]) < Median(t[w])) w = i;
    const double ours = Median(t[w]), theirs = Median(t[leaders]),
                 ratio = theirs / ours;
    const double spread =
        *std::max_element(t[leaders].begin(), t[leaders].end()) /
            *std::min_element(t[leaders].begin(), t[leaders].end()) -
        1;
    // The winner's result against cuBLASLt's, at full size.
    unsigned long long n = (unsigned long long)s.m * s.n;
    blas.Run(0);
    void* wa[] = {&c, &ref, &n};
    Launch(f_widen, 1056, 512, wa);
    CU(cuMemsetD16Async(c, 0xffff, n, stream));
    CU(cuMemsetD8Async(d_out, 0, 64, stream));
    bound[w].Run(0);
    int k = s.k;
    void* ca[] = {&c, &ref, &n, &k, &d_out};
    Launch(f_cmp, 264, 256, ca);
    double o[4];
    CU(cuStreamSynchronize(stream));
    CU(cuMemcpyDtoH(o, d_out, sizeof o));
    const double rel = std::sqrt(o[0] / o[1]);
    if (!(rel < 4e-3))
      std::printf("DIFFERS from cuBLASLt: %s %g\n",
                  found[w].second->name.c_str(), rel);
    (s.m > 64 ? prefill : decode).push_back(ratio);
    ++wins[found[w].second->name];
    const double tflops = 2.0 * s.m * s.n * s.k / ours * 1e-6,
                 tbs = b_bytes / ours * 1e-6;
    std::printf(
        "%-18s %5d %6d %6d %-34s %9.2f %9.2f %6.3f  %4.0f TF %.2f TB/s\n",
        s.model.c_str(), s.m, s.n, s.k, found[w].second->name.c_str(), ours,
        theirs, ratio, tflops, tbs);
    std::fflush(stdout);
    best_csv << s.model << "," << s.m << "," << s.n << "," << s.k << ","
             << found[w].second->name << "," << ours << "," << theirs << ","
             << ratio << "," << spread << "," << rel << "\n";
  }
  std::vector<double> all = prefill;
  all.insert(all.end(), decode.begin(), decode.end());
  std::printf("sweep %.1f s\n", Seconds(t_sweep));
  std::printf("ratio to cuBLASLt   geomean   p10   min   shapes\n");
  auto row = [](const char* name, std::vector<double> v) {
    if (!v.empty())
      std::printf("%-18s %8.3f %6.3f %6.3f %5zu\n", name, GeoMean(v),
                  Percentile10(v), *std::min_element(v.begin(), v.end()),
                  v.size());
  };
  row("prefill (m > 64)", prefill);
  row("decode (m <= 64)", decode);
  row("all", all);
  std::vector<std::pair<int, std::string>> by;
  for (auto& x : wins) by.push_back({x.second, x.first});
  std::sort(by.rbegin(), by.rend());
  for (auto& x : by) std::printf("%d %s; ", x.first, x.second.c_str());
  std::printf("\n");
  return failures ? 3 : 0;
}
