# Cross build for AArch64 on an x86-64 Debian, run under qemu. Only the core (WAVETUNE_CORE_ONLY) is built:
# its purpose is to show that decisions have the same bits on both architectures.
#
# WAVETUNE_SYSROOT holds Abseil, libcrypto and GoogleTest for arm64; scripts/cross_golden.sh makes it. The C and
# C++ runtimes come with the cross compiler.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(WAVETUNE_SYSROOT "$ENV{WAVETUNE_SYSROOT}" CACHE PATH "Root with the arm64 libraries")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES WAVETUNE_SYSROOT)
if(NOT IS_DIRECTORY "${WAVETUNE_SYSROOT}/usr")
  message(FATAL_ERROR "WAVETUNE_SYSROOT ('${WAVETUNE_SYSROOT}') holds no libraries: run scripts/cross_golden.sh")
endif()

# Not CMAKE_SYSROOT: that would hide the cross compiler's own headers and libc.
set(CMAKE_FIND_ROOT_PATH "${WAVETUNE_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# Debian splits OpenSSL's headers: opensslconf.h stands in the folder of the architecture.
set(CMAKE_CXX_FLAGS_INIT "-isystem ${WAVETUNE_SYSROOT}/usr/include/aarch64-linux-gnu")
# The shared libraries' own dependencies are not found through our rpath.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${WAVETUNE_SYSROOT}/usr/lib/aarch64-linux-gnu")

set(CMAKE_CROSSCOMPILING_EMULATOR
  qemu-aarch64-static
  -L /usr/aarch64-linux-gnu
  -E "LD_LIBRARY_PATH=${WAVETUNE_SYSROOT}/usr/lib/aarch64-linux-gnu")
