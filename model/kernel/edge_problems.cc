#include "model/kernel/edge_problems.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <set>
#include <utility>

#include "absl/status/statusor.h"
#include "model/kernel/edge_steps.h"
#include "model/kernel/expression_faults.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/legal_extents.h"
#include "model/kernel/mapping.h"
#include "model/kernel/mapping_structure.h"
#include "model/kernel/passive_extents.h"
#include "model/kernel/problem_limits.h"

namespace wavetune {
namespace {

// Axes of a grid that get a problem of their own; more have none.
constexpr size_t kMostAxes = 4;

class EdgeMaker {
 public:
  EdgeMaker(const KernelSpec& spec, const std::string& specialisation,
            const Configuration& configuration, MappingStructure structure)
      : spec_(spec),
        specialisation_(specialisation),
        configuration_(configuration),
        mapping_(spec.MappingOf(specialisation)),
        structure_(std::move(structure)) {
    for (const TileAxis& axis : structure_.axes) {
      axes_.push_back(GroupOf(axis.dimension, axis.companions));
    }
    if (structure_.loop_dimension >= 0) {
      AssumeSteps();
      loop_ = GroupOf(structure_.loop_dimension, structure_.loop_others);
    }
  }

  std::vector<Problem> Run() {
    for (const Edge edge : {Edge::kOne, Edge::kTileLess, Edge::kTileMore}) {
      Add(std::vector<Edge>(axes_.size(), edge), edge);
    }
    for (size_t i = 0; i < std::min(axes_.size(), kMostAxes); ++i) {
      std::vector<Edge> edges(axes_.size(), Edge::kTileMore);
      if (structure_.loop_axis >= 0) {
        edges[static_cast<size_t>(structure_.loop_axis)] = Edge::kRagged;
      }
      edges[i] = Edge::kOne;
      Add(edges, Edge::kRagged);
    }
    return std::move(problems_);
  }

 private:
  // The dimensions of an axis, or of the loop: one that moves to the edge, and
  // those that give it its shape.
  struct Group {
    int32_t dimension = 0;
    std::vector<int32_t> companions;
    // Extents by dimension. What is typical of companions, and at what they are
    // held: the largest of which a tile has room for one, then smaller ones,
    // down to the minimum.
    std::vector<int64_t> typical;
    std::vector<std::vector<int64_t>> held;
  };

  const Dimension& DimensionOf(int32_t index) const {
    return spec_.dimensions[static_cast<size_t>(index)];
  }

  int64_t LeastOf(int32_t dimension) const {
    return std::max<int64_t>(1, DimensionOf(dimension).min);
  }

  static int64_t& Extent(Problem& problem, int32_t dimension) {
    return problem.extents[static_cast<size_t>(dimension)];
  }

  // Returns the problem with everything at its minimum.
  Problem Least() const {
    Problem problem;
    problem.specialisation = specialisation_;
    for (const Dimension& dimension : spec_.dimensions) {
      problem.extents.push_back(dimension.repeated ? 0 : dimension.min);
    }
    return problem;
  }

  Group GroupOf(int32_t dimension,
                const std::vector<int32_t>& companions) const {
    Group group{.dimension = dimension,
                .companions = companions,
                .typical = TypicalOf(companions)};
    for (std::vector<int64_t>& held :
         HalvedTowardsMinimum(spec_, companions, group.typical)) {
      if (!group.held.empty() || HasRoom(group, held)) {
        group.held.push_back(std::move(held));
      }
    }
    return group;
  }

  // Returns what representative problems say of companions, but 2 where they
  // say 1: a stride that is wrong shows nowhere else.
  std::vector<int64_t> TypicalOf(const std::vector<int32_t>& companions) const {
    const Problem* const typical =
        FullestRepresentative(spec_, specialisation_, companions);
    std::vector<int64_t> extents = Least().extents;
    for (const int32_t dimension : companions) {
      const auto index = static_cast<size_t>(dimension);
      const int64_t own = typical == nullptr ? 1 : typical->extents[index];
      extents[index] = std::clamp(std::max<int64_t>(own, 2), LeastOf(dimension),
                                  DimensionOf(dimension).max);
    }
    return extents;
  }

  EdgeStep StepIn(const Problem& problem, int32_t dimension,
                  const std::vector<int32_t>& companions) const {
    EdgeStep step =
        StepOf(mapping_, dimension, companions, problem, configuration_);
    if (dimension == structure_.loop_dimension && assumed_ > 1) {
      step.divisor = assumed_;
    }
    return step;
  }

  // A loop that is counted one by one is hardly run through like that.
  void AssumeSteps() {
    const EdgeStep step =
        StepOf(mapping_, structure_.loop_dimension, structure_.loop_others,
               Least(), configuration_);
    if (step.divisor > 1 || step.of_parameter) return;
    assumable_ = UnnamedValues();
    assumable_.push_back(1);
    assumed_ = assumable_.front();
  }

  // Returns the values above 1 of the parameters that neither the tiles nor the
  // loop name: the largest first, each once.
  std::vector<int64_t> UnnamedValues() const {
    std::vector<int32_t> named;
    CollectParameters(mapping_.tiles, named);
    for (const auto* part :
         {&mapping_.iterations_per_tile, &mapping_.total_iterations}) {
      if (part->has_value()) CollectParameters(**part, named);
    }
    std::set<int64_t, std::greater<>> values;
    for (int32_t i = 0; i < configuration_.size(); ++i) {
      if (std::find(named.begin(), named.end(), i) != named.end()) continue;
      if (configuration_[i] > 1) values.insert(configuration_[i]);
    }
    return {values.begin(), values.end()};
  }

  // Whether a tile holds more than the companions, or they are as small as can
  // be.
  bool HasRoom(const Group& group, const std::vector<int64_t>& held) const {
    Problem problem = Least();
    HoldIn(problem, group, held);
    const EdgeStep step = StepIn(problem, group.dimension, group.companions);
    const bool least =
        std::all_of(group.companions.begin(), group.companions.end(),
                    [&](int32_t dimension) {
                      return Extent(problem, dimension) == LeastOf(dimension);
                    });
    return least || step.coefficient == 1 ||
           LeastOf(group.dimension) <= ExtentAt(step, Edge::kTileLess);
  }

  static void HoldIn(Problem& problem, const Group& group,
                     const std::vector<int64_t>& held) {
    for (const int32_t dimension : group.companions) {
      Extent(problem, dimension) = held[static_cast<size_t>(dimension)];
    }
  }

  int64_t InRange(int32_t dimension, int64_t extent) const {
    return std::clamp(extent, LeastOf(dimension), DimensionOf(dimension).max);
  }

  // Sets a group's extents, `smaller` times smaller than it would like, and
  // remembers which way they may move.
  void Set(const Group& group, Edge edge, size_t smaller, Problem& problem) {
    const size_t last = group.held.size() - 1;
    const auto& held =
        group.held[edge == Edge::kOne ? last : std::min(smaller, last)];
    HoldIn(problem, group, held);
    const EdgeStep step = StepIn(problem, group.dimension, group.companions);
    SetDriver(group.dimension, edge,
              InRange(group.dimension, ExtentAt(step, edge)), problem);
    for (const int32_t companion : group.companions) {
      if (edge != Edge::kOne && step.coefficient > 1) {
        Approach(group, companion, edge, step.divisor, problem);
      }
      AllowMove(companion, -1, edge);
    }
  }

  void AllowMove(int32_t dimension, int32_t element, Edge edge) {
    ranges_.push_back({.dimension = dimension,
                       .element = element,
                       .low = DimensionOf(dimension).min,
                       .high = DimensionOf(dimension).max,
                       .prefer_down = edge == Edge::kTileLess});
  }

  void SetDriver(int32_t dimension, Edge edge, int64_t extent,
                 Problem& problem) {
    const Dimension& range = DimensionOf(dimension);
    if (!range.repeated) {
      Extent(problem, dimension) = extent;
      AllowMove(dimension, -1, edge);
      return;
    }
    problem.repeated = {extent};
    if (edge != Edge::kOne) {
      if (range.min == 0) problem.repeated.push_back(0);
      problem.repeated.push_back(InRange(dimension, 1));
    }
    for (size_t i = 0; i < problem.repeated.size(); ++i) {
      AllowMove(dimension, static_cast<int32_t>(i), edge);
    }
  }

  // Moves a companion as near to the edge as it goes, up to what is typical,
  // where it shares tiles of `divisor` with the dimension.
  void Approach(const Group& group, int32_t companion, Edge edge,
                int64_t divisor, Problem& problem) const {
    std::vector<int32_t> others = group.companions;
    others.push_back(group.dimension);
    const EdgeStep step = StepIn(problem, companion, others);
    if (step.divisor != divisor) return;
    const int64_t nearest = InRange(companion, ExtentAt(step, edge));
    const int64_t typical = group.typical[static_cast<size_t>(companion)];
    int64_t& extent = Extent(problem, companion);
    extent = edge == Edge::kTileLess
                 ? std::max(extent, std::min(nearest, typical))
                 : std::min(extent, nearest);
  }

  // An unnamed parameter may be anything, as bytes, and its problem too large:
  // then the next smaller one may be the loop's step.
  void Add(const std::vector<Edge>& edges, Edge loop) {
    for (const int64_t step : assumable_) {
      assumed_ = step;
      if (AddOne(edges, loop)) return;
    }
  }

  // Returns whether there is such a problem, new or not.
  bool AddOne(const std::vector<Edge>& edges, Edge loop) {
    // What is legal and small enough as it should be, or else smaller.
    size_t tries = loop_.held.size();
    for (const Group& axis : axes_) tries = std::max(tries, axis.held.size());
    for (size_t smaller = 0; smaller < tries; ++smaller) {
      Problem problem = Least();
      if (!Make(edges, loop, smaller, problem)) continue;
      if (std::find(problems_.begin(), problems_.end(), problem) ==
          problems_.end()) {
        problems_.push_back(std::move(problem));
      }
      return true;
    }
    return false;
  }

  // Returns whether there is such a problem.
  bool Make(const std::vector<Edge>& edges, Edge loop, size_t smaller,
            Problem& problem) {
    ranges_.clear();
    // The loop moves first: what the grid is at matters more.
    if (!loop_.held.empty()) Set(loop_, loop, smaller, problem);
    for (size_t i = 0; i < axes_.size(); ++i) {
      Set(axes_[i], edges[i], smaller, problem);
    }
    SetPassiveExtents(spec_, structure_, problem);
    for (const int32_t dimension : structure_.passive) {
      AllowMove(dimension, -1, Edge::kOne);
    }
    KeepKeysForEveryQuery(problem);
    return MakeLegal(spec_, configuration_, ranges_, problem) &&
           IsLegal(spec_, configuration_, problem.View()) &&
           !ExceedsLimits(problem);
  }

  // Fewer keys than queries leave causal queries without any: no one asks for
  // that, and what an average over nothing should be, nobody says.
  void KeepKeysForEveryQuery(Problem& problem) const {
    if (structure_.loop_floor < 0) return;
    int64_t& keys = Extent(problem, structure_.loop_dimension);
    keys = std::clamp(Extent(problem, structure_.loop_floor), keys,
                      DimensionOf(structure_.loop_dimension).max);
  }

  bool ExceedsLimits(const Problem& problem) const {
    ProblemLimits limits = spec_.limits;
    limits.max_elements = std::min(limits.max_elements, kMaxEdgeElements);
    return !LimitExceeded(spec_, mapping_, configuration_, problem, limits)
                .empty();
  }

  const KernelSpec& spec_;
  const std::string& specialisation_;
  const Configuration& configuration_;
  const Mapping& mapping_;
  const MappingStructure structure_;
  std::vector<Group> axes_;
  Group loop_;  // Without `held` where no dimension drives a loop of its own.
  // Steps that a loop counted one by one may have, the largest first, and the
  // one that it is taken to have; 1 is what the mapping says.
  std::vector<int64_t> assumable_ = {1};
  int64_t assumed_ = 1;
  std::vector<ExtentRange> ranges_;
  std::vector<Problem> problems_;
};

}  // namespace

std::vector<Problem> EdgeProblems(const KernelSpec& kernel,
                                  const std::string& specialisation,
                                  const Configuration& configuration) {
  const KernelSpec& spec = kernel.Of(specialisation);
  absl::StatusOr<MappingStructure> structure =
      AnalyseMapping(spec, spec.MappingOf(specialisation));
  if (!structure.ok()) return {};
  return EdgeMaker(spec, specialisation, configuration, *std::move(structure))
      .Run();
}

}  // namespace wavetune
