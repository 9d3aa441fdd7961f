# Approach of an elastic ball that is pressed on a smooth rigid plane over a disc of radius a by Hertz's pressure, held by a load that is even over its
# volume: how far its centre of mass comes nearer to the plane than it was when they touched. Hertz's own a^2/R is that of a half-space.
#
#   awk -f validation/cases/A19/ball.awk            a = 10 mm, R = 0.1 m, E = 1 MPa, nu = 0.3: 20 s
#   awk -v a=0.005 -v terms=3000 -f ...             terms: some 200 R/a
#
# The plane can only push along its normal: per area of the undeformed sphere t = -p cos(theta) e_z, p = p0 sqrt(1 - (R sin(theta)/a)^2), theta = 0 where it touches.
# With t_r = sum a_n P_n(cos theta), t_theta = sum b_n dP_n/dtheta, and lengths in R, the displacement for n >= 2 is Lur'e's
#   u_r = [A (n+1)(n-2+4nu) r^(n+1) + B n r^(n-1)] P_n,   sigma_rr     = 2G [A (n+1)(n^2-n-2-2nu) r^n + B n(n-1) r^(n-2)] P_n
#                                                         sigma_rtheta = 2G [A (n^2+2n-1+2nu) r^n + B (n-1) r^(n-2)] dP_n/dtheta
# which moves no centre of mass; n = 0 is A alone. n = 1 carries the load: u = al r^2 e_z + be z x, t_r = [lambda (2al+4be) + 4G (al+be)] cos theta,
# t_theta = -G (2al+be) sin theta, and the pole moves by 2/5 al + 4/5 be more than the centre of mass.
# For a/R to 0 the half-space's comes out: 0.987, 0.972, 0.941 of a^2/R for a/R = 1/40, 1/20, 1/10.
BEGIN {
  if (!a) a = 0.01
  if (!terms) terms = 2000
  R = 0.1; E = 1.0e6; nu = 0.3; pi = atan2(0, -1); G = E / (2 * (1 + nu)); lambda = E * nu / ((1 + nu) * (1 - 2 * nu))
  F = 4 / 3 * E / (1 - nu^2) * a^3 / R
  p0 = 3 * F / (2 * pi * a^2)
  for (i = 1; i <= terms; i++) { # points r = a sin(phi) of the disc
    phi = (i - 0.5) * pi / (2 * terms)
    s = a * sin(phi) / R; c = sqrt(1 - s * s); p = p0 * cos(phi)
    S[i] = s; C[i] = c; weight[i] = s * a * cos(phi) / (R * c) * pi / (2 * terms)
    t_r[i] = -p * c * c; t_theta[i] = p * c * s
    before[i] = 1; P[i] = c
    force += 2 * pi * R^2 * p * c * weight[i]
  }
  for (n = 0; n <= terms; n++) down -= R * pole(n)
  printf "force %.6g N (%.6g integrated), p0 %.6g Pa, approach of the half-space %.6g mm, of the ball %.6g mm, ratio %.6g\n", F, force, p0, 1e3 * a^2 / R, \
    1e3 * down, down * R / a^2
  printf "force at an approach of 1 mm, scaled by its 3/2 power: %.6g N\n", F * (1e-3 / down)^1.5
}
function pole(n,  i, an, bn, Pn, dP, a11, a12, a21, a22, det, x, y) {
  for (i = 1; i <= terms; i++) {
    if (n == 0) { Pn = 1; dP = 0 }
    else if (n == 1) { Pn = C[i]; dP = -S[i] }
    else {
      Pn = ((2 * n - 1) * C[i] * P[i] - (n - 1) * before[i]) / n
      before[i] = P[i]; P[i] = Pn
      dP = -n * (before[i] - C[i] * Pn) / S[i]
    }
    an += t_r[i] * Pn * weight[i]; bn += t_theta[i] * dP * weight[i]
  }
  an *= (2 * n + 1) / 2
  if (n == 0) return an / (2 * G * (-2 - 2 * nu)) * (-2 + 4 * nu)
  bn *= (2 * n + 1) / (2 * n * (n + 1))
  if (n == 1) { a11 = 2 * lambda + 4 * G; a12 = 4 * lambda + 4 * G; a21 = 2 * G; a22 = G }
  else {
    a11 = 2 * G * (n + 1) * (n * n - n - 2 - 2 * nu); a12 = 2 * G * n * (n - 1)
    a21 = 2 * G * (n * n + 2 * n - 1 + 2 * nu); a22 = 2 * G * (n - 1)
  }
  det = a11 * a22 - a12 * a21; x = (an * a22 - a12 * bn) / det; y = (a11 * bn - a21 * an) / det
  return n == 1 ? 0.4 * x + 0.8 * y : x * (n + 1) * (n - 2 + 4 * nu) + y * n
}
