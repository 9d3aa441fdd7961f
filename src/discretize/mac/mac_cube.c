#include "discretize/mac/mac_cube.h"

/* One corner of a simplex on its side of the plane: the product of the cut shares of its edges. */
static double corner3(double a, double b, double c) { return a / (a - b) * (a / (a - c)); }
static double corner4(double a, double b, double c, double d) { return corner3(a, b, c) * (a / (a - d)); }

/* a, b below the plane, c and d not: a wedge, cut into three tetrahedra. */
static double wedge(double a, double b, double c, double d)
{
  const double ac = a / (a - c), ad = a / (a - d), bc = b / (b - c), bd = b / (b - d);
  return ac * ad + bc * bd * (1.0 - ac) + bd * ac * (1.0 - ad);
}

/* A simplex all of whose corners lie in the surface is on the side where the rest of the cell is: that of a cube along the edges of a
 * box that ends at the cube's sides is in the box. */
static double share_of_ties(const double *phi, int n)
{
  double sum = 0.0;
  for (int i = 0; i < n; ++i) sum += phi[i];
  return sum < 0.0 ? 1.0 : sum > 0.0 ? 0.0 : 0.5;
}

static double tetrahedron(const double *phi, double tie, int i0, int i1, int i2, int i3)
{
  const double p[4] = {phi[i0], phi[i1], phi[i2], phi[i3]};
  double       v[4]; /* those below first */
  int          below = 0, above = 4;
  for (int i = 0; i < 4; ++i)
    if (p[i] < 0.0) v[below++] = p[i];
    else v[--above] = p[i];
  switch (below) {
    case 0: return p[0] + p[1] + p[2] + p[3] > 0.0 ? 0.0 : tie;
    case 1: return corner4(v[0], v[1], v[2], v[3]);
    case 2: return wedge(v[0], v[1], v[2], v[3]);
    case 3: return 1.0 - (v[3] > 0.0 ? corner4(v[3], v[0], v[1], v[2]) : 0.0);
    default: return 1.0;
  }
}

double mac_cube_fraction(const double phi[8])
{
  const double tie = share_of_ties(phi, 8);
  int          below = 0;
  for (int i = 0; i < 8; ++i) below += phi[i] < 0.0;
  if (below == 0) return tie;
  if (below == 8) return 1.0;
  /* a tetrahedron at each corner, 1/6 of the cube, and between four of them one of 1/3 */
  double corners = 0.0;
  for (int i = 0; i < 8; ++i) corners += tetrahedron(phi, tie, i, i ^ 1, i ^ 2, i ^ 4);
  const double middle = tetrahedron(phi, tie, 0, 3, 5, 6) + tetrahedron(phi, tie, 1, 2, 4, 7);
  return corners / 12.0 + middle / 6.0;
}

static double triangle(double tie, double a, double b, double c)
{
  const int below = (a < 0.0) + (b < 0.0) + (c < 0.0);
  if (below == 0) return a + b + c > 0.0 ? 0.0 : tie;
  if (below == 3) return 1.0;
  const int    lone_sign = below == 1;
  const double alone = (a < 0.0) == lone_sign ? a : (b < 0.0) == lone_sign ? b : c, one = alone == a ? b : a,
               other = alone == a || alone == b ? c : b;
  const double cut = alone != 0.0 ? corner3(alone, one, other) : 0.0;
  return below == 1 ? cut : 1.0 - cut;
}

double mac_square_fraction(const double phi[4])
{
  const double tie = share_of_ties(phi, 4);
  return 0.25 * (triangle(tie, phi[0], phi[1], phi[2]) + triangle(tie, phi[3], phi[1], phi[2]) +
                 triangle(tie, phi[1], phi[0], phi[3]) + triangle(tie, phi[2], phi[0], phi[3]));
}
