// Kernels for tests, as small as their shape allows. Each is valid: the spec
// passes ValidateKernelSpec.
#ifndef WAVETUNE_MODEL_TESTING_KERNELS_H_
#define WAVETUNE_MODEL_TESTING_KERNELS_H_

#include <string>

#include "model/kernel/device.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/served_layers.h"
#include "model/kernel/wave_form.h"

namespace wavetune::testing {

// Expressions of a dimension and of a parameter, for mappings in tests.
inline Expression Dim(int index) { return Expression::OfDimension(index); }
inline Expression Par(int index) { return Expression::OfParameter(index); }

// A relation as the condition that folds to it.
Condition ConditionOf(const Relation& relation);

// C[m, n] = A[m, k] * B[n, k]: dimensions m, n, k; parameters BLOCK_M, BLOCK_N,
// BLOCK_K (macro), NUM_STAGES, VECTOR (micro). `k` must be a multiple of
// VECTOR, which has 1 among its values. 32 configurations less the constrained
// ones: BLOCK_M * BLOCK_N <= 4096 keeps 24.
KernelSpec GemmSpec(WaveForm form = WaveForm::kSum);

// GemmSpec for CUDA with two further parameters: HOPPER (macro), which needs
// VECTOR = 4 and a device of compute capability 9.0, and CLUSTER_M (macro),
// rows of tiles that a cluster of HOPPER shares. Everything that only CUDA has
// is declared: clusters, persistence, tensor maps, sums. 48 configurations, of
// which the 24 with HOPPER = 0 are for every device; the default is none of
// them.
KernelSpec HopperGemmSpec();

// GemmSpec per expert: dimension 0, `m`, is repeated; G sums over it.
KernelSpec GroupedGemmSpec();

// Flash attention: dimensions batch, heads, kv_heads, seq_q, seq_kv; parameters
// BLOCK_Q, BLOCK_KV (macro), NUM_STAGES (micro). The define CAUSAL tells
// specialisations apart: `full` (loop alike for all tiles) and `causal` (total
// iterations by causal_blocks). 8 configurations.
KernelSpec CausalAttentionSpec();

// What an attention kernel with the dimensions batch, heads, kv_heads, seq_q
// and seq_kv serves: causal prefill and decode with heads of 64, by these
// specialisations.
ServedAttention PrefillAndDecode(const std::string& prefill,
                                 const std::string& decode);

// RMSNorm, hidden compiled in: dimensions rows, hidden; parameters ROWS
// (macro), THREADS, VECTOR (micro). No loop: L = 1. 12 configurations.
KernelSpec RowNormSpec();

// C[n, n] = A[n, k] * A[n, k]^T as GemmSpec's tiles: one extent on two axes.
KernelSpec SyrkSpec();

// SyrkSpec with k = n: everything follows from one extent.
KernelSpec SquareSpec();

// CausalAttentionSpec with one dimension `seq` for queries and keys: on an axis
// and in the loop.
KernelSpec SelfAttentionSpec();

// Fused mixture of experts as a host knows it: dimensions tokens, topk,
// experts, n, k; each expert's tokens are padded to whole tiles of GemmSpec's:
// G = (ceil(tokens * topk / BLOCK_M) + experts) * ceil(n / BLOCK_N).
KernelSpec PaddedMoeSpec();

// GroupedGemmSpec in which each expert has one more row of tiles, and the
// launch four more tiles.
KernelSpec PaddedGroupedGemmSpec();

// Convolution as an implicit GEMM: dimensions batch, channels, filters, out_h,
// out_w, kernel_h, kernel_w; GemmSpec's parameters.
// G = ceil(batch * out_h * out_w / BLOCK_M) * ceil(filters / BLOCK_N),
// L = ceil(channels * kernel_h * kernel_w / BLOCK_K).
KernelSpec ConvolutionSpec();

// GemmSpec and CausalAttentionSpec with the parameters and values of the
// recorded H200 Triton traces: BLOCK_M, BLOCK_N, BLOCK_K (BLOCK_Q, BLOCK_KV),
// NUM_STAGES, NUM_WARPS. Their spaces are larger than the recorded ones.
KernelSpec TritonGemmSpec();
KernelSpec TritonAttentionSpec();

// The facts of the device of those traces: 132 multiprocessors.
DeviceFacts H200();

}  // namespace wavetune::testing

#endif  // WAVETUNE_MODEL_TESTING_KERNELS_H_
