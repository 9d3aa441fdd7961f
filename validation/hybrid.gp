# Figs. 1 and 13 of [MarquezRazonEtAl2023]: iterations of impulses in each step. out: the folder of the rows; with, without: two of them.
set datafile separator ','
set datafile columnheaders
set terminal pngcairo size 900, 420 font ',11'
set output out . '/' . with . '_impulses.png'
set xlabel 't [s]'
set ylabel 'iterations of impulses in a step'
set yrange [0:*]
set offsets 0, 0, graph 0.08, 0
set border back
set key top left
plot out . '/' . without . '/history.csv' using 'time [s]':'linear_iterations' with lines lw 2 lc rgb '#1f77b4' title 'impulses alone', \
     out . '/' . with . '/history.csv' using 'time [s]':'linear_iterations' with lines lw 2 lc rgb '#d62728' title 'through the grid, then impulses'
