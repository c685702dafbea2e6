#include "fit/build/misfit_coordinates.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "model/kernel/argument.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/legal_extents.h"
#include "model/kernel/mapping_structure.h"
#include "model/kernel/wave_form.h"

namespace wavetune {
namespace {

using Unit = MisfitCoordinate::Unit;

constexpr char kMeasureBoth[] =
    "name representative_problems with small and large values: choices there "
    "are then measured, not predicted";

// Extents that this divides are alike: a page of bytes, beyond which no cache
// tells rows apart.
constexpr int64_t kMostAlignment = 4096;

double AsDouble(int64_t value) { return static_cast<double>(value); }

// Calls `visit` with every part of `expression` of the kind.
template <typename Visit>
void ForEachOf(Expression::Kind kind, const Expression& expression,
               const Visit& visit) {
  if (expression.kind == kind) visit(expression);
  for (const Expression& child : expression.children) {
    ForEachOf(kind, child, visit);
  }
}

class Collector {
 public:
  Collector(const KernelSpec& spec, const Mapping& mapping, WaveForm form,
            const DeviceFacts& device)
      : spec_(spec), mapping_(mapping), form_(form), device_(device) {}

  std::vector<MisfitCoordinate> Collect() {
    AddPassive();
    AddAlignments();
    AddFills();
    AddElements();
    AddRows();
    AddLongestLoop();
    AddColdBytes();
    AddAllBytes();
    AddModelCoordinates();
    return std::move(all_);
  }

 private:
  void Add(std::string name, Unit unit, bool relative,
           decltype(MisfitCoordinate::value) value, std::string costs,
           std::string saves) {
    all_.push_back({.name = std::move(name),
                    .unit = unit,
                    .relative = relative,
                    .value = std::move(value),
                    .advice_where_it_costs = std::move(costs),
                    .advice_where_it_saves = std::move(saves)});
  }

  const std::string& NameOf(int64_t dimension) const {
    return spec_.dimensions[static_cast<size_t>(dimension)].name;
  }

  bool IsPassive(size_t dimension) const {
    return std::find(passive_.begin(), passive_.end(),
                     static_cast<int32_t>(dimension)) != passive_.end();
  }

  // How full what is rounded up is, along each axis that is rounded.
  void AddFills() {
    const auto add = [&](const Expression& ceil_div) { AddFill(ceil_div); };
    const auto add_all = [&](const Expression& expression) {
      ForEachOf(Expression::Kind::kCeilDiv, expression, add);
    };
    add_all(mapping_.tiles);
    if (mapping_.iterations_per_tile.has_value()) {
      add_all(*mapping_.iterations_per_tile);
    }
    if (!mapping_.total_iterations.has_value()) return;
    add_all(*mapping_.total_iterations);
    ForEachOf(Expression::Kind::kCausalBlocks, *mapping_.total_iterations,
              [&](const Expression& blocks) { AddCausalFill(blocks); });
  }

  // The blocks of keys that queries visit, which may be absent or unseen.
  void AddCausalFill(const Expression& blocks) {
    const Expression one = Expression::Constant(1);
    const Expression &block_q = blocks.children[2],
                     &block_kv = blocks.children[3];
    if (block_q == one && block_kv == one) return;
    Expression pairs = blocks;
    pairs.children[2] = pairs.children[3] = one;
    AddShare("how full its causal blocks are", std::move(pairs),
             Expression::Product({blocks, block_q, block_kv}),
             "a kernel that skips queries and keys that are not there, or not "
             "seen, counts them one by one in total_iterations: causal_blocks "
             "with blocks of 1",
             "part blocks take longer than whole ones: see what the kernel "
             "does at the diagonal and behind the last key");
  }

  void AddFill(const Expression& ceil_div) {
    if (std::find(seen_.begin(), seen_.end(), ceil_div) != seen_.end()) return;
    seen_.push_back(ceil_div);
    const auto split = ceil_div.children.begin() + ceil_div.split;
    std::vector<std::string> names;
    bool repeats = false;
    for (auto factor = ceil_div.children.begin(); factor != split; ++factor) {
      if (factor->kind != Expression::Kind::kDimension) continue;
      names.push_back(NameOf(factor->value));
      repeats = repeats || factor->value == RepeatedDimensionOf(spec_);
    }
    if (names.empty()) return;
    // What there is, and what whole tiles have room for.
    Expression there = Expression::Product({ceil_div.children.begin(), split});
    std::vector<Expression> factors(split, ceil_div.children.end());
    factors.push_back(ceil_div);
    Expression room = Expression::Product(std::move(factors));
    if (repeats) {
      const int dimension = RepeatedDimensionOf(spec_);
      there = Expression::SumOver(dimension, std::move(there));
      room = Expression::SumOver(dimension, std::move(room));
    }
    const std::string along = absl::StrJoin(names, " * ");
    AddShare(absl::StrCat("how full tiles are along ", along), std::move(there),
             std::move(room),
             absl::StrCat("a kernel that does less for part tiles counts in "
                          "total_iterations what it does: ",
                          along, " itself, not whole tiles"),
             absl::StrCat("part tiles take longer than whole ones: see what "
                          "the kernel does beyond the end of ",
                          along));
  }

  // The share of `room` that is there.
  void AddShare(std::string name, Expression there, Expression room,
                std::string costs, std::string saves) {
    Add(
        std::move(name), Unit::kShare, /*relative=*/true,
        [there = std::move(there), room = std::move(room)](
            const Problem& problem, const Configuration& c,
            const Coordinates&) {
          const int64_t all = Evaluate(room, problem.View(), c);
          return all > 0 ? AsDouble(Evaluate(there, problem.View(), c)) /
                               AsDouble(all)
                         : 1.0;
        },
        std::move(costs), std::move(saves));
  }

  void AddElements() {
    const int repeated = RepeatedDimensionOf(spec_);
    if (repeated < 0) return;
    Add(
        absl::StrCat("the number of ", NameOf(repeated),
                     " elements for each tile"),
        Unit::kCount, /*relative=*/true,
        [](const Problem& problem, const Configuration&,
           const Coordinates& at) {
          const auto some =
              std::count_if(problem.repeated.begin(), problem.repeated.end(),
                            [](int64_t e) { return e > 0; });
          return AsDouble(some) / AsDouble(at.tiles);
        },
        absl::StrCat("an element costs by itself, beside its tiles (weights of "
                     "its own, say): name representative_problems with few "
                     "large and many small elements of ",
                     NameOf(repeated),
                     ", or count that cost in total_iterations"),
        absl::StrCat("many small elements are faster than few large ones: "
                     "count in total_iterations what each element of ",
                     NameOf(repeated), " takes"));
  }

  void AddRows() {
    if (!mapping_.rows.has_value()) return;
    const std::string wave_form =
        form_ == WaveForm::kSum
            ? "rows of tiles share what they load: try wave_form: "
              "WAVE_OVERLAP, which knows it, with `wavetune evaluate`"
            : kMeasureBoth;
    Add(
        "the number of rows of tiles", Unit::kCount, /*relative=*/true,
        [](const Problem&, const Configuration&, const Coordinates& at) {
          return AsDouble(at.rows);
        },
        kMeasureBoth, wave_form);
  }

  void AddLongestLoop() {
    Add(
        "how much longer the longest loop is than the mean", Unit::kCount,
        /*relative=*/true,
        [](const Problem&, const Configuration&, const Coordinates& at) {
          return AsDouble(at.longest_loop) / at.iterations;
        },
        mapping_.longest_loop.has_value()
            ? "see whether longest_loop counts what the longest tile does"
            : "give longest_loop in the mapping",
        "see whether longest_loop counts more than the longest tile does");
  }

  // Bytes of the arguments for which `wanted` holds, without those of elements
  // that have no work: nothing is done for them.
  template <typename Wanted>
  decltype(MisfitCoordinate::value) BytesOf(Wanted wanted) const {
    std::vector<std::pair<Expression, double>> buffers;
    for (const Argument& argument : spec_.arguments) {
      if (argument.role == ArgumentRole::kScalar || !wanted(argument)) continue;
      buffers.emplace_back(argument.size,
                           static_cast<double>(ElementBytes(argument.type)));
    }
    if (buffers.empty()) return nullptr;
    return [buffers](const Problem& problem, const Configuration& c,
                     const Coordinates&) {
      std::vector<int64_t> some = problem.repeated;
      std::erase(some, 0);
      const ProblemView view(absl::MakeConstSpan(problem.extents), some);
      double bytes = 0;
      for (const auto& [elements, size] : buffers) {
        bytes += AsDouble(Evaluate(elements, view, c)) * size;
      }
      return bytes;
    };
  }

  void AddColdBytes() {
    const auto cold = [](const Argument& argument) { return argument.cold; };
    const auto bytes = BytesOf(cold);
    if (bytes == nullptr) return;
    std::vector<std::string> names;
    for (const Argument& argument : spec_.arguments) {
      if (argument.cold) names.push_back(argument.name);
    }
    const std::string list = absl::StrJoin(names, ", ");
    Add(
        absl::StrCat("the bytes of ", list,
                     " that it reads cold for each iteration of a tile"),
        Unit::kBytes, /*relative=*/true,
        [bytes](const Problem& problem, const Configuration& c,
                const Coordinates& at) {
          return bytes(problem, c, at) / (AsDouble(at.tiles) * at.iterations);
        },
        absl::StrCat("reading ", list,
                     " takes the time: name representative_problems that read "
                     "little and much of it for their tiles, or count it in "
                     "total_iterations"),
        kMeasureBoth);
  }

  void AddPassive() {
    const auto structure = AnalyseMapping(spec_, mapping_);
    if (!structure.ok()) return;
    passive_ = structure->passive;
    for (const int32_t dimension : passive_) {
      if (spec_.dimensions[static_cast<size_t>(dimension)].repeated) continue;
      const std::string advice =
          absl::StrCat("the mapping does not know ", NameOf(dimension),
                       ": name representative_problems with each value that is "
                       "asked for; where it makes work, count that in "
                       "total_iterations");
      Add(
          NameOf(dimension), Unit::kCount, /*relative=*/false,
          [dimension](const Problem& problem, const Configuration&,
                      const Coordinates&) {
            return AsDouble(problem.extents[static_cast<size_t>(dimension)]);
          },
          advice, advice);
    }
  }

  void AddAlignments() {
    for (size_t i = 0; i < spec_.dimensions.size(); ++i) {
      if (spec_.dimensions[i].repeated || IsPassive(i)) continue;
      const std::string& name = spec_.dimensions[i].name;
      Add(
          absl::StrCat("the power of two that divides ", name), Unit::kCount,
          /*relative=*/false,
          [i](const Problem& problem, const Configuration&,
              const Coordinates&) {
            const int64_t extent = problem.extents[i];
            return AsDouble(std::min(extent & -extent, kMostAlignment));
          },
          absl::StrCat("even values of ", name,
                       " are slow (rows that meet in the cache, say): pad "
                       "them, or name representative_problems of both kinds"),
          absl::StrCat("other values of ", name,
                       " take a slower path: give it a parameter of its own "
                       "with a problem predicate (",
                       name, " MULTIPLE_OF ...)"));
    }
  }

  void AddAllBytes() {
    const auto bytes = BytesOf([](const Argument&) { return true; });
    if (bytes == nullptr) return;
    Add("the bytes of all its buffers", Unit::kBytes, /*relative=*/false, bytes,
        kMeasureBoth, kMeasureBoth);
    all_.back().limit = AsDouble(device_.last_level_cache_bytes);
    all_.back().advice_beyond =
        "beyond the last-level cache a byte takes longer: say cold: true of "
        "inputs that serving reads cold, and name representative_problems on "
        "the side that is asked for";
  }

  // Coordinates that the model has, where its form is not the kernel's.
  void AddModelCoordinates() {
    const std::string other = absl::StrCat(
        "the latency does not grow as the wave form says: try "
        "wave_form: ",
        form_ == WaveForm::kSum ? "WAVE_OVERLAP" : "WAVE_SUM",
        " with `wavetune evaluate`");
    Add(
        "the number of tiles", Unit::kCount, /*relative=*/true,
        [](const Problem&, const Configuration&, const Coordinates& at) {
          return AsDouble(at.tiles);
        },
        other, other);
    Add(
        "the main-loop iterations of a tile", Unit::kCount, /*relative=*/true,
        [](const Problem&, const Configuration&, const Coordinates& at) {
          return at.iterations;
        },
        other, other);
  }

  const KernelSpec& spec_;
  const Mapping& mapping_;
  const WaveForm form_;
  const DeviceFacts& device_;
  std::vector<Expression> seen_;
  std::vector<int32_t> passive_;
  std::vector<MisfitCoordinate> all_;
};

}  // namespace

std::vector<MisfitCoordinate> MisfitCoordinates(const KernelSpec& spec,
                                                const Mapping& mapping,
                                                WaveForm form,
                                                const DeviceFacts& device) {
  return Collector(spec, mapping, form, device).Collect();
}

}  // namespace wavetune
