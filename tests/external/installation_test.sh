#!/usr/bin/env bash
# Installs everything below a fresh prefix and looks for what a node and a developer need.
#
#   installation_test.sh BUILD_DIR SOURCE_DIR CMAKE [...]
set -euo pipefail

build_dir="$1" source_dir="$2" cmake="$3"
prefix="$(mktemp -d)"
trap 'rm -rf "${prefix}"' EXIT
"${cmake}" --install "${build_dir}" --prefix "${prefix}" > /dev/null

missing=0
for file in bin/wavetuned bin/wavetune-agent bin/wavetune \
  'lib*/libwavetune.so.1' 'lib*/libwavetune_client.a' 'lib*/pkgconfig/wavetune.pc' \
  'lib*/cmake/wavetune/wavetuneConfig.cmake' 'lib*/cmake/wavetune/wavetuneConfigVersion.cmake' \
  include/wavetune/wavetune.h include/wavetune/client.h include/wavetune/decision.h \
  share/wavetune/kernels/gemm_f32/manifest.textproto share/wavetune/kernels/gemm_bf16/gemm_bf16.cu \
  lib/systemd/system/wavetuned.service lib/systemd/system/wavetune-agent.service lib/sysusers.d/wavetune.conf \
  share/doc/wavetune/README.md share/doc/wavetune/docs/c-api.md; do
  # Unquoted: a multiarch libdir is one folder deeper.
  if ! compgen -G "${prefix}/${file}" > /dev/null && ! compgen -G "${prefix}/${file/lib\*/lib/*}" > /dev/null; then
    echo "not installed: ${file}" >&2
    missing=1
  fi
done
# The API is all that programs can include.
if ! diff <(cd "${source_dir}/client/include" && find . -name '*.h' | sort) <(cd "${prefix}/include" && find . -type f | sort); then
  echo "what is installed for programs is not what client/include has" >&2
  missing=1
fi
# Tests, fakes and build rules stay at home.
if find "${prefix}" -name '*_test*' -o -name 'fake_*' -o -name CMakeLists.txt | grep .; then
  echo "the files above should not be installed" >&2
  missing=1
fi
for program in wavetuned wavetune-agent wavetune; do
  "${prefix}/bin/${program}" --version
done
exit "${missing}"
