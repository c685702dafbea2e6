// FileDescriptor: one open descriptor, closed once.
#ifndef WAVETUNE_BASE_FILE_DESCRIPTOR_H_
#define WAVETUNE_BASE_FILE_DESCRIPTOR_H_

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace wavetune {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() { Close(); }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.Release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      Close();
      fd_ = other.Release();
    }
    return *this;
  }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  // Gives the descriptor away.
  int Release() { return std::exchange(fd_, -1); }
  void Close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

// Whether a call failed with `error` as process or system may open no more.
inline bool OutOfDescriptors(int error) {
  return error == EMFILE || error == ENFILE;
}
// Advice then, after the text of the failure.
inline constexpr char kMoreDescriptors[] =
    ". Raise the limit of open files (LimitNOFILE, ulimit -n)";

}  // namespace wavetune

#endif  // WAVETUNE_BASE_FILE_DESCRIPTOR_H_
