/* Kernels of the writers, one source for every instruction set (build_kernels_impl.h), chosen once by
 * fidx_choose_build: keys to bit slices 64 rows at a time, bits and runs of a container, Bloom positions in batches. */
#ifndef FIDX_BUILD_KERNELS_H
#define FIDX_BUILD_KERNELS_H
#include "cpu.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "paimon_fidx writes bitset containers as little-endian machine words; big-endian machines are not supported"
#endif

/* Rows set in one container, and its runs; a run count of FIDX_MANY_RUNS or more is not exact: it only says that runs
 * would be longer than 8 KiB of bits. */
#define FIDX_MANY_RUNS 2048

/* Division of 0 <= x < 2^31 by a constant: x / d = x * multiplier >> shift, exactly (Granlund and Montgomery, "Division
 * by invariant integers using multiplication", 1994, with 31-bit numerators and a 32-bit multiplier). */
typedef struct {
  uint64_t multiplier;
  uint32_t shift;
  uint32_t divisor;
} fidx_divisor;

static inline fidx_divisor fidx_divide_by(uint32_t divisor) {
  fidx_divisor d;
  uint32_t bits = 0;
  while (((uint64_t)1 << bits) < divisor) bits++;
  d.shift = 31 + bits;
  d.multiplier = (((uint64_t)1 << d.shift) + divisor - 1) / divisor;
  d.divisor = divisor;
  return d;
}

#define FIDX_STEP 64 /* words measured between two looks at the number of runs */
#define FIDX_SLACK 32 /* bytes that put_array may write behind its end */
#define FIDX_BATCH 256 /* hashes whose positions are computed together: a few KiB, well inside L1 */

typedef struct {
  const char *name;
  void (*slice32)(const int32_t *values, size_t count, int slice_count, uint64_t *planes, size_t plane_len);
  void (*slice64)(const int64_t *values, size_t count, int slice_count, uint64_t *planes, size_t plane_len);
  void (*slice_signed32)(const int32_t *values, size_t count, int slice_count, uint64_t *planes, size_t plane_len,
                         uint64_t *signs);
  void (*slice_signed64)(const int64_t *values, size_t count, int slice_count, uint64_t *planes, size_t plane_len,
                         uint64_t *signs);
  void (*measure)(const uint64_t *words, const uint64_t *mask, size_t word_count, uint32_t *cardinality,
                  uint32_t *run_count);
  uint8_t *(*put_array)(const uint64_t *words, size_t word_count, uint8_t *out);
  void (*zero_nulls32)(int32_t *values, const uint64_t *valid, size_t count);
  void (*zero_nulls64)(int64_t *values, const uint64_t *valid, size_t count);
  void (*extremes32)(const int32_t *values, size_t count, int32_t *least, int32_t *most);
  void (*extremes64)(const int64_t *values, size_t count, int64_t *least, int64_t *most);
  size_t (*count_bits)(const uint64_t *words, size_t word_count);
  void (*hash32)(const int32_t *keys, size_t count, uint64_t *hashes);
  void (*hash64)(const int64_t *keys, size_t count, uint64_t *hashes);
  void (*set_positions)(const uint64_t *hashes, size_t count, int hash_count, const fidx_divisor *bits, uint8_t *out);
} fidx_build_set;

#define K2(name, set) fidx_##name##_##set
#define K1(name, set) K2(name, set)
#define K(name) K1(name, SET)
#define FIDX_STR2(x) #x
#define FIDX_STR(x) FIDX_STR2(x)
#define BUILD_SET                                                                                                 \
  { FIDX_STR(SET), K(slice32), K(slice64), K(slice_signed32), K(slice_signed64), K(measure), K(put_array),        \
    K(zero_nulls32), K(zero_nulls64), K(extremes32), K(extremes64), K(count_bits), K(hash32), K(hash64), K(set_positions) }

#define SET build_baseline
#define TARGET
#define VECTOR_BITS 0
#if defined(__aarch64__) || defined(__POPCNT__)
#define HARDWARE_POPCNT 1
#else
#define HARDWARE_POPCNT 0
#endif
#include "build_kernels_impl.h"
static const fidx_build_set fidx_set_build_baseline = BUILD_SET;
#undef SET
#undef TARGET
#undef VECTOR_BITS
#undef HARDWARE_POPCNT

#if defined(__x86_64__)
#define HARDWARE_POPCNT 1
#define SET build_avx2
#define TARGET __attribute__((target("avx2,popcnt,bmi,bmi2")))
#define VECTOR_BITS 256
#include "build_kernels_impl.h"
static const fidx_build_set fidx_set_build_avx2 = BUILD_SET;
#undef SET
#undef TARGET
#undef VECTOR_BITS
#define SET build_avx512
#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,avx2,popcnt,bmi,bmi2")))
#define VECTOR_BITS 512
#include "build_kernels_impl.h"
static const fidx_build_set fidx_set_build_avx512 = BUILD_SET;
#undef SET
#undef TARGET
#undef VECTOR_BITS
#undef HARDWARE_POPCNT
#endif
#undef K
#undef K1
#undef K2
#undef BUILD_SET
#undef FIDX_STR
#undef FIDX_STR2

/* The best set this processor runs; `wanted` as for fidx_cpu_level. */
static inline const fidx_build_set *fidx_choose_build(const char *wanted) {
  int level = fidx_cpu_level(wanted);
#if defined(__x86_64__)
  if (level == FIDX_CPU_AVX512) return &fidx_set_build_avx512;
  if (level == FIDX_CPU_AVX2) return &fidx_set_build_avx2;
#endif
  (void)level;
  return &fidx_set_build_baseline;
}
#endif
