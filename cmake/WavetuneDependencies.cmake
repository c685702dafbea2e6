# Third-party packages, all as Debian 12 ships them (scripts/install_dependencies.sh installs them).
# Imported targets are SYSTEM: their headers give no warnings.

find_package(Threads REQUIRED)
find_package(absl CONFIG REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)

if(NOT WAVETUNE_CORE_ONLY)
  find_package(ZLIB REQUIRED)
  find_package(Protobuf 3.21 REQUIRED)
  find_package(gRPC CONFIG REQUIRED)
  find_package(nlohmann_json 3.11 CONFIG REQUIRED)
endif()

if(NOT WAVETUNE_CORE_ONLY AND NOT WAVETUNE_CLIENT_ONLY)
  find_package(CLI11 CONFIG REQUIRED)
  find_package(OpenCL REQUIRED)
  find_package(prometheus-cpp CONFIG REQUIRED)

  # Chart.js: `wavetune report` ships it, with its licence, inside of every page. Required as everything else here is:
  # which commands there are should not depend on the machine that built them.
  find_file(WAVETUNE_CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js
    DOC "Chart.js 3 or 4, minified, as a script that defines Chart")
  find_file(WAVETUNE_CHART_JS_LICENCE copyright PATHS /usr/share/doc/libjs-chart.js NO_DEFAULT_PATH
    DOC "Licence of WAVETUNE_CHART_JS")
  foreach(file WAVETUNE_CHART_JS WAVETUNE_CHART_JS_LICENCE)
    if(NOT ${file})
      message(FATAL_ERROR "${file} was not found: install libjs-chart.js (scripts/install_dependencies.sh does), or name "
        "the file with -D${file}=...")
    endif()
  endforeach()
  file(READ "${WAVETUNE_CHART_JS}" chart_js_head LIMIT 200)
  if(NOT chart_js_head MATCHES "Chart\\.js v[34]\\.")
    message(FATAL_ERROR "WAVETUNE_CHART_JS is ${WAVETUNE_CHART_JS}, which does not say that it is Chart.js 3 or 4")
  endif()

  # Debian's RocksDBConfig.cmake asks for find modules that Debian does not ship: use pkg-config.
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(RocksDB REQUIRED IMPORTED_TARGET GLOBAL rocksdb>=7.8)
  add_library(wavetune_rocksdb INTERFACE)
  add_library(wavetune::rocksdb ALIAS wavetune_rocksdb)
  target_link_libraries(wavetune_rocksdb INTERFACE PkgConfig::RocksDB)

  # What peers of the daemon say: TLS, and the headers of HTTP/2.
  find_package(OpenSSL REQUIRED COMPONENTS SSL)
  pkg_check_modules(Nghttp2 REQUIRED IMPORTED_TARGET GLOBAL libnghttp2>=1.52)

  add_library(wavetune_opencl INTERFACE)
  add_library(wavetune::opencl ALIAS wavetune_opencl)
  target_link_libraries(wavetune_opencl INTERFACE OpenCL::OpenCL)
  target_compile_definitions(wavetune_opencl INTERFACE
    CL_TARGET_OPENCL_VERSION=300
    CL_HPP_TARGET_OPENCL_VERSION=300
    CL_HPP_MINIMUM_OPENCL_VERSION=200)  # the opencl.hpp of Debian 12 does not compile without it
endif()

# CUDA: only profiler_agent/cuda and launch use it, through NVRTC and the driver API; no nvcc step is needed. Headers only:
# the libraries are loaded at run time, so that one agent starts on every machine.
set(WAVETUNE_HAVE_CUDA OFF)
if(NOT WAVETUNE_CORE_ONLY AND NOT WAVETUNE_CLIENT_ONLY)
  find_package(CUDAToolkit QUIET)
  set(cuda_default OFF)
  if(CUDAToolkit_FOUND AND CUDAToolkit_VERSION VERSION_GREATER_EQUAL 13)
    set(cuda_default ON)
  endif()
  option(WAVETUNE_CUDA "Build the CUDA worker" ${cuda_default})
  if(WAVETUNE_CUDA)
    if(NOT CUDAToolkit_FOUND)
      message(FATAL_ERROR "WAVETUNE_CUDA is ON but no CUDA toolkit was found: set CUDAToolkit_ROOT, "
        "or configure with -DWAVETUNE_CUDA=OFF")
    endif()
    # Before 13 cuDeviceGetUuid names the whole GPU where it is asked for a partition (MIG).
    if(CUDAToolkit_VERSION VERSION_LESS 13)
      message(FATAL_ERROR "The CUDA worker needs the headers of CUDA 13 or newer, not ${CUDAToolkit_VERSION}: set "
        "CUDAToolkit_ROOT, or configure with -DWAVETUNE_CUDA=OFF")
    endif()
    set(WAVETUNE_HAVE_CUDA ON)
    add_library(wavetune_cuda_headers INTERFACE)
    add_library(wavetune::cuda_headers ALIAS wavetune_cuda_headers)
    target_include_directories(wavetune_cuda_headers SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
    target_link_libraries(wavetune_cuda_headers INTERFACE ${CMAKE_DL_LIBS})
    # Where NVRTC is looked for when the loader does not find it.
    target_compile_definitions(wavetune_cuda_headers INTERFACE
      WAVETUNE_CUDA_LIBRARY_DIR="${CUDAToolkit_LIBRARY_DIR}")
  endif()
endif()

if(WAVETUNE_BUILD_TESTS)
  enable_testing()
  find_package(GTest REQUIRED CONFIG)
  if(NOT WAVETUNE_CORE_ONLY)
    find_package(benchmark CONFIG REQUIRED)
  endif()
  include(GoogleTest)
endif()
