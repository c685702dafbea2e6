// y[row] = softmax(x[row]), by vectors of VECTOR_WIDTH. With FAULT
//    1  the maximum is not subtracted, so that powers overflow
//    2  a row's last vector is read whole, also past the row, and what is not
//       the row's is thrown away
#if VECTOR_WIDTH == 4
typedef float4 vector;
#define load vload4
#else
typedef float8 vector;
#define load vload8
#endif

__kernel void softmax(__global const float* x, __global float* y, int columns) {
  const size_t row = get_group_id(0);
  __global const float* from = x + row * columns;
  __global float* to = y + row * columns;
  float most = -INFINITY;
  for (int j = 0; j < columns; ++j) most = fmax(most, from[j]);
  if (FAULT == 1) most = 0.0f;
  float sum = 0.0f;
  for (int j = 0; j < columns; j += VECTOR_WIDTH) {
    const int whole = j + VECTOR_WIDTH <= columns;
    float each[VECTOR_WIDTH];
    if (whole || FAULT == 2) {
      const vector loaded = exp(load(0, from + j) - most);
      for (int i = 0; i < VECTOR_WIDTH; ++i) each[i] = ((float*)&loaded)[i];
    } else {
      for (int i = 0; j + i < columns; ++i) each[i] = exp(from[j + i] - most);
    }
    for (int i = 0; i < VECTOR_WIDTH && j + i < columns; ++i) {
      sum += each[i];
      to[j + i] = each[i];
    }
  }
  for (int j = 0; j < columns; ++j) to[j] /= sum;
}
