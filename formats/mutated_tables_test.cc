// Tables that somebody changed: what is admitted (CheckChoices) answers nothing
// that the manifest forbids.
//
// WAVETUNE_TABLE_MUTATIONS: how many in all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "formats/kernel_folder.h"
#include "formats/shipped_files.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/device_space.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/kernel_match.h"
#include "model/table/table_codec.h"
#include "tests/lib/environment.h"
#include "tests/lib/lcg.h"
#include "tests/lib/source_paths.h"

namespace wavetune {
namespace {

using testing::Lcg;

constexpr int kProblems = 64;

DeviceFacts Gpu() {
  return {.uuid = "GPU-0",
          .label = "H200",
          .backend = "cuda",
          .architecture = "sm_90",
          .multiprocessors = 132,
          .max_group_size = 1024,
          .max_shared_memory_bytes = 227 << 10,
          .triton = "Triton 3.6.0"};
}

template <typename T>
T& AnyOf(Lcg& random, std::vector<T>& items) {
  return items[static_cast<size_t>(
      random.Below(static_cast<int64_t>(items.size())))];
}

KernelFolder Kernel(const std::string& name) {
  return LoadKernelFolder(std::string(WAVETUNE_SOURCE_DIR) + "/kernels/" + name)
      .value();
}

std::vector<std::string> KernelsWithTables() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::string(WAVETUNE_SOURCE_DIR) + "/kernels")) {
    if (std::filesystem::exists(entry.path() / "tables"))
      names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// --- Mutations of bytes.

// Where the length of the third section stands, and where sections begin.
constexpr size_t kLengthAt = 16 + 2 * 12 + 8;
constexpr size_t kHeader = 16 + 3 * 12;

// Inserts or takes away some bytes of the last section.
void Shift(Lcg& random, size_t at, std::string& bytes) {
  uint32_t length = 0;
  std::memcpy(&length, bytes.data() + kLengthAt, sizeof length);
  const auto count = static_cast<size_t>(random.OneIn(4) ? 9 : 1);
  if (at < bytes.size() - length || at + count > bytes.size()) return;
  if (random.OneIn(2)) {
    bytes.insert(at, count, static_cast<char>(random.Below(256)));
    length += static_cast<uint32_t>(count);
  } else {
    bytes.erase(at, count);
    length -= static_cast<uint32_t>(count);
  }
  std::memcpy(bytes.data() + kLengthAt, &length, sizeof length);
}

void MutateBytes(Lcg& random, std::string& bytes) {
  static constexpr uint8_t kEdges[] = {0, 1, 2, 8, 16, 0x7f, 0x80, 0xff};
  static constexpr double kNumbers[] = {0,   5e-324, 1e30, -1e30, 1e6,
                                        0.5, 1,      -1,   1e15,  1e-30};
  const auto size = static_cast<int64_t>(bytes.size());
  const auto at = static_cast<size_t>(
      random.Between(static_cast<int64_t>(kHeader), size - 1));
  const double number = kNumbers[random.Below(10)];
  switch (random.Below(6)) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.Below(8)));
      break;
    case 1:
      bytes[at] = static_cast<char>(kEdges[random.Below(8)]);
      break;
    case 2:
      bytes[at] = static_cast<char>(bytes[at] + random.Between(-2, 2));
      break;
    case 3:
      if (at + sizeof number <= bytes.size())
        std::memcpy(bytes.data() + at, &number, sizeof number);
      break;
    case 4: {
      const std::string part =
          bytes.substr(at, static_cast<size_t>(random.Between(1, 20)));
      bytes.replace(static_cast<size_t>(random.Between(
                        static_cast<int64_t>(kHeader),
                        size - static_cast<int64_t>(part.size()))),
                    part.size(), part);
      break;
    }
    default:
      Shift(random, at, bytes);
  }
}

// --- Mutations of what a table says: most are tables again.

void SetValue(Lcg& random, const KernelSpec& spec, Configuration& changed) {
  std::vector<int64_t> values(changed.values().begin(), changed.values().end());
  const auto parameter =
      static_cast<size_t>(random.Below(static_cast<int64_t>(values.size())));
  std::vector<int64_t> declared = spec.parameters[parameter].values;
  values[parameter] = AnyOf(random, declared);
  changed = Configuration(values);
}

void MutatePredicate(Lcg& random, SubTable& sub) {
  if (sub.predicates.empty()) return;
  Relation& relation = AnyOf(random, sub.predicates);
  switch (random.Below(4)) {
    case 0:
      relation.right[0].coefficient = int64_t{1} << random.Below(6);
      break;
    case 1:
      relation.left[0].coefficient = random.Between(-2, 8);
      break;
    case 2:
      relation.op = static_cast<Relation::Operator>(random.Between(1, 7));
      break;
    default:
      for (int32_t& dimension : relation.left[0].dimensions) dimension ^= 1;
  }
}

void MutateGroup(Lcg& random, SubTable& sub) {
  MacroGroup& group = AnyOf(random, sub.groups);
  const int64_t last = static_cast<int64_t>(sub.portfolio.size()) - 1;
  if (!group.predicates.empty() && random.OneIn(2)) {
    sub.preconditions = 0;
    group.predicates.pop_back();
  } else if (random.OneIn(2)) {
    AnyOf(random, AnyOf(random, group.models).segments).micro[0] =
        static_cast<uint8_t>(random.Between(0, last));
  } else {
    group.lead = static_cast<uint8_t>(random.Between(0, last));
  }
}

void MutateTable(Lcg& random, const KernelSpec& spec, Table& table) {
  SubTable& sub = AnyOf(random, table.sub_tables);
  Dimension& dimension = AnyOf(random, table.dimensions);
  switch (random.Below(6)) {
    case 0:
    case 1:
      return SetValue(random, spec, AnyOf(random, sub.portfolio).configuration);
    case 2:
      return MutatePredicate(random, sub);
    case 3:
      return MutateGroup(random, sub);
    case 4:
      if (random.OneIn(2))
        return SetValue(random, spec, table.default_configuration);
      std::swap(sub.specialisation,
                AnyOf(random, table.sub_tables).specialisation);
      return;
    default:
      (random.OneIn(2) ? dimension.min : dimension.max) *=
          random.OneIn(2) ? 2 : 0;
      if (dimension.max == 0) dimension.max = 1 << 20;
  }
}

std::string Mutated(Lcg& random, const KernelSpec& spec, std::string payload) {
  const int64_t times = random.OneIn(2) ? 1 : random.Between(1, 8);
  if (random.OneIn(2)) {
    for (int64_t i = 0; i < times; ++i) MutateBytes(random, payload);
    return payload;
  }
  Table table = DecodeTable(payload).value();
  for (int64_t i = 0; i < times; ++i) MutateTable(random, spec, table);
  return EncodeTable(table).value_or("");
}

// --- Judging.

Problem AnyProblem(Lcg& random, const KernelSpec& spec) {
  static constexpr int64_t kExtents[] = {
      0,  1,  2,   3,    8,    15,    16,      17,
      33, 64, 255, 4096, 4097, 65535, 1 << 20, (1 << 30) - 1};
  std::vector<WeightedProblem> named = spec.representative_problems;
  Problem problem = AnyOf(random, named).problem;
  std::vector<std::string> names = spec.SpecialisationNames();
  problem.specialisation = AnyOf(random, names);
  const auto change = [&](int64_t& extent) {
    if (random.OneIn(3)) extent = kExtents[random.Below(16)];
    if (random.OneIn(4)) extent += random.Between(-1, 1);
  };
  for (int64_t& extent : problem.extents) change(extent);
  for (int64_t& extent : problem.repeated) change(extent);
  return problem;
}

// Judges decisions by the manifest alone.
class ManifestJudge {
 public:
  explicit ManifestJudge(const KernelSpec& spec) : spec_(spec) {}

  // What is illegal about a decision; empty: nothing. The manifest's default is
  // what is answered without a table, too, and says that it is the default.
  std::string Fault(const Problem& problem, const Decision& decision) {
    if (decision.source == DecisionSource::kDefault &&
        decision.configuration == spec_.default_configuration) {
      return "";
    }
    const KernelSpec& own = spec_.Of(problem.specialisation);
    std::string fault =
        FaultAnywhere(problem.specialisation, decision.configuration);
    if (fault.empty() &&
        !(decision.source == DecisionSource::kDefault &&
          !CheckProblem(spec_, problem).ok()) &&
        !IsLegal(own, decision.configuration, problem.View())) {
      fault = "not legal";
    }
    if (fault.empty()) return fault;
    return fault + ": " + FormatConfiguration(spec_, decision.configuration) +
           " at " + FormatProblem(spec_, problem);
  }

 private:
  // Of any problem.
  const std::string& FaultAnywhere(const std::string& specialisation,
                                   const Configuration& configuration) {
    const auto [found, is_new] =
        known_.try_emplace({specialisation, configuration});
    if (!is_new) return found->second;
    const KernelSpec& own = spec_.Of(specialisation);
    if (!InSpace(own, configuration)) return found->second = "not in the space";
    return found->second = std::string(
               CheckLimits(own, specialisation, configuration, Gpu())
                   .message());
  }

  const KernelSpec& spec_;
  std::map<std::pair<std::string, Configuration>, std::string> known_;
};

struct Tally {
  int64_t sound = 0;  // That clients take.
  int64_t admitted = 0;
  int64_t fitted = 0;   // Decisions that are not the default.
  int64_t illegal = 0;  // Tables that are refused, and answer such a thing.
};

class Mutations {
 public:
  Mutations(const std::string& kernel, uint64_t seed)
      : folder_(Kernel(kernel)),
        spec_(SpecForDevice(folder_.spec, Gpu()).value()),
        random_(seed) {
    for (const ShippedTable& table : ReadShippedTables(folder_).tables)
      payloads_.push_back(table.payload);
  }

  void Try(Tally& tally) {
    const std::string payload =
        Mutated(random_, spec_, AnyOf(random_, payloads_));
    const auto table = CompiledTable::Create(payload);
    if (!table.ok()) return;
    ++tally.sound;
    const DeviceFacts gpu = Gpu();
    const absl::Status admitted = CheckChoices(spec_, (*table)->table(), &gpu);
    const std::string fault = FirstFault(**table, tally);
    if (!admitted.ok()) {
      tally.illegal += fault.empty() ? 0 : 1;
      return;
    }
    ++tally.admitted;
    EXPECT_EQ(fault, "");
    // Others start from it.
    if (payloads_.size() < 100) payloads_.push_back(payload);
  }

 private:
  std::string FirstFault(const CompiledTable& table, Tally& tally) {
    for (int i = 0; i < kProblems; ++i) {
      const Problem problem = AnyProblem(random_, spec_);
      const Decision decision = table.Resolve(
          table.SubTableIndex(problem.specialisation), problem.View());
      tally.fitted += decision.source != DecisionSource::kDefault ? 1 : 0;
      if (std::string fault = judge_.Fault(problem, decision); !fault.empty())
        return fault;
    }
    return "";
  }

  const KernelFolder folder_;
  const KernelSpec spec_;
  ManifestJudge judge_{spec_};
  Lcg random_;
  std::vector<std::string> payloads_;
};

TEST(MutatedTablesTest, NoneThatIsAdmittedAnswersWhatTheManifestForbids) {
  const std::vector<std::string> kernels = KernelsWithTables();
  ASSERT_FALSE(kernels.empty());
  const int64_t wanted = testing::NumberFrom("WAVETUNE_TABLE_MUTATIONS", 60);
  Tally tally;
  uint64_t seed = 0;
  for (const std::string& kernel : kernels) {
    SCOPED_TRACE(kernel);
    Mutations mutations(kernel, ++seed);
    const auto share = static_cast<int64_t>(kernels.size());
    for (int64_t i = 0; i < wanted / share; ++i) mutations.Try(tally);
  }
  RecordProperty("sound", std::to_string(tally.sound));
  RecordProperty("admitted", std::to_string(tally.admitted));
  RecordProperty("refused_and_illegal", std::to_string(tally.illegal));
  EXPECT_GT(tally.admitted, wanted / 20);
  EXPECT_GT(tally.illegal, wanted / 50);
  EXPECT_GT(tally.fitted, wanted);
}

TEST(MutatedTablesTest, EveryShippedTableIsAdmitted) {
  for (const std::string& kernel : KernelsWithTables()) {
    SCOPED_TRACE(kernel);
    const KernelFolder folder = Kernel(kernel);
    const ShippedFiles shipped = ReadShippedTables(folder);
    EXPECT_TRUE(shipped.problems.empty()) << shipped.problems.front();
    EXPECT_FALSE(shipped.tables.empty());
    const DeviceFacts gpu = Gpu();
    const KernelSpec own = SpecForDevice(folder.spec, gpu).value();
    for (const ShippedTable& table : shipped.tables) {
      const absl::Status status = CheckChoices(own, table.table->table(), &gpu);
      EXPECT_TRUE(status.ok()) << table.file << ": " << status;
    }
  }
}

}  // namespace
}  // namespace wavetune
