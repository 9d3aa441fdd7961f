/* MuJoCo: conjugate gradients to 1e-8 on its convex problem with elliptic friction cones; contacts with a time constant of two steps. Its contact law is soft, so the
 * overlap is that of the law. */
#include <mujoco/mujoco.h>
#include <string>
#include <unistd.h>
#include "pile.h"

namespace {
void silent(const char *) {} /* instead of a MUJOCO_LOG.TXT here */

std::string model_of(const pile &p)
{
  char        line[400];
  std::string text = "<mujoco><option timestep='0.005' gravity='0 0 -9.81' solver='CG' iterations='1000' tolerance='1e-8' cone='elliptic'/>";
  std::snprintf(line, sizeof line, "<size njmax='%d' nconmax='%d'/>", 100 * p.n, 30 * p.n);
  text += line;
  text += "<default><geom friction='0.5 0 0' condim='3' solref='0.01 1' density='1000'/></default><worldbody>";
  const double wall[5][6] = {{0, 0, 0, 0, 0, 1}, {0, 0, 0, 1, 0, 0}, {p.width, 0, 0, -1, 0, 0}, {0, 0, 0, 0, 1, 0}, {0, p.width, 0, 0, -1, 0}};
  for (const double *w : wall) {
    std::snprintf(line, sizeof line, "<geom type='plane' size='5 5 1' pos='%.17g %.17g %.17g' zaxis='%g %g %g'/>", w[0], w[1], w[2], w[3], w[4], w[5]);
    text += line;
  }
  for (int i = 0; i < p.n; ++i) {
    std::snprintf(line, sizeof line, "<body pos='%.17g %.17g %.17g'><freejoint/><geom type='%s' size='%g %g %g'/></body>", p.x[3 * i], p.x[3 * i + 1], p.x[3 * i + 2],
                  p.is_cube ? "box" : "sphere", p.half, p.half, p.half);
    text += line;
  }
  return text + "</worldbody></mujoco>\n";
}
}

int main(int argc, char **argv)
{
  pile p;
  char error[500] = "", path[] = "/tmp/mujoco-pile-XXXXXX.xml";
  if (argc != 2 || !pile_read(argv[1], &p)) return 2;
  mju_user_warning       = silent;
  const std::string text = model_of(p);
  const int         file = mkstemps(path, 4); /* this version reads models from files alone */
  if (file < 0 || write(file, text.data(), text.size()) < 0 || close(file)) return 2;
  mjModel *m = mj_loadXML(path, nullptr, error, sizeof error);
  (void)unlink(path);
  if (!m) {
    std::printf("MuJoCo refuses the scene: %s\n", error);
    return 2;
  }
  mjData *d = mj_makeData(m);
  double  step[PILE_STEPS], deepest = 0.0;
  for (int k = 0; k < PILE_STEPS; ++k) {
    const double begin = cpu_time();
    mj_step(m, d);
    step[k] = cpu_time() - begin;
  }
  mj_forward(m, d);
  for (int k = 0; k < d->ncon; ++k) deepest = std::max(deepest, -static_cast<double>(d->contact[k].dist));
  pile_print("MuJoCo, CG to 1e-8", step, deepest);
  mj_deleteData(d), mj_deleteModel(m);
}
