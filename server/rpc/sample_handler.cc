#include "server/rpc/sample_handler.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "formats/types.h"
#include "server/rpc/record_proto.h"

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

void SampleListing::SetContents(Contents contents) {
  std::lock_guard lock(mutex_);
  contents_ = std::move(contents);
}

absl::StatusOr<bool> SampleListing::Next(v1::ListSamplesResponse* response) {
  waits_since_us_.store(0);
  std::lock_guard lock(mutex_);
  if (taken_away_) {
    return absl::ResourceExhaustedError(
        "no message was read for a while and others waited to list: try again");
  }
  const absl::StatusOr<bool> more = Fill(response);
  waits_since_us_.store(clock_->NowUs());
  return more;
}

double SampleListing::WaitedS() const {
  const int64_t since_us = waits_since_us_.load();
  if (since_us == 0) return 0;
  return static_cast<double>(clock_->NowUs() - since_us) * 1e-6;
}

void SampleListing::TakeAway() {
  std::lock_guard lock(mutex_);
  taken_away_ = true;
  contents_ = {};
}

absl::StatusOr<bool> SampleListing::Fill(v1::ListSamplesResponse* response) {
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

absl::StatusOr<std::shared_ptr<SampleListing>> SampleHandler::TakePlace() {
  std::lock_guard lock(mutex_);
  std::erase_if(open_, [](const auto& weak) { return weak.expired(); });
  if (open_.size() >= kMaxListings) {
    const auto waited = [](const std::weak_ptr<SampleListing>& weak) {
      const std::shared_ptr<SampleListing> listing = weak.lock();
      // One that has just ended leaves its place at once.
      return listing == nullptr ? kStalledS : listing->WaitedS();
    };
    const auto longest = std::max_element(
        open_.begin(), open_.end(),
        [&](const auto& a, const auto& b) { return waited(a) < waited(b); });
    if (waited(*longest) < kStalledS) {
      return absl::ResourceExhaustedError(
          absl::StrCat("others are listing samples, at most ", kMaxListings,
                       " may at once: try again"));
    }
    if (const auto listing = longest->lock()) listing->TakeAway();
    open_.erase(longest);
  }
  auto listing = std::make_shared<SampleListing>(samples_, clock_);
  open_.push_back(listing);
  return listing;
}

absl::StatusOr<std::shared_ptr<SampleListing>> SampleHandler::ListSamples(
    const v1::ListSamplesRequest& request) {
  if (request.digest().empty()) {
    return absl::InvalidArgumentError(
        "give the digest of a table, as GetTable or ListTables answers it");
  }
  ASSIGN_OR_RETURN(const ServingTable serving, tables_->Get(request.digest()));
  ASSIGN_OR_RETURN(std::shared_ptr<SampleListing> listing, TakePlace());
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
  listing->SetContents(std::move(contents));
  return listing;
}

}  // namespace wavetune
