/* Word kernels over one chunk (65,536 rows = 1,024 words = 8 KiB). Included once per instruction set by kernels.h, which
 * defines K(name) (the suffixed name), TARGET (the function attribute) and LANE (bytes of one vector register).
 * Inputs may be unaligned; outputs are aligned to 64 bytes where the parameter is called `out`. */

typedef uint64_t K(vec) __attribute__((vector_size(LANE), aligned(8), may_alias));
typedef uint64_t K(vecu) __attribute__((vector_size(LANE), aligned(1), may_alias));
#define VEC K(vec)
#define LOAD(p, i) (*(const K(vecu) *)((const uint8_t *)(p) + (i)))
#define STORE(p, i, x) (*(VEC *)((uint8_t *)(p) + (i)) = (x))
#define SPLAT(x) ((VEC){0} + (uint64_t)(x))
#define NV 4                 /* registers a block keeps per operand: eL, eH and acc stay in registers on every set */
#define BLOCK (NV * LANE)

TARGET static inline __attribute__((always_inline)) int K(any)(VEC x) {
  uint64_t o = 0;
  for (unsigned i = 0; i < LANE / 8; i++) o |= x[i];
  return o != 0;
}

TARGET static uint32_t K(popcount)(const uint8_t *words) {
  uint64_t n = 0;
  for (int i = 0; i < 1024; i++) {
    uint64_t x;
    memcpy(&x, words + 8 * i, 8);
#if FIDX_HW_POPCNT
    n += __builtin_popcountll(x);
#else
    /* Without the POPCNT instruction the builtin is a call; these adds stay in vector registers. */
    x -= (x >> 1) & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    x += x >> 8; x += x >> 16; x += x >> 32;
    n += x & 0x7f;
#endif
  }
  return (uint32_t)n;
}

/* Number of maximal runs of set bits; of more than `most`, some number above it. */
TARGET static uint32_t K(run_count)(const uint64_t *words, uint32_t most) {
  uint64_t n = 0, carry = 0;
  for (int i = 0; i < 1024 && n <= most; i += 64) {
    for (int j = i; j < i + 64; j++) {
      uint64_t x = words[j], starts = x & ~(x << 1 | carry);
      carry = x >> 63;
#if FIDX_HW_POPCNT
      n += __builtin_popcountll(starts);
#else
      for (; starts; starts &= starts - 1) n++;
#endif
    }
  }
  return (uint32_t)n;
}

TARGET static void K(or_into)(uint64_t *out, const uint8_t *words) {
  for (int i = 0; i < 8192; i += LANE) STORE(out, i, LOAD(out, i) | LOAD(words, i));
}
TARGET static void K(and_into)(uint64_t *out, const uint8_t *words) {
  for (int i = 0; i < 8192; i += LANE) STORE(out, i, LOAD(out, i) & LOAD(words, i));
}
TARGET static void K(andnot_into)(uint64_t *out, const uint8_t *words) {
  for (int i = 0; i < 8192; i += LANE) STORE(out, i, LOAD(out, i) & ~LOAD(words, i));
}

/* Advances a comparison (see kernels.h) by one group of slices over bytes [from, to) of the chunk. A block keeps its
 * candidates in registers and stops as soon as none is undecided: on random data about 12 of 31 slices are read.
 * Returns whether any row is still undecided. */
TARGET static int K(compare)(const fidx_program *prog, const fidx_state *state, int from, int to) {
  const fidx_plane *A = prog->common, *B = prog->both, *C = prog->one;
  const int nA = prog->common_count, nB = prog->both_count, nC = prog->one_count;
  const int fresh = prog->fresh, turn = prog->turn, one_is_low = prog->one_is_low, last = prog->last;
  const VEC turn_accept = SPLAT(prog->turn_accept), rest_accept = SPLAT(prog->rest_accept);
  VEC undecided = {0};
  for (int at = from; at < to; at += BLOCK) {
    VEC e[NV], f[NV], acc[NV], o;
    for (int k = 0; k < NV; k++) {
      e[k] = LOAD(state->e_in, at + k * LANE);
      acc[k] = f[k] = (VEC){0};
      if (!fresh) acc[k] = LOAD(state->acc, at + k * LANE);
      if (prog->has_f) f[k] = LOAD(state->f, at + k * LANE);
    }
    int live = 1;
    for (int j = 0; j < nA; j++) {
      const uint8_t *p = A[j].words;
      const VEC differ = SPLAT(~A[j].bit);
      o = (VEC){0};
      for (int k = 0; k < NV; k++) { e[k] &= LOAD(p, at + k * LANE) ^ differ; o |= e[k]; }
      if ((j & 1) && !K(any)(o)) { live = 0; break; }
    }
    if (live && prog->split)
      for (int k = 0; k < NV; k++) { VEC s = LOAD(prog->split, at + k * LANE); f[k] = e[k] & s; e[k] &= ~s; }
    if (live)
      for (int j = 0; j < nB; j++) {
        const uint8_t *p = B[j].words;
        const VEC lo = SPLAT(B[j].bit), hi = SPLAT(B[j].high_bit);
        o = (VEC){0};
        for (int k = 0; k < NV; k++) {
          VEC s = LOAD(p, at + k * LANE);
          acc[k] |= (e[k] & s & ~lo) | (f[k] & ~s & hi);
          e[k] &= ~(s ^ lo);
          f[k] &= ~(s ^ hi);
          o |= e[k] | f[k];
        }
        if ((j & 1) && !K(any)(o)) { live = 0; break; }
      }
    if (live && turn)
      for (int k = 0; k < NV; k++) { /* one side is decided here, the other goes on as e */
        acc[k] |= (one_is_low ? f[k] : e[k]) & turn_accept;
        e[k] = one_is_low ? e[k] : f[k];
        f[k] = (VEC){0};
      }
    if (live)
      for (int j = 0; j < nC; j++) {
        const uint8_t *p = C[j].words;
        const VEC bit = SPLAT(C[j].bit), take = SPLAT(C[j].take);
        o = (VEC){0};
        for (int k = 0; k < NV; k++) {
          VEC d = LOAD(p, at + k * LANE) ^ bit; /* rows that leave the bound here: inside it when take is set */
          acc[k] |= e[k] & d & take;
          e[k] &= ~d;
          o |= e[k];
        }
        if ((j & 1) && !K(any)(o)) { live = 0; break; }
      }
    if (last) {
      for (int k = 0; k < NV; k++) STORE(state->acc, at + k * LANE, acc[k] | (e[k] & rest_accept));
    } else {
      for (int k = 0; k < NV; k++) {
        STORE(state->acc, at + k * LANE, acc[k]);
        STORE(state->e, at + k * LANE, e[k]);
        STORE(state->f, at + k * LANE, f[k]);
        undecided |= e[k] | f[k];
      }
    }
  }
  return K(any)(undecided);
}

#undef VEC
#undef LOAD
#undef STORE
#undef SPLAT
#undef NV
#undef BLOCK
