/* Included once per instruction set by build_kernels.h, which defines K(name) (the suffixed name), TARGET (the function
 * attribute), VECTOR_BITS (0: the baseline) and HARDWARE_POPCNT. */

TARGET static inline __attribute__((always_inline)) unsigned K(popcount)(uint64_t x) {
#if HARDWARE_POPCNT
  return (unsigned)__builtin_popcountll(x);
#else
  x -= (x >> 1) & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return (unsigned)((x * 0x0101010101010101u) >> 56);
#endif
}

/* 64 bytes, one of each row, to 8 words, one of each bit. */
TARGET static inline __attribute__((always_inline)) void K(transpose)(const uint8_t *bytes, uint64_t *words) {
#if VECTOR_BITS == 512
  __m512i x = _mm512_loadu_si512((const void *)bytes);
  for (int bit = 7; bit >= 0; bit--) { words[bit] = _mm512_movepi8_mask(x); x = _mm512_add_epi8(x, x); }
#elif VECTOR_BITS == 256
  __m256i x = _mm256_loadu_si256((const __m256i *)bytes), y = _mm256_loadu_si256((const __m256i *)(bytes + 32));
  for (int bit = 7; bit >= 0; bit--) {
    words[bit] = (uint32_t)_mm256_movemask_epi8(x) | (uint64_t)(uint32_t)_mm256_movemask_epi8(y) << 32;
    x = _mm256_add_epi8(x, x);
    y = _mm256_add_epi8(y, y);
  }
#elif defined(__SSE2__)
  __m128i x[4];
  for (int i = 0; i < 4; i++) x[i] = _mm_loadu_si128((const __m128i *)(bytes + 16 * i));
  for (int bit = 7; bit >= 0; bit--) {
    uint64_t word = 0;
    for (int i = 0; i < 4; i++) {
      word |= (uint64_t)(uint32_t)_mm_movemask_epi8(x[i]) << (16 * i);
      x[i] = _mm_add_epi8(x[i], x[i]);
    }
    words[bit] = word;
  }
#else
  /* An 8 x 8 bit matrix in one word is transposed by swapping 1 x 1, 2 x 2 and 4 x 4 blocks across its diagonal. */
  uint64_t square[8];
  for (int i = 0; i < 8; i++) {
    uint64_t x, t;
    memcpy(&x, bytes + 8 * i, 8);
    t = (x ^ (x >> 7)) & 0x00aa00aa00aa00aau;  x ^= t ^ (t << 7);
    t = (x ^ (x >> 14)) & 0x0000cccc0000ccccu; x ^= t ^ (t << 14);
    t = (x ^ (x >> 28)) & 0x00000000f0f0f0f0u; x ^= t ^ (t << 28);
    square[i] = x;
  }
  for (int bit = 0; bit < 8; bit++) {
    uint64_t word = 0;
    for (int i = 0; i < 8; i++) word |= (square[i] >> (8 * bit) & 0xff) << (8 * i);
    words[bit] = word;
  }
#endif
}

/* The bits of 64 unsigned values into word `at` of each plane. */
#define SLICE_BLOCK(values, type, slice_count, planes, plane_len, at)                                             \
  do {                                                                                                            \
    uint8_t bytes[64];                                                                                            \
    uint64_t words[8];                                                                                            \
    for (int low = 0; low < (slice_count); low += 8) {                                                            \
      for (int j = 0; j < 64; j++) bytes[j] = (uint8_t)((values)[j] >> low);                                      \
      K(transpose)(bytes, words);                                                                                 \
      int most = (slice_count) - low < 8 ? (slice_count) - low : 8;                                               \
      for (int bit = 0; bit < most; bit++) (planes)[(size_t)(low + bit) * (plane_len) + (at)] = words[bit];       \
    }                                                                                                             \
  } while (0)

#define DEFINE_SLICES(plain, with_signs, signed_type, type)                                                       \
  /* Bit slices of values that are not negative: slice s of row r is bit r of planes[s * plane_len]. */           \
  TARGET static void K(plain)(const signed_type *values, size_t count, int slice_count, uint64_t *planes,         \
                              size_t plane_len) {                                                                 \
    size_t at = 0;                                                                                                \
    for (; at < count / 64; at++) {                                                                               \
      const type *block = (const type *)values + 64 * at;                                                         \
      SLICE_BLOCK(block, type, slice_count, planes, plane_len, at);                                               \
    }                                                                                                             \
    if (count % 64) {                                                                                             \
      type block[64] = {0};                                                                                       \
      memcpy(block, values + 64 * at, count % 64 * sizeof(type));                                                 \
      SLICE_BLOCK(block, type, slice_count, planes, plane_len, at);                                               \
    }                                                                                                             \
  }                                                                                                               \
  /* Bit slices of the magnitudes; bit r of signs is set where row r is negative. */                              \
  TARGET static void K(with_signs)(const signed_type *values, size_t count, int slice_count, uint64_t *planes,    \
                                   size_t plane_len, uint64_t *signs) {                                           \
    for (size_t at = 0; 64 * at < count; at++) {                                                                  \
      type block[64] = {0}, flip;                                                                                 \
      uint8_t negative[64];                                                                                       \
      uint64_t words[8];                                                                                          \
      memcpy(block, values + 64 * at, (count - 64 * at < 64 ? count - 64 * at : 64) * sizeof(type));              \
      for (int j = 0; j < 64; j++) {                                                                              \
        flip = (type)0 - (block[j] >> (8 * sizeof(type) - 1));                                                    \
        negative[j] = (uint8_t)flip;                                                                              \
        block[j] = (block[j] ^ flip) - flip;                                                                      \
      }                                                                                                           \
      K(transpose)(negative, words);                                                                              \
      signs[at] = words[7];                                                                                       \
      SLICE_BLOCK(block, type, slice_count, planes, plane_len, at);                                               \
    }                                                                                                             \
  }
DEFINE_SLICES(slice32, slice_signed32, int32_t, uint32_t)
DEFINE_SLICES(slice64, slice_signed64, int64_t, uint64_t)
#undef DEFINE_SLICES
#undef SLICE_BLOCK

/* Rows and runs of one container of up to 1,024 words, of words & mask where a mask is given. */
TARGET static void K(measure)(const uint64_t *words, const uint64_t *mask, size_t word_count, uint32_t *cardinality,
                              uint32_t *run_count) {
  uint64_t rows = 0, runs = 0, before = 0;
  size_t at = 0;
  for (; at < word_count && runs < FIDX_MANY_RUNS; at += FIDX_STEP) {
    /* One word ahead of the step stands what came before, so that no word waits for its neighbour's result. */
    uint64_t step[FIDX_STEP + 1] = {before};
    size_t n = word_count - at < FIDX_STEP ? word_count - at : FIDX_STEP;
    for (size_t i = 0; i < n; i++) step[i + 1] = mask ? words[at + i] & mask[at + i] : words[at + i];
    for (size_t i = 0; i < FIDX_STEP; i++) {
      uint64_t x = step[i + 1];
      rows += K(popcount)(x);
      runs += K(popcount)(x & ~(x << 1 | step[i] >> 63));
    }
    before = step[n];
  }
  if (mask)
    for (; at < word_count; at++) rows += K(popcount)(words[at] & mask[at]);
  else
    for (; at < word_count; at++) rows += K(popcount)(words[at]);
  *cardinality = (uint32_t)rows;
  *run_count = (uint32_t)runs;
}

/* The set bits as ascending 16-bit values; returns the end. Up to 16 values are written behind it: they are stored four
 * at a time whatever a word holds, which spares a branch per bit that nobody could foresee. */
TARGET static uint8_t *K(put_array)(const uint64_t *words, size_t word_count, uint8_t *out) {
  for (size_t i = 0; i < word_count; i++) {
    uint64_t x = words[i];
    if (!x) continue;
    uint8_t *at = out;
    out += 2 * K(popcount)(x);
    do {
      uint16_t four[4];
      for (int k = 0; k < 4; k++) {
        four[k] = (uint16_t)(i << 6 | (x ? (unsigned)__builtin_ctzll(x) : 0u));
        x &= x - 1;
      }
      memcpy(at, four, 8);
      at += 8;
    } while (x);
  }
  return out;
}

TARGET static size_t K(count_bits)(const uint64_t *words, size_t word_count) {
  size_t n = 0;
  for (size_t i = 0; i < word_count; i++) n += K(popcount)(words[i]);
  return n;
}

#define DEFINE_ZERO_NULLS(name, type, unsigned_type)                                                              \
  TARGET static void K(name)(type *values, const uint64_t *valid, size_t count) {                                 \
    size_t i = 0;                                                                                                 \
    for (; i + 64 <= count; i += 64) {                                                                            \
      uint64_t word = valid[i / 64];                                                                              \
      if (word == ~(uint64_t)0) continue;                                                                         \
      for (int j = 0; j < 64; j++) values[i + j] &= (type)((unsigned_type)0 - (unsigned_type)(word >> j & 1));    \
    }                                                                                                             \
    for (; i < count; i++)                                                                                        \
      if (!(valid[i / 64] >> (i % 64) & 1)) values[i] = 0;                                                        \
  }
DEFINE_ZERO_NULLS(zero_nulls32, int32_t, uint32_t)
DEFINE_ZERO_NULLS(zero_nulls64, int64_t, uint64_t)
#undef DEFINE_ZERO_NULLS

#define DEFINE_EXTREMES(name, type)                                                                               \
  TARGET static void K(name)(const type *values, size_t count, type *least, type *most) {                         \
    type low = count ? values[0] : 0, high = low;                                                                 \
    for (size_t i = 0; i < count; i++) {                                                                          \
      low = values[i] < low ? values[i] : low;                                                                    \
      high = values[i] > high ? values[i] : high;                                                                 \
    }                                                                                                             \
    *least = low;                                                                                                 \
    *most = high;                                                                                                 \
  }
DEFINE_EXTREMES(extremes32, int32_t)
DEFINE_EXTREMES(extremes64, int64_t)
#undef DEFINE_EXTREMES

/* Thomas Wang's 64-bit integer hash; its right shifts carry the sign, as Java's do. */
TARGET static inline __attribute__((always_inline)) uint64_t K(shift_right)(uint64_t x, int by) {
  return x >> by | ((uint64_t)0 - (x >> 63)) << (64 - by);
}
TARGET static inline __attribute__((always_inline)) uint64_t K(mix)(uint64_t x) {
  x = ~x + (x << 21);
  x ^= K(shift_right)(x, 24);
  x = x + (x << 3) + (x << 8);
  x ^= K(shift_right)(x, 14);
  x = x + (x << 2) + (x << 4);
  x ^= K(shift_right)(x, 28);
  return x + (x << 31);
}
TARGET static void K(hash32)(const int32_t *keys, size_t count, uint64_t *hashes) {
  for (size_t i = 0; i < count; i++) hashes[i] = K(mix)((uint64_t)(int64_t)keys[i]);
}
TARGET static void K(hash64)(const int64_t *keys, size_t count, uint64_t *hashes) {
  for (size_t i = 0; i < count; i++) hashes[i] = K(mix)((uint64_t)keys[i]);
}

/* Sets the bits of up to FIDX_BATCH hashes. Bit i of a hash is low half + i * high half, complemented when negative,
 * modulo the number of bits; all positions of one i are computed before any bit is set. */
TARGET static void K(set_positions)(const uint64_t *hashes, size_t count, int hash_count, const fidx_divisor *bits,
                                    uint8_t *out) {
  const uint64_t multiplier = bits->multiplier, divisor = bits->divisor;
  const uint32_t shift = bits->shift;
  uint32_t sum[FIDX_BATCH], step[FIDX_BATCH], position[FIDX_BATCH];
  for (size_t j = 0; j < count; j++) {
    sum[j] = (uint32_t)hashes[j];
    step[j] = (uint32_t)(hashes[j] >> 32);
  }
  for (int i = 0; i < hash_count; i++) {
    for (size_t j = 0; j < count; j++) {
      sum[j] += step[j];
      uint64_t x = sum[j] ^ ((uint32_t)0 - (sum[j] >> 31));
      position[j] = (uint32_t)(x - (x * multiplier >> shift) * divisor);
    }
    for (size_t j = 0; j < count; j++) out[position[j] >> 3] |= (uint8_t)(1u << (position[j] & 7));
  }
}
