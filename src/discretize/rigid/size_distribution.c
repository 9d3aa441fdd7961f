/* Inverse distribution functions; log-normal sizes by mass have the median m exp(-3 s^2) by number [HatchChoate1929]. */
#include "discretize/rigid/size_distribution.h"
#include "core/random.h"

enum { STREAM_SIZE = 0x512e, MOST_DRAWS = 1000 };

/* clang-format off */
static const key_spec share_keys[] = {
  {.name = "size", .type = KEY_REAL, .offset = offsetof(size_share, size), .min = 0, .max = INFINITY, .is_open = true, .help = "factor of the shape's lengths"},
  {.name = "share", .type = KEY_REAL, .offset = offsetof(size_share, share), .min = 0, .max = INFINITY, .is_open = true, .fallback = "1", .help = "weight of this size relative to the others"},
  {.name = NULL}};
static const key_table share_table = {.name = "bodies.rigid.copies.sizes.list", .help = "One size of a list.", .size = sizeof(size_share), .keys = share_keys};

static const key_spec size_keys[] = {
  {.name = "uniform", .type = KEY_REALS, .count = 2, .offset = offsetof(size_distribution, uniform), .min = 0, .max = INFINITY, .is_open = true, .is_optional = true,
   .help = "sizes between these two, all equally frequent"},
  {.name = "log_normal", .type = KEY_REALS, .count = 2, .offset = offsetof(size_distribution, log_normal), .min = 0, .max = INFINITY, .is_open = true, .is_optional = true,
   .help = "median, and standard deviation of the logarithm of the size"},
  {.name = "list", .type = KEY_LIST, .offset = offsetof(size_distribution, list), .table = &share_table, .is_optional = true, .min = 1, .max = 1e6, .help = "a few sizes and their shares"},
  {.name = "limits", .type = KEY_REALS, .count = 2, .offset = offsetof(size_distribution, limits), .min = 0, .max = INFINITY, .is_optional = true, .only_if = {"log_normal", "*"},
   .help = "smallest and largest size of log_normal"},
  {.name = "by_mass", .type = KEY_BOOL, .offset = offsetof(size_distribution, by_mass), .fallback = "false",
   .help = "frequencies, medians and shares are fractions of the mass (sieve curves) instead of the number of bodies"},
  {.name = NULL}};
/* clang-format on */
const key_table size_distribution_table = {.name = "bodies.rigid.copies.sizes",
                                           .help = "Random sizes as factors of the lengths of `shape`: give one of uniform, log_normal and "
                                                   "list.",
                                           .size = sizeof(size_distribution),
                                           .keys = size_keys};

static bool is_given(const double range[2]) { return isfinite(range[0]); }

void size_distribution_check(const size_distribution *s, const document_node *node, const char *path, diagnostics *d)
{
  const int n = is_given(s->uniform) + is_given(s->log_normal) + (s->list.n > 0);
  if (n != 1) diagnostics_add_under(d, node, path, NULL, "expected exactly one of uniform, log_normal and list, got %d; keep one", n);
  if (is_given(s->uniform) && !(s->uniform[0] <= s->uniform[1]))
    diagnostics_add_under(d, node, path, "uniform", "the smallest size, %g, is above the largest, %g; exchange them", s->uniform[0],
                          s->uniform[1]);
  if (is_given(s->limits) && !(s->limits[0] < s->limits[1]))
    diagnostics_add_under(d, node, path, "limits", "the smallest size, %g, is not below the largest, %g; exchange them", s->limits[0],
                          s->limits[1]);
  else if (is_given(s->limits) && is_given(s->log_normal) && isnan(size_distribution_draw(s, 0, 0)))
    diagnostics_add_under(d, node, path, "limits", "log_normal has practically no sizes between %g and %g; widen the limits", s->limits[0],
                          s->limits[1]);
}

/* Frequency by number of an entry, up to a common factor. */
static double weight_of(const size_distribution *s, const size_share *one)
{
  return s->by_mass ? one->share / (one->size * one->size * one->size) : one->share;
}

static double draw_from_list(const size_distribution *s, double u)
{
  double total = 0.0, sum = 0.0;
  for (int k = 0; k < s->list.n; ++k) total += weight_of(s, s->list.item[k].value);
  for (int k = 0; k + 1 < s->list.n; ++k) {
    const size_share *one = s->list.item[k].value;
    sum += weight_of(s, one);
    if (u * total < sum) return one->size;
  }
  return ((const size_share *)s->list.item[s->list.n - 1].value)->size;
}

/* Density by number constant, or proportional to size^-3: the inverse square is then uniform. */
static double draw_uniform(const size_distribution *s, double u)
{
  const double a = s->uniform[0], b = s->uniform[1];
  if (!s->by_mass) return a + u * (b - a);
  return 1.0 / sqrt(1.0 / (a * a) - u * (1.0 / (a * a) - 1.0 / (b * b)));
}

double size_distribution_draw(const size_distribution *s, uint64_t seed, int64_t i)
{
  if (!s) return 1.0;
  if (s->list.n > 0) return draw_from_list(s, random_u01(seed, (uint64_t)i, STREAM_SIZE));
  if (is_given(s->uniform)) return draw_uniform(s, random_u01(seed, (uint64_t)i, STREAM_SIZE));
  const double deviation = s->log_normal[1], mean = log(s->log_normal[0]) - (s->by_mass ? 3.0 * deviation * deviation : 0.0);
  for (int k = 0; k < MOST_DRAWS; ++k) {
    const double size = exp(mean + deviation * random_normal(seed, (uint64_t)i, STREAM_SIZE + (uint64_t)k));
    if (!is_given(s->limits) || (size >= s->limits[0] && size <= s->limits[1])) return size;
  }
  return NAN;
}

double size_distribution_largest(const size_distribution *s)
{
  double largest = 0.0;
  if (!s) return 1.0;
  if (is_given(s->uniform)) return s->uniform[1];
  if (is_given(s->log_normal)) return is_given(s->limits) ? s->limits[1] : INFINITY;
  for (int k = 0; k < s->list.n; ++k) largest = fmax(largest, ((const size_share *)s->list.item[k].value)->size);
  return largest;
}
