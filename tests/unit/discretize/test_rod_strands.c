/* What jobs draw as strands: curves, copies, sections, and mistakes. */
#include "rod_fixture.h"
#include "discretize/rod/rod_section.h"
#include "temporary.h"
#include <stdlib.h>
#include <unistd.h>

static void open_sound(const char *text, rod_case *c)
{
  rod_case_open(text, NULL, c);
  for (int i = 0; i < diagnostics_count(c->d); ++i) print_message("%s\n", diagnostics_text(c->d, i));
  assert_non_null(c->b);
}

/* Points of an arc and a helix lie on them, at equal distances along; directors are unit, normal and carried without twist. */
static void curves(void **unused)
{
  (void)unused;
  rod_case c;
  open_sound("curve: {arc: {from: [1, 2, 3], tangent: [0, 2, 0], towards: [5, 7, 0], radius: 0.5, angle_deg: 540}}, segments: 30, section: "
             "{circle: 0.01}",
             &c);
  const rod_strands *s = &c.b->strands;
  for (int i = 0; i <= 30; ++i) {
    const double phi = 3.0 * M_PI * i / 30.0;
    assert_close(s->x[3 * i], 1.0 + 0.5 * (1.0 - cos(phi)), 1e-14);
    assert_close(s->x[3 * i + 1], 2.0 + 0.5 * sin(phi), 1e-14);
    assert_close(s->x[3 * i + 2], 3.0, 1e-14);
  }
  assert_close(s->end_tangent[1], 1.0, 1e-15);
  assert_close(s->end_tangent[3 + 1], -1.0, 1e-14);
  assert_close(v3_dot(s->director, (const double[3]){1.0, 0.0, 0.0}), cos(0.05 * M_PI), 1e-14); /* in the plane, towards the centre */
  assert_close(s->end_director[3], -1.0, 1e-13);
  rod_case_close(&c);
  open_sound("curve: {helix: {from: [0.2, 0, 0], axis: [0, 0, 3], towards: [-1, 0, 1], radius: 0.2, pitch: -0.3, turns: 2}}, "
             "segment_length: 0.01, section: {circle: 0.01}",
             &c);
  s               = &c.b->strands;
  const int64_t n = s->n_segments;
  assert_int_equal(n, (int64_t)ceil(hypot(0.8 * M_PI, 0.6) / 0.01));
  for (int64_t i = 0; i <= n; ++i) {
    const double phi = -4.0 * M_PI * (double)i / (double)n; /* left-handed */
    assert_close(s->x[3 * i], 0.2 * cos(phi), 1e-14);
    assert_close(s->x[3 * i + 1], 0.2 * sin(phi), 1e-14);
    assert_close(s->x[3 * i + 2], 0.6 * (double)i / (double)n, 1e-14);
  }
  for (int64_t j = 0; j < n; ++j) {
    double e[3];
    v3_sub(e, s->x + 3 * (j + 1), s->x + 3 * j);
    assert_close(s->length[j], v3_norm(e), 1e-16);
    assert_close(v3_dot(e, s->director + 3 * j), 0.0, 1e-15);
    assert_close(v3_norm(s->director + 3 * j), 1.0, 1e-14);
  }
  rod_case_close(&c);
  /* A polyline cut anew: equal steps along it. */
  open_sound("curve: {points: [{at: [0, 0, 0]}, {at: [1, 0, 0]}, {at: [1, 2, 0]}]}, segments: 6, section: {circle: 0.01}", &c);
  const double expected[7][2] = {{0, 0}, {0.5, 0}, {1, 0}, {1, 0.5}, {1, 1}, {1, 1.5}, {1, 2}};
  for (int i = 0; i < 7; ++i)
    for (int k = 0; k < 2; ++k) assert_close(c.b->strands.x[3 * i + k], expected[i][k], 1e-15);
  rod_case_close(&c);
  /* Segments longer than 1 m. */
  open_sound("curve: {line: {from: [0, 0, 0], to: [6, 0, 8]}}, segment_length: 5, section: {circle: 0.01}", &c);
  assert_int_equal(c.b->strands.n_nodes, 3);
  assert_close(c.b->strands.x[3], 3.0, 1e-15);
  assert_close(c.b->strands.x[5], 4.0, 1e-15);
  rod_case_close(&c);
  assert_no_leak();
}

/* Copies: as many, in the circle, across the start, the same every time; masses add up. */
static void copies(void **unused)
{
  (void)unused;
  static const char *const patterns[] = {"disc", "grid", "random"};
  for (int p = 0; p < 3; ++p) {
    rod_case c;
    char     text[300];
    snprintf(text, sizeof text,
             "curve: {line: {from: [1, 1, 1], to: [1, 1, 0]}}, segments: 4, section: {circle: 0.01}, copies: {count: 50, radius: 0.3, "
             "pattern: %s}",
             patterns[p]);
    open_sound(text, &c);
    const rod_strands *s     = &c.b->strands;
    double             least = INFINITY, mass = 0.0, square = 0.0;
    assert_int_equal(s->n_strands, 50);
    for (int i = 0; i < 50; ++i) {
      const double *x = s->x + 3 * s->node_start[i];
      assert_true(hypot(x[0] - 1.0, x[1] - 1.0) <= 0.3 * (1.0 + 1e-14) && x[2] == 1.0);
      square += (x[0] - 1.0) * (x[0] - 1.0) + (x[1] - 1.0) * (x[1] - 1.0);
      assert_int_equal(s->strand[s->segment_start[i] + 3], i);
      assert_int_equal(s->segment[2 * s->segment_start[i]], s->node_start[i]);
      for (int j = 0; j < i; ++j) least = fmin(least, hypot(x[0] - s->x[3 * s->node_start[j]], x[1] - s->x[3 * s->node_start[j] + 1]));
    }
    assert_true(least > (p < 2 ? 0.05 : 1e-6));
    if (p == 0) assert_close(square / 50.0, 0.5 * 0.3 * 0.3, 1e-14); /* of a disc */
    for (int64_t i = 0; i < s->n_nodes; ++i) mass += c.b->mass[i];
    assert_close(mass, 50.0 * 1000.0 * M_PI * 1e-4, 1e-10);
    rod_case_close(&c);
  }
  assert_no_leak();
}

/* An ellipse four times as wide as high, along y here: all within it, as far apart to all sides, its moments those of the ellipse: a^2 / 4, b^2 / 4,
 * at random to 3.5 deviations of the mean, each 1/80. */
static void copies_in_an_ellipse(void **unused)
{
  (void)unused;
  static const char *const patterns[] = {"disc", "grid", "random"};
  for (int p = 0; p < 3; ++p) {
    rod_case c;
    char     text[300];
    snprintf(text, sizeof text,
             "curve: {line: {from: [1, 1, 1], to: [1, 1, 0]}}, segments: 2, section: {circle: 0.001}, copies: {count: 400, radius: 0.1, "
             "aspect: 4, along: [0, 2, 1], pattern: %s}",
             patterns[p]);
    open_sound(text, &c);
    const rod_strands *s     = &c.b->strands;
    double             least = INFINITY, moment[2] = {0};
    for (int i = 0; i < 400; ++i) {
      const double *x = s->x + 3 * s->node_start[i], a = (x[1] - 1.0) / 0.4, b = (x[0] - 1.0) / 0.1;
      assert_true(hypot(a, b) <= 1.0 + 1e-14 && x[2] == 1.0);
      moment[0] += a * a / 400.0, moment[1] += b * b / 400.0;
      for (int j = 0; j < i; ++j) least = fmin(least, hypot(x[0] - s->x[3 * s->node_start[j]], x[1] - s->x[3 * s->node_start[j] + 1]));
    }
    const double side = sqrt(M_PI * 0.4 * 0.1 / 400.0); /* of a square for each: squares are that far apart, hexagons, at best, 1.075 */
    assert_true(least > (p < 2 ? 0.85 * side : 0.0) && least <= 1.08 * side);
    for (int k = 0; k < 2; ++k) assert_close(moment[k], 0.25, p < 2 ? 0.01 : 0.044);
    rod_case_close(&c);
  }
  assert_no_leak();
}

/* Few copies on a grid also reach the boundary of the ellipse: three beside each other along its longer axis, y here. */
static void few_copies_reach_the_boundary(void **unused)
{
  (void)unused;
  rod_case c;
  open_sound("curve: {line: {from: [1, 1, 1], to: [1, 1, 0]}}, segments: 2, section: {circle: 0.001}, copies: {count: 3, radius: 0.1, "
             "aspect: 3, along: [0, 1, 0], pattern: grid}",
             &c);
  const rod_strands *s = &c.b->strands;
  double             y[3];
  assert_int_equal(s->n_strands, 3);
  for (int i = 0; i < 3; ++i) {
    y[i] = s->x[3 * s->node_start[i] + 1] - 1.0;
    assert_close(s->x[3 * s->node_start[i]], 1.0, 1e-15);
  }
  assert_close(fmax(y[0], fmax(y[1], y[2])), 0.3, 1e-15);
  assert_close(fmin(y[0], fmin(y[1], y[2])), -0.3, 1e-15);
  assert_close(y[0] + y[1] + y[2], 0.0, 1e-15);
  rod_case_close(&c);
  assert_no_leak();
}

/* Torsion constants of rectangles from the table of Timoshenko and Goodier (Theory of Elasticity, section 109): 0.1406 a^4 of a square, 0.229 a b^3 at two
 * to one, 0.312 at ten to one, a third when thin. */
static void sections(void **unused)
{
  (void)unused;
  assert_close(rod_torsion_of_rectangle(1.0, 1.0), 0.1406, 5e-5);
  assert_close(rod_torsion_of_rectangle(1.0, 2.0) / 2.0, 0.229, 5e-4);
  assert_close(rod_torsion_of_rectangle(10.0, 1.0) / 10.0, 0.312, 5e-4);
  assert_close(rod_torsion_of_rectangle(1e4, 1.0) / 1e4, 1.0 / 3.0, 3e-5);
  rod_case c;
  open_sound("curve: {line: {from: [0, 0, 0], to: [1, 0, 0]}}, segments: 4, section: {ellipse: {radii: [0.02, 0.01]}}", &c);
  const rod_section *s = &c.b->section;
  assert_close(s->bending[0], 1e6 * M_PI / 4.0 * 8e-6 * 0.01, 1e-15);
  assert_close(s->bending[1], 1e6 * M_PI / 4.0 * 1e-6 * 0.02, 1e-15);
  assert_close(s->twist, 0.4e6 * M_PI * 8e-6 * 1e-6 / 5e-4, 1e-15);
  assert_close(s->stretch, 1e6 * M_PI * 2e-4, 1e-10);
  assert_close(s->mass_per_length, 1e3 * M_PI * 2e-4, 1e-13);
  assert_close(s->inertia_per_length, 1e3 * M_PI / 4.0 * (8e-6 * 0.01 + 1e-6 * 0.02), 1e-18);
  assert_close(s->radius, 0.01, 1e-18);
  rod_case_close(&c);
  assert_no_leak();
}

/* Constrained nodes have their prescribed positions, component by component; in every model whose unknowns are nodes. */
static void constrained_nodes_have_prescribed_positions(void **unused)
{
  (void)unused;
  static const char *const models[] = {"discrete_elastic_rod", "mass_spring", "corde"};
  for (int m = 0; m < 3; ++m) {
    rod_case       c;
    char           text[700];
    const int64_t *dof;
    const double  *wanted;
    snprintf(text, sizeof text,
             "model: %s, curve: {line: {from: [0, 0, 0], to: [1, 0, 0]}}, segments: 10, section: {circle: 0.01}, start: pinned, "
             "hold: [{inside: {sphere: {center: [0.5, 0, 0], radius: 0.11}}, axes: [z], motion: {velocity: [0, 0, 2]}}, "
             "{inside: {sphere: {center: [1, 0, 0], radius: 0.01}}, axes: [x, y], displacement: [t, 0, 0]}]",
             models[m]);
    open_sound(text, &c);
    rod_begin(c.b, 1.0, 0.5);
    int64_t n = c.base->ops->prescribed(c.base, &dof, &wanted), found = 0;
    assert_int_equal(n, 3 + 3 + 2); /* x, y, z of the start; z of nodes 4, 5, 6; x, y of the end */
    for (int64_t k = 0; k < n; ++k) {
      const int64_t block = dof[k] / 3, axis = dof[k] % 3;
      double        expected = NAN;
      if (block == c.b->node_block[0]) expected = 0.0;
      for (int i = 4; i <= 6; ++i)
        if (block == c.b->node_block[i] && axis == 2) expected = 2.0 * 1.5 / 0.5;
      if (block == c.b->node_block[10]) expected = axis == 0 ? 1.5 / 0.5 : axis == 1 ? 0.0 : NAN;
      assert_close(wanted[k], expected, 1e-13);
      ++found;
      if (k > 0) assert_true(dof[k] > dof[k - 1]);
    }
    assert_int_equal(found, 8);
    rod_case_close(&c);
  }
  assert_no_leak();
}

#define LINE "curve: {line: {from: [0, 0, 0], to: [1, 0, 0]}}, section: {circle: 0.01}"
static void mistakes(void **unused)
{
  (void)unused;
  static const char *const bad[][2] = {
      {LINE, "expected one of `segments` and `segment_length`"},
      {LINE ", segments: 4, segment_length: 0.1", "not both"},
      {LINE ", segment_length: 1e-9", "expected at most"},
      {LINE ", segments: 4, closed: true", "does not end where it begins"},
      {LINE ", segments: 4, director: [2, 0, 0]", "give a direction that is not parallel"},
      {LINE ", segments: 4, start: {motion: {velocity: [1, 0, 0]}}", "which is free"},
      {LINE ", segments: 4, end: {support: clamped, moment: [1, 0, 0]}", "remove it"},
      {LINE ", segments: 4, end: {support: pinned, force: [1, 0, 0]}", "remove it"},
      {LINE ", segments: 4, stiffness: {bend_springs: 3}", "mass_spring"},
      {LINE ", segments: 4, model: mass_spring, stiffness: {bending: [1, 2]}", "needs equal ones"},
      {LINE ", segments: 4, model: mass_spring, stiffness: {twist: 2}", "has no twist"},
      {LINE ", segments: 4, hold: [{inside: {box: {min: [5, 5, 5], max: [6, 6, 6]}}}]", "no node of the body"},
      {LINE ", segments: 4, copies: {count: 3, radius: 1, normal: [0, 0, 0]}", "zero vector"},
      {LINE ", segments: 4, copies: {count: 3, radius: 1, along: [0, 0, 0]}", "give a direction in this plane"},
      {LINE ", segments: 4, copies: {count: 3, radius: 1, aspect: 2, along: [-3, 0, 0]}", "give a direction in this plane"},
      {"curve: {points: [{at: [0, 0, 0]}, {at: [0, 0, 0]}, {at: [1, 0, 0]}]}, section: {circle: 0.01}", "two equal points"},
      {"curve: {points: [{at: [0, 0, 0]}, {at: [1, 0, 0]}, {at: [0.5, 0, 0]}, {at: [0, 1, 0]}]}, section: {circle: 0.01}",
       "reverses the direction"},
      {"curve: {points: [{at: [0, 0, 0]}, {at: [1, 0, 0]}]}, section: {circle: 0.01}", "at least 2 segments"},
      {"curve: {arc: {from: [0, 0, 0], tangent: [1, 0, 0], towards: [2, 0, 0], radius: 1, angle_deg: 90}}, segments: 4, section: {circle: "
       "0.01}",
       "not parallel"},
      {"curve: {arc: {from: [0, 0, 0], tangent: [1, 0, 0], towards: [0, 1, 0], radius: 1, angle_deg: 90}}, closed: true, segments: 4, "
       "section: {circle: 0.01}",
       "requires curve.arc.angle_deg: 360"},
      {"curve: {arc: {from: [0, 0, 0], tangent: [1, 0, 0], towards: [0, 1, 0], radius: 1, angle_deg: 360}}, closed: true, segments: 4, "
       "start: clamped, section: {circle: 0.01}",
       "a loop has no ends"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    rod_case c;
    rod_case_open(bad[i][0], NULL, &c);
    assert_null(c.b);
    assert_true(diagnostics_count(c.d) > 0);
    if (!strstr(diagnostics_text(c.d, 0), bad[i][1]))
      fail_msg("%s\nsays \"%s\", not \"%s\"", bad[i][0], diagnostics_text(c.d, 0), bad[i][1]);
    rod_case_close(&c);
  }
  assert_no_leak();
}

/* Polylines of a file, scaled: each is a strand with its own nodes. Lines with one segment and keys that would change the nodes are errors. */
static void files(void **unused)
{
  (void)unused;
  static const double at[7][3] = {{1, 2, 3}, {2, 2, 3}, {3, 3, 3}, {0, 0, 1}, {0, 0, 2}, {0, 1, 3}, {1, 1, 4}};
  char                name[TEMPORARY_ROOM], text[TEMPORARY_ROOM + 200];
  const int           file = mkstemps(temporary_name(name, ".obj"), 4);
  assert_true(file >= 0);
  FILE *f = fdopen(file, "w");
  for (int i = 0; i < 7; ++i) (void)fprintf(f, "v %g %g %g\n", at[i][0], at[i][1], at[i][2]);
  (void)fprintf(f, "l 1 2 3\nl 4 5 6 7\n");
  (void)fclose(f);
  rod_case c;
  (void)snprintf(text, sizeof text, "curve: {file: {path: \"%s\", scale: 0.5}}, section: {circle: 0.01}", name);
  open_sound(text, &c);
  const rod_strands *s = &c.b->strands;
  assert_int_equal(s->n_strands, 2);
  assert_int_equal(s->n_nodes, 7);
  assert_int_equal(s->n_segments, 5);
  for (int i = 0; i < 7; ++i)
    for (int k = 0; k < 3; ++k) assert_close(s->x[3 * i + k], 0.5 * at[i][k], 1e-15);
  for (int j = 0; j < 5; ++j) assert_close(s->length[j], 0.5 * sqrt((double[]){1, 2, 1, 2, 2}[j]), 1e-15);
  for (int k = 0; k < 2; ++k) /* tangents at the ends of both strands */
    for (int a = 0; a < 3; ++a) {
      const int first = k ? 3 : 0, last = k ? 6 : 2;
      double    e[3];
      v3_sub(e, at[first + 1], at[first]);
      assert_close(s->end_tangent[6 * k + a], e[a] / v3_norm(e), 1e-15);
      v3_sub(e, at[last], at[last - 1]);
      assert_close(s->end_tangent[6 * k + 3 + a], e[a] / v3_norm(e), 1e-15);
    }
  rod_case_close(&c);
  static const char *const wrong[3][2] = {
      {"closed: true", "curve.closed: "}, {"segments: 4", "curve.segments: "}, {"segment_length: 0.1", "segment_length: "}};
  for (int k = 0; k < 3; ++k) {
    (void)snprintf(text, sizeof text, "curve: {file: {path: \"%s\"}}, section: {circle: 0.01}, %s", name, wrong[k][0]);
    rod_case_open(text, NULL, &c);
    assert_null(c.b);
    assert_int_equal(diagnostics_count(c.d), 1);
    assert_non_null(strstr(diagnostics_text(c.d, 0), "has no effect on strands from a file"));
    rod_case_close(&c);
  }
  for (int short_one = 0; short_one < 2; ++short_one) {
    f = fopen(name, "w");
    for (int i = 0; i < 7; ++i) (void)fprintf(f, "v %g %g %g\n", at[i][0], at[i][1], at[i][2]);
    (void)fprintf(f, short_one ? "l 1 2 3\nl 4 5\n" : "l 1 2\nl 4 5 6 7\n");
    (void)fclose(f);
    (void)snprintf(text, sizeof text, "curve: {file: {path: \"%s\"}}, section: {circle: 0.01}", name);
    rod_case_open(text, NULL, &c);
    assert_null(c.b);
    assert_non_null(
        strstr(diagnostics_text(c.d, 0), short_one ? "line 2 of the file has 2 vertices" : "line 1 of the file has 2 vertices"));
    rod_case_close(&c);
  }
  assert_int_equal(unlink(name), 0);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(files), cmocka_unit_test(curves), cmocka_unit_test(copies), cmocka_unit_test(copies_in_an_ellipse),
          cmocka_unit_test(few_copies_reach_the_boundary), cmocka_unit_test(sections),
          cmocka_unit_test(constrained_nodes_have_prescribed_positions), cmocka_unit_test(mistakes))
