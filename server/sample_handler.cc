#include "server/sample_handler.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "model/status_macros.h"
#include "proto/convert/types.h"
#include "server/record_proto.h"

namespace wavetune {
namespace {

v1::Sample ToProto(const std::vector<Dimension>& dimensions,
                   const SampleRecord& record) {
  v1::Sample proto = SampleToProto(dimensions, record.sample);
  proto.set_device_uuid(record.device_uuid);
  proto.set_measured_at_us(record.measured_at_us);
  return proto;
}

}  // namespace

bool SampleListing::Next(v1::ListSamplesResponse* response) {
  response->Clear();
  size_t left = kPerMessage;
  for (; left > 0 && candidates_ < profiled_.candidates.size(); --left) {
    *response->add_candidates() =
        CandidateRecordToProto(profiled_.candidates[candidates_++]);
  }
  for (; left > 0 && profiled_samples_ < profiled_.samples.size(); --left) {
    *response->add_profiled() =
        ToProto(dimensions_, profiled_.samples[profiled_samples_++]);
  }
  for (; left > 0 && measured_samples_ < measured_.size(); --left) {
    *response->add_measured() =
        ToProto(dimensions_, measured_[measured_samples_++]);
  }
  return left < kPerMessage;
}

absl::StatusOr<std::unique_ptr<SampleListing>> SampleHandler::ListSamples(
    const v1::ListSamplesRequest& request) {
  if (request.digest().empty()) {
    return absl::InvalidArgumentError(
        "give the digest of a table, as GetTable or ListTables answers it");
  }
  ASSIGN_OR_RETURN(const ServingTable serving, tables_->Get(request.digest()));
  open_->fetch_add(1);
  std::shared_ptr<const void> permit(
      nullptr, [open = open_](const void*) { open->fetch_sub(1); });
  if (open_->load() > kMaxListings) {
    return absl::ResourceExhaustedError(
        absl::StrCat("others are listing samples, at most ", kMaxListings,
                     " may at once: try again"));
  }
  const ProfileKey& key = serving.record.key;
  ASSIGN_OR_RETURN(const std::vector<uint64_t> generations,
                   samples_->Generations(key));
  SampleSet profiled;
  for (const uint64_t generation : generations) {
    if (generation == kMeasuredGeneration) continue;
    ASSIGN_OR_RETURN(SampleSet stored, samples_->Load(key, generation));
    profiled.candidates = std::move(stored.candidates);  // The newest stay.
    std::move(stored.samples.begin(), stored.samples.end(),
              std::back_inserter(profiled.samples));
  }
  ASSIGN_OR_RETURN(SampleSet measured,
                   samples_->Load(key, kMeasuredGeneration));
  // A table that was brought from elsewhere: only measuring jobs know of
  // candidates.
  if (profiled.candidates.empty()) {
    profiled.candidates = std::move(measured.candidates);
  }
  return std::make_unique<SampleListing>(
      serving.table->table().dimensions, std::move(profiled),
      std::move(measured.samples), std::move(permit));
}

}  // namespace wavetune
