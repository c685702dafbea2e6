#!/usr/bin/env bash
# A real Prometheus scrapes a daemon, answers queries, and raises the alerts that a daemon can be brought to in seconds; promtool
# checks and tests all of them.
#
#   tests/deploy/prometheus_test.sh FOLDER_OF_PROGRAMS
#
# Skips (exit code 77) where Debian's `prometheus` is not installed. Everything listens on the loopback address.

set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
bin="${1:-${root}/build/dev/bin}"
for program in prometheus promtool python3 openssl; do
  command -v "${program}" > /dev/null || {
    echo "skipped: no ${program}; scripts/install_dependencies.sh test installs it"
    exit 77
  }
done

folder="$(mktemp -d /tmp/wavetune-prometheus-XXXXXX)"
processes=()
finish() {
  for process in "${processes[@]}"; do kill "${process}" 2> /dev/null || true; done
  wait
  rm -rf "${folder}"
}
trap finish EXIT

fail() {
  echo "FAILED: $*" >&2
  tail -n 20 "${folder}"/*.log >&2
  exit 1
}
# Ports that are free now.
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# The value of a query's only series.
query() {
  python3 - "$1" "http://127.0.0.1:${prometheus_port}" <<'PYTHON'
import json
import sys
import urllib.parse
import urllib.request

url = sys.argv[2] + "/api/v1/query?" + urllib.parse.urlencode({"query": sys.argv[1]})
try:
    result = json.load(urllib.request.urlopen(url, timeout=5))["data"]["result"]
except OSError:
    result = []
print(result[0]["value"][1] if len(result) == 1 else "")
PYTHON
}
# firing ALERT: how often it fires.
firing() { echo "count(ALERTS{alertname=\"$1\",alertstate=\"firing\"}) or vector(0)"; }
# wait_for QUERY VALUE
wait_for() {
  local value
  for _ in $(seq 120); do
    value="$(query "$1")"
    if [ "${value}" = "$2" ]; then
      echo "ok: $1 is $2"
      return
    fi
    sleep 0.5
  done
  fail "$1 is '${value}', not $2"
}

promtool check rules "${root}/deploy/prometheus/rules.yml"
promtool test rules "${root}/deploy/prometheus/rules_test.yml"

metrics_port="$(free_port)"
prometheus_port="$(free_port)"
# The rules as they are, but that nothing has to last.
sed 's/^\( *for:\) .*/\1 0s/' "${root}/deploy/prometheus/rules.yml" > "${folder}/rules.yml"
cat > "${folder}/prometheus.yml" << EOF
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yml]
scrape_configs:
  - job_name: wavetune
    static_configs: [{targets: ["127.0.0.1:${metrics_port}"]}]
EOF
promtool check config "${folder}/prometheus.yml"

mkdir "${folder}/kernels"
# A certificate of a day, and no backup yet.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost \
  -addext subjectAltName=DNS:localhost -keyout "${folder}/key.pem" -out "${folder}/cert.pem" 2> /dev/null
chmod 600 "${folder}/key.pem"
"${bin}/wavetuned" --store "${folder}/store" --socket-dir "${folder}" --kernels-dir "${folder}/kernels" \
  --backup-dir "${folder}/backup" --listen-tcp 127.0.0.1:0 --authz-policy "${root}/deploy/authz/policy.json" \
  --tls-cert "${folder}/cert.pem" --tls-key "${folder}/key.pem" --tls-ca "${folder}/cert.pem" \
  --metrics-address "127.0.0.1:${metrics_port}" > "${folder}/daemon.log" 2>&1 < /dev/null &
processes+=($!)
prometheus --config.file="${folder}/prometheus.yml" --storage.tsdb.path="${folder}/data" \
  --web.listen-address="127.0.0.1:${prometheus_port}" > "${folder}/prometheus.log" 2>&1 < /dev/null &
processes+=($!)

wait_for 'up{job="wavetune"}' 1
wait_for 'wavetune_store_healthy' 1
version="$("${bin}/wavetuned" --version | sed 's/.* //')"
wait_for "count(wavetune_build_info{version=\"${version}\"})" 1
# Calls appear as they are made.
for _ in 1 2 3; do
  WAVETUNE_ENDPOINT="unix:${folder}/reader.sock" "${bin}/wavetune" status > /dev/null || fail "status"
done
wait_for 'wavetune_rpcs_total{method="GetStatus",code="OK"} >= bool 3' 1
wait_for 'wavetune_rpc_duration_seconds_count{method="GetStatus"} >= bool 3' 1
# What is wrong with this node is told; what is mended is told no longer.
wait_for "$(firing WavetuneCertificateExpires)" 1
wait_for "$(firing WavetuneBackupOld)" 1
"${bin}/wavetune" --endpoint "unix:${folder}/reader.sock" store backup > "${folder}/backup.log" 2>&1 || fail "backup"
wait_for "$(firing WavetuneBackupOld)" 0
wait_for 'time() - process_start_time_seconds < bool 600' 1
# Beside that it is well, and every alert is loaded.
wait_for 'count(ALERTS{alertstate="firing",alertname!~"WavetuneCertificateExpires|WavetuneStoreDiskFull"}) or vector(0)' 0
loaded="$(python3 -c "
import json, urllib.request
rules = json.load(urllib.request.urlopen('http://127.0.0.1:${prometheus_port}/api/v1/rules'))
print(sum(rule['health'] == 'ok' for group in rules['data']['groups'] for rule in group['rules']))")"
[ "${loaded}" = "$(grep -c -- '- alert:' "${root}/deploy/prometheus/rules.yml")" ] || fail "${loaded} rules are healthy"
echo "ok: ${loaded} rules are healthy"
mv "${folder}/store" "${folder}/elsewhere"
wait_for "$(firing WavetuneStoreProblem)" 1
mv "${folder}/elsewhere" "${folder}/store"
wait_for "$(firing WavetuneStoreProblem)" 0
# A daemon that is gone is seen.
kill "${processes[0]}"
wait_for 'up{job="wavetune"}' 0
wait_for "$(firing WavetuneDown)" 1
wait_for "$(firing WavetuneAbsent)" 1
