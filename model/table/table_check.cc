#include "model/table/table_check.h"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "model/kernel/fold.h"
#include "model/table/coefficient_list.h"
#include "model/table/group_predicates.h"
#include "model/table/table_check_mapping.h"
#include "model/table/wave_model.h"

namespace wavetune {
namespace {

bool InRange(double value, double low, double high) {
  return std::isfinite(value) && value >= low && value <= high;
}

bool InRange(int64_t value, int64_t low, int64_t high) {
  return value >= low && value <= high;
}

bool HasControlCharacter(absl::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
}

// Marks the parameters that a tree of a mapping mentions.
void MarkParameters(const Expression& expression, std::vector<bool>& used) {
  if (expression.kind == Expression::Kind::kParameter) {
    used[static_cast<size_t>(expression.value)] = true;
  }
  for (const Expression& child : expression.children) {
    MarkParameters(child, used);
  }
}

// Looks at every field in the order of the structs; keeps the first fault.
class TableChecker {
 public:
  explicit TableChecker(const Table& table) : table_(table) {}

  absl::Status Check() {
    CheckIdentity();
    CheckSignature();
    // What follows uses indices into what came before.
    if (status_.ok()) CheckSubTables();
    return status_;
  }

 private:
  // Records a fault unless `holds`; returns whether all is well so far.
  bool Require(bool holds, absl::string_view what) {
    if (!holds && status_.ok()) {
      status_ = absl::InvalidArgumentError(
          absl::StrCat("table: ", where_.empty() ? "" : where_ + ": ", what));
    }
    return status_.ok();
  }

  void CheckText(absl::string_view text, size_t max, absl::string_view what) {
    Require(text.size() <= max, absl::StrCat(what, " is too long"));
    Require(!HasControlCharacter(text),
            absl::StrCat(what, " has a control character"));
  }

  void CheckIdentity() {
    CheckText(table_.kernel, kMaxNameBytes, "kernel");
    Require(!table_.kernel.empty(), "kernel has no name");
    Require(IsSha256Hex(table_.fingerprint),
            "fingerprint is not 64 lower-case hexadecimal digits");
    CheckText(table_.silicon_key, kMaxKeyBytes, "silicon key");
    CheckText(table_.environment_key, kMaxKeyBytes, "environment key");
  }

  void CheckSignature() {
    Require(!table_.dimensions.empty() &&
                table_.dimensions.size() <= size_t{kMaxDimensions},
            "no dimensions, or too many");
    Require(table_.parameters.size() <= size_t{kMaxParameters},
            "too many parameters");
    std::set<absl::string_view> names;
    int repeated = 0;
    for (const Dimension& dimension : table_.dimensions) {
      CheckName(dimension.name, "dimension", names);
      Require(InRange(dimension.min, 0, dimension.max) &&
                  dimension.max <= kExpressionLimit,
              absl::StrCat("range of dimension ", dimension.name));
      repeated += dimension.repeated ? 1 : 0;
    }
    Require(repeated <= 1, "more than one dimension is repeated");
    for (const std::string& name : table_.parameters) {
      CheckName(name, "parameter", names);
    }
    CheckConfiguration(table_.default_configuration, "default configuration");
    Require(InRange(table_.near_tie, 0, 1), "near_tie is not in [0, 1]");
  }

  // Dimensions and parameters share one name space: a kernel's conditions name
  // both.
  void CheckName(const std::string& name, absl::string_view what,
                 std::set<absl::string_view>& names) {
    CheckText(name, kMaxNameBytes, what);
    Require(!name.empty(), absl::StrCat(what, " without a name"));
    Require(names.insert(name).second, absl::StrCat(what, " name used twice"));
  }

  void CheckConfiguration(const Configuration& configuration,
                          absl::string_view what) {
    Require(configuration.size() == static_cast<int>(table_.parameters.size()),
            absl::StrCat(what, " does not have one value per parameter"));
    for (const int64_t value : configuration.values()) {
      Require(InRange(value, -kExpressionLimit, kExpressionLimit),
              absl::StrCat(what, " has a value out of range"));
    }
  }

  void CheckPredicates(const SubTable& sub) {
    Require(sub.predicates.size() <= kMaxPredicates, "too many predicates");
    Require(InRange(sub.preconditions, 0,
                    static_cast<int64_t>(sub.predicates.size())),
            "more preconditions than predicates");
    for (size_t i = 0; i < sub.predicates.size() && status_.ok(); ++i) {
      CheckRelation(sub.predicates[i]);
      for (size_t j = 0; j < i; ++j) {
        Require(sub.predicates[i] != sub.predicates[j],
                "a predicate is there twice");
      }
    }
  }

  void CheckPredicatesOf(const SubTable& sub, const MacroGroup& group) {
    const std::vector<uint8_t>& of = group.predicates;
    for (size_t i = 0; i < of.size(); ++i) {
      Require(of[i] < sub.predicates.size(), "predicate out of range");
      Require(i == 0 || of[i - 1] < of[i], "predicates do not ascend");
    }
    // Ascending: the first ones are all preconditions, or one is missing.
    const auto preconditions = static_cast<size_t>(sub.preconditions);
    Require(preconditions == 0 || (of.size() >= preconditions &&
                                   of[preconditions - 1] == preconditions - 1),
            "a group without a precondition");
  }

  void CheckRelation(const Relation& relation) {
    Require(relation.op >= Relation::Operator::kEqual &&
                relation.op <= Relation::Operator::kMultipleOf,
            "predicate with an unknown operator");
    CheckTerms(relation.left);
    CheckTerms(relation.right);
  }

  void CheckTerms(const std::vector<Relation::Term>& terms) {
    Require(!terms.empty() && terms.size() <= kMaxTerms,
            "predicate with an empty side, or too many terms");
    for (const Relation::Term& term : terms) {
      Require(InRange(term.coefficient, -kExpressionLimit, kExpressionLimit),
              "predicate with a coefficient out of range");
      CheckIndices(term.dimensions, table_.dimensions.size());
    }
  }

  void CheckIndices(const std::vector<int32_t>& indices, size_t size) {
    Require(indices.size() <= kMaxFactors, "predicate with too many factors");
    for (const int32_t index : indices) {
      Require(index >= 0 && static_cast<size_t>(index) < size,
              "predicate with an index out of range");
    }
  }

  void CheckSubTables() {
    const std::vector<SubTable>& subs = table_.sub_tables;
    Require(!subs.empty() && subs.size() <= kMaxSubTables,
            "no sub-table, or too many");
    for (size_t i = 0; i < subs.size() && status_.ok(); ++i) {
      where_ = absl::StrCat("sub_tables[", i, "]");
      CheckText(subs[i].specialisation, kMaxNameBytes, "specialisation");
      Require(
          subs[i].form == WaveForm::kSum || subs[i].form == WaveForm::kOverlap,
          "unknown wave form");
      Require(i == 0 || subs[i - 1].specialisation < subs[i].specialisation,
              "sub-tables are not sorted by specialisation");
      if (!status_.ok()) return;
      status_ = CheckMapping(table_, subs[i].mapping, where_);
      if (status_.ok()) CheckPredicates(subs[i]);
      if (status_.ok()) CheckPortfolio(subs[i]);
      if (status_.ok()) CheckAxes(subs[i]);
      if (status_.ok()) CheckGroups(subs[i]);
      if (status_.ok()) CheckFactors(subs[i]);
      if (status_.ok()) CheckWary(subs[i]);
      if (status_.ok()) CheckLayers(subs[i]);
      if (status_.ok()) CheckPowerLimitSlowdown(subs[i].power_limit);
    }
  }

  void CheckPortfolio(const SubTable& sub) {
    Require(!sub.portfolio.empty() && sub.portfolio.size() <= kMaxPortfolio,
            "empty portfolio, or too large");
    std::vector<bool> mapped(table_.parameters.size());
    MarkMapping(sub.mapping, mapped);
    std::set<Configuration> distinct;
    for (const TableCandidate& candidate : sub.portfolio) {
      CheckConfiguration(candidate.configuration, "candidate");
      Require(InRange(candidate.tiles_per_wave, 1, kExpressionLimit),
              "candidate capacity out of range");
      Require(candidate.registers >= 0, "candidate with negative registers");
      Require(candidate.shared_memory_bytes >= 0,
              "candidate with negative local memory");
      if (!Require(distinct.insert(candidate.configuration).second,
                   "two candidates have the same configuration")) {
        return;
      }
      for (size_t i = 0; i < mapped.size(); ++i) {
        Require(!mapped[i] || candidate.configuration[static_cast<int>(i)] >= 1,
                "candidate with a mapping parameter below 1");
      }
    }
  }

  static void MarkMapping(const Mapping& mapping, std::vector<bool>& used) {
    MarkParameters(mapping.tiles, used);
    for (const OptionalExpression& part : kOptionalExpressions) {
      const auto& expression = mapping.*part.value;
      if (expression.has_value()) MarkParameters(*expression, used);
    }
    if (mapping.rows) used[static_cast<size_t>(mapping.rows->tile)] = true;
  }

  void CheckAxes(const SubTable& sub) {
    Require(
        !sub.row_regimes.empty() && sub.row_regimes.size() <= kMaxRowRegimes,
        "no row regimes, or too many");
    for (const RowRegime& regime : sub.row_regimes) {
      Require(regime.max_rows >= 1, "row regime with max_rows below 1");
      Require(InRange(regime.max_fill, 0, 1),
              "row regime with max_fill outside of [0, 1]");
    }
    Require(!sub.max_waves.empty() && sub.max_waves.size() <= kMaxWaveRegimes,
            "no wave regimes, or too many");
    Require(
        !sub.loop_anchors.empty() && sub.loop_anchors.size() <= kMaxLoopAnchors,
        "no loop anchors, or too many");
    if (!status_.ok()) return;
    Require(sub.max_waves[0] >= 1, "wave regime that ends before wave 1");
    for (size_t i = 1; i < sub.max_waves.size(); ++i) {
      Require(sub.max_waves[i - 1] < sub.max_waves[i],
              "wave regimes do not ascend");
    }
    for (size_t i = 0; i < sub.loop_anchors.size(); ++i) {
      Require(InRange(sub.loop_anchors[i], 0,
                      static_cast<double>(kExpressionLimit)),
              "loop anchor out of range");
      Require(i == 0 || sub.loop_anchors[i - 1] < sub.loop_anchors[i],
              "loop anchors do not ascend");
    }
  }

  void CheckGroups(const SubTable& sub) {
    Require(!sub.groups.empty() && sub.groups.size() <= kMaxGroups,
            "no macro groups, or too many");
    size_t nodes = CountDecisionNodes(sub.mapping, sub.groups.size());
    for (const MacroGroup& group : sub.groups) nodes += group.predicates.size();
    Require(nodes <= size_t{kMaxDecisionNodes},
            "a decision would evaluate too many expression nodes");
    const std::string sub_table = where_;
    for (size_t i = 0; i < sub.groups.size() && status_.ok(); ++i) {
      where_ = absl::StrCat(sub_table, ".groups[", i, "]");
      CheckGroup(sub, sub.groups[i]);
    }
    if (status_.ok()) where_ = sub_table;
  }

  void CheckGroup(const SubTable& sub, const MacroGroup& group) {
    if (!Require(group.lead < sub.portfolio.size(), "lead out of range")) {
      return;
    }
    Require(group.models.size() == sub.row_regimes.size(),
            "not one row per row regime");
    CheckPredicatesOf(sub, group);
    for (const GroupModel& model : group.models) {
      Require(model.segments.size() == sub.max_waves.size(),
              "not one segment per wave regime");
      for (const WaveSegment& segment : model.segments) {
        CheckSegment(sub, segment);
      }
    }
    const std::bitset<256> members = GroupMembers(group);
    for (size_t i = 0; i < sub.portfolio.size() && status_.ok(); ++i) {
      if (members[i]) CheckMember(sub, group, sub.portfolio[i]);
    }
  }

  void CheckMember(const SubTable& sub, const MacroGroup& group,
                   const TableCandidate& member) {
    Require(member.tiles_per_wave == group.tiles_per_wave,
            "a member's capacity differs from the group's");
    Require(
        SameCoordinates(sub.mapping, sub.portfolio[group.lead].configuration,
                        member.configuration),
        "a member's macro parameters differ from the lead's");
  }

  void CheckSegment(const SubTable& sub, const WaveSegment& segment) {
    for (const CoefficientField& field : kCoefficients) {
      const double value = segment.coefficients.*field.value;
      Require(InRange(value, -kMaxCoefficient, kMaxCoefficient),
              "coefficient not finite or too large");
      Require(value == 0 || Reads(sub.form, field),
              "a coefficient that the wave form does not read");
    }
    Require(sub.form != WaveForm::kSum || segment.rank_margin == 0,
            "a rank margin, which a sum does not read");
    Require(
        InRange(segment.floor_us, 0, kMaxCoefficient) && segment.floor_us > 0,
        "floor_us is not above 0");
    Require(InRange(segment.step_tiles, 1, kExpressionLimit),
            "step_tiles out of range");
    Require(InRange(segment.relative_bound, 0, kMaxRelativeBound) &&
                InRange(segment.extrapolated_bound, 0, kMaxRelativeBound),
            "error bound out of range");
    Require(InRange(segment.min_wave, 1, segment.max_wave),
            "measured range of waves");
    Require(InRange(segment.max_iterations, 0,
                    static_cast<double>(kExpressionLimit)) &&
                InRange(segment.min_iterations, 0, segment.max_iterations),
            "measured range of iterations");
    Require(segment.micro.size() == sub.loop_anchors.size(),
            "not one micro entry per loop anchor");
    for (const uint8_t member : segment.micro) {
      Require(member < sub.portfolio.size(), "micro entry out of range");
    }
  }

  void CheckFactors(const SubTable& sub) {
    for (const CoefficientField& field : kCoefficients) {
      if (field.factor == nullptr) continue;
      const bool has_factor = HasFactor(sub.mapping, field);
      const bool is_zero = IsZeroEverywhere(sub, field);
      Require(is_zero || has_factor,
              absl::StrCat("coefficient ", field.name,
                           ", but its mapping lacks the expression that it is "
                           "multiplied with"));
      Require(!is_zero || !has_factor,
              absl::StrCat("its mapping has the expression of coefficient ",
                           field.name, ", which no segment has"));
    }
  }

  void CheckWary(const SubTable& sub) {
    Require(!sub.wary || DefaultGroup(table_, sub) >= 0,
            "wary, but the default configuration leads no group");
  }

  void CheckPowerLimitSlowdown(const PowerLimitSlowdown& load) {
    Require(InRange(load.slowdown, 0, 1), "slowdown out of range");
    Require(load.slowdown == 0
                ? load.from_us == 0
                : load.from_us > 0 && InRange(load.from_us, 0, kMaxCoefficient),
            "long launches without a slowdown, or a slowdown of none");
  }

  void CheckLayers(const SubTable& sub) {
    if (sub.layers.empty()) return;
    const auto repeated = [](const Dimension& d) { return d.repeated; };
    Require(sub.mapping.rows.has_value() &&
                std::none_of(table_.dimensions.begin(), table_.dimensions.end(),
                             repeated),
            "layers of a kernel without rows, or with a repeated dimension");
    Require(sub.layers.size() <= kMaxLayers, "too many layers");
    const std::string sub_table = where_;
    for (size_t i = 0; i < sub.layers.size() && status_.ok(); ++i) {
      where_ = absl::StrCat(sub_table, ".layers[", i, "]");
      CheckLayer(sub, sub.layers[i]);
      Require(i == 0 || sub.layers[i - 1].extents < sub.layers[i].extents,
              "layers do not ascend");
    }
  }

  void CheckLayer(const SubTable& sub, const LayerChoices& layer) {
    if (!Require(layer.extents.size() == table_.dimensions.size(),
                 "not one extent per dimension")) {
      return;
    }
    const auto row = static_cast<size_t>(sub.mapping.rows->dimension);
    for (size_t d = 0; d < layer.extents.size(); ++d) {
      const Dimension& dimension = table_.dimensions[d];
      Require(d == row
                  ? layer.extents[d] == 0
                  : InRange(layer.extents[d], dimension.min, dimension.max),
              "extent out of range, or not 0 for the rows");
    }
    Require(!layer.spans.empty() && layer.spans.size() <= kMaxLayerSpans,
            "no spans, or too many");
    Require(layer.first >= 0, "first extent below 0");
    int64_t least = layer.first;
    for (const LayerSpan& span : layer.spans) {
      if (!Require(InRange(span.last, least, kExpressionLimit),
                   "spans do not ascend, or are out of range")) {
        return;
      }
      Require(span.group < sub.groups.size(), "group out of range");
      least = span.last + 1;
    }
  }

  const Table& table_;
  std::string where_;
  absl::Status status_;
};

}  // namespace

absl::Status CheckTable(const Table& table) {
  return TableChecker(table).Check();
}

}  // namespace wavetune
