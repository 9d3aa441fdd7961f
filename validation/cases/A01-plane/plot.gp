# out: the folder of the case's runs
set terminal pngcairo size 1500, 460 font "DejaVu Sans,10"
set datafile separator ","
set key box opaque spacing 1.1
set grid lc rgb "#dddddd"
g = 9.81; s = 0.1093404791529; c = 0.9940043559354; tangent = 0.11; v0 = 0.1
a(mu) = g * (s - mu * c)
v(mu, t) = v0 + a(mu) * t > 0 ? v0 + a(mu) * t : 0
joined(run, name) = sprintf("< paste -d, %s/%s/measure/normal.csv %s/%s/measure/%s.csv", out, run, out, run, name)
measured(run, name) = sprintf("%s/%s/measure/%s.csv", out, run, name)
do for [block in "r d m i"] {
  title = block eq "r" ? "rigid cube" : block eq "d" ? "deformable cube" : block eq "m" ? "MPM block, grid along the plane" : "MPM block, plane across the grid"
  m = block eq "r" ? 1 : block eq "d" ? 0.1 : 0.01
  N = m * g * c
  slide = block . "_slide"; stick = block . "_stick"
  settled = block eq "r" || block eq "d" ? 0.1 : 0.4
  set output out . "/" . block . ".png"
  set multiplot layout 1, 3 title title . ", tan(theta) = 0.11: mu = 0.1 slides, mu = 0.125 stops" noenhanced

  set xlabel "time [s]"; set ylabel "total normal force [N]"; set y2label "speed [m/s]"; set ytics nomirror; set y2tics
  set xrange [0:1]; set yrange [0:3.6 * N]; set y2range [0:0.45]
  set key top right
  plot measured(stick, "normal") using 2:($2 < settled ? $3 : 1 / 0) with points pt 7 ps 0.4 lc rgb "#999999" title "f_n, settling", \
       '' using 2:($2 >= settled && $2 < 0.69 ? $3 : 1 / 0) with points pt 7 ps 0.4 lc rgb "#1f77b4" title "f_n, sliding", \
       '' using 2:($2 >= 0.69 ? $3 : 1 / 0) with points pt 7 ps 0.4 lc rgb "#2ca02c" title "f_n, at rest", \
       N with lines lw 1 lc rgb "black" title "m g cos(theta)", \
       measured(slide, "v") using 2:(abs($3)) axes x1y2 with lines lw 3 lc rgb "#ff9896" title "speed, mu 0.1", \
       measured(stick, "v") using 2:(abs($3)) axes x1y2 with lines lw 3 lc rgb "#ffbb78" title "speed, mu 0.125", \
       v(0.1, x) axes x1y2 with lines dt 2 lw 1 lc rgb "#d62728" title "analytic", \
       v(0.125, x) axes x1y2 with lines dt 2 lw 1 lc rgb "#d62728" notitle

  unset y2tics; unset y2label; set ytics mirror
  set xlabel "normal force [N]"; set ylabel "friction [N]"; set key top left
  set xrange [0:*]; set yrange [0:*]
  set title "all of a block's contacts, every step"
  plot joined(stick, "friction") using 3:($2 < settled ? abs($6) : 1 / 0) with points pt 7 ps 0.4 lc rgb "#999999" title "mu 0.125, settling", \
       '' using 3:($2 >= settled && $2 < 0.69 ? abs($6) : 1 / 0) with points pt 7 ps 0.6 lc rgb "#1f77b4" title "sliding", \
       '' using 3:($2 >= 0.69 ? abs($6) : 1 / 0) with points pt 7 ps 0.6 lc rgb "#2ca02c" title "at rest", \
       joined(slide, "friction") using 3:($2 < settled ? 1 / 0 : abs($6)) with points pt 7 ps 0.6 lc rgb "#9467bd" title "mu 0.1, sliding", \
       0.125 * x with lines dt 2 lc rgb "black" title "cones", 0.1 * x with lines dt 2 lc rgb "black" notitle, \
       "+" using (N):(0.125 * N) every ::0::0 with points pt 1 ps 2.5 lw 2 lc rgb "black" title "analytic, sliding", \
       "+" using (N):(0.1 * N) every ::0::0 with points pt 1 ps 2.5 lw 2 lc rgb "black" notitle, \
       "+" using (N):(tangent * N) every ::0::0 with points pt 2 ps 2.5 lw 2 lc rgb "black" title "analytic, at rest"

  set title "every contact point, every frame"
  set datafile separator whitespace
  plot out . "/" . stick . "/points.txt" using 1:($3 == 1 ? $2 : 1 / 0) with points pt 7 ps 0.5 lc rgb "#1f77b4" title "mu 0.125, slides", \
       '' using 1:($3 == 0 ? $2 : 1 / 0) with points pt 7 ps 0.5 lc rgb "#2ca02c" title "sticks", \
       out . "/" . slide . "/points.txt" using 1:($3 == 1 ? $2 : 1 / 0) with points pt 7 ps 0.5 lc rgb "#9467bd" title "mu 0.1, slides", \
       0.125 * x with lines dt 2 lc rgb "black" title "cones", 0.1 * x with lines dt 2 lc rgb "black" notitle
  set datafile separator ","
  unset title
  unset multiplot
}
