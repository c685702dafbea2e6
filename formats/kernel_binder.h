// KernelBinder: the working parts of KernelSpecFromProto. Nothing else includes
// this.
#ifndef WAVETUNE_FORMATS_KERNEL_BINDER_H_
#define WAVETUNE_FORMATS_KERNEL_BINDER_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "formats/manifest_text/places.h"
#include "model/kernel/kernel_spec.h"
#include "model/text/names.h"
#include "model/text/text_parser.h"
#include "proto/wavetune/v1/kernel.pb.h"

namespace wavetune {

// Collects faults with the path of the field, so that an author sees all of
// them at once. Used once; not thread-safe.
class KernelBinder {
 public:
  // `manifest` is the file that the message was read from, for the places of
  // faults; empty where it is not known. It must outlive the binder.
  // Constants are those of `specialisation`; of the first where it is empty.
  explicit KernelBinder(v1::KernelSpec proto, absl::string_view manifest = {},
                        std::string specialisation = "")
      : proto_(std::move(proto)),
        places_(manifest),
        specialisation_(std::move(specialisation)) {}

  // Returns the spec; worth something only while there are no faults.
  KernelSpec Bind();
  const std::vector<std::string>& faults() const { return faults_; }
  // Whether specialisations have constants. After Bind.
  bool has_constants() const;

 private:
  // What a condition may name.
  using Scope = ManifestNames::Scope;

  void Fault(const std::string& path, const std::string& what) {
    faults_.push_back(absl::StrCat(path, ": ", what));
  }

  template <typename Names>
  void IndexNames(const Names& names, const std::string& path,
                  std::map<std::string, int>* index) {
    for (int i = 0; i < names.size(); ++i) {
      if (!index->emplace(names[i].name(), i).second) {
        Fault(absl::StrCat(path, "[", i, "].name"),
              absl::StrCat("\"", names[i].name(),
                           "\" is declared twice; rename one"));
      }
    }
  }

  // Returns 0 and adds a fault where the name is unknown.
  int Find(const std::map<std::string, int>& index, const std::string& name,
           const std::string& path, const char* kind);
  int DimensionOf(const std::string& name, const std::string& path) {
    return Find(dimensions_, name, path, "dimension");
  }
  int ParameterOf(const std::string& name, const std::string& path) {
    return Find(parameters_, name, path, "parameter");
  }

  Expression BindExpression(const v1::Expression& e, const std::string& path);
  Mapping BindMapping(const v1::Mapping& mapping, const std::string& path);
  RowAxis BindRows(const v1::RowAxis& rows, const std::string& path);
  // `scope` says which names a condition may use.
  Condition BindRelation(const v1::Relation& relation, const std::string& path,
                         Scope scope);
  std::vector<Condition> BindRelations(
      const google::protobuf::RepeatedPtrField<v1::Relation>& relations,
      const std::string& path, Scope scope);
  // Constraints and problem predicates of `require`.
  void BindRequirements(KernelSpec* spec);
  // Parses a text with `parse`, a member of TextParser.
  template <typename Result>
  Result ParseText(const v1::ManifestText& text, const std::string& path,
                   Scope scope, Result (TextParser::*parse)());
  void BindConfigurations(KernelSpec* spec);
  // Gives the parameters that declare none their roles.
  void BindRoles(KernelSpec* spec);
  void IndexAll();
  // Makes the constants of the specialisation numbers.
  void IndexConstants();
  // Nothing where none is given.
  std::optional<WaveForm> BindWaveForm(v1::WaveForm form,
                                       const std::string& path);
  void CheckConstants(const v1::Specialisation& specialisation,
                      const std::string& path);
  std::vector<Expression> BindExpressions(
      const google::protobuf::RepeatedPtrField<v1::Expression>& expressions,
      const std::string& path);
  // Along x, y and z; there may be none.
  std::vector<Expression> BindSides(
      const google::protobuf::RepeatedPtrField<v1::Expression>& sides,
      const std::string& path);
  std::optional<Expression> BindOptional(bool present, const v1::Expression& e,
                                         const std::string& path);
  Implementation BindImplementation(const v1::Implementation& implementation,
                                    const std::string& path);
  TensorMap BindTensorMap(const v1::TensorMap& map, const std::string& path);
  VendorBaseline BindVendorBaseline(const v1::VendorBaseline& baseline,
                                    const std::string& path);
  Argument BindArgument(const v1::Argument& argument, const std::string& path);
  void BindScalar(const v1::Argument& argument, const std::string& path,
                  Argument* result);
  void BindBuffer(const v1::Argument& argument, const std::string& path,
                  Argument* result);
  ServedLayers BindServes();
  ServedLinear BindServedLinear(const v1::LinearLayers& linear);
  ServedMoe BindServedMoe(const v1::MoeLayers& moe);
  ServedAttention BindServedAttention(const v1::AttentionLayers& attention);
  // The dimension of a meaning: the one that is named, else the field's.
  int ServedDimension(const std::string& named, const std::string& path,
                      const std::string& field);
  // Adds a fault where the specialisation is unknown.
  std::string ServedSpecialisation(const std::string& name,
                                   const std::string& path);
  // What an index buffer holds of the repeated dimension.
  void BindBlocks(const v1::Argument& argument, const std::string& path,
                  Argument* result);
  Configuration BindValues(const std::map<std::string, int64_t>& given,
                           const std::string& path);
  // Multiplies a grid out and appends its problems, each with an equal share of
  // the grid's weight.
  void BindGrid(const v1::ProblemGrid& grid, const std::string& path,
                std::vector<WeightedProblem>* out);
  // Appends `count` problems, each like `empty` but for its extents.
  void MultiplyOut(const std::vector<std::vector<int64_t>>& axes, int64_t count,
                   const WeightedProblem& empty,
                   std::vector<WeightedProblem>* out);

  v1::KernelSpec proto_;
  const ManifestPlaces places_;
  const std::string specialisation_;
  ManifestNames names_;
  std::map<std::string, int> dimensions_;
  std::map<std::string, int> parameters_;
  std::map<std::string, int> arguments_;
  std::vector<std::string> faults_;
};

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_KERNEL_BINDER_H_
