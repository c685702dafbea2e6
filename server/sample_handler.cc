#include "server/sample_handler.h"

#include <utility>
#include <vector>

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

absl::StatusOr<bool> SampleListing::Next(v1::ListSamplesResponse* response) {
  response->Clear();
  size_t left = kPerMessage;
  const std::vector<CandidateRecord>& candidates = contents_.candidates;
  for (; left > 0 && candidate_ < candidates.size(); --left) {
    *response->add_candidates() =
        CandidateRecordToProto(candidates[candidate_++]);
  }
  while (left > 0 && generation_ < contents_.generations.size()) {
    ASSIGN_OR_RETURN(const size_t added, AddSamples(left, response));
    left -= added;
  }
  return left < kPerMessage;
}

absl::StatusOr<size_t> SampleListing::AddSamples(
    size_t most, v1::ListSamplesResponse* response) {
  const uint64_t generation = contents_.generations[generation_];
  ASSIGN_OR_RETURN(const SamplePage page,
                   store_->LoadPage(contents_.key, generation, from_, most));
  for (const SampleRecord& sample : page.samples) {
    v1::Sample* const added = generation == kMeasuredGeneration
                                  ? response->add_measured()
                                  : response->add_profiled();
    *added = ToProto(contents_.dimensions, sample);
  }
  from_ = page.next;
  if (from_ == 0) ++generation_;
  return page.samples.size();
}

absl::StatusOr<std::unique_ptr<SampleListing>> SampleHandler::ListSamples(
    const v1::ListSamplesRequest& request) {
  if (request.digest().empty()) {
    return absl::InvalidArgumentError(
        "give the digest of a table, as GetTable or ListTables answers it");
  }
  ASSIGN_OR_RETURN(const ServingTable serving, tables_->Get(request.digest()));
  const int others = open_->fetch_add(1);
  std::shared_ptr<const void> permit(
      nullptr, [open = open_](const void*) { open->fetch_sub(1); });
  if (others >= kMaxListings) {
    return absl::ResourceExhaustedError(
        absl::StrCat("others are listing samples, at most ", kMaxListings,
                     " may at once: try again"));
  }
  SampleListing::Contents contents{
      .dimensions = serving.table->table().dimensions,
      .key = serving.record.key};
  ASSIGN_OR_RETURN(contents.generations, samples_->Generations(contents.key));
  std::erase(contents.generations, kMeasuredGeneration);
  if (!contents.generations.empty()) {
    ASSIGN_OR_RETURN(
        contents.candidates,
        samples_->LoadCandidates(contents.key, contents.generations.back()));
  }
  // A table that was brought from elsewhere: only measuring jobs know of
  // candidates.
  if (contents.candidates.empty()) {
    ASSIGN_OR_RETURN(
        contents.candidates,
        samples_->LoadCandidates(contents.key, kMeasuredGeneration));
  }
  contents.generations.push_back(kMeasuredGeneration);
  return std::make_unique<SampleListing>(samples_, std::move(contents),
                                         std::move(permit));
}

}  // namespace wavetune
