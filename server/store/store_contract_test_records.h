// Records for the stores' contract suites.
#ifndef WAVETUNE_SERVER_STORE_STORE_CONTRACT_TEST_RECORDS_H_
#define WAVETUNE_SERVER_STORE_STORE_CONTRACT_TEST_RECORDS_H_

#include <cstdint>
#include <string>

#include "server/store/records.h"
#include "server/store/workload_store.h"
#include "server/usage/usage_record.h"

namespace wavetune::testing {

inline ProfileKey TestKey(const std::string& kernel = "gemm_f32") {
  return {.kernel = kernel,
          .fingerprint = std::string(64, 'f'),
          .silicon_key = "backend=cuda;arch=sm_90;mp=132",
          .environment_key = "driver=580.159.04;runtime=13.0;power_w=700"};
}

inline SampleRecord TestSample(int64_t m, double latency_us = 12.5) {
  SampleRecord record;
  record.sample.configuration = Configuration({64, 128, -1});
  record.sample.problem = {
      .extents = {m, 4096, 512}, .repeated = {m, 0, 7}, .specialisation = "a"};
  record.sample.latency_us = latency_us;
  record.sample.min_us = latency_us - 1;
  record.sample.relative_spread = 0.01;
  record.sample.launches = 9;
  record.sample.device_time_us = 20 * latency_us;
  record.sample.suspect = m % 2 == 1;
  record.sample.sm_clock_mhz = 1980;
  record.sample.throttled = m % 4 == 1;
  record.sample.throttle_reasons = 0x44;
  record.device_uuid = "GPU-1";
  record.measured_at_us = 1'700'000'000'000'000 + m;
  record.job_id = 3;
  return record;
}

inline CandidateRecord TestCandidate(int64_t block, const std::string& excluded,
                                     const std::string& specialisation = "") {
  return {.specialisation = specialisation,
          .candidate = {.configuration = Configuration({block, 4}),
                        .tiles_per_wave = 264,
                        .blocks_per_multiprocessor = 2,
                        .registers = 128,
                        .shared_memory_bytes = 49152,
                        .excluded_reason = excluded},
          .rechecks = 3};
}

inline TableRecord TestTable(const ProfileKey& key) {
  return {.key = key,
          .promoted_at_us = 1'700'000'000'000'001,
          .portfolio_size = 5,
          .device_label = "NVIDIA H200",
          .device_uuid = "GPU-1",
          .notes = {"bounds are wide"},
          .compiler = "NVRTC 13.0",
          .carried_from = "driver=570;runtime=12.8;power_w=700",
          .unverified = true,
          .fit_residual = 0.03125};
}

inline JobRecord TestJob() {
  JobRecord job;
  job.kind = JobKind::kMeasure;
  job.kernel = "gemm_f32";
  job.device_uuid = "GPU-1";
  job.whole_class = true;
  job.priority = -3;
  job.reason = "driver upgrade";
  job.options.budget_s = 60;
  job.options.samples_per_candidate = 8;
  job.options.portfolio_size = 4;
  job.options.refit_only = true;
  job.options.even_if_busy = true;
  job.options.top_up = true;
  job.options.promote_although_wrong = true;
  job.options.promote_although_slower = true;
  job.options.drift_probe = true;
  job.options.verify_digest = std::string(64, 'a');
  job.used_problems = {{.problem = {.extents = {1, 2, 3}}, .weight = 2.5},
                       {.problem = {.extents = {0, 2},
                                    .repeated = {4, 0},
                                    .specialisation = "s"},
                        .weight = 1}};
  job.workload_problems =
      SharedProblems({{.problem = {.extents = {7, 8, 9}, .repeated = {1}},
                       .weight = 0.5,
                       .rivals = {{"vllm's file", {16, 64}, "NVIDIA H200"}}}});
  job.workload_problem_count = 1;
  job.fleet_demand = {.nodes = 12, .workloads = 3};
  job.key = TestKey();
  job.generation = 7;
  job.state = JobState::kCancelled;
  job.phase = JobPhase::kDone;
  job.done = 1;
  job.total = 2;
  job.samples = 3;
  job.throttled_samples = 2;
  job.device_time_us = 4.5;
  job.seconds_left = 6.5;
  job.device_uuids = {"GPU-2", "GPU-1"};
  job.message = "cancelled";
  job.notes = {"bounds are wide"};
  job.excluded = {TestCandidate(256, "hung", "causal")};
  job.not_meant_for_device = 12;
  job.digest = "abc";
  job.drift = {.from_environment = "driver=1",
               .to_environment = "driver=2",
               .digest = "def",
               .samples = 64,
               .seconds = 3.5,
               .regimes = {{.specialisation = "causal",
                            .name = "one row of tiles",
                            .pairs = 9,
                            .median_ratio = 1.5,
                            .worst_ratio = 1.75,
                            .drifted = true}},
               .action = DriftAction::kProfile,
               .reason = "one of two regimes drifted"};
  job.regret_before = 0.25;
  job.regret_after = 0;
  job.created_at_us = 8;
  job.finished_at_us = 9;
  return job;
}

inline DeviceRecord TestDevice(const std::string& uuid) {
  return {.facts = {.uuid = uuid,
                    .label = "NVIDIA H200",
                    .backend = "cuda",
                    .architecture = "sm_90",
                    .multiprocessors = 132,
                    .memory_bytes = 1,
                    .partition = "1g.18gb",
                    .driver = "580",
                    .runtime = "13.0",
                    .power_limit_w = 700,
                    .compiler = "nvrtc 13.0",
                    .last_level_cache_bytes = 2,
                    .max_group_size = 1024,
                    .max_shared_memory_bytes = 3,
                    .triton = "Triton 3.6.0, ptxas 12.8.93",
                    .python = "python3"},
          .last_seen_us = 4};
}

inline WorkloadRecord TestWorkload(const std::string& name) {
  return {.name = name,
          .config = "{}",
          .tensor_parallel = 2,
          .expert_parallel = 4,
          .max_tokens = 8192,
          .user = "1000",
          .added_at_us = 5};
}

// Returns a record with everything set.
inline UsageRecord TestUsage(const std::string& kernel = "gemm",
                             const std::string& silicon_key = "sm_90/132") {
  UsageRecord record;
  record.kernel = kernel;
  record.silicon_key = silicon_key;
  record.updated_at_us = 1'700'000'000'000'000;
  record.reported_at_us = 1'690'000'000'000'000;
  record.specialisations[""] = {.fitted = 10,
                                .wide_bound = 2,
                                .extrapolated = 0.5,
                                .stale = 1,
                                .default_configuration = 3};
  record.specialisations["causal"] = {.fitted = 1};
  record.problems = {
      {.problem = {.extents = {16, 4096, 4096}}, .weight = 9, .error = 0},
      {.problem = {.extents = {0, 8},
                   .repeated = {1, 0, 3},
                   .specialisation = "causal"},
       .weight = 1.5,
       .error = 0.25}};
  record.digest = std::string(64, 'a');
  record.with_table = {.fitted = 4, .extrapolated = 1};
  record.refined = {
      .at_us = 1'600'000'000'000'000, .uncertain_share = 0.25, .in_vain = 3};
  return record;
}

}  // namespace wavetune::testing

#endif  // WAVETUNE_SERVER_STORE_STORE_CONTRACT_TEST_RECORDS_H_
