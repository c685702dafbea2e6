#include "model/testing/kernels.h"

#include <string>
#include <utility>
#include <vector>

#include "model/kernel/kernel_spec.h"

namespace wavetune::testing {
namespace {

Argument Buffer(std::string name, ArgumentRole role, Expression elements,
                bool cold = false) {
  return {.name = std::move(name),
          .role = role,
          .type = ElementType::kFloat32,
          .size = std::move(elements),
          .cold = cold};
}

Argument Scalar(std::string name, Expression value) {
  return {.name = std::move(name),
          .role = ArgumentRole::kScalar,
          .type = ElementType::kInt32,
          .size = std::move(value)};
}

Correctness ComparedWith(Expression work_items) {
  return {.source = "reference.cl",
          .entry = "reference",
          .work_items = std::move(work_items),
          .relative_tolerance = 1e-5};
}

// Parameters BLOCK_M, BLOCK_N, BLOCK_K, NUM_STAGES, VECTOR, their constraint,
// predicate, default and implementations, on dimensions m, n, k.
KernelSpec GemmLike(std::string name, bool grouped) {
  KernelSpec spec;
  spec.name = std::move(name);
  spec.description = "C = A * B^T in tiles.";
  spec.dimensions = {
      {.name = "m", .repeated = grouped}, {.name = "n"}, {.name = "k"}};
  spec.parameters = {
      {.name = "BLOCK_M", .role = ParameterRole::kMacro, .values = {16, 64}},
      {.name = "BLOCK_N", .role = ParameterRole::kMacro, .values = {32, 128}},
      {.name = "BLOCK_K", .role = ParameterRole::kMacro, .values = {16, 32}},
      {.name = "NUM_STAGES", .role = ParameterRole::kMicro, .values = {1, 2}},
      {.name = "VECTOR", .role = ParameterRole::kMicro, .values = {1, 4}}};
  // BLOCK_M * BLOCK_N <= 4096
  spec.constraints = {{Expression::Product({Par(0), Par(1)}),
                       Relation::Operator::kLessOrEqual,
                       Expression::Constant(4096)}};
  // k % VECTOR == 0
  spec.problem_predicates = {{Dim(2), Relation::Operator::kMultipleOf, Par(4)}};
  spec.implementations = {
      {.backend = "opencl",
       .sources = {"gemm.cl"},
       .entry = "gemm",
       .compile_options = {},
       .block_size = {Expression::Constant(64)},
       .blocks = {},
       .shared_memory_bytes = Expression::Product(
           {Par(0), Par(2), Par(3), Expression::Constant(4)})},
      {.backend = "replay"}};
  spec.default_configuration = {64, 32, 32, 2, 1};
  return spec;
}

WeightedProblem Weighted(std::vector<int64_t> extents, double weight,
                         std::vector<int64_t> repeated = {}) {
  return {.problem = {.extents = std::move(extents),
                      .repeated = std::move(repeated),
                      .specialisation = ""},
          .weight = weight};
}

// Everything of attention but the parameters.
KernelSpec AttentionLike() {
  KernelSpec spec;
  spec.name = "attention";
  spec.description = "Flash attention with grouped queries, head dimension 64.";
  spec.dimensions = {{.name = "batch", .max = 1 << 20},
                     {.name = "heads", .max = 1 << 20},
                     {.name = "kv_heads", .max = 1 << 20},
                     {.name = "seq_q", .max = 1 << 20},
                     {.name = "seq_kv", .max = 1 << 20}};
  spec.mapping.tiles = Expression::Product(
      {Dim(0), Dim(1), Expression::CeilDiv({Dim(3)}, {Par(0)})});
  spec.mapping.iterations_per_tile = Expression::CeilDiv({Dim(4)}, {Par(1)});
  spec.mapping.rows = RowAxis{.dimension = 3, .tile = 0};
  Mapping causal = spec.mapping;
  causal.iterations_per_tile.reset();
  causal.total_iterations = Expression::Product(
      {Dim(0), Dim(1), Expression::CausalBlocks(3, 4, 0, 1)});
  causal.longest_loop = Expression::CeilDiv({Dim(4)}, {Par(1)});
  spec.specialisations = {
      {.name = "full", .defines = {{"CAUSAL", "0"}}, .mapping = std::nullopt},
      {.name = "causal", .defines = {{"CAUSAL", "1"}}, .mapping = causal}};
  const auto head_dim = Expression::Constant(64);
  spec.arguments = {
      Buffer("q", ArgumentRole::kInput,
             Expression::Product({Dim(0), Dim(1), Dim(3), head_dim})),
      Buffer("k", ArgumentRole::kInput,
             Expression::Product({Dim(0), Dim(2), Dim(4), head_dim}), true),
      Buffer("v", ArgumentRole::kInput,
             Expression::Product({Dim(0), Dim(2), Dim(4), head_dim}), true),
      Buffer("out", ArgumentRole::kOutput,
             Expression::Product({Dim(0), Dim(1), Dim(3), head_dim})),
      Scalar("heads", Dim(1)),
      Scalar("kv_heads", Dim(2)),
      Scalar("seq_q", Dim(3)),
      Scalar("seq_kv", Dim(4))};
  spec.correctness =
      ComparedWith(Expression::Product({Dim(0), Dim(1), Dim(3)}));
  spec.implementations = {{.backend = "opencl",
                           .sources = {"attention.cl"},
                           .entry = "attention",
                           .compile_options = {},
                           .block_size = {Expression::Constant(64)}},
                          {.backend = "replay"}};
  spec.representative_problems = {Weighted({8, 32, 8, 1, 4096}, 2),
                                  Weighted({1, 32, 8, 2048, 2048}, 1)};
  return spec;
}

Expression SumOfTerms(const std::vector<Relation::Term>& terms) {
  std::vector<Expression> products;
  for (const Relation::Term& term : terms) {
    std::vector<Expression> factors = {Expression::Constant(term.coefficient)};
    for (const int32_t dimension : term.dimensions) {
      factors.push_back(Expression::OfDimension(dimension));
    }
    const bool number = factors.size() == 1;
    products.push_back(number ? std::move(factors[0])
                              : Expression::Product(std::move(factors)));
  }
  return products.size() == 1 ? std::move(products[0])
                              : Expression::Sum(std::move(products));
}

}  // namespace

Condition ConditionOf(const Relation& relation) {
  return {SumOfTerms(relation.left), relation.op, SumOfTerms(relation.right)};
}

KernelSpec GemmSpec(WaveForm form) {
  KernelSpec spec = GemmLike("gemm", /*grouped=*/false);
  spec.wave_form = form;
  spec.mapping.tiles =
      Expression::Product({Expression::CeilDiv({Dim(0)}, {Par(0)}),
                           Expression::CeilDiv({Dim(1)}, {Par(1)})});
  spec.mapping.iterations_per_tile = Expression::CeilDiv({Dim(2)}, {Par(2)});
  spec.mapping.rows = RowAxis{.dimension = 0, .tile = 0};
  spec.arguments = {
      Buffer("a", ArgumentRole::kInput, Expression::Product({Dim(0), Dim(2)})),
      Buffer("b", ArgumentRole::kInput, Expression::Product({Dim(1), Dim(2)}),
             true),
      Buffer("c", ArgumentRole::kOutput, Expression::Product({Dim(0), Dim(1)})),
      Scalar("m", Dim(0)),
      Scalar("n", Dim(1)),
      Scalar("k", Dim(2))};
  spec.correctness = ComparedWith(Expression::Product({Dim(0), Dim(1)}));
  spec.representative_problems = {Weighted({1, 576, 576}, 4),
                                  Weighted({64, 1536, 576}, 2),
                                  Weighted({512, 576, 1536}, 1)};
  return spec;
}

KernelSpec HopperGemmSpec() {
  KernelSpec spec = GemmSpec();
  spec.name = "hopper_gemm";
  constexpr int kHopper = 5;
  constexpr int kCluster = 6;
  spec.parameters.push_back(
      {.name = "HOPPER", .role = ParameterRole::kMacro, .values = {1, 0}});
  spec.parameters.push_back(
      {.name = "CLUSTER_M", .role = ParameterRole::kMacro, .values = {1, 2}});
  // VECTOR >= 4 * HOPPER, CLUSTER_M <= 1 + HOPPER
  spec.constraints.push_back(
      {Par(4), Relation::Operator::kGreaterOrEqual,
       Expression::Product({Expression::Constant(4), Par(kHopper)})});
  spec.constraints.push_back(
      {Par(kCluster), Relation::Operator::kLessOrEqual,
       Expression::Sum({Expression::Constant(1), Par(kHopper)})});
  spec.mapping.tiles = Expression::Product(
      {Expression::CeilDiv({Dim(0)}, {Par(0), Par(kCluster)}), Par(kCluster),
       Expression::CeilDiv({Dim(1)}, {Par(1)})});
  Implementation cuda;
  cuda.backend = "cuda";
  cuda.sources = {"gemm.cu"};
  cuda.entry = "gemm";
  cuda.block_size = {Expression::Sum(
      {Expression::Constant(128),
       Expression::Product({Expression::Constant(128), Par(kHopper)})})};
  cuda.cluster_size = Par(kCluster);
  cuda.persistent_if = {
      {Par(kHopper), Relation::Operator::kEqual, Expression::Constant(1)}};
  cuda.tensor_maps = {{.argument = 0,
                       .extents = {Dim(2), Dim(0)},
                       .box = {Expression::Constant(64), Par(0)},
                       .swizzle = TensorMap::Swizzle::k128Bytes,
                       .l2_promotion_bytes = 256,
                       .enabled_by = kHopper}};
  // 90 * HOPPER == HOPPER * compute_capability
  cuda.device_predicates = {
      {Expression::Product({Expression::Constant(90), Par(kHopper)}),
       Relation::Operator::kEqual,
       Expression::Product({Par(kHopper), Dim(0)})}};
  spec.implementations = {std::move(cuda)};
  spec.default_configuration = {64, 32, 32, 2, 4, 1, 1};
  return spec;
}

KernelSpec GroupedGemmSpec() {
  KernelSpec spec = GemmLike("grouped_gemm", /*grouped=*/true);
  const auto tokens = Expression::SumOver(0, Dim(0));
  const auto experts = Expression::SumOver(0, Expression::Constant(1));
  spec.mapping.tiles = Expression::SumOver(
      0, Expression::Product({Expression::CeilDiv({Dim(0)}, {Par(0)}),
                              Expression::CeilDiv({Dim(1)}, {Par(1)})}));
  spec.mapping.iterations_per_tile = Expression::CeilDiv({Dim(2)}, {Par(2)});
  spec.mapping.rows = RowAxis{.dimension = 0, .tile = 0};
  spec.arguments = {
      Buffer("a", ArgumentRole::kInput, Expression::Product({tokens, Dim(2)})),
      Buffer("b", ArgumentRole::kInput,
             Expression::Product({experts, Dim(1), Dim(2)}), true),
      Buffer("c", ArgumentRole::kOutput, Expression::Product({tokens, Dim(1)})),
      Scalar("n", Dim(1)), Scalar("k", Dim(2))};
  spec.correctness = ComparedWith(Expression::Product({tokens, Dim(1)}));
  spec.representative_problems = {
      Weighted({0, 768, 2048}, 1, {1, 3, 2, 2}),
      Weighted({0, 768, 2048}, 1, {64, 17, 128, 5})};
  return spec;
}

KernelSpec CausalAttentionSpec() {
  KernelSpec spec = AttentionLike();
  spec.parameters = {
      {.name = "BLOCK_Q", .role = ParameterRole::kMacro, .values = {16, 64}},
      {.name = "BLOCK_KV", .role = ParameterRole::kMacro, .values = {32, 64}},
      {.name = "NUM_STAGES", .role = ParameterRole::kMicro, .values = {1, 2}}};
  spec.default_configuration = {64, 32, 2};
  return spec;
}

ServedAttention PrefillAndDecode(const std::string& prefill,
                                 const std::string& decode) {
  return {.batch = 0,
          .heads = 1,
          .kv_heads = 2,
          .seq_q = 3,
          .seq_kv = 4,
          .variants = {{.specialisation = prefill,
                        .phase = AttentionPhase::kPrefill,
                        .head_dim = 64,
                        .causal = true},
                       {.specialisation = decode,
                        .phase = AttentionPhase::kDecode,
                        .head_dim = 64}}};
}

KernelSpec RowNormSpec() {
  KernelSpec spec;
  spec.name = "row_norm";
  spec.description = "RMSNorm of rows whose width is compiled in.";
  spec.dimensions = {{.name = "rows"}, {.name = "hidden", .max = 16384}};
  spec.parameters = {
      {.name = "ROWS", .role = ParameterRole::kMacro, .values = {1, 4, 16}},
      {.name = "THREADS", .role = ParameterRole::kMicro, .values = {64, 256}},
      {.name = "VECTOR", .role = ParameterRole::kMicro, .values = {1, 4}}};
  spec.mapping.tiles = Expression::CeilDiv({Dim(0)}, {Par(0)});
  spec.mapping.iterations_per_tile = Expression::Constant(1);
  spec.arguments = {
      Buffer("x", ArgumentRole::kInput, Expression::Product({Dim(0), Dim(1)})),
      Buffer("y", ArgumentRole::kOutput, Expression::Product({Dim(0), Dim(1)})),
      Scalar("rows", Dim(0))};
  spec.correctness = ComparedWith(Dim(0));
  spec.implementations = {{.backend = "opencl",
                           .sources = {"row_norm.cl"},
                           .entry = "row_norm",
                           .compile_options = {},
                           .block_size = {Par(1)}},
                          {.backend = "replay"}};
  spec.default_configuration = {4, 64, 1};
  for (const int64_t rows : {1, 64, 1000, 8000, 60000}) {
    spec.representative_problems.push_back(Weighted({rows, 4096}, 1));
  }
  return spec;
}

KernelSpec SyrkSpec() {
  KernelSpec spec = GemmLike("syrk", /*grouped=*/false);
  spec.dimensions = {{.name = "n"}, {.name = "k"}};
  spec.problem_predicates[0].sides[0] = Dim(1);
  spec.mapping.tiles =
      Expression::Product({Expression::CeilDiv({Dim(0)}, {Par(0)}),
                           Expression::CeilDiv({Dim(0)}, {Par(1)})});
  spec.mapping.iterations_per_tile = Expression::CeilDiv({Dim(1)}, {Par(2)});
  spec.mapping.rows = RowAxis{.dimension = 0, .tile = 0};
  spec.arguments = {
      Buffer("a", ArgumentRole::kInput, Expression::Product({Dim(0), Dim(1)})),
      Buffer("c", ArgumentRole::kOutput, Expression::Product({Dim(0), Dim(0)})),
      Scalar("n", Dim(0)), Scalar("k", Dim(1))};
  spec.correctness = ComparedWith(Expression::Product({Dim(0), Dim(0)}));
  for (const int64_t n : {64, 500, 3000}) {
    spec.representative_problems.push_back(Weighted({n, 512}, 1));
    spec.representative_problems.push_back(Weighted({n, 4096}, 1));
  }
  return spec;
}

KernelSpec SquareSpec() {
  KernelSpec spec = SyrkSpec();
  spec.name = "square";
  spec.dimensions = {{.name = "n"}};
  spec.problem_predicates[0].sides[0] = Dim(0);
  spec.mapping.iterations_per_tile = Expression::CeilDiv({Dim(0)}, {Par(2)});
  const auto matrix = Expression::Product({Dim(0), Dim(0)});
  spec.arguments = {Buffer("a", ArgumentRole::kInput, matrix),
                    Buffer("c", ArgumentRole::kOutput, matrix),
                    Scalar("n", Dim(0))};
  spec.representative_problems.clear();
  for (const int64_t n : {64, 500, 1000, 3000}) {
    spec.representative_problems.push_back(Weighted({n}, 1));
  }
  return spec;
}

KernelSpec SelfAttentionSpec() {
  KernelSpec spec = CausalAttentionSpec();
  spec.name = "self_attention";
  spec.dimensions = {{.name = "batch", .max = 1 << 20},
                     {.name = "heads", .max = 1 << 20},
                     {.name = "seq", .max = 1 << 20}};
  const auto head_dim = Expression::Constant(64);
  const auto tokens = Expression::Product({Dim(0), Dim(1), Dim(2), head_dim});
  spec.mapping.tiles = Expression::Product(
      {Dim(0), Dim(1), Expression::CeilDiv({Dim(2)}, {Par(0)})});
  spec.mapping.iterations_per_tile = Expression::CeilDiv({Dim(2)}, {Par(1)});
  spec.mapping.rows = RowAxis{.dimension = 2, .tile = 0};
  Mapping causal = spec.mapping;
  causal.iterations_per_tile.reset();
  causal.total_iterations = Expression::Product(
      {Dim(0), Dim(1), Expression::CausalBlocks(2, 2, 0, 1)});
  causal.longest_loop = Expression::CeilDiv({Dim(2)}, {Par(1)});
  spec.specialisations[1].mapping = causal;
  spec.arguments = {Buffer("q", ArgumentRole::kInput, tokens),
                    Buffer("k", ArgumentRole::kInput, tokens, true),
                    Buffer("v", ArgumentRole::kInput, tokens, true),
                    Buffer("out", ArgumentRole::kOutput, tokens),
                    Scalar("heads", Dim(1)),
                    Scalar("seq", Dim(2))};
  spec.correctness =
      ComparedWith(Expression::Product({Dim(0), Dim(1), Dim(2)}));
  spec.representative_problems = {
      Weighted({8, 32, 100}, 1), Weighted({2, 32, 512}, 1),
      Weighted({1, 32, 2048}, 2), Weighted({1, 32, 8192}, 1)};
  return spec;
}

KernelSpec PaddedMoeSpec() {
  KernelSpec spec = GemmLike("padded_moe", /*grouped=*/false);
  spec.dimensions = {{.name = "tokens", .max = 1 << 20},
                     {.name = "topk", .max = 64},
                     {.name = "experts", .max = 1024},
                     {.name = "n"},
                     {.name = "k"}};
  spec.problem_predicates[0].sides[0] = Dim(4);
  spec.mapping.tiles = Expression::Product(
      {Expression::Sum(
           {Expression::CeilDiv({Dim(0), Dim(1)}, {Par(0)}), Dim(2)}),
       Expression::CeilDiv({Dim(3)}, {Par(1)})});
  spec.mapping.iterations_per_tile = Expression::CeilDiv({Dim(4)}, {Par(2)});
  spec.arguments = {
      Buffer("a", ArgumentRole::kInput, Expression::Product({Dim(0), Dim(4)})),
      Buffer("b", ArgumentRole::kInput,
             Expression::Product({Dim(2), Dim(3), Dim(4)}), true),
      Buffer("c", ArgumentRole::kOutput,
             Expression::Product({Dim(0), Dim(1), Dim(3)})),
      Scalar("tokens", Dim(0)), Scalar("k", Dim(4))};
  spec.correctness =
      ComparedWith(Expression::Product({Dim(0), Dim(1), Dim(3)}));
  for (const int64_t tokens : {1, 16, 256, 4096}) {
    spec.representative_problems.push_back(
        Weighted({tokens, 8, 32, 768, 1024}, 1));
    spec.representative_problems.push_back(
        Weighted({tokens, 8, 32, 1024, 512}, 1));
  }
  return spec;
}

KernelSpec PaddedGroupedGemmSpec() {
  KernelSpec spec = GroupedGemmSpec();
  spec.mapping.tiles = Expression::Product(
      {Expression::Sum(
           {Expression::SumOver(
                0, Expression::Sum({Expression::CeilDiv({Dim(0)}, {Par(0)}),
                                    Expression::Constant(1)})),
            Expression::Constant(4)}),
       Expression::CeilDiv({Dim(1)}, {Par(1)})});
  return spec;
}

KernelSpec ConvolutionSpec() {
  KernelSpec spec = GemmLike("convolution", /*grouped=*/false);
  spec.dimensions = {{.name = "batch"},
                     {.name = "channels"},
                     {.name = "filters"},
                     {.name = "out_h", .max = 4096},
                     {.name = "out_w", .max = 4096},
                     {.name = "kernel_h", .max = 11},
                     {.name = "kernel_w", .max = 11}};
  spec.problem_predicates[0].sides[0] = Dim(1);
  spec.mapping.tiles = Expression::Product(
      {Expression::CeilDiv({Dim(0), Dim(3), Dim(4)}, {Par(0)}),
       Expression::CeilDiv({Dim(2)}, {Par(1)})});
  spec.mapping.iterations_per_tile =
      Expression::CeilDiv({Dim(1), Dim(5), Dim(6)}, {Par(2)});
  const auto outside = [](int extent, int kernel) {
    return Expression::Sum({Dim(extent), Dim(kernel)});
  };
  const auto out = Expression::Product({Dim(0), Dim(2), Dim(3), Dim(4)});
  spec.arguments = {
      Buffer(
          "x", ArgumentRole::kInput,
          Expression::Product({Dim(0), Dim(1), outside(3, 5), outside(4, 6)})),
      Buffer("w", ArgumentRole::kInput,
             Expression::Product({Dim(2), Dim(1), Dim(5), Dim(6)}), true),
      Buffer("y", ArgumentRole::kOutput, out), Scalar("channels", Dim(1))};
  spec.correctness = ComparedWith(out);
  for (const int64_t batch : {1, 4, 16}) {
    for (const int64_t channels : {16, 64}) {
      spec.representative_problems.push_back(
          Weighted({batch, channels, 64, 14, 14, 3, 3}, 1));
      spec.representative_problems.push_back(
          Weighted({batch, channels, 32, 28, 28, 3, 3}, 1));
    }
  }
  return spec;
}

KernelSpec TritonGemmSpec() {
  KernelSpec spec = GemmSpec();
  spec.name = "triton_gemm";
  spec.parameters = {
      {.name = "BLOCK_M",
       .role = ParameterRole::kMacro,
       .values = {16, 32, 64, 128, 256}},
      {.name = "BLOCK_N",
       .role = ParameterRole::kMacro,
       .values = {64, 128, 256}},
      {.name = "BLOCK_K",
       .role = ParameterRole::kMacro,
       .values = {32, 64, 128}},
      {.name = "NUM_STAGES",
       .role = ParameterRole::kMicro,
       .values = {2, 3, 4, 5}},
      {.name = "NUM_WARPS", .role = ParameterRole::kMicro, .values = {4, 8}}};
  spec.constraints.clear();
  spec.problem_predicates.clear();
  spec.implementations = {{.backend = "replay"}};
  spec.default_configuration = {128, 128, 64, 3, 8};
  // bf16 weights of the largest recorded shapes.
  spec.limits.max_elements = int64_t{1} << 31;
  return spec;
}

KernelSpec TritonAttentionSpec() {
  KernelSpec spec = AttentionLike();
  spec.name = "triton_attention";
  spec.parameters = {
      {.name = "BLOCK_Q",
       .role = ParameterRole::kMacro,
       .values = {16, 32, 64, 128, 256}},
      {.name = "BLOCK_KV",
       .role = ParameterRole::kMacro,
       .values = {16, 32, 64, 128}},
      {.name = "NUM_STAGES",
       .role = ParameterRole::kMicro,
       .values = {1, 2, 3, 4}},
      {.name = "NUM_WARPS", .role = ParameterRole::kMicro, .values = {4, 8}}};
  spec.implementations = {{.backend = "replay"}};
  spec.default_configuration = {128, 64, 2, 8};
  spec.limits.max_elements = int64_t{1} << 31;
  return spec;
}

DeviceFacts H200() {
  return {.uuid = "GPU-00000000-0000-0000-0000-000000000000",
          .label = "NVIDIA H200",
          .backend = "replay",
          .architecture = "sm_90",
          .multiprocessors = 132,
          .memory_bytes = int64_t{143771} << 20,
          .partition = "",
          .driver = "580.159.04",
          .runtime = "13.0",
          .power_limit_w = 700};
}

}  // namespace wavetune::testing
