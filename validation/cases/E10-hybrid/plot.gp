# Fig. 12 of [MarquezRazonEtAl2023]. out: the folder of the case's runs.
set datafile separator ','
set terminal pngcairo size 1200, 480 font ',11'
set output out . '/momentum.png'
set multiplot layout 1, 2
set xlabel 't [s]'
set key bottom left
set ylabel 'momentum of the left block, of both [N s]'
plot for [r in 'symplectic euler'] out . '/' . r . '/measure/p_left.csv' using 2:3 with lines title r . ', left, x', \
     for [r in 'symplectic euler'] out . '/' . r . '/measure/px.csv' using 2:3 with lines title r . ', both, x'
set ylabel 'angular momentum about z, and the spin of the boundary in it [N m s]'
plot for [r in 'symplectic euler half'] out . '/' . r . '/measure/lz.csv' using 2:3 with lines title r
unset multiplot
