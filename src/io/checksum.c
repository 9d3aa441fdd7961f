/* 256-bit checksum, see checksum.h. */
#include "io/checksum.h"
#include <endian.h>
#include <stdio.h>
#include <string.h>

static const uint64_t MULTIPLIER = 0x9e3779b97f4a7c15u; /* bits of the golden ratio; odd, therefore invertible modulo 2^64 */

static inline uint64_t checksum_turn(uint64_t x, int n) { return x << n | x >> (64 - n); }
static inline uint64_t step(uint64_t lane, uint64_t word) { return checksum_turn((lane ^ word) * MULTIPLIER, 29); }

void checksum_begin(checksum *c)
{
  memset(c, 0, sizeof *c);
  for (int i = 0; i < CHECKSUM_WORDS; ++i) c->lane[i] = MULTIPLIER * (uint64_t)(2 * i + 1);
}

static void blocks(checksum *c, const unsigned char *p, size_t n_blocks)
{
  uint64_t a = c->lane[0], b = c->lane[1], d = c->lane[2], e = c->lane[3], w[4];

  for (size_t i = 0; i < n_blocks; ++i, p += sizeof w) {
    memcpy(w, p, sizeof w);
    a = step(a, le64toh(w[0]));
    b = step(b, le64toh(w[1]));
    d = step(d, le64toh(w[2]));
    e = step(e, le64toh(w[3]));
  }
  c->lane[0] = a, c->lane[1] = b, c->lane[2] = d, c->lane[3] = e;
}

void checksum_add(checksum *c, const void *bytes, size_t n)
{
  const unsigned char *p = bytes;

  c->n_bytes += n;
  if (c->n_rest) {
    const size_t room = sizeof c->rest - c->n_rest, take = n < room ? n : room;
    memcpy(c->rest + c->n_rest, p, take);
    c->n_rest += take, p += take, n -= take;
    if (c->n_rest < sizeof c->rest) return;
    blocks(c, c->rest, 1);
    c->n_rest = 0;
  }
  blocks(c, p, n / sizeof c->rest);
  c->n_rest = n % sizeof c->rest;
  if (c->n_rest) memcpy(c->rest, p + n - c->n_rest, c->n_rest);
}

void checksum_end(checksum *c, uint64_t sum[CHECKSUM_WORDS])
{
  uint64_t *h = c->lane;

  memset(c->rest + c->n_rest, 0, sizeof c->rest - c->n_rest);
  if (c->n_rest) blocks(c, c->rest, 1);
  h[0] = step(h[0], c->n_bytes); /* separates zeros at the end from padding */
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < CHECKSUM_WORDS; ++i) {
      h[(i + 1) % CHECKSUM_WORDS] += checksum_turn(h[i], 31);
      h[i] = (h[i] ^ h[i] >> 32) * MULTIPLIER;
    }
  memcpy(sum, h, CHECKSUM_WORDS * sizeof *sum);
}

void checksum_text(const uint64_t sum[CHECKSUM_WORDS], char text[CHECKSUM_TEXT])
{
  snprintf(text, CHECKSUM_TEXT, "%016llx%016llx%016llx%016llx", (unsigned long long)sum[0], (unsigned long long)sum[1],
           (unsigned long long)sum[2], (unsigned long long)sum[3]);
}
