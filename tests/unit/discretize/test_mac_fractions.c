/* Fractions of half-cells and derived quantities: volumes, areas, sums, symmetry, periods; the rule on corners. */
#include "test.h"
#include "core/quaternion.h"
#include "core/team.h"
#include "discretize/mac/mac_fractions.h"
#include "mac_fixture.h"
#include <string.h>

static double corner_phi(const double n[3], double d, int c) { return n[0] * (c >> 2) + n[1] * ((c >> 1) & 1) + n[2] * (c & 1) - d; }

/* Volume of the unit cube below a plane with positive normal: inclusion and exclusion of corners. */
static double below_plane(const double n[3], double d)
{
  double sum = 0.0;
  for (int c = 0; c < 8; ++c) {
    const double phi = -corner_phi(n, d, c), part = phi > 0.0 ? phi * phi * phi : 0.0;
    sum += __builtin_popcount((unsigned)c) & 1 ? -part : part;
  }
  return sum / (6.0 * n[0] * n[1] * n[2]);
}

/* Area of the unit square likewise. */
static double below_line(double m, double n, double d)
{
  double sum = 0.0;
  for (int c = 0; c < 4; ++c) {
    const double below = fmax(0.0, d - m * (c >> 1) - n * (c & 1));
    sum += (__builtin_popcount((unsigned)c) & 1 ? -1.0 : 1.0) * below * below / (2.0 * m * n);
  }
  return sum;
}

static void planes_cut_cubes_exactly(void **unused)
{
  (void)unused;
  for (int t = 0; t < 300; ++t) {
    double n[3], phi[8], turned[8], d = 0.0, area[4];
    for (int a = 0; a < 3; ++a) n[a] = random_range(1, (uint64_t)t, (uint64_t)a, 0.05, 1.0), d += n[a];
    d *= random_range(1, (uint64_t)t, 3, -0.1, 1.1);
    for (int c = 0; c < 8; ++c) phi[c] = corner_phi(n, d, c);
    assert_close(mac_cube_fraction(phi), below_plane(n, d), 1e-11);
    for (int c = 0; c < 4; ++c) area[c] = phi[c]; /* the face i = 0 */
    assert_close(mac_square_fraction(area), below_line(n[1], n[2], d), 1e-12);
    /* any values: mirrored and turned alike */
    for (int c = 0; c < 8; ++c) phi[c] = random_range(2, (uint64_t)t, (uint64_t)c, -1.0, 1.0);
    for (int c = 0; c < 8; ++c) turned[c] = phi[c ^ 4];
    assert_close(mac_cube_fraction(turned), mac_cube_fraction(phi), 1e-14);
    for (int c = 0; c < 8; ++c) turned[c] = phi[((c & 3) << 1) | (c >> 2)];
    assert_close(mac_cube_fraction(turned), mac_cube_fraction(phi), 1e-14);
    for (int c = 0; c < 8; ++c) turned[c] = -phi[c];
    assert_close(mac_cube_fraction(turned) + mac_cube_fraction(phi), 1.0, 1e-14);
    for (int c = 0; c < 4; ++c) turned[c] = phi[c ^ 2], area[c] = phi[c];
    assert_close(mac_square_fraction(turned), mac_square_fraction(area), 1e-14);
  }
  const double touching[8] = {0.0, 0.0, 0.0, 0.0, -1.0, -1.0, -1.0, -1.0}, clear[8] = {0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0};
  assert_close(mac_cube_fraction(touching), 1.0, 0.0);
  assert_close(mac_cube_fraction(clear), 0.0, 0.0);
  assert_no_leak();
}

static mac_fraction_options fraction_options(const mac_scene *c, bool is_area)
{
  return (mac_fraction_options){
      .radius = 0.62, .is_area = is_area, .has_ghosts = is_area, .least_theta = 0.05, .rho = c->s.rho, .rest = c->s.rest_density};
}
static void compute(mac_scene *c, int n_solids, const mac_solid *solids, bool is_area, mac_bins *bins, mac_weights *w)
{
  const mac_fraction_options o = fraction_options(c, is_area);
  assert_ok(mac_bins_fill(bins, &c->s.grid, 1, c->s.n, c->s.x));
  assert_ok(mac_weights_compute(w, &c->s.grid, bins, n_solids, solids, &o));
}

/* Volume of a ball by centres, and by faces of each axis; its section by areas: errors of O(h^2) */
static void ball_has_its_volume(void **unused)
{
  (void)unused;
  const double radius = 0.27, volume = 4.0 / 3.0 * M_PI * radius * radius * radius;
  double       previous = 0.0;
  for (int level = 0; level < 3; ++level) {
    const int32_t  n = 10 << level;
    mac_scene      c;
    mac_scene_spec m    = {.h = 1.0 / n, .n = {n, n, n}, .wall = MAC_ALL_ROUGH, .density = 1000.0};
    mac_bins       bins = {0};
    mac_weights    w    = {0};
    level_set     *ball;
    mac_scene_create(&c, &m);
    assert_ok(level_set_sphere((double[3]){0.0, 0.0, 0.0}, radius, &ball));
    const mac_solid solid = {.n = 1, .sets = &ball, .frame = mac_frame_at(0.51, 0.483, 0.507)};
    for (int is_area = 0; is_area < 2; ++is_area) {
      double by_cell = 0.0, by_face[3] = {0};
      compute(&c, 1, &solid, is_area, &bins, &w);
      for (int64_t q = 0; q < w.n_shares; ++q)
        for (int l = 0; l < MAC_BLOCK; ++l) {
          by_cell += w.share[q].cell[l];
          for (int a = 0; a < 3; ++a) by_face[a] += w.share[q].face[a][l];
        }
      double error = fabs(by_cell * pow(m.h, 3.0) / volume - 1.0);
      for (int a = 0; a < 3; ++a) error = fmax(error, fabs(by_face[a] * pow(m.h, 3.0) / volume - 1.0));
      print_message("h = %g%s: error %.3g\n", m.h, is_area ? ", areas" : "", error);
      if (is_area) assert_true(error < 3.0 * m.h * m.h / (radius * radius)); /* sums of sections: not smooth in h */
      else {
        assert_true(error < 0.2 * m.h * m.h / (radius * radius));
        if (level) assert_true(error < previous / 2.5);
        previous = error;
      }
    }
    mac_weights_destroy(&w), mac_bins_destroy(&bins), level_set_destroy(&ball), mac_scene_destroy(&c);
  }
  assert_no_leak();
}

/* A box that ends at sides of cells or half-cells has its volume, by centres and by faces, and its sections: its edges and corners
 * cut nothing off, and rounding decides nothing. Sides that lie in it count as half. */
static void aligned_boxes_have_their_volume(void **unused)
{
  (void)unused;
  const double   h = 0.1;
  mac_scene      c;
  mac_scene_spec m    = {.h = h, .n = {10, 10, 10}, .wall = MAC_ALL_ROUGH, .density = 1000.0};
  mac_bins       bins = {0};
  mac_weights    w    = {0};
  level_set     *box;
  mac_scene_create(&c, &m);
  assert_ok(level_set_box((double[3]){-0.15, -0.2, -0.1}, (double[3]){0.15, 0.2, 0.1}, &box)); /* 3 x 4 x 2 cells */
  for (int shift = 0; shift < 12; ++shift) { /* by half-cells; by a rounding error up or down */
    const double    off   = shift / 4 * 1e-16 - 1e-16;
    const mac_solid solid = {
        .n = 1, .sets = &box, .frame = mac_frame_at(0.45 + 0.05 * (shift & 1) + off, 0.5 + 0.05 * (shift >> 1 & 1), 0.5 - off)};
    for (int is_area = 0; is_area < 2; ++is_area) {
      double by_cell = 0.0, by_face[3] = {0};
      compute(&c, 1, &solid, is_area, &bins, &w);
      for (int64_t q = 0; q < w.n_shares; ++q)
        for (int l = 0; l < MAC_BLOCK; ++l) {
          by_cell += w.share[q].cell[l];
          for (int a = 0; a < 3; ++a) by_face[a] += w.share[q].face[a][l];
        }
      assert_close(by_cell, 24.0, 1e-12);
      for (int a = 0; a < 3; ++a) assert_close(by_face[a], 24.0, 1e-12);
    }
  }
  mac_weights_destroy(&w), mac_bins_destroy(&bins), level_set_destroy(&box), mac_scene_destroy(&c);
  assert_no_leak();
}

/* A box at any place has nearly its volume; without a search for its edges 6 % would be missing. */
static void shifted_boxes_have_their_volume(void **unused)
{
  (void)unused;
  mac_scene      c;
  mac_scene_spec m    = {.h = 0.1, .n = {10, 10, 10}, .wall = MAC_ALL_ROUGH, .density = 1000.0};
  mac_bins       bins = {0};
  mac_weights    w    = {0};
  level_set     *box;
  double         worst = 0.0;
  mac_scene_create(&c, &m);
  assert_ok(level_set_box((double[3]){-0.15, -0.2, -0.1}, (double[3]){0.15, 0.2, 0.1}, &box));
  for (int t = 0; t < 20; ++t) {
    double at[3], volume = 0.0, turn[3];
    for (int a = 0; a < 3; ++a) {
      at[a]   = random_range(5, (uint64_t)t, (uint64_t)a, 0.45, 0.55);
      turn[a] = t % 2 ? random_range(6, (uint64_t)t, (uint64_t)a, -1.0, 1.0) : 0.0;
    }
    mac_solid solid = {.n = 1, .sets = &box, .frame = mac_frame_at(at[0], at[1], at[2])};
    rotation_exp(solid.frame.R, turn);
    compute(&c, 1, &solid, false, &bins, &w);
    for (int64_t q = 0; q < w.n_shares; ++q)
      for (int l = 0; l < MAC_BLOCK; ++l) volume += w.share[q].cell[l];
    worst = fmax(worst, fabs(volume / 24.0 - 1.0));
  }
  print_message("boxes anywhere: error %.3g\n", worst);
  assert_true(worst < 0.01);
  mac_weights_destroy(&w), mac_bins_destroy(&bins), level_set_destroy(&box), mac_scene_destroy(&c);
  assert_no_leak();
}

/* An oblique plane takes of faces the shares of their areas, and volumes of cells; and of volumes of faces without areas. */
static void planes_cut_faces_exactly(void **unused)
{
  (void)unused;
  const double   n[3] = {0.36, 0.48, 0.8}, at = 0.87, h = 0.1; /* n x < at is solid */
  mac_scene      c;
  mac_scene_spec m    = {.h = h, .n = {10, 10, 10}, .wall = MAC_ALL_ROUGH, .density = 1000.0};
  mac_bins       bins = {0};
  mac_weights    w    = {0};
  level_set     *plane;
  int            n_cut[3] = {0}, n_volumes = 0;
  mac_scene_create(&c, &m);
  assert_ok(level_set_plane(n, at, &plane));
  const mac_solid solid = {.n = 1, .sets = &plane, .frame = mac_frame_at(0.0, 0.0, 0.0)};
  for (int is_area = 0; is_area < 2; ++is_area) {
    compute(&c, 1, &solid, is_area, &bins, &w);
    for (int64_t slot = 0; slot < c.s.grid.n_slots; ++slot) {
      int32_t          ijk[3];
      const mac_share *s = mac_weights_share(&w, slot / MAC_BLOCK, 0);
      mac_grid_cell(&c.s.grid, slot, ijk);
      if (!s || !mac_grid_is_inside(&c.s.grid, ijk)) continue;
      const double d = at / h - n[0] * ijk[0] - n[1] * ijk[1] - n[2] * ijk[2];
      assert_close(s->cell[slot % MAC_BLOCK], below_plane(n, d), 1e-9);
      for (int a = 0; a < 3; ++a) {
        const double area = below_line(n[(a + 1) % 3], n[(a + 2) % 3], d), volume = below_plane(n, d + 0.5 * n[a]),
                     expected = is_area ? area : volume;
        if (ijk[a] == 0 || volume > 0.99 || area > 0.99) continue; /* mirrored; closed */
        assert_close(s->face[a][slot % MAC_BLOCK], expected, 1e-9);
        assert_close(w.face_fluid[a][slot], 1.0 - expected, 1e-9);
        n_cut[a] += area > 0.0, n_volumes += fabs(area - volume) > 0.01;
      }
    }
  }
  for (int a = 0; a < 3; ++a) assert_true(n_cut[a] > 100);
  assert_true(n_volumes > 100);
  mac_weights_destroy(&w), mac_bins_destroy(&bins), level_set_destroy(&plane), mac_scene_destroy(&c);
  assert_no_leak();
}

static bool lower_half(const double x[3]) { return x[2] < 0.5; }

/* W_F and the shares of all solids are one, also where these overlap. */
static void shares_add_up_to_one(void **unused)
{
  (void)unused;
  mac_scene      c;
  mac_scene_spec m = {
      .h = 1.0 / 18, .n = {18, 18, 18}, .wall = MAC_ALL_PERIODIC, .is_filled = lower_half, .density = 1000.0, .jitter = 0.5};
  mac_bins    bins = {0};
  mac_weights w    = {0};
  level_set  *ball, *box;
  mac_scene_create(&c, &m);
  assert_ok(level_set_sphere((double[3]){0.0, 0.0, 0.0}, 0.17, &ball));
  assert_ok(level_set_box((double[3]){-0.1, -0.2, -0.03}, (double[3]){0.1, 0.2, 0.03}, &box));
  const mac_solid solid[3] = {{.n = 1, .sets = &ball, .frame = mac_frame_at(0.95, 0.5, 0.1)},
                              {.n = 1, .sets = &box, .frame = mac_frame_at(0.1, 0.5, 0.12)},
                              {.n = 1, .sets = &ball, .frame = mac_frame_at(0.5, 0.02, 0.3)}};
  for (int is_area = 0; is_area < 2; ++is_area) {
    compute(&c, 3, solid, is_area, &bins, &w);
    int64_t n_cut = 0, n_overlap = 0;
    for (int64_t slot = 0; slot < c.s.grid.n_slots; ++slot) {
      double cell = w.cell_fluid[slot], face[3] = {w.face_fluid[0][slot], w.face_fluid[1][slot], w.face_fluid[2][slot]};
      int    n = 0;
      for (int32_t r = 0; r < 3; ++r) {
        const mac_share *s = mac_weights_share(&w, slot / MAC_BLOCK, r);
        if (!s) continue;
        cell += s->cell[slot % MAC_BLOCK], n += s->cell[slot % MAC_BLOCK] > 0.0;
        for (int a = 0; a < 3; ++a) face[a] += s->face[a][slot % MAC_BLOCK];
        for (int q = 0; q < MAC_HALVES; ++q) assert_true(s->half[slot % MAC_BLOCK][q] >= 0.0 && s->half[slot % MAC_BLOCK][q] <= 1.0);
      }
      assert_close(cell, 1.0, 1e-14);
      for (int a = 0; a < 3; ++a) assert_close(face[a], 1.0, 1e-14);
      n_cut += w.cell_fluid[slot] > 0.0 && w.cell_fluid[slot]<1.0, n_overlap += n> 1;
    }
    assert_true(n_cut > 200 && n_overlap > 10);
  }
  mac_weights_destroy(&w), mac_bins_destroy(&bins), level_set_destroy(&ball), level_set_destroy(&box), mac_scene_destroy(&c);
  assert_no_leak();
}

/* Without half-cells: all else is the same to the bit. */
static void fractions_without_half_cells_are_the_same(void **unused)
{
  (void)unused;
  mac_scene            c;
  const mac_scene_spec m = {
      .h = 1.0 / 12, .n = {12, 12, 12}, .wall = MAC_ALL_PERIODIC, .is_filled = lower_half, .density = 1000.0, .jitter = 0.8};
  mac_bins    bins  = {0};
  mac_weights whole = {0}, bare = {0};
  level_set  *ball;
  int64_t     n_air = 0;
  mac_scene_create(&c, &m);
  assert_ok(level_set_sphere((double[3]){0.0, 0.0, 0.0}, 0.21, &ball));
  const mac_solid solid = {.n = 1, .sets = &ball, .frame = mac_frame_at(0.3, 0.95, 0.4)};
  assert_ok(mac_bins_fill(&bins, &c.s.grid, 1, c.s.n, c.s.x));
  mac_fraction_options o = fraction_options(&c, true);
  assert_ok(mac_weights_compute(&whole, &c.s.grid, &bins, 1, &solid, &o));
  o.is_bare = true;
  assert_ok(mac_weights_compute(&bare, &c.s.grid, &bins, 1, &solid, &o));
  for (int64_t slot = 0; slot < c.s.grid.n_slots; ++slot) {
    assert_close(bare.center[slot], whole.center[slot], 0.0);
    assert_close(bare.cell_liquid[slot], whole.cell_liquid[slot], 0.0);
    assert_close(bare.cell_fluid[slot], whole.cell_fluid[slot], 0.0);
    for (int a = 0; a < 3; ++a) {
      assert_close(bare.face_liquid[a][slot], whole.face_liquid[a][slot], 0.0);
      assert_close(bare.face_fluid[a][slot], whole.face_fluid[a][slot], 0.0);
    }
    n_air += whole.center[slot] > 0.0 && whole.center[slot] < m.h;
  }
  assert_true(n_air > 50);
  mac_weights_destroy(&whole), mac_weights_destroy(&bare), mac_bins_destroy(&bins), level_set_destroy(&ball), mac_scene_destroy(&c);
  assert_no_leak();
}

/* The surface of a pool touches a wall inside a cell at a right angle: W_L next to the wall and inside it have the same distance
 * from it. */
static bool pool_at_wall(const double x[3]) { return x[2] < 0.5 && x[0] > 0.34375; }
static void surface_continues_inside_solids(void **unused)
{
  (void)unused;
  mac_scene      c;
  mac_scene_spec m    = {.h = 1.0 / 16, .n = {16, 6, 16}, .wall = MAC_ALL_ROUGH, .is_filled = pool_at_wall, .density = 1000.0};
  mac_bins       bins = {0};
  mac_weights    w    = {0};
  level_set     *wall;
  mac_scene_create(&c, &m);
  assert_ok(level_set_plane((double[3]){1.0, 0.0, 0.0}, 0.34375, &wall));
  const mac_solid solid = {.n = 1, .sets = &wall, .frame = mac_frame_at(0.0, 0.0, 0.0)};
  for (int is_area = 0; is_area < 2; ++is_area) {
    compute(&c, 1, &solid, is_area, &bins, &w);
    for (int32_t k = 0; k < 15; ++k)
      for (int32_t i = 5; i < 15; ++i) { /* the wall lies at 5.5 cells */
        const int64_t here = mac_grid_slot(&c.s.grid, i, 3, k), far = mac_grid_slot(&c.s.grid, 11, 3, k);
        if (here < 0 || far < 0) continue;
        assert_close(w.cell_liquid[here], w.cell_liquid[far], 1e-12);
        assert_close(w.face_liquid[2][here], w.face_liquid[2][far], is_area ? 0.05 : 1e-12);
        assert_close(w.face_liquid[0][here], w.face_liquid[0][far], 1e-12);
      }
  }
  mac_weights_destroy(&w), mac_bins_destroy(&bins), level_set_destroy(&wall), mac_scene_destroy(&c);
  assert_no_leak();
}

/* The surface of a liquid lies where it is filled to, not a radius above the outermost grains: exactly so over a lattice, and
 * nearly over grains that are shifted; also next to a wall inside a cell. */
static double LEVEL;
static bool   below_level(const double x[3]) { return x[2] < LEVEL && x[0] > 0.34375; }
static void   level_surfaces_are_where_they_are(void **unused)
{
  (void)unused;
  for (int level = 0; level < 2; ++level)
    for (int is_shifted = 0; is_shifted < 2; ++is_shifted) {
      const double   h = 1.0 / 16;
      mac_scene      c;
      mac_scene_spec m = {
          .h = h, .n = {16, 16, 16}, .wall = MAC_ALL_ROUGH, .is_filled = below_level, .density = 1000.0, .jitter = is_shifted ? 0.5 : 0.0};
      mac_bins    bins = {0};
      mac_weights w    = {0};
      level_set  *wall;
      int         n   = 0;
      double      sum = 0.0, square = 0.0;
      LEVEL = (8.0 + 0.5 * level) * h;
      mac_scene_create(&c, &m);
      assert_ok(level_set_plane((double[3]){1.0, 0.0, 0.0}, 0.34375, &wall));
      const mac_solid solid = {.n = 1, .sets = &wall, .frame = mac_frame_at(0.0, 0.0, 0.0)};
      compute(&c, 1, &solid, true, &bins, &w);
      for (int64_t slot = 0; slot < c.s.grid.n_slots; ++slot) {
        double x[3], face[3];
        mac_cell_center(&c.s.grid, slot, x), mac_face_center(&c.s.grid, slot, 2, face);
        if (x[0] < 0.34375 - h || x[0] > 1.0 || x[1] > 1.0 || fabs(x[2] - LEVEL) > 0.6 * h) continue;
        const double error = (w.center[slot] - (x[2] - LEVEL)) / h, theta = (LEVEL - face[2]) / h + 0.5;
        assert_close(error, 0.0, is_shifted ? 0.4 : 1e-12);
        if (x[2] > LEVEL + 1e-12) {
          assert_close(w.cell_liquid[slot], 0.0, 0.0);
          assert_close(w.face_liquid[2][slot], theta, is_shifted ? 0.4 : 1e-12);
        } else if (x[2] < LEVEL - 1e-12) assert_close(w.cell_liquid[slot], 1.0, 0.0);
        sum += error, square += error * error, ++n;
      }
      assert_true(n > 100 && fabs(sum / n) < 0.02 && square / n < 0.1 * 0.1);
      mac_weights_destroy(&w), mac_bins_destroy(&bins), level_set_destroy(&wall), mac_scene_destroy(&c);
    }
  assert_no_leak();
}

/* Inside a liquid no face is a surface face, even where a point in a solid has no image of its own: two tilted boxes with an
 * inner corner, so that the image in one is in the other; a plate whose other side is nearer; a box along the axes that extends
 * just beyond cell centres, so that these and their images have the same neighbouring centres. */
static bool BARELY; /* the last of these */
#define REACH (3.502 / 16)
static bool beside_boxes(const double x[3])
{
  if (BARELY) return fabs(x[0] - 0.5) > REACH || fabs(x[1] - 0.5) > REACH || fabs(x[2] - 0.5) > REACH;
  const double d[3] = {x[0] - 0.5, x[1] - 0.5, x[2] - 0.5}, u = cos(0.4) * d[0] + sin(0.4) * d[2], v = cos(0.4) * d[2] - sin(0.4) * d[0];
  return !(fabs(d[1]) < 0.25 && ((fabs(u) < 0.25 && fabs(v + 0.15) < 0.1) || (fabs(u + 0.15) < 0.1 && fabs(v) < 0.25) ||
                                 (fabs(u - 0.33) < 0.02 && fabs(v) < 0.25)));
}
static void a_surface_is_not_behind_solids(void **unused)
{
  (void)unused;
  static const double low[4][3]  = {{-REACH, -REACH, -REACH}, {-0.25, -0.25, -0.25}, {-0.25, -0.25, -0.25}, {0.31, -0.25, -0.25}},
                      high[4][3] = {{REACH, REACH, REACH}, {0.25, 0.25, -0.05}, {-0.05, 0.25, 0.25}, {0.35, 0.25, 0.25}};
  int n_in_solids                = 0;
  for (int kind = 0; kind < 3; ++kind) {
    BARELY               = kind == 2;
    const int32_t  n     = kind == 1 ? 24 : 16;
    const int      first = BARELY ? 0 : 1, n_solids = BARELY ? 1 : 3;
    const double   angle = BARELY ? 0.0 : 0.4;
    mac_scene      c;
    mac_scene_spec m    = {.h = 1.0 / n, .n = {n, n, n}, .wall = MAC_ALL_ROUGH, .is_filled = beside_boxes, .density = 1000.0};
    mac_bins       bins = {0};
    mac_weights    w    = {0};
    level_set     *box[3];
    mac_solid      solid[3];
    mac_scene_create(&c, &m);
    for (int k = 0; k < n_solids; ++k) {
      assert_ok(level_set_box(low[first + k], high[first + k], &box[k]));
      solid[k]            = (mac_solid){.n = 1, .sets = &box[k], .frame = mac_frame_at(0.5, 0.5, 0.5)};
      solid[k].frame.R[0] = solid[k].frame.R[8] = cos(angle), solid[k].frame.R[2] = -sin(angle), solid[k].frame.R[6] = sin(angle);
    }
    compute(&c, n_solids, solid, true, &bins, &w);
    for (int64_t slot = 0; slot < c.s.grid.n_slots; ++slot) {
      double x[3];
      mac_cell_center(&c.s.grid, slot, x);
      if (x[0] < 0.1 || x[0] > 0.9 || x[1] < 0.1 || x[1] > 0.9 || x[2] < 0.1 || x[2] > 0.9) continue;
      n_in_solids += w.center_open[slot] < 0.0;
      for (int a = 0; a < 3; ++a)
        if (w.face_fluid[a][slot] > 0.0 && w.face_liquid[a][slot] != 1.0)
          fail_msg("a surface at (%g, %g, %g), axis %d: %g of it liquid", x[0], x[1], x[2], a, w.face_liquid[a][slot]);
    }
    for (int k = 0; k < n_solids; ++k) level_set_destroy(&box[k]);
    mac_weights_destroy(&w), mac_bins_destroy(&bins), mac_scene_destroy(&c);
  }
  assert_true(n_in_solids > 500);
  assert_no_leak();
}

/* Cells with one grain of eight, in the midst of a liquid, are liquid; an empty one is a bubble. */
static bool HAS_BUBBLE;
static bool sparse_within(const double x[3])
{
  bool is_sparse = true, is_first = true, is_middle = true;
  for (int a = 0; a < 3; ++a) {
    const double at = 9.0 * x[a], cell = floor(at);
    is_sparse = is_sparse && fabs(cell - 4.0) < 1.5, is_first = is_first && at - cell < 0.5, is_middle = is_middle && cell == 4.0;
  }
  return !is_sparse || (is_first && !(HAS_BUBBLE && is_middle));
}
static void few_grains_do_not_form_a_bubble(void **unused)
{
  (void)unused;
  for (int has_bubble = 0; has_bubble < 2; ++has_bubble) {
    mac_scene      c;
    mac_scene_spec m    = {.h = 1.0 / 9, .n = {9, 9, 9}, .wall = MAC_ALL_ROUGH, .is_filled = sparse_within, .density = 1000.0};
    mac_bins       bins = {0};
    mac_weights    w    = {0};
    HAS_BUBBLE          = has_bubble;
    mac_scene_create(&c, &m);
    compute(&c, 0, NULL, true, &bins, &w);
    for (int32_t i = 0; i < 9; ++i)
      for (int32_t j = 0; j < 9; ++j)
        for (int32_t k = 0; k < 9; ++k)
          if (!has_bubble) assert_close(w.cell_liquid[mac_grid_slot(&c.s.grid, i, j, k)], 1.0, 0.0);
    if (has_bubble) assert_close(w.cell_liquid[mac_grid_slot(&c.s.grid, 4, 4, 4)], 0.0, 0.0);
    mac_weights_destroy(&w), mac_bins_destroy(&bins), mac_scene_destroy(&c);
  }
  assert_no_leak();
}

/* A scene and its image, cyclically turned and mirrored in x, or moved through a period. */
enum { SIDE = 17 };
typedef struct {
  bool    is_turned, is_mirrored;
  int32_t moved;
} image;
static image IMAGE;
static void  to_image(const double x[3], double y[3]) /* the box is [0,1]^3 */
{
  const double m[3] = {IMAGE.is_mirrored ? 1.0 - x[0] : x[0], x[1], x[2]};
  for (int a = 0; a < 3; ++a) {
    y[a] = m[IMAGE.is_turned ? (a + 1) % 3 : a] + (double)IMAGE.moved / SIDE;
    y[a] -= floor(y[a]);
  }
}
static void from_image(const double y[3], double x[3])
{
  double m[3];
  for (int a = 0; a < 3; ++a) {
    double at                            = y[a] - (double)IMAGE.moved / SIDE;
    m[IMAGE.is_turned ? (a + 1) % 3 : a] = at - floor(at);
  }
  v3_set(x, IMAGE.is_mirrored ? 1.0 - m[0] : m[0], m[1], m[2]);
}
static bool heap(const double x[3])
{
  return x[2] > 0.25 && x[2] < 0.7 - 0.5 * fabs(x[0] - 0.4) && fabs(x[1] - 0.5) < 0.3 && x[0] > 0.2 && x[0] < 0.8;
}
static bool heap_image(const double y[3])
{
  double x[3];
  from_image(y, x);
  return heap(x);
}
typedef struct {
  mac_scene  c;
  mac_system y;
  level_set *ball;
} turned_scene;
static void make_image(turned_scene *t, image which, bool is_area)
{
  mac_scene_spec m = {.h         = 1.0 / SIDE,
                      .n         = {SIDE, SIDE, SIDE},
                      .wall      = which.moved ? MAC_ALL_PERIODIC : MAC_ALL_ROUGH,
                      .is_filled = heap_image,
                      .density   = 1500.0,
                      .friction  = 0.5};
  double         center[3];
  IMAGE = which;
  mac_scene_create(&t->c, &m);
  to_image((double[3]){0.43, 0.56, 0.44}, center);
  assert_ok(level_set_sphere((double[3]){0.0, 0.0, 0.0}, 0.15, &t->ball));
  const mac_solid solid = {.n = 1, .sets = &t->ball, .frame = mac_frame_at(center[0], center[1], center[2]), .friction = 0.2};
  t->y                  = (mac_system){0};
  t->c.o.fractions      = is_area ? MAC_FRACTIONS_AREA : MAC_FRACTIONS_VOLUME;
  assert_ok(mac_system_assemble(&t->c.s, &t->c.o, 1, &solid, 0.01, &t->y));
}
/* Five components of a tensor in the orthonormal basis. */
static void components(double t[3][3], double five[MAC_STRESSES])
{
  for (int m = 0; m < MAC_STRESSES; ++m) {
    double unit[MAC_STRESSES] = {0}, e[6];
    unit[m]                   = 1.0;
    mac_stress_tensor(MAC_ORTHONORMAL, unit, e);
    five[m] = e[0] * t[0][0] + e[1] * t[1][1] + e[2] * t[2][2] + 2.0 * (e[3] * t[0][1] + e[4] * t[0][2] + e[5] * t[1][2]);
  }
}
static void put_stress(image which, int64_t i, double *five, double *image_five)
{
  double t[3][3], turned[3][3];
  for (int a = 0; a < 3; ++a)
    for (int b = a; b < 3; ++b) t[a][b] = t[b][a] = random_range(9, (uint64_t)i, (uint64_t)(1 + 3 * a + b), -1.0, 1.0);
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      const int ia = which.is_turned ? (a + 2) % 3 : a, ib = which.is_turned ? (b + 2) % 3 : b;
      turned[ia][ib] = (which.is_mirrored && (a == 0) != (b == 0) ? -1.0 : 1.0) * t[a][b];
    }
  components(t, five), components(turned, image_five);
}
static void compare_images(image which, bool is_area)
{
  turned_scene plain, turned;
  int64_t      n_faces = 0;
  make_image(&plain, (image){.moved = which.moved ? SIDE : 0}, is_area);
  make_image(&turned, which, is_area);
  assert_int_equal(turned.y.n_cells, plain.y.n_cells);
  assert_int_equal(turned.y.n_faces, plain.y.n_faces);
  assert_int_equal(turned.y.F_p.n, plain.y.F_p.n);
  assert_int_equal(turned.y.F_s.n == 0, plain.y.F_s.n == 0);
  double *p = NULL, *image_p = NULL, *f = NULL, *image_f = NULL, *s = NULL, *image_s = NULL, *fs = NULL, *image_fs = NULL;
  assert_ok(memory_alloc("s", plain.y.n_stress, sizeof *s, &s));
  assert_ok(memory_alloc("s", plain.y.n_stress, sizeof *s, &image_s));
  assert_ok(memory_alloc("f", plain.y.n_faces, sizeof *f, &fs));
  assert_ok(memory_alloc("f", plain.y.n_faces, sizeof *f, &image_fs));
  assert_ok(memory_alloc("p", plain.y.n_cells, sizeof *p, &p));
  assert_ok(memory_alloc("p", plain.y.n_cells, sizeof *p, &image_p));
  assert_ok(memory_alloc("f", plain.y.n_faces, sizeof *f, &f));
  assert_ok(memory_alloc("f", plain.y.n_faces, sizeof *f, &image_f));
  const mac_grid *g = &turned.c.s.grid;
  for (int64_t i = 0; i < plain.y.n_cells; ++i) {
    double x[3], at[3];
    mac_cell_center(&plain.c.s.grid, plain.y.cell_slot[i], x);
    to_image(x, at);
    const int64_t slot = mac_grid_slot(g, mac_grid_index(g, 0, at[0]), mac_grid_index(g, 1, at[1]), mac_grid_index(g, 2, at[2]));
    assert_true(slot >= 0 && turned.y.cell_of[slot] >= 0);
    p[i] = image_p[turned.y.cell_of[slot]] = random_range(9, (uint64_t)i, 0, 0.0, 1.0);
    put_stress(which, i, s + 5 * i, image_s + 5 * (int64_t)turned.y.cell_of[slot]);
    assert_close(turned.y.weights.cell_fluid[slot], plain.y.weights.cell_fluid[plain.y.cell_slot[i]], 1e-12);
  }
  sparse_rows_apply(&plain.y.GT, p, f), sparse_rows_apply(&turned.y.GT, image_p, image_f);
  sparse_rows_apply(&plain.y.DT, s, fs), sparse_rows_apply(&turned.y.DT, image_s, image_fs);
  for (int64_t q = 0; q < plain.y.n_faces; ++q) {
    const int axis = plain.y.face_axis[q], image_axis = which.is_turned ? (axis + 2) % 3 : axis;
    double    x[3], at[3];
    mac_face_center(&plain.c.s.grid, plain.y.face_slot[q], axis, x);
    to_image(x, at);
    at[image_axis] += 0.5 / SIDE;
    const int64_t slot = mac_grid_slot(g, mac_grid_index(g, 0, at[0]), mac_grid_index(g, 1, at[1]), mac_grid_index(g, 2, at[2]));
    const int32_t face = slot < 0 ? -1 : turned.y.face_of[image_axis][slot];
    assert_true(face >= 0);
    assert_close(turned.y.weight[face] / plain.y.weight[q], 1.0, 1e-12);
    assert_close(turned.y.mobility[face] / plain.y.mobility[q], 1.0, 1e-12);
    assert_close(image_f[face], (which.is_mirrored && axis == 0 ? -1.0 : 1.0) * f[q], 1e-10);
    assert_close(image_fs[face], (which.is_mirrored && axis == 0 ? -1.0 : 1.0) * fs[q], 1e-10);
    ++n_faces;
  }
  assert_true(n_faces > 1000);
  memory_free(&p), memory_free(&image_p), memory_free(&f), memory_free(&image_f);
  memory_free(&s), memory_free(&image_s), memory_free(&fs), memory_free(&image_fs);
  mac_system_destroy(&plain.y), mac_scene_destroy(&plain.c), level_set_destroy(&plain.ball);
  mac_system_destroy(&turned.y), mac_scene_destroy(&turned.c), level_set_destroy(&turned.ball);
}
static void images_have_the_image_of_the_system(void **unused)
{
  (void)unused;
  for (int is_area = 0; is_area < 2; ++is_area) {
    compare_images((image){.is_turned = true}, is_area);
    compare_images((image){.is_mirrored = true}, is_area);
    compare_images((image){.moved = 8}, is_area);
  }
  assert_no_leak();
}

/* --- half-cells of the continuum against the definition: the nearest of all particles, of all periodic images ------------------------- */

/* One of eight lattice places is filled. */
static bool sparsely(const double x[3])
{
  const uint64_t id = (uint64_t)((floor(x[0] / 0.05) * 64.0 + floor(x[1] / 0.05)) * 64.0 + floor(x[2] / 0.05));
  return random_range(31, id, 0, 0.0, 8.0) < 1.0;
}

static double squared_distance_of_all(const mac_scene *c, const double x[3])
{
  double least = INFINITY, period[3];
  for (int a = 0; a < 3; ++a) period[a] = mac_grid_is_periodic(&c->s.grid, a) ? c->s.grid.n[a] * c->s.grid.h : INFINITY;
  for (int64_t p = 0; p < c->n; ++p) {
    double sum = 0.0;
    for (int a = 0; a < 3 && sum < least; ++a) {
      const double d = fabs(c->x[a][p] - x[a]), near = d < period[a] - d ? d : period[a] - d;
      sum += near * near;
    }
    least = sum < least ? sum : least;
  }
  return least;
}

/* Fraction of a half-cell around a point x: linear in the distance from the nearest sphere. Points in the ball `center`, `radius` take the
 * value of their mirror image, which walls reflect; points deeper than 1.75 h are empty. */
static double expected_share(const mac_scene *c, const double x[3], bool is_solid, const double center[3], double radius)
{
  const double h     = c->s.grid.h;
  double       at[3] = {x[0], x[1], x[2]}, out[3];
  for (int a = 0; a < 3; ++a) {
    const double length = c->s.grid.n[a] * h, d = x[a] - center[a];
    out[a] = mac_grid_is_periodic(&c->s.grid, a) ? d - length * round(d / length) : d;
  }
  const double depth = radius - v3_norm(out);
  if (is_solid && depth > 1.75 * h) return 0.0;
  if (is_solid && depth > 0.0) v3_axpy(at, 2.0 * depth / v3_norm(out), out);
  for (int a = 0; a < 3 && is_solid; ++a) {
    const double length = c->s.grid.n[a] * h;
    if (mac_grid_is_periodic(&c->s.grid, a)) at[a] -= length * floor(at[a] / length);
    else at[a] = at[a] < 0.0 ? -at[a] : at[a] > length ? 2.0 * length - at[a] : at[a];
  }
  return fmin(1.0, fmax(0.0, 0.5 - (sqrt(squared_distance_of_all(c, at)) / h - 0.62) / 0.5));
}

/* Replace each particle by a cluster of 16, so that 27 cells contain more than the 256 particles that are processed at a time. */
static void crowd(mac_scene *c)
{
  enum { COPIES = 16 };
  double *x[3];
  for (int a = 0; a < 3; ++a) {
    assert_ok(memory_alloc("x", COPIES * c->n, sizeof(double), &x[a]));
    for (int64_t p = 0; p < COPIES * c->n; ++p)
      x[a][p] = c->x[a][p / COPIES] + 0.02 * c->s.grid.h * random_range(32, (uint64_t)p, (uint64_t)a, -1.0, 1.0);
    memory_free(&c->x[a]);
    c->set[0][a] = c->x[a] = x[a];
  }
  c->n *= COPIES;
}

static void half_cells_follow_from_the_nearest_particle(void **unused)
{
  (void)unused;
  const double h = 0.1;
  for (int axis = 0; axis < 3; ++axis) { /* the periodic one; the ball is cut by its border and by a wall */
    mac_wall wall[3][2];
    memcpy(wall, MAC_ALL_ROUGH, sizeof wall);
    wall[axis][0] = wall[axis][1] = MAC_WALL_PERIODIC;
    mac_scene      c;
    mac_scene_spec m    = {.h = h, .n = {9, 11, 10}, .wall = wall, .is_filled = sparsely, .density = 1000.0, .jitter = 0.9};
    mac_bins       bins = {0};
    mac_weights    w    = {0};
    level_set     *ball, *grain; /* the grain is between half-cells, in one block with the centre of the ball */
    const double   radius    = 0.23;
    double         center[3] = {0.48, 0.56, 0.53}, beside[3] = {0.75, 0.75, 0.75};
    int64_t        n[3] = {0}, n_images = 0;
    center[axis] = 0.04, center[(axis + 1) % 3] = 0.17;
    beside[axis] = 0.3, beside[(axis + 1) % 3] = 0.35;
    mac_scene_create(&c, &m);
    assert_ok(level_set_sphere((double[3]){0.0, 0.0, 0.0}, radius, &ball));
    assert_ok(level_set_sphere((double[3]){0.0, 0.0, 0.0}, 0.02, &grain));
    const mac_solid            solid[2] = {{.n = 1, .sets = &ball, .frame = mac_frame_at(center[0], center[1], center[2])},
                                           {.n = 1, .sets = &grain, .frame = mac_frame_at(beside[0], beside[1], beside[2])}};
    const mac_fraction_options o        = {.radius = 0.62};
    if (axis == 2) crowd(&c);
    assert_ok(mac_bins_fill(&bins, &c.s.grid, 1, c.s.n, c.s.x));
    assert_ok(mac_weights_compute(&w, &c.s.grid, &bins, 2, solid, &o));
    for (int64_t slot = 0; slot < c.s.grid.n_slots; ++slot) {
      int32_t          ijk[3];
      const mac_share *s = mac_weights_share(&w, slot / MAC_BLOCK, 0);
      mac_grid_cell(&c.s.grid, slot, ijk);
      if (!mac_grid_is_inside(&c.s.grid, ijk) || slot % (axis == 2 ? 41 : 3)) continue; /* a part of them */
      for (int q = 0; q < MAC_HALVES; ++q) {
        const double x[3]     = {h * (ijk[0] + 0.25 + 0.5 * (q >> 2)), h * (ijk[1] + 0.25 + 0.5 * (q >> 1 & 1)),
                                 h * (ijk[2] + 0.25 + 0.5 * (q & 1))};
        const bool   is_solid = s && s->half[slot % MAC_BLOCK][q] >= 0.5;
        const double expected = expected_share(&c, x, is_solid, center, radius), found = w.half[MAC_HALVES * slot + q];
        if (!(fabs(found - expected) < 1e-9)) fail_msg("axis %d, (%g, %g, %g): %g, expected %g", axis, x[0], x[1], x[2], found, expected);
        ++n[expected == 0.0 ? 0 : expected == 1.0 ? 1 : 2];
        n_images += is_solid && expected > 0.0;
      }
    }
    for (int k = 0; k < 3; ++k) assert_true(n[k] > (axis == 2 ? 5 : 50));
    assert_true(n_images > (axis == 2 ? 1 : 20));
    mac_weights_destroy(&w), mac_bins_destroy(&bins), level_set_destroy(&ball), level_set_destroy(&grain), mac_scene_destroy(&c);
  }
  assert_no_leak();
}

/* A ball touches the last cell with particles. A particle that has left this cell does not count. */
static void particles_that_have_left_do_not_count(void **unused)
{
  (void)unused;
  const double   h = 0.1, radius = 0.23;
  mac_scene      c;
  mac_scene_spec m    = {.h = h, .n = {9, 11, 10}, .wall = MAC_ALL_ROUGH, .is_filled = sparsely, .density = 1000.0, .jitter = 0.9};
  mac_bins       bins = {0};
  level_set     *ball;
  double         center[3], out[3];
  int32_t        ijk[3];
  int64_t        last, n_images = 0;
  mac_scene_create(&c, &m);
  assert_ok(level_set_sphere((double[3]){0.0, 0.0, 0.0}, radius, &ball));
  assert_ok(mac_bins_fill(&bins, &c.s.grid, 1, c.s.n, c.s.x));
  for (last = c.s.grid.n_slots - 1; bins.start[last + 1] == bins.start[last];) --last;
  mac_grid_cell(&c.s.grid, last, ijk);
  for (int a = 0; a < 3; ++a) center[a] = h * (ijk[a] + 0.5), out[a] = 0.5 * h * m.n[a] - center[a];
  v3_axpy(center, (radius + 0.5 * h) / v3_norm(out), out);
  for (int k = 0; k < 8; ++k) {
    mac_weights                w     = {0};
    const mac_solid            solid = {.n = 1, .sets = &ball, .frame = mac_frame_at(center[0], center[1], center[2])};
    const mac_fraction_options o     = {.radius = 0.62};
    double                     x[3];
    for (int a = 0; a < 3; ++a) x[a] = h * (ijk[a] + (k >> a & 1 ? 0.25 : 0.75));
    const int64_t       n[2]      = {c.n, 1};
    const double *const all[2][3] = {{c.x[0], c.x[1], c.x[2]}, {x, x + 1, x + 2}};
    assert_ok(mac_bins_fill(&bins, &c.s.grid, 2, n, all));
    assert_ok(mac_bins_fill(&bins, &c.s.grid, 1, n, all));
    assert_ok(mac_weights_compute(&w, &c.s.grid, &bins, 1, &solid, &o));
    for (int64_t slot = 0; slot < c.s.grid.n_slots; ++slot) {
      int32_t          at[3];
      const mac_share *s = mac_weights_share(&w, slot / MAC_BLOCK, 0);
      mac_grid_cell(&c.s.grid, slot, at);
      for (int q = 0; s && q < MAC_HALVES && mac_grid_is_inside(&c.s.grid, at); ++q) {
        const double y[3] = {h * (at[0] + 0.25 + 0.5 * (q >> 2)), h * (at[1] + 0.25 + 0.5 * (q >> 1 & 1)),
                             h * (at[2] + 0.25 + 0.5 * (q & 1))};
        if (!(s->half[slot % MAC_BLOCK][q] >= 0.5)) continue;
        const double expected = expected_share(&c, y, true, center, radius);
        assert_close(w.half[MAC_HALVES * slot + q], expected, 1e-9);
        n_images += expected > 0.0;
      }
    }
    mac_weights_destroy(&w);
  }
  assert_true(n_images > 8 * 20);
  mac_bins_destroy(&bins), level_set_destroy(&ball), mac_scene_destroy(&c);
  assert_no_leak();
}

/* --- fractions of the continuum rounded to voxels, against those by volume ------------------------------------------ */

static bool below_a_slope(const double x[3]) { return x[1] < 0.35 - 0.3 * x[0] + 0.1 * x[2]; }

/* The neighbour of a cell that lies so many cells back; mirrored at the lower walls, which is itself. */
static int64_t back(const mac_grid *g, int64_t slot, int i, int j, int k)
{
  int32_t at[3];
  mac_grid_cell(g, slot, at);
  at[0] = at[0] > 0 ? at[0] - i : 0, at[1] = at[1] > 0 ? at[1] - j : 0, at[2] = at[2] > 0 ? at[2] - k : 0;
  return mac_grid_slot(g, at[0], at[1], at[2]);
}

static void voxels_are_full_or_empty(void **state)
{
  (void)state;
  mac_scene      c;
  mac_scene_spec m = {.h = 0.05, .n = {11, 9, 10}, .wall = MAC_ALL_ROUGH, .is_filled = below_a_slope, .density = 1000.0, .jitter = 0.5};
  mac_system     volume = {0}, voxel = {0};
  int            n[3] = {0};
  mac_scene_create(&c, &m);
  c.o.fractions = MAC_FRACTIONS_VOLUME;
  assert_ok(mac_system_assemble(&c.s, &c.o, 0, NULL, 0.01, &volume));
  c.o.fractions = MAC_FRACTIONS_VOXEL;
  assert_ok(mac_system_assemble(&c.s, &c.o, 0, NULL, 0.01, &voxel));
  const mac_grid *g = &c.s.grid;
  for (int64_t slot = 0; slot < g->n_slots; ++slot) {
    int32_t ijk[3];
    mac_grid_cell(g, slot, ijk);
    if (!mac_grid_is_inside(g, ijk)) continue;
    const double *full = voxel.weights.cell_liquid;
    const double  was  = volume.weights.cell_liquid[slot];
    assert_close(full[slot], was >= 0.5, 0.0);
    n[was == 0.0 ? 0 : was == 1.0 ? 1 : 2]++;
    for (int a = 0; a < 3; ++a) {
      const int64_t behind = back(g, slot, a == 0, a == 1, a == 2);
      if (behind >= 0) assert_close(voxel.weights.face_liquid[a][slot], fmax(full[slot], full[behind]), 0.0);
      const int64_t e[3] = {back(g, slot, a == 2, a == 0, a == 1), back(g, slot, a == 1, a == 2, a == 0),
                            back(g, slot, a != 0, a != 1, a != 2)};
      if (e[0] >= 0 && e[1] >= 0 && e[2] >= 0)
        assert_close(voxel.weights.edge_liquid[a][slot], fmax(fmax(full[slot], full[e[0]]), fmax(full[e[1]], full[e[2]])), 0.0);
    }
  }
  for (int k = 0; k < 3; ++k) assert_true(n[k] > 50); /* empty, full, cut */
  mac_system_destroy(&volume), mac_system_destroy(&voxel), mac_scene_destroy(&c);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(half_cells_follow_from_the_nearest_particle), cmocka_unit_test(particles_that_have_left_do_not_count),
          cmocka_unit_test(voxels_are_full_or_empty), cmocka_unit_test(planes_cut_cubes_exactly), cmocka_unit_test(ball_has_its_volume),
          cmocka_unit_test(aligned_boxes_have_their_volume), cmocka_unit_test(shifted_boxes_have_their_volume),
          cmocka_unit_test(planes_cut_faces_exactly), cmocka_unit_test(shares_add_up_to_one),
          cmocka_unit_test(fractions_without_half_cells_are_the_same), cmocka_unit_test(surface_continues_inside_solids),
          cmocka_unit_test(level_surfaces_are_where_they_are), cmocka_unit_test(few_grains_do_not_form_a_bubble),
          cmocka_unit_test(a_surface_is_not_behind_solids), cmocka_unit_test(images_have_the_image_of_the_system))
