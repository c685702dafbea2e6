// LaunchDescriptor: all that a launch of one compiled configuration needs, but
// for the problem.
//
//   LaunchDescriptor launch = DescribeLaunch(spec, cuda, "", {128, 1});
//   LaunchShape shape = ShapeOf(launch, {m, n, k});  // Blocks, threads, ...
//
// Why: who measures a kernel has its manifest; who launches it in earnest has
// only what `wavetune kernels export` wrote. Both launch from this, so that
// launches are as they were measured.
//
// Thread safety: plain values, pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_LAUNCH_DESCRIPTOR_H_
#define WAVETUNE_MODEL_KERNEL_LAUNCH_DESCRIPTOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "model/kernel/argument.h"
#include "model/kernel/mapping.h"
#include "model/kernel/relation.h"
#include "model/kernel/tensor_map_plan.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

struct Implementation;
struct KernelSpec;

// Blocks of a grid, or work items of a block, along x, y and z.
struct LaunchExtent {
  // A number alone is so many along x.
  // NOLINTNEXTLINE(google-explicit-constructor): one-dimensional is the rule.
  LaunchExtent(int64_t along_x = 1, int64_t along_y = 1, int64_t along_z = 1)
      : x(along_x), y(along_y), z(along_z) {}

  // Returns the product; kOverLimit beyond kExpressionLimit.
  int64_t Total() const;
  bool IsLine() const { return y == 1 && z == 1; }

  int64_t x;
  int64_t y;
  int64_t z;

  friend bool operator==(const LaunchExtent&, const LaunchExtent&) = default;
};

// Returns whether a CUDA grid may have these blocks: up to 2^31 - 1 along x,
// 65,535 along y and z, on every compute capability since 3.0.
bool FitsGrid(const LaunchExtent& blocks);

// Returns "36", or "4 x 9" where it is no line.
std::string FormatExtent(const LaunchExtent& extent);

// The shape of a launch.
struct LaunchShape {
  LaunchExtent blocks;  // With clusters a line, and a multiple of their size.
  LaunchExtent block_size;
  int64_t shared_bytes = 0;  // Dynamic.
  int64_t cluster_size = 1;  // 1: launched without the attribute.
  bool persistent = false;   // Launches no more blocks than are resident.

  friend bool operator==(const LaunchShape&, const LaunchShape&) = default;
};

// Expressions and relations name no parameter.
struct LaunchDescriptor {
  std::string entry;               // The kernel function.
  std::vector<Expression> blocks;  // Along x, y and z; one to three.
  LaunchExtent block_size;
  Expression shared_bytes = Expression::Constant(0);
  int64_t cluster_size = 1;
  bool persistent = false;
  // The function's parameters: these maps by value, then these arguments.
  std::vector<TensorMapDescriptor> tensor_maps;
  std::vector<Argument> arguments;
  // Where the configuration may run; all must hold.
  std::vector<Relation> problem_predicates;
};

// Returns the launch of a configuration of the kernel's space; blocks default
// to the mapping's tiles. Cannot fail.
LaunchDescriptor DescribeLaunch(const KernelSpec& spec,
                                const Implementation& implementation,
                                const std::string& specialisation,
                                const Configuration& configuration);

// Returns the shape at a problem whose extents are in range; at least one
// group. Checks no limit of a device. Cannot fail. Cost: no allocation.
LaunchShape ShapeOf(const LaunchDescriptor& launch, const ProblemView& problem);

// Returns the blocks that run at once: whole clusters where there are any (some
// multiprocessors do not fit into one), else the resident ones of every
// multiprocessor. `clusters` counts the whole device.
int64_t CapacityOf(const LaunchShape& shape, int64_t multiprocessors,
                   int64_t blocks_per_multiprocessor, int64_t clusters);

// Returns the blocks that are launched: of a persistent kernel, whose blocks
// are a line, at most `resident_blocks`.
LaunchExtent BlocksToLaunch(const LaunchShape& shape, int64_t resident_blocks);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_LAUNCH_DESCRIPTOR_H_
