# The report of a run in a browser: all diagrams are present, there are no errors, and the screenshot is not blank.
. tests/integration/common.sh
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || { echo "no chromium: sh config/setup.sh browser"; exit 77; }
command -v gnuplot >/dev/null || { echo "no gnuplot: sh config/setup.sh report"; exit 77; }
cd "$work" || exit 1
sed 's|^name: small|name: "small"\ndescription: "<script>alert(1)</script><img src=x onerror=alert(2)>"|' "$here/small.yaml" >job.yaml
status 0 "$program" run job.yaml --out run --steps 10 --threads 2
look() { timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/browser" --hide-scrollbars --enable-logging=stderr "$@" 2>browser.log; }
# arguments: page, minimum number of colours; takes a screenshot and counts
check() {
  page=$1
  look --dump-dom "file://$work/$page" >dom.html || { tail browser.log; fail "the browser does not open the page"; }
  grep 'CONSOLE' browser.log && fail "errors in the browser for $page"
  [ "$(grep -o '<svg class="plot"' dom.html | wc -l)" = "$(grep -o '<svg class="plot"' "$page" | wc -l)" ] || fail "diagrams of $page are missing in the browser"
  grep -qE '<script>alert|<img src="?x' dom.html && fail "a text of the job became markup in the browser"
  look --window-size=1280,2600 --screenshot="$work/shot.png" "file://$work/$page" >/dev/null || fail "no screenshot"
  # number of colours and share of pixels that do not have the most frequent colour, counted by the browser
  { printf '<canvas id="c"></canvas><p id="p"></p><script>const i=new Image();i.onload=()=>{c.width=i.width;c.height=i.height;const x=c.getContext("2d");x.drawImage(i,0,0);'
    printf 'const d=new Uint32Array(x.getImageData(0,0,i.width,i.height).data.buffer),m=new Map();for(const v of d)m.set(v,(m.get(v)||0)+1);'
    printf 'p.textContent="colours "+m.size+" rest "+Math.round(100*(1-Math.max(...m.values())/d.length))};i.src="data:image/png;base64,'
    base64 -w 0 shot.png; printf '"</script>'; } >count.html
  look --virtual-time-budget=5000 --dump-dom "file://$work/count.html" | grep -oE 'colours [0-9]+ rest [0-9]+' >counted || fail "the screenshot cannot be read"
  read -r _ colours _ rest <counted
  [ "$colours" -gt "$2" ] && [ "$rest" -ge 4 ] || fail "the screenshot of $page is nearly blank: $(cat counted)"
}
check run/report.html 1000
pass "a run: all diagrams, no error, $(cat counted) %"
printf 'sweep: 1\nname: two\nbase: job.yaml\nvary: {contact.friction: [0.2, 0.4]}\nset: {time.end: 0.01, time.frame: 0.01}\n' >two.yaml
status 0 "$program" sweep two.yaml --local -j 1 --out two
status 0 "$program" sweep report two
check two/report.html 100
grep -q '<th[^>]*tabindex="0"' dom.html || fail "the table of cases cannot be sorted"
pass "a sweep: all diagrams, no error, sortable, $(cat counted) %"
