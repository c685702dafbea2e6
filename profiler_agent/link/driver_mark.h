// DriverMark: a text that is another one when the drivers of this machine may
// be others.
//
// Why files and not the drivers: asking takes a process that loads them and
// opens the hardware. Files tell for a fraction of a millisecond, and an
// upgrade cannot but change them. They are the version of the kernel's module,
// the libraries that CUDA and NVML are loaded from, OpenCL's list of vendors
// and its files. GPUs that come after their driver are seen by their names.
//
// Thread safety: pure functions, but for what they read.
#ifndef WAVETUNE_PROFILER_AGENT_LINK_DRIVER_MARK_H_
#define WAVETUNE_PROFILER_AGENT_LINK_DRIVER_MARK_H_

#include <string>
#include <vector>

namespace wavetune {

// Where to look.
struct DriverPlaces {
  std::string root;  // Before each path; for tests.
  // In which shared libraries are looked for.
  std::vector<std::string> library_folders;
  // OpenCL's list of vendors: files *.icd.
  std::string opencl_vendors = "/etc/OpenCL/vendors";
  // Others that decide, as the injected one (injected_facts.h).
  std::vector<std::string> files;

  // Those of this process: the usual folders, LD_LIBRARY_PATH and the ones that
  // /etc/ld.so.conf.d names; OCL_ICD_VENDORS. Cannot fail.
  static DriverPlaces OfThisProcess();
};

// Returns a line for each thing that is there: what it says, or the number,
// size and time of its file behind all links. Cannot fail: what is missing or
// cannot be read has no line.
std::string DriverMark(const DriverPlaces& places);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_LINK_DRIVER_MARK_H_
