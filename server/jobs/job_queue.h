// JobQueue: requested jobs, in order of priority and then of asking, one job at
// a time per device.
//
// A device has a worker thread while it has jobs, and so has a class of
// several devices, whose jobs use all free ones (device_team.h). Where no
// thread can be started, one that is there from the start runs the jobs of
// such devices, one after the other. Jobs are on disk from the moment they are
// accepted; a daemon that starts again goes on with the unfinished ones from
// their stored samples.
//
//   JobQueue queue(services);
//   RETURN_IF_ERROR(queue.Start());
//   ASSIGN_OR_RETURN(auto jobs, queue.Reprofile({.kernel = "gemm"}));
//   ...
//   queue.Stop();   // Running batches end; their jobs go on at the next start.
//
// Thread safety: thread-safe. Start and Stop are called once each.
#ifndef WAVETUNE_SERVER_JOBS_JOB_QUEUE_H_
#define WAVETUNE_SERVER_JOBS_JOB_QUEUE_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/jobs/job_control.h"
#include "server/jobs/job_plan.h"
#include "server/jobs/job_requests.h"
#include "server/jobs/job_services.h"
#include "server/jobs/measuring_job.h"

namespace wavetune {

class JobQueue {
 public:
  // Jobs that wait or run, of all devices: more are refused.
  static constexpr size_t kMaxUnfinished = 1024;

  struct Counts {
    int running = 0;
    int queued = 0;
  };

  explicit JobQueue(JobServices services);
  ~JobQueue();  // Stops.

  // Takes up the unfinished jobs. Errors: the job store's; UNAVAILABLE where no
  // thread can be started.
  absl::Status Start();

  // Ends running batches and joins the workers. Jobs that ran stay resumable.
  void Stop();

  // Queues profiling: one job per kernel and class of devices, or per device
  // where one is named or each is to have its own. An unfinished job that would
  // do the same is returned instead of a second one. One that waits for others
  // to leave the device goes on where this request does not. Errors: NOT_FOUND
  // for an unknown kernel or device. FAILED_PRECONDITION where there is nothing
  // to do (no device, no kernel), or the kernel has another fingerprint than
  // was asked for. INVALID_ARGUMENT. RESOURCE_EXHAUSTED where kMaxUnfinished
  // wait already. The store's.
  absl::StatusOr<std::vector<JobRecord>> Reprofile(
      const ReprofileRequest& request);

  // Returns what Reprofile would do, one per (kernel, device), and queues
  // nothing. Errors: as there.
  absl::StatusOr<std::vector<PlannedJob>> Plan(const ReprofileRequest& request);

  // Queues measuring; `listener` is called from the worker thread. Errors: as
  // Reprofile; FAILED_PRECONDITION listing the devices where several are
  // attached and none is named; INVALID_ARGUMENT for a recording at problems
  // that profiling may fit.
  absl::StatusOr<JobRecord> Measure(MeasureRequest request,
                                    MeasureListener listener);

  // Ends a job: at once where it is queued, within one batch where it runs.
  // Returns it as it then stands. Errors: NOT_FOUND; FAILED_PRECONDITION for a
  // finished job.
  absl::StatusOr<JobRecord> Cancel(uint64_t id);

  // Returns a job. Errors: NOT_FOUND.
  absl::StatusOr<JobRecord> Get(uint64_t id);
  // Whether Get and Subscribe answer from memory: they read others from the
  // store, and so may wait for a disk.
  bool InMemory(uint64_t id);

  // Returns the newest jobs, newest first. Errors: the store's.
  absl::StatusOr<std::vector<JobRecord>> List(int limit);

  // Returns a job with a handle on its changes (no handle where it has
  // finished). Errors: NOT_FOUND.
  absl::StatusOr<JobControl::Watch> Subscribe(uint64_t id,
                                              JobControl::Listener listener);

  // Persists the jobs that a full disk kept from it, so that those that ended
  // meanwhile do not run again after a restart. To be called now and then; Stop
  // tries it, too. Cost: nothing where there is none.
  void SaveJobs();

  Counts counts();

  // Returns how many worker threads there are.
  size_t workers();

  // Returns whether profiling of the pair is queued or runs.
  bool IsProfiling(const std::string& kernel, const std::string& device_uuid);

 private:
  struct Job {
    std::shared_ptr<JobControl> control;
    // As they were when it was queued; the fleet's may take their place.
    SharedProblems workload_problems;
    MeasureRequest measure;
    MeasureListener listener;
    bool waits = false;  // For another node: others of its device go first.
  };
  struct Worker {
    std::deque<std::shared_ptr<Job>> queue;
    std::string name;  // A device's UUID, or a class.
    std::thread thread;
    uint64_t running = 0;   // Id of the job that runs; 0: none.
    bool on_spare = false;  // The spare thread runs it.
  };

  // Stores and enqueues a job, or returns the unfinished one that does the
  // same.
  absl::StatusOr<JobRecord> QueueReprofile(JobRecord record);
  // Whether several attached devices are of a job's class.
  bool HasSeveralDevices(const ProfileKey& key);
  // Whether both jobs measure on the same devices.
  bool OnSameDevices(const JobRecord& a, const JobRecord& b);
  // Returns the unfinished job that does what `wanted` would.
  std::shared_ptr<Job> FindAlike(const JobRecord& wanted);
  std::shared_ptr<Job> Find(uint64_t id);
  // Returns an error where too many jobs are unfinished.
  absl::Status CheckRoom();
  // Hands a stored job to its device's worker.
  void Enqueue(std::shared_ptr<Job> job);
  // Puts a job behind those of its priority. Holds mutex_.
  void Insert(Worker& worker, std::shared_ptr<Job> job);
  // Says in a queued job's record which it waits for; 0: none.
  static void ShowPlace(uint64_t before, Job& job);
  // Starts the worker's thread where it has none and one can be started. Holds
  // mutex_.
  void StartThread(Worker* worker);
  // Returns a worker with jobs and without a thread, or nullptr. Holds mutex_.
  Worker* Unserved();
  // Runs the worker's jobs; then the worker is gone.
  void RunWorker(Worker* worker);
  void RunSpare();
  // Runs the worker's next job. `lock` is released meanwhile.
  void RunNext(Worker* worker, std::unique_lock<std::mutex>& lock);
  // False: it is to be run again, after others.
  bool RunJob(Worker* worker, Job& job);
  // Whether other jobs want the device of one that waits for another node.
  bool OthersWait(const Worker& worker, Clock::Duration since);
  void Finish(Job& job, const absl::Status& status);
  void ForgetOldJobs();

  const JobServices services_;
  const JobRequests requests_{services_};
  // Held while a job is stored, so that none alike is meanwhile; taken before
  // mutex_, which nobody holds while waiting for a disk.
  std::mutex create_mutex_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  bool stopping_ = false;
  std::map<uint64_t, std::shared_ptr<Job>> jobs_;           // Since the start.
  std::map<std::string, std::unique_ptr<Worker>> workers_;  // By name.
  std::thread spare_;
  // A worker that has ended: the next one that ends joins it, so that one stays
  // at most.
  std::thread ended_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_JOB_QUEUE_H_
