#!/usr/bin/env bash
# What is too long for scripts/test.sh: before a release, or overnight.
#
#   scripts/soak.sh            all stages
#   scripts/soak.sh tidy fuzz  some: install dev tidy headers repeat differential sanitize fuzz kills skew tsan_repeat golden_debug
#                            aarch64 python inductor engines benchmarks load fleet hostile_machine hostile_user hostile_python hostile_network hostile_registry packages wheels
#
# WAVETUNE_FUZZ_RUNS (default 10,000,000) is how many inputs each fuzz target gets, WAVETUNE_KILLS (1,000) how often the daemon is
# killed, WAVETUNE_OLD_REVISION (the commit before the newest 100) which earlier version works with this one.

. "$(dirname "$0")/lib/common.sh"
. "${repo_root}/scripts/lib/stages.sh"
. "${repo_root}/scripts/lib/checks.sh"

wanted=" $* "
stage() {
  if [ "${wanted}" = "  " ] || [[ "${wanted}" == *" $1 "* ]]; then run_stage "$@"; fi
}

# Every public header compiles on its own.
build_headers() {
  WAVETUNE_CMAKE_ARGS='-DWAVETUNE_VERIFY_HEADERS=ON' scripts/build.sh dev all_verify_interface_header_sets
}

# A test that fails one time in twenty is a bug in the test or in the code.
repeat_tests() {
  scripts/build.sh "$1"
  run_tests "$1" --repeat until-fail:20
}

# Ten million random problems in all, a share for each SIMD path that this CPU runs.
compare_decisions() {
  local paths
  scripts/build.sh dev decision_differential_test
  paths="$(build/dev/bin/decision_differential_test --gtest_list_tests | grep -c ResolveAnswersAsTheReference)"
  WAVETUNE_DIFFERENTIAL_PROBLEMS="$((10000000 / paths + 320))" build/dev/bin/decision_differential_test --gtest_brief=1
}

# With the checks and the second client that the asan preset leaves out to build quickly, and the tests that it does not run.
build_asan() {
  WAVETUNE_CMAKE_ARGS='-DWAVETUNE_OUTER_OPTIONS= -DWAVETUNE_CLIENT_PACKAGE=ON -DWAVETUNE_TESTS=all' scripts/build.sh asan
}

sanitize_all() {
  build_asan
  run_tests asan-all --timeout 3600
}

# Guided by coverage: libFuzzer, of Clang. What it finds is left in build/fuzz/found.
run_fuzzers() {
  local corpus fuzzer name found=0
  cmake --preset fuzz > build/configure-fuzz.log 2>&1 || { cat build/configure-fuzz.log >&2; die "configuring 'fuzz' failed"; }
  cmake --build --preset fuzz -j "${jobs}" --target libfuzzers -- --quiet
  for fuzzer in build/fuzz/bin/*_libfuzzer; do
    [ -x "${fuzzer}" ] || continue
    found=1
    name="${fuzzer##*/}"
    name="${name%_libfuzzer}"
    corpus="build/fuzz/found/${name}"
    mkdir -p "${corpus}"
    note "${name}: ${WAVETUNE_FUZZ_RUNS:-10000000} inputs"
    "${fuzzer}" -runs="${WAVETUNE_FUZZ_RUNS:-10000000}" -max_len=4096 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
      -artifact_prefix="build/fuzz/found/${name}-" "${corpus}" "tests/fuzz/corpus/${name}"
  done
  [ "${found}" -eq 1 ] || die "no *_libfuzzer in build/fuzz/bin"
  scripts/build.sh dev formats_test
  WAVETUNE_TABLE_MUTATIONS="${WAVETUNE_TABLE_MUTATIONS:-32000}" build/dev/bin/formats_test --gtest_filter='MutatedTables*' --gtest_brief=1
}

run_kills() {
  scripts/build.sh ci kill_test
  scripts/build.sh dev server_store_test
  WAVETUNE_KILLS="${WAVETUNE_KILLS:-1000}" build/ci/bin/kill_test --gtest_brief=1
  WAVETUNE_WRITE_POINTS=all build/dev/bin/server_store_test --gtest_filter='*WritePoints*' --gtest_brief=1
}

# An earlier version, built beside this one.
run_skew() {
  local older revision="${WAVETUNE_OLD_REVISION:-HEAD~100}"
  scripts/build.sh dev wavetuned wavetune-agent wavetune
  older="$(mktemp -d)"
  git -c safe.directory='*' clone -q . "${older}/clone"
  git -C "${older}/clone" checkout -q "$(git -c safe.directory='*' rev-parse "${revision}")"
  (cd "${older}/clone" && scripts/build.sh dev wavetuned wavetune-agent wavetune)
  WAVETUNE_OLD_BIN_DIR="${older}/clone/build/dev/bin" PYTHONPATH=tests/hostile /usr/bin/python3 tests/hostile/version_skew.py
  rm -rf "${older}"
}

# Printed, not judged: budgets are read by a person, on a quiet machine.
run_benchmarks() {
  scripts/build.sh ci
  local benchmark
  for benchmark in build/ci/bin/*_benchmark; do
    [ -x "${benchmark}" ] || continue
    "${benchmark}" --benchmark_repetitions=5 --benchmark_report_aggregates_only=true
  done
}

# pip install ./client/python in a clean clone, and what a decision then costs.
install_python() {
  local folder
  folder="$(mktemp -d)"
  git -c safe.directory='*' clone -q . "${folder}/clone"
  /usr/bin/python3 -m venv "${folder}/venv"
  (cd "${folder}/clone" && "${folder}/venv/bin/pip" install -q --disable-pip-version-check ./client/python)
  "${folder}/venv/bin/python" "${folder}/clone/client/python/benchmarks/resolve_benchmark.py"
  rm -rf "${folder}"
}

# torch.compile with every version of torch that wavetune.inductor was tried with: gigabytes from PyPI the first time, and no GPU.
test_inductor() {
  local folder package version
  scripts/build.sh ci
  client/python/tests/run_tests.py --build-dir build/ci -k test_inductor
  package="$(build/ci/python/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
  for version in $(PYTHONPATH="${package}" build/ci/python/venv/bin/python -c 'import wavetune.inductor as i; print(*i.TESTED)'); do
    folder="${repo_root}/build/torch-${version}"
    [ -x "${folder}/bin/pytest" ] || /usr/bin/python3 -m venv "${folder}"
    "${folder}/bin/pip" install -q --disable-pip-version-check "torch==${version}.*" 'numpy<3' 'pytest<10'
    (cd client/python && PYTHONPATH="${package}" "${folder}/bin/python" -m pytest -p no:cacheprovider tests/test_inductor.py)
  done
}

# Exported files, the plugin and what compiles, against the engines themselves: 0.4 GB from PyPI the first time, and no GPU.
test_engines() {
  local engine folder="${repo_root}/build/engines" package
  scripts/build.sh ci
  client/python/tests/run_tests.py --build-dir build/ci -k test_engine_kernel
  package="$(build/ci/python/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
  for engine in vllm==0.33.0 sglang==0.5.23; do
    [ ! -d "${folder}/${engine}" ] || continue
    /usr/bin/python3 -m venv "${folder}/pip"
    "${folder}/pip/bin/pip" download -q --disable-pip-version-check --no-deps --only-binary=:all: -d "${folder}/wheels" "${engine}"
    rm -rf "${folder}/unpacking"
    /usr/bin/python3 -c 'import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
wheel.extractall(sys.argv[2], [name for name in wheel.namelist() if name.endswith((".py", ".json"))])' \
      "${folder}/wheels/${engine%%==*}"-*.whl "${folder}/unpacking"
    mv "${folder}/unpacking" "${folder}/${engine}"
  done
  PYTHONPATH="${package}" "$(tests/triton_environment.py)" tests/engines/real_engines.py \
    --vllm "${folder}/vllm==0.33.0" --sglang "${folder}/sglang==0.5.23"
  PYTHONPATH="${package}" "$(tests/triton_environment.py)" tests/engines/real_engines.py \
    --sglang "${folder}/sglang==0.5.23" --kernel triton_fused_moe_tma --table h200
}

# Machines and users that mean no good (tests/hostile): three times, as what is wrong there is often a race.
run_hostile() {
  scripts/build.sh dev
  local scenario round failed=0
  for round in 1 2 3; do
    for scenario in tests/hostile/"$1"/*.py; do
      note "${scenario#tests/hostile/}, round ${round}"
      PYTHONPATH=tests/hostile /usr/bin/python3 "${scenario}" || {
        warn "${scenario} failed in round ${round}"
        failed=1
      }
    done
  done
  return "${failed}"
}

# Judges times: with the build that ships.
run_hostile_network() {
  scripts/build.sh release
  WAVETUNE_BIN_DIR="${repo_root}/build/release/bin" run_hostile network
}

# A thousand clients of one daemon.
run_load() {
  scripts/build.sh dev load_test wavetuned
  WAVETUNE_LOAD_CLIENTS=1000 build/dev/bin/load_test
}

# A network that falls apart for a minute; nodes of a fleet and one etcd: as many as there may be threads, five for each, 10,000 at most.
run_fleet() {
  local nodes
  scripts/build.sh ci fleet_simulator fleet_partition_test fleet_upgrade_test wavetuned wavetune-agent wavetune
  WAVETUNE_FLEET_NODES=20 build/ci/bin/fleet_upgrade_test
  WAVETUNE_PARTITION_SECONDS=60 build/ci/bin/fleet_partition_test
  nodes="$(($(cat /proc/sys/kernel/pid_max) / 5))"
  build/ci/bin/fleet_simulator
  build/ci/bin/fleet_simulator --nodes="$((nodes < 10000 ? nodes : 10000))" --promotions=240
}

# The Debian packages in a bare root: installed, run, upgraded and purged.
test_packages() {
  scripts/build.sh release
  tests/deploy/deb_test.sh build/release
}

# What scripts/release.sh makes, imported beside large packages (gigabytes from PyPI the first time) and installed in bare roots.
test_wheels() {
  scripts/release.sh
  /usr/bin/python3 tests/deploy/wheel_test.py build/release-artefacts --imports build/imports
  tests/deploy/install_test.sh build/release-artefacts
}

tidy_all() { check_tidy '*.cc'; }
golden_debug() { scripts/cross_golden.sh gcc-debug clang-debug clang-release; }
all_on_aarch64() { scripts/cross_golden.sh --all-tests aarch64; }

stage install scripts/install_dependencies.sh build test soak
stage dev scripts/build.sh dev
stage tidy tidy_all
stage headers build_headers
stage repeat repeat_tests dev
stage differential compare_decisions
stage sanitize sanitize_all
stage fuzz run_fuzzers
stage kills run_kills
stage skew run_skew
stage tsan_repeat repeat_tests tsan
stage golden_debug golden_debug
stage aarch64 all_on_aarch64
stage python install_python
stage inductor test_inductor
stage engines test_engines
stage benchmarks run_benchmarks
stage load run_load
stage fleet run_fleet
stage hostile_machine run_hostile machine
stage hostile_user run_hostile user
stage hostile_python run_hostile python
stage hostile_network run_hostile_network
stage hostile_registry run_hostile registry
stage packages test_packages
stage wheels test_wheels
finish_stages
