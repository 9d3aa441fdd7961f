# Runout of columns of sand against their aspect ratio; variables: data (one row per case: aspect, slope, runout, height), picture
set terminal pngcairo size 1100, 800 font ",13"
set output picture
set logscale xy
set xrange [0.4:10]
set yrange [0.4:25]
set xtics (0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8)
set ytics (0.5, 1, 2, 4, 8, 16)
set grid lc rgb "#e0e0e0"
set key top left reverse Left
set xlabel "aspect ratio  a = H_0 / L_0"
set ylabel "runout  (L - L_0) / L_0"
set title "64 columns of sand in the plane, by the slope at which they flow"
set cblabel "slope [degrees]"
set palette defined (19 "#440154", 23 "#31688e", 28 "#35b779", 33 "#fde725")
set cbrange [19:33]
set samples 400
lube(a) = a < (1.9 / 1.2)**3 ? 1.2 * a : 1.9 * a**(2.0 / 3)
lajeunesse(a) = a < (2.3 / 1.8)**3 ? 1.8 * a : 2.3 * a**(2.0 / 3)
plot "+" using 1:(lube($1)):(lajeunesse($1)) with filledcurves fc rgb "#d8d8d8" title "between the two fits", \
     lube(x) lc rgb "#404040" lw 2 dt 2 title "Lube et al. 2005:  1.2 a,  1.9 a^{2/3}", \
     lajeunesse(x) lc rgb "#404040" lw 2 dt 4 title "Lajeunesse et al. 2005:  1.8 a,  2.3 a^{2/3}", \
     for [s = 19:33:2] sprintf("< awk '$2 == %d' %s", s, data) using 1:3:2 with linespoints palette pt 7 ps 1.2 lw 1.5 notitle
