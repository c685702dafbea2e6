// conv2d: a two-dimensional convolution without padding,
//   y[b, f, i, j] = sum over c, u, v of x[b, c, i * STRIDE + u, j * STRIDE + v] *
//                   w[f, c, u, v]
// float32, all dense. The image has (out_h - 1) * STRIDE + kernel_h rows and
// (out_w - 1) * STRIDE + kernel_w columns. STRIDE is a constant of the
// specialisation.
//
// It is computed as an implicit matrix product of filters, and of patches of the
// image that are only gathered where they are used: of filters x (channels *
// kernel_h * kernel_w) and (channels * kernel_h * kernel_w) x (batch * out_h *
// out_w).
//
// For OpenCL devices that are CPUs: one work item computes BLOCK_P pixels of
// BLOCK_F filters. The grid is ceil(batch * out_h * out_w / BLOCK_P) *
// ceil(filters / BLOCK_F) blocks of one work item, numbered along the pixels first:
// neighbours share weights.
//
//   for each BLOCK_K places of a filter      one step of the loop
//     gather their BLOCK_P pixels            into local memory
//     for each four filters, for each strip of VECTOR_WIDTH pixels
//       sums[4][VECTOR_WIDTH] += weights * pixels
//
// Macro parameters (change the grid or the loop count):
//   BLOCK_P       pixels per block, a multiple of VECTOR_WIDTH
//   BLOCK_F       filters per block, a multiple of four
//   BLOCK_K       places of a filter per step of the loop
// Micro parameter:
//   VECTOR_WIDTH  floats per vector: 8 or 16
//
// Pixels and filters that are not there repeat the last ones and are not stored, so
// that a tile takes the same time however it is filled.

#define FILTERS 4

#if BLOCK_P % VECTOR_WIDTH != 0 || BLOCK_F % FILTERS != 0
#error "BLOCK_P must be a multiple of VECTOR_WIDTH, BLOCK_F one of 4"
#endif

#define CONCAT_TOKENS(a, b) a##b
#define CONCAT(a, b) CONCAT_TOKENS(a, b)
typedef CONCAT(float, VECTOR_WIDTH) vec;
#define LOAD(p) CONCAT(vload, VECTOR_WIDTH)(0, (p))
#define STORE(v, p) CONCAT(vstore, VECTOR_WIDTH)((v), 0, (p))

// sums[FILTERS][VECTOR_WIDTH] += w[FILTERS, steps] * pixels[steps, VECTOR_WIDTH].
inline void accumulate(__local float* sums, __global const float* const w[FILTERS],
                       __local const float* pixels, int steps) {
  vec acc[FILTERS];
  _Pragma("unroll")
  for (int f = 0; f < FILTERS; ++f) acc[f] = LOAD(sums + f * BLOCK_P);
  for (int p = 0; p < steps; ++p) {
    const vec values = LOAD(pixels + p * BLOCK_P);
    _Pragma("unroll")
    for (int f = 0; f < FILTERS; ++f) acc[f] += (vec)(w[f][p]) * values;
  }
  _Pragma("unroll")
  for (int f = 0; f < FILTERS; ++f) STORE(acc[f], sums + f * BLOCK_P);
}

__attribute__((reqd_work_group_size(1, 1, 1)))
__kernel void conv2d(__global const float* restrict x,
                     __global const float* restrict w,
                     __global float* restrict y, int batch, int channels,
                     int filters, int out_h, int out_w, int kernel_h,
                     int kernel_w) {
  __local float patch[BLOCK_K * BLOCK_P];
  __local float sums[BLOCK_F * BLOCK_P];
  __local int origins[BLOCK_P];  // Where each pixel's patch begins in x.

  const int in_h = (out_h - 1) * STRIDE + kernel_h;
  const int in_w = (out_w - 1) * STRIDE + kernel_w;
  const int image = out_h * out_w;
  const int pixels = batch * image;
  const int places = channels * kernel_h * kernel_w;
  const int tiles_p = (pixels + BLOCK_P - 1) / BLOCK_P;
  const size_t tile = get_group_id(0);
  const int pixel0 = (int)(tile % tiles_p) * BLOCK_P;
  const int filter0 = (int)(tile / tiles_p) * BLOCK_F;

  for (int p = 0; p < BLOCK_P; ++p) {
    const int pixel = min(pixel0 + p, pixels - 1);
    const int b = pixel / image;
    const int i = pixel % image / out_w;
    const int j = pixel % out_w;
    origins[p] = (b * channels * in_h + i * STRIDE) * in_w + j * STRIDE;
  }
  for (int i = 0; i < BLOCK_F * BLOCK_P; ++i) sums[i] = 0;

  for (int k0 = 0; k0 < places; k0 += BLOCK_K) {
    const int steps = min(BLOCK_K, places - k0);
    for (int s = 0; s < steps; ++s) {
      const int place = k0 + s;
      const int c = place / (kernel_h * kernel_w);
      const int u = place / kernel_w % kernel_h;
      const int v = place % kernel_w;
      const int offset = (c * in_h + u) * in_w + v;
      for (int p = 0; p < BLOCK_P; ++p)
        patch[s * BLOCK_P + p] = x[origins[p] + offset];
    }
    for (int f = 0; f < BLOCK_F; f += FILTERS) {
      __global const float* rows[FILTERS];
      _Pragma("unroll")
      for (int r = 0; r < FILTERS; ++r)
        rows[r] = w + (size_t)min(filter0 + f + r, filters - 1) * places + k0;
      for (int p = 0; p < BLOCK_P; p += VECTOR_WIDTH)
        accumulate(sums + f * BLOCK_P + p, rows, patch + p, steps);
    }
  }

  const int own_filters = min(BLOCK_F, filters - filter0);
  const int own_pixels = min(BLOCK_P, pixels - pixel0);
  for (int p = 0; p < own_pixels; ++p) {
    const int b = (pixel0 + p) / image;
    const int at = (pixel0 + p) % image;
    __global float* out = y + ((size_t)b * filters + filter0) * image + at;
    for (int f = 0; f < own_filters; ++f)
      out[(size_t)f * image] = sums[f * BLOCK_P + p];
  }
}
