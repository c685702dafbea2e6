// Stored records -> the messages that people and clients see. Cannot fail.
#ifndef WAVETUNE_SERVER_RPC_RECORD_PROTO_H_
#define WAVETUNE_SERVER_RPC_RECORD_PROTO_H_

#include <cstddef>
#include <string>
#include <vector>

#include "proto/wavetune/v1/admin_service.pb.h"
#include "proto/wavetune/v1/table_service.pb.h"
#include "proto/wavetune/v1/types.pb.h"
#include "server/catalog/table_catalog.h"
#include "server/jobs/measuring_job.h"
#include "server/jobs/recording.h"
#include "server/store/records.h"
#include "wavetune/dimension.h"

namespace wavetune {

// Without the excluded candidates: a list or a progress message would carry
// hundreds of compiler logs.
v1::JobInfo JobRecordToProto(const JobRecord& record);
// With the excluded candidates, the reason of each cut to
// kMaxExcludedReasonBytes.
v1::JobInfo DetailedJobRecordToProto(const JobRecord& record);
inline constexpr size_t kMaxExcludedReasonBytes = 600;

// Returns the beginning of a reason, at most kMaxExcludedReasonBytes, cut
// between two characters of UTF-8.
std::string Shortened(const std::string& text);

// `stale_reason`: what differs; empty: it is current.
v1::TableInfo TableRecordToProto(const TableRecord& record,
                                 const std::string& stale_reason = "");
// Returns who keeps a table, and why; empty where it is not pinned.
std::string PinText(const TableSnapshot& serving, const TableRecord& table);
v1::RejectedPoint RejectedPointToProto(const std::vector<Dimension>& dimensions,
                                       const RejectedPoint& point);
v1::MeasuredProblem MeasuredProblemToProto(
    const std::vector<Dimension>& dimensions, const MeasuredProblem& measured);
v1::RecordedSamples RecordedSamplesToProto(
    const std::vector<Dimension>& dimensions, const RecordedSamples& recorded);
// Reasons are cut as those of DetailedJobRecordToProto.
v1::RecordedCandidate CandidateRecordToProto(const CandidateRecord& record);
v1::Recording RecordingToProto(const Recording& recording);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_RECORD_PROTO_H_
