/* MuJoCo: Newton on its convex problem to 1e-12, elliptic friction cones, impratio 100 against slip, contacts as stiff as it accepts (time constant of two
 * steps, impedance 0.9999; at 0.999 the ten cubes placed at random fall); with and without its additional sweeps against slip (noslip). */
#include <mujoco/mujoco.h>
#include <stdlib.h>
#include <unistd.h>
#include "scene.h"

static int write_box(char *text, size_t size, const other_scene *s, int i)
{
  const other_box *b = &s->box[i];
  return snprintf(
      text, size,
      "<body pos='%.17g %.17g %.17g' quat='%.17g %.17g %.17g %.17g'><freejoint/><geom type='box' size='%g %g %g' mass='%.17g'/></body>\n",
      b->x[0], b->x[1], b->x[2], b->q[0], b->q[1], b->q[2], b->q[3], s->half, s->half, s->half, b->mass);
}

static void simulate(const other_scene *s, int noslip, int substeps)
{
  static char  text[16384];
  char         error[500] = "", path[] = "/tmp/mujoco-scene-XXXXXX.xml", name[80];
  const double dt = s->dt / substeps;
  size_t       at = (size_t)snprintf(
            text, sizeof text,
            "<mujoco><option timestep='%.17g' gravity='%.17g %.17g %.17g' solver='Newton' iterations='1000' tolerance='1e-12' cone='elliptic'"
                  " impratio='100' noslip_iterations='%d' noslip_tolerance='1e-12'/><size njmax='2000' nconmax='500'/>"
                  "<default><geom friction='%.17g 0 0' condim='3' solref='%.17g 1' solimp='0.9999 0.9999 0.001'/></default>"
                  "<worldbody><geom type='plane' size='5 5 1'/>\n",
            dt, s->gravity[0], s->gravity[1], s->gravity[2], noslip, s->friction, 2.0 * dt);
  for (int i = 0; i < s->n; ++i) at += (size_t)write_box(text + at, sizeof text - at, s, i);
  snprintf(text + at, sizeof text - at, "</worldbody></mujoco>\n");
  const int file = mkstemps(path, 4); /* this version reads models from files alone */
  if (file < 0 || write(file, text, strlen(text)) < 0 || close(file)) return;
  mjModel *m = mj_loadXML(path, NULL, error, sizeof error);
  (void)unlink(path);
  if (!m) {
    printf("MuJoCo refuses the scene: %s\n", error);
    return;
  }
  mjData      *d = mj_makeData(m);
  other_result result;
  for (int i = 0; i < s->n; ++i)
    for (int k = 0; k < 3; ++k) d->qvel[6 * i + k] = s->box[i].v[k];
  const long n = lround(s->end / s->dt);
  other_start(&result);
  for (long k = 1; k <= n; ++k) {
    for (int q = 0; q < substeps; ++q) mj_step(m, d);
    if (other_wants(&result, s, (double)k * s->dt)) other_note_top(&result, s, (double)k * s->dt, d->qpos + 7 * (s->n - 1));
  }
  result.speed = d->qvel[0];
  for (int i = 0; i < s->n; ++i) {
    const double *q    = d->qpos + 7 * i + 3,
                 up[3] = {2 * (q[1] * q[3] + q[0] * q[2]), 2 * (q[2] * q[3] - q[0] * q[1]), 1 - 2 * (q[1] * q[1] + q[2] * q[2])};
    other_note_up(&result, up);
  }
  snprintf(name, sizeof name, "MuJoCo, Newton%s%s", noslip ? ", noslip" : "", substeps > 1 ? ", 10 substeps" : "");
  other_print(name, s, &result);
  mj_deleteData(d);
  mj_deleteModel(m);
}

static void silent(const char *text) { (void)text; } /* instead of a MUJOCO_LOG.TXT here */

int main(void)
{
  mju_user_warning = silent;
  for (int i = 0; i < OTHER_SCENES; ++i) {
    other_scene s;
    other_make(&s, i);
    simulate(&s, 0, 1);
    simulate(&s, 100, 1);
    if (!s.is_slope) simulate(&s, 100, 10);
  }
  return 0;
}
