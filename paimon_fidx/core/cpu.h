/* What this processor runs: one answer for every set of kernels. */
#ifndef FIDX_CPU_H
#define FIDX_CPU_H
#include <string.h>

enum { FIDX_CPU_BASELINE = 0, FIDX_CPU_AVX2 = 1, FIDX_CPU_AVX512 = 2 };

/* The best level; `wanted` (may be NULL) names one to force, for tests and benchmarks: baseline, avx2. */
static inline int fidx_cpu_level(const char *wanted) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi2");
  int avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vpopcntdq");
  if (wanted && !strcmp(wanted, "baseline")) return FIDX_CPU_BASELINE;
  if (wanted && !strcmp(wanted, "avx2") && avx2) return FIDX_CPU_AVX2;
  return avx512 ? FIDX_CPU_AVX512 : avx2 ? FIDX_CPU_AVX2 : FIDX_CPU_BASELINE;
#else
  (void)wanted;
  return FIDX_CPU_BASELINE;
#endif
}
#endif
