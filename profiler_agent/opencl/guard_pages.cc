#include "profiler_agent/opencl/guard_pages.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "profiler_agent/measure/usual_check_memory.h"
#include "profiler_agent/opencl/opencl_memory.h"
#include "profiler_agent/opencl/opencl_status.h"

namespace wavetune {
namespace {

// Pages that nobody may touch on one side of an argument: so many that a stray
// access mostly hits them.
constexpr size_t kForbiddenBytes = 1 << 20;

size_t PageBytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

size_t WholePages(size_t bytes) {
  return (bytes + PageBytes() - 1) / PageBytes() * PageBytes();
}

// What the signal handler knows of an argument. It may read it at any time.
struct Watched {
  std::atomic<uintptr_t> begin{0};  // Of everything mapped; 0: free.
  std::atomic<uintptr_t> end{0};
  std::atomic<uintptr_t> argument{0};
  std::atomic<size_t> bytes{0};
  std::atomic<const char*> role{""};  // Of text that lives for ever.
  std::array<char, 65> name = {};
};

// As many as a few kernels' arguments need; those beyond it are not named.
std::array<Watched, 64> watched;

const char* AccessName(const void* context) {
#if defined(__x86_64__)
  constexpr greg_t kWriteBit = 2;  // Of a page fault's error code.
  const greg_t error =
      static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR];
  return (error & kWriteBit) != 0 ? "writes" : "reads";
#else
  static_cast<void>(context);
  return "reads or writes";
#endif
}

void Say(absl::string_view line) {
  static_cast<void>(!write(STDERR_FILENO, line.data(), line.size()));
}

// Says which argument was left, and dies of the fault. snprintf of numbers and
// strings does not allocate.
void SayWhatWasTouched(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  if (signal == SIGBUS || info->si_code == SI_KERNEL) {
    Say("the kernel reads or writes a vector at an address that is not aligned "
        "to it, or jumps astray: where it takes buffers for aligned, say so of "
        "each, as in \"float32 aligned 16\"\n");
    std::signal(signal, SIG_DFL);
    return;
  }
  for (const Watched& each : watched) {
    if (address < each.begin || address >= each.end || each.begin == 0) {
      continue;
    }
    const uintptr_t end = each.argument + each.bytes;
    const bool behind = address >= end;
    char line[256];
    const int length = std::snprintf(
        line, sizeof(line), "the kernel %s %zu bytes %s %s '%s'\n",
        AccessName(context),
        static_cast<size_t>(behind ? address - end : each.argument - address),
        behind ? "past the end of" : "before the beginning of",
        each.role.load(), each.name.data());
    if (length > 0) Say({line, static_cast<size_t>(length)});
    break;
  }
  // The instruction faults again, and then for good.
  std::signal(signal, SIG_DFL);
}

void InstallHandler() {
  static std::once_flag installed;
  std::call_once(installed, [] {
    struct sigaction action = {};
    action.sa_sigaction = SayWhatWasTouched;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
  });
}

// Pages with room for an argument and forbidden ones on one side of them.
class MappedPages {
 public:
  static absl::StatusOr<MappedPages> Create(size_t usable,
                                            bool forbidden_first) {
    const size_t size = usable + kForbiddenBytes;
    void* const memory =
        mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return OutOfMemory(size);
    MappedPages mapping;
    mapping.memory_ = static_cast<char*>(memory);
    mapping.size_ = size;
    mapping.usable_ = mapping.memory_ + (forbidden_first ? kForbiddenBytes : 0);
    if (mprotect(mapping.usable_, usable, PROT_READ | PROT_WRITE) != 0) {
      return OutOfMemory(size);
    }
    return mapping;
  }

  MappedPages() = default;
  MappedPages(MappedPages&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)),
        size_(other.size_),
        usable_(other.usable_) {}
  MappedPages& operator=(MappedPages&&) = delete;
  ~MappedPages() {
    if (memory_ != nullptr) munmap(memory_, size_);
  }

  char* memory() const { return memory_; }
  size_t size() const { return size_; }
  char* usable() const { return usable_; }

 private:
  static absl::Status OutOfMemory(size_t size) {
    return absl::ResourceExhaustedError(
        absl::StrCat("mapping ", size, " bytes: ", std::strerror(errno)));
  }

  char* memory_ = nullptr;
  size_t size_ = 0;
  char* usable_ = nullptr;
};

// A slot in `watched`, while there is one.
class Watch {
 public:
  Watch(const MappedPages& mapping, const char* argument, size_t bytes,
        const Argument& of) {
    for (Watched& each : watched) {
      if (each.begin != 0) continue;
      std::snprintf(each.name.data(), each.name.size(), "%s", of.name.c_str());
      each.argument = reinterpret_cast<uintptr_t>(argument);
      each.bytes = bytes;
      each.role = RoleName(of.role);
      each.end = reinterpret_cast<uintptr_t>(mapping.memory()) + mapping.size();
      each.begin = reinterpret_cast<uintptr_t>(mapping.memory());
      slot_ = &each;
      return;
    }
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() {
    if (slot_ != nullptr) slot_->begin = 0;
  }

 private:
  Watched* slot_ = nullptr;
};

class GuardPageBuffer : public SessionCheckBuffer<OpenClSession> {
 public:
  GuardPageBuffer(const OpenClSession& session, MappedPages mapping,
                  const Guards& guards, size_t bytes, const Argument& argument)
      : session_(session),
        mapping_(std::move(mapping)),
        guards_(guards),
        bytes_(bytes),
        watch_(mapping_, content(), bytes, argument) {}

  absl::Status Open() {
    cl_int code = CL_SUCCESS;
    buffer_ = OpenClBuffer(clCreateBuffer(
        session_.context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes_,
        content(), &code));
    return OpenClStatus(code, "making a buffer of host memory");
  }

  const OpenClBuffer& argument() const override { return buffer_; }

  absl::Status Write(absl::string_view whole) override {
    std::memcpy(mapping_.usable(), whole.data(), guards_.front);
    std::memcpy(content() + bytes_, whole.data() + guards_.front + bytes_,
                guards_.behind);
    return CopyToDevice(session_, buffer_.get(),
                        whole.substr(guards_.front, bytes_));
  }

  absl::StatusOr<std::string> Read() override {
    ASSIGN_OR_RETURN(const std::string argument,
                     CopyToHost(session_, buffer_.get(), bytes_));
    return absl::StrCat(absl::string_view(mapping_.usable(), guards_.front),
                        argument,
                        absl::string_view(content() + bytes_, guards_.behind));
  }

 private:
  char* content() const { return mapping_.usable() + guards_.front; }

  const OpenClSession& session_;
  const MappedPages mapping_;
  const Guards guards_;
  const size_t bytes_;  // Of the argument.
  const Watch watch_;
  OpenClBuffer buffer_;  // Goes before the memory under it.
};

}  // namespace

GuardPageMemory::GuardPageMemory(const OpenClSession& session, Side side)
    : session_(session), side_(side) {
  InstallHandler();
}

Guards GuardPageMemory::GuardsOf(const Argument& argument, size_t bytes) const {
  const size_t pages = WholePages(bytes);
  if (side_ == Side::kBegin) return {.front = 0, .behind = pages - bytes};
  const size_t alignment = std::max(ElementBytes(argument.type),
                                    static_cast<size_t>(argument.aligned));
  const size_t behind = (alignment - bytes % alignment) % alignment;
  return {.front = pages - bytes - behind, .behind = behind};
}

absl::StatusOr<std::unique_ptr<CheckBuffer>> GuardPageMemory::Allocate(
    const Argument& argument, size_t bytes) {
  ASSIGN_OR_RETURN(
      MappedPages mapping,
      MappedPages::Create(WholePages(bytes), side_ == Side::kBegin));
  auto buffer = std::make_unique<GuardPageBuffer>(
      session_, std::move(mapping), GuardsOf(argument, bytes), bytes, argument);
  RETURN_IF_ERROR(buffer->Open());
  return buffer;
}

}  // namespace wavetune
