# Time of a solve against nu, a panel for each solver, a colour for each model; crosses on top: not solved. data: table.csv; picture: name without .png
set datafile separator ","
set terminal pngcairo size 1500,900 font ",11"
set output picture.".png"
set multiplot layout 2,3 title "Random assemblies of 40 fibres, pressed together: processor time of one solve to 1e-8"
set logscale y
set yrange [1e-5:1e3]
set xrange [0:*]
set xlabel "nu = 3 n_c / n_{dof}"
set ylabel "s"
set format y "10^{%T}"
set key right bottom
set grid
models  = "mass_spring discrete_elastic_rod corde super_helix"
titles  = "'mass spring' 'discrete elastic rods' 'CORDE' 'super-helices'"
do for [solver in "newton newton_prox splitting interior_point automatic"] {
  set title solver noenhanced
  plot for [i=1:4] data every ::1 using (stringcolumn(1) eq word(models, i) && stringcolumn(6) eq solver && $7 == 1 && $3 > 0 ? $5 : NaN):9 with points pt 7 ps .8 lc i title word(titles, i), \
       for [i=1:4] data every ::1 using (stringcolumn(1) eq word(models, i) && stringcolumn(6) eq solver && $7 == 0 && $3 > 0 ? $5 : NaN):(300.) with points pt 2 ps 1 lc i notitle
}
unset multiplot
