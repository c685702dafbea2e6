#include "fit/models/anchor_plan.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "fit/models/anchor_grid.h"
#include "fit/models/row_regimes.h"
#include "model/kernel/expression_faults.h"
#include "model/kernel/mapping_structure.h"
#include "model/table/wave_model.h"

namespace wavetune {
namespace {

constexpr int64_t kFewTiles = 8;      // Launch and one tile each.
constexpr int64_t kFewerTiles = 2;    // Times fewer than named, in few rows.
constexpr double kLeastLoopSpan = 4;  // High over low loop count.
constexpr double kDefaultLow = 16;    // Loop counts where nothing is known.
constexpr double kDefaultHigh = 128;
constexpr int64_t kManyWaves = 8;
// Where nobody asks for fewer waves a step is a few per cent: anchors need not
// tell steps from tiles, and go where problems are.
constexpr int64_t kSmoothWaves = 2 * kManyWaves;
// How many tiles more than wanted an anchor may have for the columns of a
// representative problem. Less than a wave's last tiles change.
constexpr double kMostAnchorExcess = 0.02;
constexpr int kTriesOfTiles = 6;

// A representative problem's place, as far as anchors care.
struct Place {
  double tiles = 1;
  double iterations = 1;
  double fill = 1;
  double weight = 0;
  double work = 0;      // Waves times iterations.
  int64_t columns = 1;  // Tiles of each row.
};

// Returns the value below which `share` of the weight lies.
template <typename Key>
double Quantile(std::vector<Place> places, double share, Key key) {
  std::stable_sort(
      places.begin(), places.end(),
      [&](const Place& a, const Place& b) { return key(a) < key(b); });
  double all = 0;
  for (const Place& p : places) all += p.weight;
  double below = 0;
  for (const Place& p : places) {
    below += p.weight;
    if (below >= share * all) return key(p);
  }
  return places.empty() ? 0 : key(places.back());
}

double TilesOf(const Place& p) { return p.tiles; }
double IterationsOf(const Place& p) { return p.iterations; }
double FillOf(const Place& p) { return p.fill; }
double WorkOf(const Place& p) { return p.work; }

// Returns L of a candidate in whose loop no dimension stands, or nothing.
std::optional<double> FixedLoop(const Mapping& mapping,
                                const Configuration& configuration) {
  if (!mapping.iterations_per_tile.has_value()) return std::nullopt;
  std::vector<int32_t> dimensions;
  CollectDimensions(*mapping.iterations_per_tile, dimensions);
  if (!dimensions.empty()) return std::nullopt;
  const int64_t iterations =
      Evaluate(*mapping.iterations_per_tile, ProblemView(), configuration);
  return static_cast<double>(std::max<int64_t>(1, iterations));
}

// Returns whether every number of tiles has one L, or hardly more.
bool HasOneLoop(const Mapping& mapping, const Configuration& configuration) {
  return FixedLoop(mapping, configuration).has_value() ||
         LoopFollowsTiles(mapping);
}

int64_t GeometricMean(int64_t a, int64_t b) {
  return static_cast<int64_t>(
      std::sqrt(static_cast<double>(a) * static_cast<double>(b)));
}

// What clients ask of one row regime.
struct Demand {
  size_t regime = 0;
  double share = 0;  // Of the weight.
  bool known = false;
  double low_loop = kDefaultLow;
  double high_loop = kDefaultHigh;
  // Of few rows a part of what was named: matrices half as wide as the
  // narrowest are asked for, too (fit/models/neighbours.h), and whether such
  // a launch is still within its first wave decides between splits.
  int64_t fewest_tiles = 1;
  int64_t most_tiles = 1;   // 90th percentile.
  int64_t reach_tiles = 1;  // The most of all.
  double most_work = 0;     // Waves times iterations.
  double low_fill = 1;      // Of the last row, at the low loop count.
  double high_fill = 1;
  std::vector<Place> places;
};

class AnchorPlanner {
 public:
  AnchorPlanner(const SpecialisationState& specialisation,
                const CandidateState& candidate)
      : state_(specialisation),
        tiles_per_wave_(candidate.candidate->tiles_per_wave),
        fixed_loop_(FixedLoop(*specialisation.mapping,
                              candidate.candidate->configuration)),
        loop_follows_tiles_(LoopFollowsTiles(*specialisation.mapping)),
        last_(specialisation.axes.row_regimes.size() - 1) {
    for (size_t r = 0; r < last_; ++r) {
      least_rows_ = std::max(least_rows_,
                             specialisation.axes.row_regimes[r].max_rows + 1);
    }
    std::vector<std::vector<Place>> places(last_ + 1);
    for (size_t p = 0; p < candidate.at.size(); ++p) {
      const Coordinates& at = candidate.at[p];
      const auto regime = static_cast<size_t>(
          RowRegimeIndex(state_.axes, at.rows, at.row_fill));
      const Place place{
          static_cast<double>(at.tiles),
          at.iterations,
          at.row_fill,
          state_.weights[p],
          static_cast<double>(Waves(at.tiles, tiles_per_wave_)) * at.iterations,
          std::max<int64_t>(1, at.tiles / std::max<int64_t>(1, at.rows))};
      places[regime].push_back(place);
      all_.push_back(place);
    }
    for (size_t r = 0; r <= last_; ++r) demands_.push_back(Ask(places[r], r));
  }

  // The plan first, then every regime's grid, two of the square one's anchors
  // to one of each other regime's.
  std::vector<Anchor> PlanGrid() const {
    std::vector<Anchor> plan = Plan();
    std::vector<std::vector<Anchor>> grids;
    size_t longest = 0;
    for (const Demand& demand : demands_) {
      grids.push_back(GridOf(demand));
      longest = std::max(longest, grids.back().size());
    }
    for (size_t i = 0; i < longest; ++i) {
      for (size_t r = 0; r <= last_; ++r) {
        const size_t step = r == last_ ? 2 : 1;
        for (size_t k = step * i; k < step * (i + 1); ++k) {
          if (k < grids[r].size()) plan.push_back(grids[r][k]);
        }
      }
    }
    return plan;
  }

  std::vector<Anchor> Plan() const {
    std::vector<std::vector<Anchor>> lists;
    for (const Demand& demand : demands_) {
      const bool square = demand.regime == last_;
      if (!square && demand.share < kLeastRegimeShare && !all_.empty())
        continue;
      lists.push_back(square ? AnchorsOf(demand, SquareTiles(demand))
                             : RowAnchors(demand));
    }
    return Interleave(std::move(lists));
  }

 private:
  Demand Ask(const std::vector<Place>& places, size_t regime) const {
    Demand demand;
    demand.regime = regime;
    demand.low_fill = demand.high_fill =
        state_.axes.row_regimes[regime].max_fill;
    for (const Place& p : places) demand.share += p.weight;
    // The square grid is the model's backbone: with no problems of its own it
    // serves those of all regimes.
    const bool square = regime == last_;
    const std::vector<Place>& own =
        square && demand.share < kLeastRegimeShare ? all_ : places;
    if (!own.empty()) AskAsIn(own, demand);
    if (fixed_loop_) demand.low_loop = demand.high_loop = *fixed_loop_;
    return demand;
  }

  void AskAsIn(const std::vector<Place>& own, Demand& demand) const {
    demand.known = true;
    demand.places = own;
    demand.most_work = Quantile(own, 1, WorkOf);
    demand.high_loop = std::max(1.0, Quantile(own, 0.9, IterationsOf));
    demand.low_loop =
        std::max(1.0, std::min(Quantile(own, 0.05, IterationsOf),
                               demand.high_loop / kLeastLoopSpan));
    demand.fewest_tiles = static_cast<int64_t>(Quantile(own, 0, TilesOf));
    demand.most_tiles = static_cast<int64_t>(Quantile(own, 0.9, TilesOf));
    demand.reach_tiles = static_cast<int64_t>(Quantile(own, 1, TilesOf));
    if (demand.regime == last_) return;
    demand.fewest_tiles =
        std::max<int64_t>(1, demand.fewest_tiles / kFewerTiles);
    SetFill(own, demand);
  }

  // Full rows, but in a regime of nearly empty ones what is usual there; and
  // where the loop follows the fill (total_iterations) what goes with it: a low
  // loop count of a full row would be a short loop that nobody asks for.
  void SetFill(const std::vector<Place>& places, Demand& demand) const {
    if (state_.mapping->total_iterations.has_value()) {
      demand.low_fill = Quantile(places, 0.1, FillOf);
      demand.high_fill = Quantile(places, 0.9, FillOf);
    } else if (state_.axes.row_regimes[demand.regime].max_fill < 1) {
      demand.low_fill = demand.high_fill = Quantile(places, 0.5, FillOf);
    }
  }

  // Tile counts of the square grid, the most telling first.
  std::vector<int64_t> SquareTiles(const Demand& demand) const {
    const int64_t c = tiles_per_wave_;
    const int64_t few = std::clamp<int64_t>(c / 8, 1, kFewTiles);
    const int64_t far = demand.known ? demand.most_tiles : kManyWaves * c;
    const int64_t reach = demand.known ? demand.reach_tiles : far;
    // Beyond two waves at least one more point: up to there steps and tiles
    // grow together, and nothing tells their costs apart.
    const int64_t many = std::clamp(reach, 4 * c, kManyWaves * c);
    std::vector<int64_t> tiles = {c, 2 * c, few, many, c + 1};
    if (demand.known && demand.fewest_tiles > kSmoothWaves * c) {
      tiles = {far, demand.fewest_tiles, 2 * c};
      if (far > 4 * demand.fewest_tiles) {
        tiles.insert(tiles.begin() + 2,
                     GeometricMean(demand.fewest_tiles, far));
      }
      return tiles;
    }
    // Nobody asks for less than a wave: one anchor there will do.
    if (demand.known && demand.fewest_tiles > c) {
      tiles = {demand.fewest_tiles, std::max(far, many), 2 * c, c + 1, many, c};
    } else {
      tiles.push_back(std::max<int64_t>(1, c / 2));
    }
    if (far > kManyWaves * c * 3 / 2) {
      tiles.push_back(far);
      if (far > 4 * kManyWaves * c) {
        tiles.push_back(GeometricMean(kManyWaves * c, far));
      }
    }
    return tiles;
  }

  // Tile counts of one or two rows: up to what clients ask for, or one wave.
  std::vector<int64_t> RowTiles(const Demand& demand) const {
    const int64_t c = tiles_per_wave_;
    const int64_t most = demand.most_tiles;
    const int64_t top = std::min(c, most + most / 4);
    std::vector<int64_t> tiles;
    if (!demand.known) {
      return {c, std::max<int64_t>(1, c / 2),
              std::clamp<int64_t>(c / 8, 1, kFewTiles)};
    }
    if (demand.fewest_tiles <= c) {
      tiles = {top, std::max<int64_t>(1, top / 2),
               std::clamp<int64_t>(demand.fewest_tiles, 1, kFewTiles)};
    }
    if (most > c) {
      tiles.insert(tiles.begin(), most);
      const int64_t least = std::max(c + 1, demand.fewest_tiles);
      if (most > 2 * least) tiles.push_back(least);
    }
    return tiles;
  }

  // Where launches of a wave and of several are asked for, both ends of the
  // first wave come early, at the long loop: without them the last few tiles,
  // which have the device for themselves, seem to cost what other tiles do.
  std::vector<Anchor> RowAnchors(const Demand& demand) const {
    std::vector<Anchor> anchors = AnchorsOf(demand, RowTiles(demand));
    const int64_t c = tiles_per_wave_;
    if (!demand.known || demand.fewest_tiles > c ||
        demand.most_tiles <= 2 * (c + 1)) {
      return anchors;
    }
    const auto place = [&](const Anchor& anchor) {
      const int64_t tiles = anchor.target.tiles;
      const bool is_long =
          anchor.target.iterations == Loops(demand, tiles).back();
      if (is_long && tiles == demand.most_tiles) return 0;
      if (is_long && tiles == c) return 1;
      if (is_long && tiles == c + 1) return 2;
      return tiles == c ? 3 : 4;
    };
    std::stable_sort(
        anchors.begin(), anchors.end(),
        [&](const auto& a, const auto& b) { return place(a) < place(b); });
    return anchors;
  }

  std::vector<Anchor> AnchorsOf(const Demand& demand,
                                const std::vector<int64_t>& tiles) const {
    std::vector<Anchor> anchors;
    const RowRegime& regime = state_.axes.row_regimes[demand.regime];
    for (const int64_t g : tiles) {
      for (const double loop : Loops(demand, g)) {
        Anchor anchor{
            .target = {.tiles = g,
                       .iterations = loop,
                       .rows = demand.regime == last_
                                   ? UsualRows(demand, g, loop)
                                   : regime.max_rows,
                       .row_fill = loop > demand.low_loop ? demand.high_fill
                                                          : demand.low_fill},
            .row_regime = demand.regime};
        const auto same = [&](const Anchor& other) {
          return other.target.tiles == g && other.target.iterations == loop;
        };
        if (std::none_of(anchors.begin(), anchors.end(), same)) {
          anchors.push_back(anchor);
        }
      }
    }
    return anchors;
  }

  // Every tile count of the grid at every loop count and fill. Sorted by how
  // much later than the first each of the three is, so that however many are
  // taken spread over all of them.
  std::vector<Anchor> GridOf(const Demand& demand) const {
    const bool square = demand.regime == last_;
    const std::vector<int64_t> tiles = GridTilesOf(demand);
    const std::vector<double> fills = GridFills(demand);
    std::vector<std::pair<size_t, Anchor>> grid;
    for (const GridLoop& loop : GridLoops(demand.low_loop, demand.high_loop)) {
      for (size_t f = 0; f < fills.size(); ++f) {
        for (size_t t = 0; t < tiles.size(); ++t) {
          const double work =
              static_cast<double>(Waves(tiles[t], tiles_per_wave_)) *
              loop.iterations;
          if (demand.known && work > demand.most_work) continue;
          const int64_t rows =
              square ? UsualRows(demand, tiles[t], loop.iterations)
                     : RegimeOf(demand).max_rows;
          grid.push_back({loop.delay + kGridFillDelay * f + t,
                          {.target = {.tiles = tiles[t],
                                      .iterations = loop.iterations,
                                      .rows = rows,
                                      .row_fill = fills[f]},
                           .row_regime = demand.regime}});
        }
      }
    }
    std::stable_sort(
        grid.begin(), grid.end(),
        [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Anchor> anchors;
    for (const auto& [unused, anchor] : grid) anchors.push_back(anchor);
    return anchors;
  }

  // Nothing beyond what clients ask for, but of the square grid always the
  // first four waves: they tell steps from tiles.
  std::vector<int64_t> GridTilesOf(const Demand& demand) const {
    const int64_t reach = std::max(
        demand.known ? demand.reach_tiles : kManyWaves * tiles_per_wave_,
        demand.regime == last_ ? 4 * tiles_per_wave_ : int64_t{1});
    return GridTileCounts(
        tiles_per_wave_, reach,
        {1, kFewTiles, demand.fewest_tiles, demand.most_tiles, reach});
  }

  // Of the last row: as in the plan, then what clients ask for, then half of
  // what the regime allows. Full rows in the square grid.
  std::vector<double> GridFills(const Demand& demand) const {
    if (demand.regime == last_) return {1};
    std::vector<double> fills;
    const auto add = [&](double fill) {
      if (fill > 0 &&
          std::find(fills.begin(), fills.end(), fill) == fills.end()) {
        fills.push_back(fill);
      }
    };
    add(demand.low_fill);
    add(demand.high_fill);
    if (demand.known) {
      for (const double share : {0.5, 0.1, 0.9}) {
        add(Quantile(demand.places, share, FillOf));
      }
    }
    add(RegimeOf(demand).max_fill / 2);
    return fills;
  }

  const RowRegime& RegimeOf(const Demand& demand) const {
    return state_.axes.row_regimes[demand.regime];
  }

  // Rows for `tiles` in a grid as wide as the representative problem's that is
  // nearest in tiles and loop; 0 (a nearly square grid) where none fits. How
  // wide a matrix is decides which cache sets its rows share: on a CPU a square
  // grid of 32 x 64 columns, a power of two, took twice the time of the widths
  // that clients ask for. 0 where rows would decide the loop.
  int64_t UsualRows(const Demand& demand, int64_t tiles, double loop) const {
    if (loop_follows_tiles_) return 0;
    int64_t rows = 0;
    double nearest = 0;
    for (const Place& p : demand.places) {
      const int64_t wanted = (tiles + p.columns - 1) / p.columns;
      const double excess =
          static_cast<double>(wanted * p.columns) / static_cast<double>(tiles) -
          1;
      if (excess > kMostAnchorExcess || wanted < least_rows_) continue;
      const double distance =
          std::max(p.tiles / static_cast<double>(tiles),
                   static_cast<double>(tiles) / p.tiles) *
          std::max(p.iterations / loop, loop / p.iterations);
      if (rows > 0 && distance >= nearest) continue;
      rows = wanted;
      nearest = distance;
    }
    return rows;
  }

  // The loop counts at `tiles` that are no more work than clients ask for.
  std::vector<double> Loops(const Demand& demand, int64_t tiles) const {
    if (!demand.known) return {demand.low_loop, demand.high_loop};
    const double most =
        demand.most_work / static_cast<double>(Waves(tiles, tiles_per_wave_));
    if (most < demand.low_loop) return {};
    const double high = std::min(demand.high_loop, most);
    if (high < 2 * demand.low_loop) return {demand.low_loop};
    return {demand.low_loop, high};
  }

  // Six anchors of the square grid and two of the row regime that is asked for
  // most, then all regimes in turn. Without the square grid a fit of few
  // anchors has no idea of waves.
  std::vector<Anchor> Interleave(std::vector<std::vector<Anchor>> lists) const {
    std::vector<Anchor> plan;
    std::vector<Anchor> square = std::move(lists.back());
    lists.pop_back();
    std::stable_sort(lists.begin(), lists.end(),
                     [this](const auto& a, const auto& b) {
                       return ShareOf(a) > ShareOf(b);
                     });
    size_t next_square = 0;
    const auto take_square = [&](size_t count) {
      for (; count > 0 && next_square < square.size(); --count) {
        plan.push_back(square[next_square++]);
      }
    };
    take_square(kScreeningAnchors - (lists.empty() ? 0 : 2));
    for (size_t i = 0; plan.size() < kMaxAnchors; i += 2) {
      const size_t before = plan.size();
      for (const auto& list : lists) {
        for (size_t k = i; k < std::min(i + 2, list.size()); ++k) {
          plan.push_back(list[k]);
        }
      }
      take_square(i == 0 ? 4 : 2);
      if (plan.size() == before) break;
    }
    if (plan.size() > kMaxAnchors) plan.resize(kMaxAnchors);
    return plan;
  }

  double ShareOf(const std::vector<Anchor>& list) const {
    return list.empty() ? 0 : demands_[list[0].row_regime].share;
  }

  const SpecialisationState& state_;
  const int64_t tiles_per_wave_;
  const std::optional<double> fixed_loop_;
  const bool loop_follows_tiles_;
  const size_t last_;
  int64_t least_rows_ = 1;  // Of the square grid's regime.
  std::vector<Place> all_;
  std::vector<Demand> demands_;
};

// Finds a problem for an anchor, trying fewer tiles where the mapping rounds up
// past the end of the first wave, and more where the grid has the wrong rows.
absl::StatusOr<Problem> Land(const KernelSpec& spec,
                             const SpecialisationState& specialisation,
                             const Candidate& candidate, const Anchor& anchor) {
  MappingTarget target = anchor.target;
  const bool sub_wave = target.tiles <= candidate.tiles_per_wave;
  absl::StatusOr<Problem> first = absl::NotFoundError("no tiles left to try");
  for (int i = 0; i < kTriesOfTiles && target.tiles >= 1; ++i) {
    absl::StatusOr<Problem> problem = InvertMapping(
        spec, specialisation.name, candidate.configuration, target);
    if (!problem.ok()) return first.ok() ? first : problem;
    const Coordinates at = MapProblem(*specialisation.mapping, problem->View(),
                                      candidate.configuration);
    const bool too_many = sub_wave && at.tiles > candidate.tiles_per_wave;
    const bool right_rows =
        RowRegimeIndex(specialisation.axes, at.rows, at.row_fill) ==
        static_cast<int>(anchor.row_regime);
    if (!too_many && right_rows) return problem;
    if (!too_many && !first.ok()) first = std::move(problem);
    target.tiles += sub_wave ? -1 : 1;
    // Rows do not depend on tiles where they were asked for.
    if (!too_many && target.rows > 0) break;
  }
  return first;
}

}  // namespace

std::vector<Anchor> PlanAnchors(const SpecialisationState& specialisation,
                                const CandidateState& candidate) {
  return AnchorPlanner(specialisation, candidate).Plan();
}

std::vector<Anchor> PlanAnchorGrid(const SpecialisationState& specialisation,
                                   const CandidateState& candidate) {
  return AnchorPlanner(specialisation, candidate).PlanGrid();
}

std::vector<Problem> AnchorProblems(const KernelSpec& spec,
                                    const SpecialisationState& specialisation,
                                    const CandidateState& candidate,
                                    size_t count) {
  std::vector<Problem> problems;
  const auto land = [&](const std::vector<Anchor>& anchors, size_t most) {
    for (const Anchor& anchor : anchors) {
      if (problems.size() >= most) break;
      absl::StatusOr<Problem> problem =
          Land(spec, specialisation, *candidate.candidate, anchor);
      if (!problem.ok()) continue;
      if (std::find(problems.begin(), problems.end(), *problem) ==
          problems.end()) {
        problems.push_back(*std::move(problem));
      }
    }
  };
  if (count > kMaxAnchors) {
    land(PlanAnchorGrid(specialisation, candidate), count);
    return problems;
  }
  std::vector<Anchor> plan = PlanAnchors(specialisation, candidate);
  // Where the loop follows the tiles several anchors land on one problem.
  if (plan.size() > count && !LoopFollowsTiles(*specialisation.mapping)) {
    plan.resize(count);
  }
  land(plan, count);
  if (count >= kLeastAnchors &&
      HasOneLoop(*specialisation.mapping, candidate.candidate->configuration)) {
    land(PlanAnchorGrid(specialisation, candidate), kLeastAnchors);
  }
  return problems;
}

}  // namespace wavetune
