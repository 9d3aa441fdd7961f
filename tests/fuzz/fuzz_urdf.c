/* Any bytes as a robot in URDF, as far as a body with its mass matrix. A body, or errors that each name a place; never a crash,
 * an internal error, or a leak.
 *
 * The first byte chooses how the body is fastened; the rest is the file. */
#include "fuzz.h"
#include <math.h>
#include <string.h>
#include <unistd.h>
#include "core/memory.h"
#include "discretize/articulated/articulated_body.h"
#include "discretize/articulated/articulated_build.h"

static char robot[4096];
static void remove_robot(void) { (void)unlink(robot); }
static void fuzz_set_up(void)
{
  const char *folder = getenv("TMPDIR");
  (void)snprintf(robot, sizeof robot, "%s/fuzz_%ld.urdf", folder ? folder : "/tmp", (long)getpid());
  MUST(!atexit(remove_robot));
}

static void check_body(articulated_body *b)
{
  MUST(b->tree.n > 0);
  articulated_tree_mass_matrix(&b->tree, b->R0, b->p0, b->S, b->M);
  for (int64_t k = 0; k < b->n_v * b->n_v; ++k) MUST(isfinite(b->M[k]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  static const char *const more[] = {"", ", base: free", ", translate: [1, 2, 3], rotate_deg: 30, axis: [0, 1, 1]"};
  document                *doc;
  document_node           *node;
  diagnostics             *d;
  const void              *spec;
  articulated_body        *b = NULL;
  char                     job[5000];
  const body_world         w = {.gravity = {0.0, 0.0, -9.81}, .time_step = 1e-3};
  if (n < 1) return 0;
  FILE *f = fopen(robot, "wb");
  MUST(f && fwrite(data + 1, 1, n - 1, f) == n - 1 && !fclose(f));
  (void)snprintf(job, sizeof job, "{urdf: \"%s\"%s}", robot, more[data[0] % (sizeof more / sizeof *more)]);
  MUST(!document_create(&doc) && !diagnostics_create(&d));
  MUST(!document_read_flow(doc, job, (document_mark){"job.yaml", 1, 1}, &node));
  MUST(!key_table_read(&articulated_body_table, doc, node, "bodies.arm", d, &spec) && diagnostics_count(d) == 0);
  const body_request   r    = {.name = "arm", .path = "bodies.arm", .spec = spec, .node = node};
  const PetscErrorCode code = articulated_body_create(&r, &w, d, &b);
  if (code) fprintf(stderr, "%s\n", error_message());
  MUST(code == PETSC_SUCCESS);
  MUST((b != NULL) == (diagnostics_count(d) == 0));
  for (int i = 0; i < diagnostics_count(d); ++i) {
    const char *said = diagnostics_text(d, i);
    MUST(!strncmp(said, robot, strlen(robot)) || !strncmp(said, "job.yaml:", 9));
  }
  if (b) {
    check_body(b);
    articulated_body_destroy(b);
  }
  diagnostics_destroy(&d);
  document_destroy(&doc);
  MUST(memory_live() == 0);
  return 0;
}
