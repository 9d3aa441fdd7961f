#include "contact/penalty/relax_statistics.h"
#include <stdio.h>

relax_chain relax_chain_of(const mesh_relaxation *r)
{
  relax_chain chain = 0;
  for (int i = 0; i < r->n_places; ++i) chain = chain << 4 | r->place[i];
  return chain;
}

void relax_chain_text(relax_chain chain, char *text)
{
  int n = 1;
  while (n < 16 && chain >> (4 * n)) ++n;
  for (int i = 0; i < n; ++i) {
    *text++ = (char)('0' + (chain >> (4 * (n - 1 - i)) & 15));
    *text++ = i + 1 < n ? '-' : '\0';
  }
}

static void count(relax_statistics *s, relax_chain chain, int64_t n)
{
  int i = 0;
  while (i < s->n_chains && s->kind[i].chain != chain) ++i;
  if (i == RELAX_STATISTICS_CHAINS) {
    s->n_other += n;
    return;
  }
  if (i == s->n_chains) {
    s->kind[i].chain = chain;
    s->kind[i].n     = 0;
    ++s->n_chains;
  }
  s->kind[i].n += n;
}

void relax_statistics_add(relax_statistics *s, relax_chain chain, int n_places, bool is_capped)
{
  ++s->n;
  s->n_at_start += n_places == 1;
  s->n_capped += is_capped;
  if (n_places > s->longest) s->longest = n_places;
  count(s, chain, 1);
}

void relax_statistics_merge(relax_statistics *s, const relax_statistics *more)
{
  s->n += more->n;
  s->n_at_start += more->n_at_start;
  s->n_capped += more->n_capped;
  s->n_other += more->n_other;
  if (more->longest > s->longest) s->longest = more->longest;
  for (int i = 0; i < more->n_chains; ++i) count(s, more->kind[i].chain, more->kind[i].n);
}
