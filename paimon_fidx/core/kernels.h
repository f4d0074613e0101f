/* Word kernels over chunks of 65,536 rows, one source for every instruction set: GCC/Clang vector extensions, compiled
 * for the baseline (SSE2, NEON, anything), AVX2 and AVX-512, chosen once at import by fidx_kernels_init. Only bit
 * arithmetic on 8 KiB blocks is here; what the blocks mean is in slices.pyx and roaring.pyx. */
#ifndef FIDX_KERNELS_H
#define FIDX_KERNELS_H
#include "cpu.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "paimon_fidx reads bitset containers as little-endian machine words; big-endian machines are not supported"
#endif

/* One slice of a chunk. `bit` is all ones where the bound has a 1. */
typedef struct {
  const uint8_t *words;
  uint64_t bit;
  uint64_t high_bit; /* both: the upper bound's bit */
  uint64_t take;     /* one: all ones where a row that differs here lies inside the bound */
} fidx_plane;

/* A group of slices of a comparison lo <= code <= hi on one chunk, from high to low, after O'Neil and Quass, "Improved
 * query performance with variant indexes" (1997). While the bounds agree a row must agree with them (common). At their
 * first difference (split) the rows part into those tied with lo (e) and those tied with hi (f); both are followed
 * (both) until one is decided (turn), then the other alone (one). Equality is common alone, >= and <= are one alone. */
typedef struct {
  int fresh;                         /* the first group: nothing is accepted yet */
  int last;                          /* the last group: rows still tied are inside when rest_accept is all ones */
  int has_f;                         /* f is live on entry */
  int common_count, both_count, one_count;
  int turn, one_is_low;
  const uint8_t *split;
  uint64_t turn_accept, rest_accept;
  fidx_plane common[64], both[64], one[64];
} fidx_program;

typedef struct {
  const uint8_t *e_in; /* candidates on entry; e itself but in the first group */
  uint64_t *e, *f, *acc;
} fidx_state;

typedef struct {
  const char *name;
  uint32_t (*popcount)(const uint8_t *words);
  uint32_t (*run_count)(const uint64_t *words, uint32_t most);
  void (*or_into)(uint64_t *out, const uint8_t *words);
  void (*and_into)(uint64_t *out, const uint8_t *words);
  void (*andnot_into)(uint64_t *out, const uint8_t *words);
  int (*compare)(const fidx_program *prog, const fidx_state *state, int from, int to);
} fidx_kernel_set;

#define K2(name, set) fidx_##name##_##set
#define K1(name, set) K2(name, set)
#define K(name) K1(name, SET)
#define KERNEL_SET                                                                                               \
  { FIDX_STR(SET), K(popcount), K(run_count), K(or_into), K(and_into), K(andnot_into), K(compare) }
#define FIDX_STR2(x) #x
#define FIDX_STR(x) FIDX_STR2(x)

#define SET baseline
#define TARGET
#define LANE 16
#if defined(__aarch64__) || defined(__POPCNT__)
#define FIDX_HW_POPCNT 1
#else
#define FIDX_HW_POPCNT 0
#endif
#include "kernels_impl.h"
static const fidx_kernel_set fidx_set_baseline = KERNEL_SET;
#undef SET
#undef TARGET
#undef LANE
#undef FIDX_HW_POPCNT

#if defined(__x86_64__)
#define FIDX_HW_POPCNT 1
#define SET avx2
#define TARGET __attribute__((target("avx2,popcnt,bmi,bmi2")))
#define LANE 32
#include "kernels_impl.h"
static const fidx_kernel_set fidx_set_avx2 = KERNEL_SET;
#undef SET
#undef TARGET
#undef LANE
#define SET avx512
#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,avx2,popcnt,bmi,bmi2")))
#define LANE 64
#include "kernels_impl.h"
static const fidx_kernel_set fidx_set_avx512 = KERNEL_SET;
#undef SET
#undef TARGET
#undef LANE
#undef FIDX_HW_POPCNT
#endif
#undef K

/* The best set this processor runs; `wanted` as for fidx_cpu_level. */
static inline const fidx_kernel_set *fidx_choose_kernels(const char *wanted) {
  int level = fidx_cpu_level(wanted);
#if defined(__x86_64__)
  if (level == FIDX_CPU_AVX512) return &fidx_set_avx512;
  if (level == FIDX_CPU_AVX2) return &fidx_set_avx2;
#endif
  (void)level;
  return &fidx_set_baseline;
}

/* Rows [start, end) of a chunk, end at most 65,536. */
static inline void fidx_fill_range(uint64_t *words, uint32_t start, uint32_t end) {
  if (start >= end) return;
  uint32_t first = start >> 6, last = (end - 1) >> 6;
  uint64_t head = ~(uint64_t)0 << (start & 63), tail = ~(uint64_t)0 >> (63 - ((end - 1) & 63));
  if (first == last) { words[first] |= head & tail; return; }
  words[first] |= head;
  for (uint32_t i = first + 1; i < last; i++) words[i] = ~(uint64_t)0;
  words[last] |= tail;
}

/* A thread's scratch for one chunk at a time. */
#define FIDX_SCRATCH 24
typedef struct {
  uint64_t e[1024], f[1024], acc[1024], exist[1024], total[1024], spare[1024], ones[1024];
  uint64_t scratch[FIDX_SCRATCH][1024];
} fidx_work __attribute__((aligned(64)));

static inline uint32_t fidx_le16(const uint8_t *p) {
  uint16_t v;
  memcpy(&v, p, 2);
  return v;
}

/* Sets the bits of n uint16 little-endian values. Neighbouring values fall into the same word, where each store would
 * wait for the one before; four places at once keep the processor busy (2.5 times as fast at 4,096 values). */
static inline void fidx_set_values(uint64_t *words, const uint8_t *values, uint32_t n) {
  uint32_t q = n / 4, i;
  for (i = 0; i < q; i++) {
    uint32_t a = fidx_le16(values + 2 * i), b = fidx_le16(values + 2 * (i + q));
    uint32_t c = fidx_le16(values + 2 * (i + 2 * q)), d = fidx_le16(values + 2 * (i + 3 * q));
    words[a >> 6] |= (uint64_t)1 << (a & 63);
    words[b >> 6] |= (uint64_t)1 << (b & 63);
    words[c >> 6] |= (uint64_t)1 << (c & 63);
    words[d >> 6] |= (uint64_t)1 << (d & 63);
  }
  for (i = 4 * q; i < n; i++) {
    uint32_t a = fidx_le16(values + 2 * i);
    words[a >> 6] |= (uint64_t)1 << (a & 63);
  }
}

/* Clears the bits of n values in `from`; those that were set there are set in `into` (if not NULL). */
static inline void fidx_move_values(uint64_t *from, uint64_t *into, const uint8_t *values, uint32_t n) {
#define FIDX_MOVE(v) \
  { uint64_t bit = from[(v) >> 6] & (uint64_t)1 << ((v)&63); from[(v) >> 6] ^= bit; if (into) into[(v) >> 6] |= bit; }
  uint32_t q = n / 4, i;
  for (i = 0; i < q; i++) {
    uint32_t a = fidx_le16(values + 2 * i), b = fidx_le16(values + 2 * (i + q));
    uint32_t c = fidx_le16(values + 2 * (i + 2 * q)), d = fidx_le16(values + 2 * (i + 3 * q));
    FIDX_MOVE(a) FIDX_MOVE(b) FIDX_MOVE(c) FIDX_MOVE(d)
  }
  for (i = 4 * q; i < n; i++) { uint32_t a = fidx_le16(values + 2 * i); FIDX_MOVE(a) }
#undef FIDX_MOVE
}

/* The set bits as ascending uint16 little-endian values; returns their number. */
static inline uint32_t fidx_to_array(const uint64_t *words, uint8_t *out) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < 1024; i++)
    for (uint64_t x = words[i]; x; x &= x - 1) {
      uint16_t v = (uint16_t)(i << 6 | (uint32_t)__builtin_ctzll(x));
      memcpy(out + 2 * n++, &v, 2);
    }
  return n;
}

/* The set bits as (start, length - 1) pairs; returns their number. */
static inline uint32_t fidx_to_runs(const uint64_t *words, uint8_t *out) {
  uint32_t n = 0, at = 0;
  while (at < 65536) {
    uint32_t i = at >> 6;
    uint64_t x = words[i] & ~(uint64_t)0 << (at & 63);
    while (!x && ++i < 1024) x = words[i];
    if (i == 1024) break;
    uint32_t start = i << 6 | (uint32_t)__builtin_ctzll(x);
    x = ~words[i] & ~(uint64_t)0 << (start & 63);
    while (!x && ++i < 1024) x = ~words[i];
    uint32_t end = i == 1024 ? 65536 : i << 6 | (uint32_t)__builtin_ctzll(x);
    uint16_t pair[2] = {(uint16_t)start, (uint16_t)(end - 1 - start)};
    memcpy(out + 4 * n++, pair, 4);
    at = end;
  }
  return n;
}
#endif
