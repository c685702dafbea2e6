#include "profiler_agent/cuda/cuda_kernel.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "launch/launch_config.h"
#include "profiler_agent/cuda/cuda_status.h"

namespace wavetune {
namespace {

// Clusters up to this size run on every device that has clusters at all.
constexpr int64_t kPortableClusterSize = 8;

// What a block may have without asking.
constexpr int64_t kUsualSharedBytes = 48 << 10;

absl::Status SetAttribute(const CudaSession& session, const CudaKernel& kernel,
                          CUfunction_attribute attribute, int64_t value,
                          const std::string& what) {
  return CudaStatus(session.driver->cuFuncSetAttribute(
                        kernel.function, attribute, static_cast<int>(value)),
                    what);
}

absl::Status Admit(const CudaSession& session, const CudaKernel& kernel,
                   const CudaLaunchShape& shape) {
  RETURN_IF_ERROR(SetAttribute(
      session, kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
      shape.shared_bytes,
      absl::StrCat("allowing ", shape.shared_bytes,
                   " bytes of dynamic shared memory beside ",
                   kernel.static_shared_bytes, " static ones")));
  if (kernel.triton.has_value() && shape.shared_bytes > kUsualSharedBytes) {
    // As Triton's launcher does, which engines launch with.
    RETURN_IF_ERROR(SetAttribute(
        session, kernel, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
        CU_SHAREDMEM_CARVEOUT_MAX_SHARED,
        "preferring shared memory to the first-level cache"));
  }
  if (shape.cluster_size <= kPortableClusterSize) return absl::OkStatus();
  return SetAttribute(
      session, kernel, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1,
      absl::StrCat("allowing clusters of ", shape.cluster_size));
}

absl::Status NotResident(const CudaKernel& kernel,
                         const CudaLaunchShape& shape) {
  return absl::FailedPreconditionError(absl::StrCat(
      "not one ",
      shape.cluster_size > 1
          ? absl::StrCat("cluster of ", shape.cluster_size, " blocks")
          : "group",
      " is resident: ", FormatExtent(shape.block_size), " threads of ",
      kernel.registers, " registers, ",
      shape.shared_bytes + kernel.static_shared_bytes,
      " bytes of shared memory a group"));
}

}  // namespace

absl::StatusOr<CudaKernel> LoadKernel(const CudaSession& session,
                                      const Cubin& cubin) {
  const CudaDriver& driver = *session.driver;
  CUmodule module = nullptr;
  RETURN_IF_ERROR(
      CudaStatus(driver.cuModuleLoadData(&module, cubin.code.data()),
                 "loading the machine code"));
  CudaKernel kernel;
  kernel.triton = cubin.triton;
  kernel.unfit = cubin.unfit;
  kernel.module = CudaModuleHandle(module, driver.cuModuleUnload);
  RETURN_IF_ERROR(CudaStatus(
      driver.cuModuleGetFunction(&kernel.function, module, cubin.entry.c_str()),
      absl::StrCat("taking kernel function '", cubin.entry, "'")));
  RETURN_IF_ERROR(CudaStatus(
      driver.cuFuncGetAttribute(&kernel.registers, CU_FUNC_ATTRIBUTE_NUM_REGS,
                                kernel.function),
      "asking for a kernel's registers"));
  RETURN_IF_ERROR(
      CudaStatus(driver.cuFuncGetAttribute(&kernel.static_shared_bytes,
                                           CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                                           kernel.function),
                 "asking for a kernel's shared memory"));
  return kernel;
}

absl::StatusOr<CudaResidency> AdmitShape(const CudaSession& session,
                                         const CudaKernel& kernel,
                                         const CudaLaunchShape& shape) {
  RETURN_IF_ERROR(Admit(session, kernel, shape));
  int blocks = 0;
  RETURN_IF_ERROR(CudaStatus(
      session.driver->cuOccupancyMaxActiveBlocksPerMultiprocessor(
          &blocks, kernel.function, static_cast<int>(shape.block_size.Total()),
          static_cast<size_t>(shape.shared_bytes)),
      "asking for a kernel's residency"));
  if (blocks < 1) return NotResident(kernel, shape);
  int clusters = 0;
  if (shape.cluster_size > 1) {
    // Any number of whole clusters: residency does not depend on it.
    const LaunchConfig config(shape, 64 * shape.cluster_size, session.stream);
    RETURN_IF_ERROR(
        CudaStatus(session.driver->cuOccupancyMaxActiveClusters(
                       &clusters, kernel.function, config.get()),
                   absl::StrCat("asking for the residency of clusters of ",
                                shape.cluster_size)));
    if (clusters < 1) return NotResident(kernel, shape);
  }
  return CudaResidency{.blocks_per_multiprocessor = blocks,
                       .tiles_per_wave = CapacityOf(
                           shape, session.multiprocessors, blocks, clusters)};
}

absl::StatusOr<CudaKernel> LoadOrRecompile(
    const CudaSession& session, const CudaCompiler& compiler,
    const std::function<absl::StatusOr<Cubin>()>& compile) {
  ASSIGN_OR_RETURN(Cubin cubin, compile());
  absl::StatusOr<CudaKernel> kernel = LoadKernel(session, cubin);
  const bool refused = absl::IsFailedPrecondition(kernel.status()) ||
                       absl::IsInvalidArgument(kernel.status());
  if (!refused || !cubin.from_disk) return kernel;
  compiler.Forget(cubin);
  ASSIGN_OR_RETURN(cubin, compile());
  return LoadKernel(session, cubin);
}

}  // namespace wavetune
