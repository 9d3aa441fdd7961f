#include "discretize/rod/der_strand.h"
#include "core/math3.h"

bool der_pose_edge(const der_strand *w, const double *q, int64_t j, der_posed *out)
{
  double        d[3], second[3];
  const int64_t k = w->first_edge + j;
  v3_sub(d, der_node_at(w, q, (j + 1) % w->n), der_node_at(w, q, j));
  out->e.length = v3_norm(d);
  if (!(out->e.length > 1e-9 * w->b->strands.length[k])) return false;
  v3_scale(out->e.t, 1.0 / out->e.length, d);
  v3_copy(out->reference, w->d->frame + 3 * k);
  rod_transport(w->d->t + 3 * k, out->e.t, out->reference, out->reference);
  v3_cross(second, out->e.t, out->reference);
  const double theta = q[der_angle_at(w, j)], c = cos(theta), s = sin(theta);
  for (int i = 0; i < 3; ++i) {
    out->e.m1[i] = c * out->reference[i] + s * second[i];
    out->e.m2[i] = -s * out->reference[i] + c * second[i];
  }
  return true;
}

/* The edge that a clamp stands for: k = 0 before the first, 1 after the last. */
static void pose_clamp(const der_strand *w, int k, der_posed *out)
{
  const rod_clamp *c = &w->b->clamp[2 * w->s + k];
  out->e.length      = 1.0; /* nothing is derived by it */
  v3_copy(out->e.t, c->tangent);
  v3_copy(out->e.m1, c->director);
  v3_copy(out->reference, c->director);
  v3_cross(out->e.m2, out->e.t, out->e.m1);
}

/* Angle from the one reference frame, carried over, to the other, next to `near`. */
static double reference_twist(const der_posed e[2], double near)
{
  double carried[3], cross[3];
  rod_transport(e[0].e.t, e[1].e.t, e[0].reference, carried);
  v3_cross(cross, carried, e[1].reference);
  const double angle = atan2(v3_dot(cross, e[1].e.t), v3_dot(carried, e[1].reference));
  return near + remainder(angle - near, 2.0 * M_PI);
}

bool der_pose_vertex(const der_strand *w, const double *q, int64_t i, der_vertex *v, double strain[DER_STRAINS], double *twist)
{
  int64_t    edge[2];
  der_posed e[2];
  der_edges_at(w, i, edge);
  for (int k = 0; k < 2; ++k) {
    if (edge[k] < 0) pose_clamp(w, k, &e[k]);
    else if (!der_pose_edge(w, q, edge[k], &e[k])) return false;
    v->e[k] = e[k].e;
  }
  if (!der_vertex_set(v)) return false;
  *twist    = reference_twist(e, w->d->twist[w->first_node + i]);
  strain[0] = v->kappa[0], strain[1] = v->kappa[1];
  if (w->d->by_angle) {
    double J[2][2];
    der_bend_angle(v->kappa, strain, J, NULL, NULL);
  }
  strain[2] = (edge[1] < 0 ? 0.0 : q[der_angle_at(w, edge[1])]) - (edge[0] < 0 ? 0.0 : q[der_angle_at(w, edge[0])]) + *twist;
  return true;
}
