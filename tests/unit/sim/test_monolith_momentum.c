/* Momentum of grains and bodies over many steps of formulation `monolith`. */
#include "core/math3.h"
#include "formulation_fixture.h"
#include "monolith_lump.h"

/* Momentum lost by the grains is gained by the bodies, over many steps, to rounding: also where faces at the surface are light,
 * grains are in cells with a solid, and bodies sink in and are moved out. Moments are preserved as far as mass is not
 * transferred between faces. */
static void nothing_is_lost(void **unused)
{
  (void)unused;
  enum { STEPS = 12 };
  world  w;
  double lost[3], turned[3];
  open_world(lump, &w);
  const body_totals first = totals(&w);
  for (int k = 0; k < STEPS; ++k) step(&w);
  const body_totals now = totals(&w);
  v3_sub(lost, now.momentum, first.momentum);
  v3_sub(turned, now.angular_momentum, first.angular_momentum);
  const double q = v3_norm(first.momentum), L = v3_norm(first.angular_momentum);
  print_message("lost %.2g of %g kg m/s, %.2g of %g kg m^2/s; energy %g, was %g J\n", v3_norm(lost), q, v3_norm(turned), L, now.kinetic,
                first.kinetic);
  assert_true(first.kinetic - now.kinetic > 0.1 * first.kinetic); /* they have collided */
  assert_close(v3_norm(lost), 0.0, 1e-14 * STEPS * q);
  assert_close(v3_norm(turned), 0.0, 1e-3 * L);
  close_world(&w);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(nothing_is_lost))
