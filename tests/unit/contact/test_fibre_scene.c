/* Places, gaps and normals of the contacts of a fibre with a fibre, a level set and a material point, in closed form: the surfaces are one radius
 * from the axes, on the side of the other body. Checks of the contacts that are read from a checkpoint. */
#include "test.h"
#include "contact/fibre/fibre_scene.h"
#include "contact/detection/contact_scene.h"
#include "contact_bodies.h"

enum { UPPER, LOWER, WALL, CLOUD, N_BODIES };
static const double  radius_of[2] = {0.01, 0.02}, POINT_SIZE = 0.004;
static const int32_t one_segment[2] = {0, 1}, one_strand[1] = {0};
static double        nodes_of[2][6]; /* the upper fibre along x, the lower along y, both centred on the z axis */
static level_set    *floor_set;

static void segments(const body *b, body_segments *out)
{
  const int k = b->name[0] == 'u' ? 0 : 1;
  *out        = (body_segments){2, 1, one_segment, one_strand, nodes_of[k], &radius_of[k], false};
}
static PetscErrorCode residual(body *b, const double *v, double *g, bool with_tangent, step_status *status)
{
  (void)b, (void)v, (void)g, (void)with_tangent, (void)status;
  return PETSC_ERR_PLIB; /* never called */
}
static PetscErrorCode velocity(const body *b, double *v)
{
  memset(v, 0, (size_t)(3 * b->n_blocks) * sizeof *v);
  return PETSC_SUCCESS;
}
static level_set *const *level_sets(const body *b, int *n)
{
  (void)b;
  *n = 1;
  return &floor_set;
}
static double point_radius(const body *b, int64_t i)
{
  (void)b, (void)i;
  return POINT_SIZE;
}

static void assert_vector(const double *x, double a, double b, double c)
{
  assert_close(x[0], a, 1e-14);
  assert_close(x[1], b, 1e-14);
  assert_close(x[2], c, 1e-14);
}

static void test_places(void **state)
{
  static const body_ops fibre_ops = {.kind = "mock fibre", .segments = segments, .residual = residual, .velocity = velocity},
                        wall_ops  = {.kind = "mock wall", .level_sets = level_sets};
  static const double up[3]       = {0.0, 0.0, 1.0};
  static const double low = 0.0, high = 0.04, floor_z = -0.021, cloud_z = 0.0545;
  (void)state;
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 2; ++k) v3_set(nodes_of[i] + 3 * k, i == 0 ? k - 0.5 : 0.0, i == 1 ? k - 0.5 : 0.0, i == 0 ? high : low);
  assert_ok(level_set_plane(up, floor_z, &floor_set));
  body      fibre[2] = {{.ops = &fibre_ops, .name = "upper", .n_blocks = 2}, {.ops = &fibre_ops, .name = "lower", .n_blocks = 2}};
  body      wall     = {.ops = &wall_ops, .name = "wall"};
  mock_body cloud;
  body_ops  cloud_ops = mock_weighted_ops;
  mock_create(&cloud, "cloud", false, 1, 1, 1);
  cloud_ops.point_radius = point_radius, cloud_ops.residual = residual, cloud_ops.velocity = velocity;
  cloud.base.ops = &cloud_ops, cloud.weight[0] = 1.0;
  v3_set(cloud.x, 0.2, 0.0, cloud_z);

  body *const       bodies[N_BODIES] = {&fibre[0], &fibre[1], &wall, &cloud.base};
  contact_law       law[N_BODIES * N_BODIES];
  const int32_t     frame[N_BODIES] = {-1, -1, 0, -1};
  const double      origin[3]       = {0.0, 0.0, 0.0};
  const rigid_frame pose            = mock_frame(origin, -1);
  for (int i = 0; i < N_BODIES * N_BODIES; ++i) law[i] = (contact_law){.friction = 0.3};
  const contact_object object = {floor_set, 0, WALL};
  const contact_scene  scene  = {.n_bodies = N_BODIES,
                                 .body     = bodies,
                                 .frame    = frame,
                                 .frames   = &pose,
                                 .end      = &pose,
                                 .law      = law,
                                 .dt       = 0.01,
                                 .margin   = 0.015,
                                 .length   = 0.01};
  fibre_scene         *f;
  contact_set         *set;
  step_status          status                    = {STEP_OK, NULL, -1};
  int                  seen[N_BODIES * N_BODIES] = {0};
  assert_ok(fibre_scene_create(N_BODIES, bodies, NULL, law, &f));
  assert_ok(contact_set_create(&set));
  assert_ok(fibre_scene_find(f, &scene, 1, &object, set, &status));
  assert_int_equal(status.code, STEP_OK);
  for (int64_t i = 0; i < contact_set_size(set); ++i) {
    const contact_spot *s = contact_set_get(set) + i;
    ++seen[N_BODIES * s->body_a + s->body_b];
    if (s->body_b == WALL) { /* at the surface of the fibre, towards the wall */
      assert_int_equal(s->body_a, LOWER);
      assert_close(s->gap, low - radius_of[1] - floor_z, 1e-14);
      assert_vector(s->normal, 0.0, 0.0, 1.0);
      assert_close(s->a.x[2], low - radius_of[1], 1e-14);
      assert_vector(s->b.x, s->a.x[0], s->a.x[1], s->a.x[2]);
    } else if (s->body_a == CLOUD) { /* halfway between the surfaces of the point and the fibre */
      const double gap = cloud_z - POINT_SIZE - high - radius_of[0], half = cloud_z - POINT_SIZE - 0.5 * gap;
      assert_int_equal(s->body_b, UPPER);
      assert_close(s->gap, gap, 1e-14);
      assert_vector(s->normal, 0.0, 0.0, 1.0);
      assert_vector(s->a.x, 0.2, 0.0, half);
      assert_vector(s->b.x, 0.2, 0.0, half);
    } else { /* halfway between the surfaces, at the crossing */
      const double gap = high - low - radius_of[0] - radius_of[1];
      assert_close(s->gap, gap, 1e-14);
      assert_vector(s->normal, 0.0, 0.0, s->body_a == UPPER ? 1.0 : -1.0);
      assert_vector(s->a.x, 0.0, 0.0, low + radius_of[1] + 0.5 * gap);
      assert_vector(s->b.x, 0.0, 0.0, low + radius_of[1] + 0.5 * gap);
    }
  }
  assert_int_equal(seen[N_BODIES * UPPER + LOWER] + seen[N_BODIES * LOWER + UPPER], 1);
  assert_true(seen[N_BODIES * LOWER + WALL] > 0);
  assert_int_equal(seen[N_BODIES * CLOUD + UPPER], 1);
  contact_set_destroy(&set);
  fibre_scene_destroy(&f);
  mock_destroy(&cloud);
  level_set_destroy(&floor_set);
  assert_no_leak();
}

/* Four nodes of an open strand above a wall, at rest within the margin, or falling from a distance: each vertex has one contact. */
static const int32_t chain_segment[6] = {0, 1, 1, 2, 2, 3}, chain_strand[3] = {0, 0, 0};
static const double  chain_node[12] = {0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.2, 0.0, 0.0, 0.3, 0.0, 0.0}, chain_radius[3] = {0.02, 0.02, 0.02};
static double        chain_velocity[12];
static void          chain_nodes(const body *b, body_nodes *out)
{
  (void)b;
  *out = (body_nodes){.n = 4, .x = chain_node, .v = chain_velocity};
}
static void chain(const body *b, body_segments *out)
{
  (void)b;
  *out = (body_segments){4, 3, chain_segment, chain_strand, chain_node, chain_radius, false};
}
static void test_vertices(void **state)
{
  static const body_ops chain_ops = {.kind     = "mock fibre",
                                     .segments = chain,
                                     .nodes    = chain_nodes,
                                     .residual = residual,
                                     .velocity = velocity},
                        wall_ops  = {.kind = "mock wall", .level_sets = level_sets};
  static const double up[3] = {0.0, 0.0, 1.0}, origin[3] = {0.0, 0.0, 0.0};
  const rigid_frame   pose = mock_frame(origin, -1);
  (void)state;
  body                strand = {.ops = &chain_ops, .name = "strand", .n_blocks = 4}, wall = {.ops = &wall_ops, .name = "wall"};
  body *const         bodies[2] = {&strand, &wall};
  const contact_law   law[4]    = {{.friction = 0.3}, {.friction = 0.3}, {.friction = 0.3}, {.friction = 0.3}};
  const int32_t       frame[2]  = {-1, 0};
  const contact_scene scene     = {.n_bodies = 2,
                                   .body     = bodies,
                                   .frame    = frame,
                                   .frames   = &pose,
                                   .end      = &pose,
                                   .law      = law,
                                   .dt       = 0.01,
                                   .margin   = 0.015,
                                   .length   = 0.01};
  for (int falls = 0; falls < 2; ++falls) {
    fibre_scene *f;
    contact_set *set;
    step_status  status  = {STEP_OK, NULL, -1};
    int          seen[4] = {0};
    assert_ok(level_set_plane(up, falls ? -0.1 : -0.021, &floor_set));
    for (int i = 0; i < 4; ++i) chain_velocity[3 * i + 2] = falls ? -10.0 : 0.0;
    const contact_object object = {floor_set, 0, 1};
    assert_ok(fibre_scene_create(2, bodies, NULL, law, &f));
    assert_ok(contact_set_create(&set));
    assert_ok(fibre_scene_find(f, &scene, 1, &object, set, &status));
    assert_int_equal(contact_set_size(set), 4);
    for (int i = 0; i < 4; ++i) {
      const contact_spot *s = contact_set_get(set) + i;
      const int           k = (int)lround(s->a.x[0] / 0.1);
      assert_in_range(k, 0, 3);
      assert_vector(s->a.x, 0.1 * k, 0.0, -0.02);
      assert_close(s->gap, falls ? 0.08 : 0.001, 1e-14);
      ++seen[k];
    }
    for (int k = 0; k < 4; ++k) assert_int_equal(seen[k], 1);
    contact_set_destroy(&set);
    fibre_scene_destroy(&f);
    level_set_destroy(&floor_set);
  }
  assert_no_leak();
}

/* Three stored contacts of four segments, with one change each: the expectation is whether they are accepted. */
static void test_restored(void **state)
{
  enum {
    SOUND,
    SWAPPED,
    SWAPPED_SECOND,
    REPEATED,
    DESCENDING_SECOND,
    NO_SEGMENT,
    BEHIND_LAST,
    BEYOND,
    BEFORE,
    NO_FEATURE,
    GAP,
    NORMAL,
    AXIS,
    N_CASES
  };
  static const body_ops fibre_ops = {.kind = "mock fibre", .segments = segments, .residual = residual, .velocity = velocity};
  body                  fibre[4];
  body                 *bodies[4];
  contact_law           law[16] = {{.friction = 0.3}};
  fibre_scene          *f;
  field_table          *fields;
  (void)state;
  for (int i = 0; i < 4; ++i) fibre[i] = (body){.ops = &fibre_ops, .name = i % 2 ? "lower" : "upper", .n_blocks = 2}, bodies[i] = &fibre[i];
  assert_ok(fibre_scene_create(4, bodies, NULL, law, &f));
  assert_ok(field_table_create(&fields));
  assert_ok(fibre_scene_fields(f, fields));
  field_group *g = field_table_find_group(fields, "contact/fibres");
  assert_non_null(g);
  assert_ok(g->resize(g->context, 3));
  int32_t *segment = *(int32_t **)field_group_find(g, "segment")->component[0];
  uint8_t *feature = *(uint8_t **)field_group_find(g, "feature")->component[0];
  double  *at = *(double **)field_group_find(g, "at")->component[0], *axis = *(double **)field_group_find(g, "axis")->component[0],
         *normal = *(double **)field_group_find(g, "normal")->component[0], *gap = *(double **)field_group_find(g, "gap")->component[0];
  for (int i = 0; i < N_CASES; ++i) {
    static const int32_t sound[6] = {0, 2, 0, 3, 1, 2};
    memcpy(segment, sound, sizeof sound);
    memset(feature, 0, 9);
    for (int k = 0; k < 6; ++k) at[k] = k % 2;
    for (int k = 0; k < 18; ++k) axis[k] = 0.1 * k;
    for (int k = 0; k < 9; ++k) normal[k] = k % 3 == 2;
    for (int k = 0; k < 3; ++k) gap[k] = 1e-3;
    switch (i) {
    case SWAPPED: segment[0] = 1; break;
    case SWAPPED_SECOND: segment[2] = 2; break;
    case REPEATED: segment[3] = 2; break; /* two contacts of one pair */
    case DESCENDING_SECOND: segment[1] = 3, segment[3] = 2; break;
    case NO_SEGMENT: segment[0] = -1; break;
    case BEHIND_LAST: segment[5] = 4; break;
    case BEYOND: at[5] = 1.01; break;
    case BEFORE: at[0] = -0.01; break;
    case NO_FEATURE: feature[7] = 3; break;
    case GAP: gap[2] = NAN; break;
    case NORMAL: normal[8] = INFINITY; break;
    case AXIS: axis[17] = NAN; break;
    default: break;
    }
    const PetscErrorCode code = g->restored(g->context);
    if (i == SOUND || i == REPEATED) assert_ok(code);
    else if (code != PETSC_ERR_FILE_UNEXPECTED) fail_msg("change %d: code %d", i, (int)code);
    error_clear();
  }
  field_table_destroy(&fields);
  fibre_scene_destroy(&f);
  assert_no_leak();
}

/* Two bodies of two fibres each, every fibre across the one below it: pairs of bodies with never_touch, also a body with itself, have no contact. */
static const int32_t two_segments[4] = {0, 1, 2, 3}, two_strands[2] = {0, 1};
static const double  two_radii[2] = {0.01, 0.01};
static double        two_nodes[2][12];
static void          two_fibres(const body *b, body_segments *out)
{
  *out = (body_segments){4, 2, two_segments, two_strands, two_nodes[b->name[0] == 'u'], two_radii, false};
}
static void test_never_touch(void **state)
{
  static const body_ops fibre_ops = {.kind = "mock fibres", .segments = two_fibres, .residual = residual, .velocity = velocity};
  body          fibre[2]  = {{.ops = &fibre_ops, .name = "lower", .n_blocks = 4}, {.ops = &fibre_ops, .name = "upper", .n_blocks = 4}};
  body *const   bodies[2] = {&fibre[0], &fibre[1]};
  const int32_t frame[2]  = {-1, -1};
  (void)state;
  for (int b = 0; b < 2; ++b)
    for (int k = 0; k < 4; ++k)
      v3_set(two_nodes[b] + 3 * k, k < 2 ? k - 0.5 : 0.0, k < 2 ? 0.0 : k - 2.5, 0.056 * b + (k < 2 ? 0.0 : 0.028));
  for (int apart = 0; apart < 8; ++apart) { /* bit i + j: bodies i and j */
    contact_law law[4];
    for (int k = 0; k < 4; ++k) law[k] = (contact_law){.never_touch = apart >> (k / 2 + k % 2) & 1};
    const contact_scene scene = {.n_bodies = 2, .body = bodies, .frame = frame, .law = law, .dt = 0.01, .margin = 0.015, .length = 0.01};
    fibre_scene        *f;
    contact_set        *set;
    step_status         status  = {STEP_OK, NULL, -1};
    int                 seen[3] = {0};
    assert_ok(fibre_scene_create(2, bodies, NULL, law, &f));
    assert_ok(contact_set_create(&set));
    assert_ok(fibre_scene_find(f, &scene, 0, NULL, set, &status));
    for (int64_t i = 0; i < contact_set_size(set); ++i) ++seen[contact_set_get(set)[i].body_a + contact_set_get(set)[i].body_b];
    for (int k = 0; k < 3; ++k) assert_int_equal(seen[k], !(apart >> k & 1));
    contact_set_destroy(&set);
    fibre_scene_destroy(&f);
  }
  assert_no_leak();
}

/* Two strands of three segments that cross above each other, with their crossing inside segments or at vertices. In the next step the contact has moved into
 * the segments: it continues the first one, and keeps its side although the axes have passed through each other. The same with a checkpoint in between. */
static double crossing_node[2][12];
static void   crossing(const body *b, body_segments *out)
{
  *out = (body_segments){4, 3, chain_segment, chain_strand, crossing_node[b->name[0] == 'u'], chain_radius, false};
}
static void cross_at(bool is_upper_vertex, bool is_lower_vertex, double height)
{
  for (int k = 0; k < 4; ++k) {
    v3_set(crossing_node[0] + 3 * k, 0.0, 0.1 * (k - 1) - (is_lower_vertex ? 0.0 : 0.05), 0.0);
    v3_set(crossing_node[1] + 3 * k, 0.1 * (k - 1) - (is_upper_vertex ? 0.0 : 0.05), 0.0, height);
  }
}
static void test_memory(void **state)
{
  static const body_ops ops       = {.kind = "mock strand", .segments = crossing, .residual = residual, .velocity = velocity};
  body                  strand[2] = {{.ops = &ops, .name = "lower", .n_blocks = 4}, {.ops = &ops, .name = "upper", .n_blocks = 4}};
  body *const           bodies[2] = {&strand[0], &strand[1]};
  const contact_law     law[4]    = {{.friction = 0.3}, {.friction = 0.3}, {.friction = 0.3}, {.friction = 0.3}};
  const int32_t         frame[2]  = {-1, -1};
  const contact_scene   scene = {.n_bodies = 2, .body = bodies, .frame = frame, .law = law, .dt = 0.01, .margin = 0.015, .length = 0.01};
  (void)state;
  for (int at = 0; at < 8; ++at) {
    fibre_scene    *f[2];
    field_table    *fields[2];
    field_snapshot *snapshot;
    contact_set    *set;
    contact_spot    first, next[2];
    step_status     status = {STEP_OK, NULL, -1};
    assert_ok(contact_set_create(&set));
    assert_ok(field_snapshot_create(&snapshot));
    for (int k = 0; k < 2; ++k) {
      assert_ok(fibre_scene_create(2, bodies, NULL, law, &f[k]));
      assert_ok(field_table_create(&fields[k]));
      assert_ok(fibre_scene_fields(f[k], fields[k]));
    }
    cross_at(at & 1, at & 2, 0.035);
    assert_ok(fibre_scene_find(f[0], &scene, 0, NULL, set, &status));
    assert_int_equal(contact_set_size(set), 1);
    first = contact_set_get(set)[0];
    assert_true(first.was[0] == 0 && first.was[1] == 0);
    assert_close(first.gap, -0.005, 1e-15);
    assert_ok(fibre_scene_accept(f[0]));
    assert_ok(field_snapshot_take(snapshot, fields[0]));
    assert_ok(field_snapshot_restore(snapshot, fields[1]));
    cross_at(false, false, at & 4 ? -0.005 : 0.035);
    for (int k = 0; k < 2; ++k) {
      contact_set_clear(set);
      assert_ok(fibre_scene_find(f[k], &scene, 0, NULL, set, &status));
      assert_int_equal(contact_set_size(set), 1);
      next[k] = contact_set_get(set)[0];
      assert_true(next[k].was[0] == first.key[0] && next[k].was[1] == first.key[1]);
      assert_true((next[k].key[1] == first.key[1]) == !(at & 3));
      assert_close(next[k].normal[2], first.normal[2], 1e-14);
      assert_close(next[k].gap, at & 4 ? -0.045 : -0.005, 1e-15);
    }
    assert_memory_equal(&next[0], &next[1], sizeof *next);
    field_snapshot_destroy(&snapshot);
    contact_set_destroy(&set);
    for (int k = 0; k < 2; ++k) field_table_destroy(&fields[k]), fibre_scene_destroy(&f[k]);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_places), cmocka_unit_test(test_never_touch), cmocka_unit_test(test_vertices),
          cmocka_unit_test(test_restored), cmocka_unit_test(test_memory))
