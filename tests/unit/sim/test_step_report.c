/* The merge of reports of substeps: each rule, and each quantity with its rule. */
#include "test.h"
#include <string.h>
#include "sim/step/step_report.h"

static void set(step_report *r, double x)
{
#define X(name, type, unit, rule, group, help) r->name = (type)x;
  STEP_REPORT_TABLE(X)
#undef X
#define X(name, type, unit, rule, group, help) r->contact.name = (type)x;
  CONTACT_SUMMARY_TABLE(X)
#undef X
}

/* Substeps report 3, 5 and 2 of everything: sums are 10, maxima 5, last values 2. */
static void every_quantity_follows_its_rule(void **state)
{
  (void)state;
  const double expected[] = {[REPORT_SUM]      = 10.0,
                             [REPORT_MAX]      = 5.0,
                             [REPORT_LAST]     = 2.0,
                             [REPORT_FALLBACK] = 10.0,
                             [REPORT_DEEPEST]  = 5.0}; /* of the second substep, whose penetration is largest */
  step_report  sum = {0}, part = {0};
  double       values[REPORT_N_QUANTITIES];
  for (int k = 0; k < 3; ++k) {
    set(&part, (const double[]){3.0, 5.0, 2.0}[k]);
    step_report_merge(&sum, &part);
  }
  step_report_values(&sum, values);
  for (int i = 0; i < REPORT_N_QUANTITIES; ++i)
    if (values[i] != expected[report_quantities[i].rule])
      fail_msg("%s is %g, expected %g", report_quantities[i].name, values[i], expected[report_quantities[i].rule]);
  assert_no_leak();
}

/* The rules of the quantities themselves. */
static void quantities_have_the_right_rule(void **state)
{
  (void)state;
  step_report       sum   = {0};
  const step_report first = {
      .newton_iterations   = 7,
      .residual            = 0.5,
      .friction_method     = 3,
      .friction_iterations = 10,
      .gradient_directions = 1,
      .volume              = 2.0,
      .contact             = {
                      .contacts = 9, .penetration = 1e-3, .friction_work_done = 0.25, .contact_energy = 4.0, .cone_violation = 1e-9, .relaxations = 5}};
  const step_report second = {
      .newton_iterations   = 2,
      .residual            = 0.125,
      .friction_method     = -1,
      .friction_iterations = 0,
      .gradient_directions = 4,
      .volume              = 1.5,
      .contact             = {
                      .contacts = 4, .penetration = 1e-5, .friction_work_done = 0.5, .contact_energy = 3.0, .cone_violation = 0.0, .relaxations = 6}};
  step_report_merge(&sum, &first);
  step_report_merge(&sum, &second);
  assert_close(sum.contact.penetration, 1e-3, 0.0); /* the deepest one is kept */
  assert_close(sum.contact.cone_violation, 1e-9, 0.0);
  assert_close(sum.residual, 0.5, 0.0);
  assert_int_equal(sum.newton_iterations, 9);
  assert_int_equal(sum.friction_iterations, 10);
  assert_int_equal(sum.gradient_directions, 5);
  assert_int_equal(sum.contact.relaxations, 11);
  assert_close(sum.contact.friction_work_done, 0.75, 0.0);
  assert_int_equal(sum.contact.contacts, 4); /* state at the end */
  assert_close(sum.contact.contact_energy, 3.0, 0.0);
  assert_close(sum.volume, 1.5, 0.0);
  assert_int_equal(sum.friction_method, -1);
  assert_no_leak();
}

/* An index below 0 is no value; history.csv leaves it empty. */
static void one_quantity_is_an_index(void **state)
{
  (void)state;
  for (int i = 0; i < REPORT_N_QUANTITIES; ++i)
    assert_int_equal(report_quantities[i].is_index,
                     i == REPORT_ROW_friction_method || i == REPORT_ROW_penetration_body_a || i == REPORT_ROW_penetration_body_b);
}

/* Statistics of relaxations are sums over substeps, too. */
static void relaxation_chains_are_summed(void **state)
{
  (void)state;
  step_report sum = {0}, part = {0};
  relax_statistics_add(&part.contact.relaxation_chains, 0x12, 2, false);
  for (int k = 0; k < 3; ++k) step_report_merge(&sum, &part);
  assert_int_equal(sum.contact.relaxation_chains.n, 3);
  assert_int_equal(sum.contact.relaxation_chains.longest, 2);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(every_quantity_follows_its_rule), cmocka_unit_test(quantities_have_the_right_rule),
          cmocka_unit_test(one_quantity_is_an_index), cmocka_unit_test(relaxation_chains_are_summed))
