#!/bin/sh
# Builds and runs the benchmark: run.sh CONFIGS OUT_DIR SECONDS [SHAPES]
C=${CUDA_HOME:-/usr/local/cuda}
export LD_LIBRARY_PATH=$C/lib64:$LD_LIBRARY_PATH
g++ -x c++ -std=c++17 -O1 -I$C/include bench_gemm.cu -o /tmp/bench_gemm -L$C/lib64 -L$C/lib64/stubs -lcuda -lnvrtc -lcublasLt || exit 1
for i in 1 2 3 4 5; do
  timeout $(($3 + 40)) stdbuf -oL /tmp/bench_gemm ../../kernels/gemm_bf16 $1 ${4:-gemm.csv} $2 $3
  r=$?
  [ $r = 9 ] || exit $r
done
