/* Style sheet and HTML of report pages. */
#include "app/report/page.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "core/log.h"
#include "core/memory.h"
#include "core/version.h"
#include "io/html.h"
#include "io/plot_sheet.h"
#include "io/sealed_file.h"

/* Colours --c1 to --c8 of curves are those of Okabe and Ito, which can be distinguished with red-green colour blindness; --c5 is
 * the text colour. */
static const char style_sheet[] =
    ":root{color-scheme:light "
    "dark;--paper:#fff;--panel:#f6f7f8;--rule:#dfe3e6;--text:#1c2226;--soft:#5c676f;--accent:#0b6e99;--good:#1a7f4b;--warn:#a65b00;"
    "--bad:#c02626;--c0:#dfe3e6;--c1:#0072b2;--c2:#d55e00;--c3:#009e73;--c4:#c25f98;--c5:#1c2226;--c6:#c98a00;--c7:#3f9fd6;--c8:#7d858b;--"
    "c9:#c02626;"
    "--c20:#440154;--c21:#46327e;--c22:#365c8d;--c23:#277f8e;--c24:#1fa187;--c25:#4ac16d;--c26:#a0cf39;--c27:#e0c318}\n"
    "@media "
    "(prefers-color-scheme:dark){:root{--paper:#14181b;--panel:#1c2226;--rule:#343c42;--text:#e6eaec;--soft:#9aa5ac;--accent:#58b8e0;--"
    "good:#4cc38a;"
    "--warn:#e9a13b;--bad:#ff7b72;--c0:#2f373d;--c1:#58a6e0;--c2:#f0834a;--c3:#35c79a;--c4:#e08abb;--c5:#e6eaec;--c6:#e3b341;--c7:#8cccf0;-"
    "-c8:#8b949a;--c9:#ff7b72;"
    "--c20:#9a6fd0;--c21:#8285d8;--c22:#6f9bd6;--c23:#4fb0c0;--c24:#3fc0a0;--c25:#6fd080;--c26:#b5dc5a;--c27:#f5e04a}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;padding:1.5rem clamp(.9rem,3vw,2.5rem) 3rem;max-width:78rem;background:var(--paper);color:var(--text);"
    "font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;overflow-wrap:anywhere}\n"
    "h1{font-size:1.7rem;line-height:1.2;margin:0 .2rem 0 0}\nh2{font-size:1.15rem;margin:2.2rem 0 "
    ".7rem;padding-bottom:.25rem;border-bottom:1px solid var(--rule)}\n"
    "p{margin:.4rem 0;max-width:50rem}\na{color:var(--accent)}\n.soft{color:var(--soft)}\n"
    "header{display:flex;flex-wrap:wrap;gap:.5rem .9rem;align-items:center}\nheader p{flex-basis:100%;margin:0}\n"
    ".status{padding:.1rem .65rem;border-radius:1rem;border:1.5px solid;font-size:.85rem;font-weight:600;white-space:nowrap}\n"
    ".finished{color:var(--good)}.running,.stopped,.waiting{color:var(--warn)}.failed,.see-quality{color:var(--bad)}\n"
    ".tiles{display:grid;grid-template-columns:repeat(5,1fr);gap:.6rem;margin:1.2rem 0 0}\n"
    ".tiles div{background:var(--panel);border-radius:.5rem;padding:.55rem .8rem}\n.tiles "
    "b{display:block;font-size:1.25rem;font-weight:600;line-height:1.3;font-variant-numeric:tabular-nums}\n"
    ".tiles b small{font-size:.8rem;font-weight:400;color:var(--soft)}\n.tiles span{font-size:.8rem;color:var(--soft)}\n"
    ".warnings{border-left:4px solid var(--warn);background:var(--panel);padding:.6rem 1rem;border-radius:0 .5rem .5rem 0;margin:1.2rem 0 "
    "0}\n.warnings ul{margin:.2rem 0;padding-left:1.2rem}\n"
    ".warnings pre{white-space:pre-wrap;margin:.3rem 0}\n"
    ".figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,22rem),1fr));gap:1.1rem 1.4rem}\n"
    ".figures.wide{display:flex;flex-wrap:wrap}.wide "
    "figure{max-width:100%;justify-content:flex-start}\n.stills{display:grid;grid-template-columns:repeat(3,1fr);gap:.6rem;margin-top:1."
    "2rem}\n"
    "figure{margin:0;break-inside:avoid;display:flex;flex-direction:column;justify-content:flex-end}\nfigcaption{font-size:.85rem;line-"
    "height:1.45;margin-bottom:.15rem}\nfigcaption b{font-weight:600;display:block}\n"
    ".stills img{width:100%;height:auto;border-radius:.4rem;display:block}\n.stills figcaption{color:var(--soft);margin-top:.2rem}\n"
    ".key{color:var(--soft);white-space:nowrap;margin-right:.6rem}\n.key "
    "i{display:inline-block;vertical-align:middle;margin-right:.3rem}\ni.line{width:1rem;height:3px;border-radius:2px}\n"
    "i.dot{width:.5rem;height:.5rem;border-radius:50%}\n.key i,.bar i{print-color-adjust:exact;-webkit-print-color-adjust:exact}\n"
    ".plot{display:block;width:100%;height:auto;color:var(--soft);font-family:inherit}\n.plot text{font-size:12px}\n"
    "table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}\n.scroll{overflow-x:auto;margin-top:.6rem}.scroll "
    "th,.scroll td{overflow-wrap:normal;white-space:nowrap}\nth,td{padding:.22rem .7rem .22rem "
    "0;text-align:left;vertical-align:top;border-bottom:1px solid var(--rule)}\n"
    "th{font-weight:600;color:var(--soft)}\n.n{text-align:right;white-space:nowrap}\nth.n,td.n{padding-right:1.1rem}\n.pairs "
    "th{font-weight:400;white-space:nowrap;padding-right:1.2rem}\n.pairs td{white-space:pre-wrap}\n"
    ".bar{width:30%;min-width:6rem}\n.bar i{display:block;height:.65rem;margin-top:.4rem;border-radius:2px;background:var(--c1)}\ntfoot "
    "td{border-bottom:0;font-weight:600}\n"
    "details{margin:.6rem 0}\nsummary{cursor:pointer;color:var(--accent)}\npre{font:12.5px/1.45 "
    "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;overflow-x:auto}\n"
    "pre.job{background:var(--panel);padding:.8rem 1rem;border-radius:.5rem;margin:.5rem "
    "0}\nfooter{margin-top:3rem;font-size:.8rem;color:var(--soft)}\n"
    ".tall{max-height:40rem;overflow:auto}.tall thead th{position:sticky;top:0;background:var(--paper)}\n"
    ".sortable td:last-child{white-space:normal;min-width:18rem}.sortable "
    "th{cursor:pointer;white-space:nowrap;user-select:none}\n.sortable th[aria-sort=ascending]::after{content:' "
    "\\25b2';font-size:.7em}\n.sortable th[aria-sort=descending]::after{content:' \\25bc';font-size:.7em}\n"
    ".heat{font-size:.8rem}.heat td,.heat th{padding:.25rem .45rem;border:1px solid var(--paper);text-align:center}\n.heat "
    "td{min-width:2.6rem;print-color-adjust:exact;-webkit-print-color-adjust:exact}\n"
    ".beside{display:flex;flex-wrap:wrap;gap:1rem 2.5rem;align-items:flex-start}.beside .scroll{flex:1 1 34rem}.beside .scroll "
    "table{width:100%}.beside .figures{flex:1 1 20rem;display:block}\n"
    "@media (max-width:60rem){.tiles{grid-template-columns:repeat(auto-fill,minmax(8.5rem,1fr))}}\n"
    "@media (max-width:40rem){body{font-size:14px}.stills{grid-template-columns:1fr}h1{font-size:1.4rem}}\n"
    "@media "
    "print{:root{--paper:#fff;--panel:#f3f4f5;--rule:#ccc;--text:#000;--soft:#444;--accent:#000;--c0:#ddd;--c1:#0072b2;--c2:#d55e00;--c3:#"
    "009e73;--c4:#c25f98;--c5:#000;--c6:#c98a00;--c7:#3f9fd6;"
    "--c8:#7d858b;--c9:#c02626;--good:#1a7f4b;--warn:#a65b00;--bad:#c02626}body{max-width:none;font-size:10pt;padding:0}.tall{max-height:"
    "none}.figures{grid-template-columns:1fr 1fr}h2{break-after:avoid}tr,.tiles{break-inside:avoid}}\n";

void page_colour(int colour, char hex[8])
{
  char name[16];
  (void)snprintf(name, sizeof name, "--c%d:", colour);
  const char *at = strstr(style_sheet, name); /* the colours for light background come first */
  (void)snprintf(hex, 8, "%.7s", at ? at + strlen(name) : "#000000");
}

void page_begin(text_buffer *page, const char *title)
{
  html_put(page,
           "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src &#39;none&#39;; img-src data:; style-src "
           "&#39;unsafe-inline&#39;; script-src &#39;unsafe-inline&#39;\"/>\n"
           "<link rel=\"icon\" href=\"data:,\"/>\n<title>%s</title>\n<style>\n",
           title);
  html_put_markup(page, style_sheet);
  html_put(page, "</style>\n</head>\n<body>\n");
}

void page_end(text_buffer *page)
{
  char         date[40];
  const time_t now = time(NULL);
  struct tm    utc;
  gmtime_r(&now, &utc);
  strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &utc);
  html_put(page, "<footer>Written %s by stickslip %s. This page needs neither network nor other files.</footer>\n</body>\n</html>\n", date,
           version_text());
}

void page_tiles_begin(text_buffer *page) { html_put(page, "<div class=\"tiles\">\n"); }
void page_tiles_end(text_buffer *page) { html_put(page, "</div>\n"); }

void page_tile(text_buffer *page, const char *value, const char *unit, const char *what)
{
  html_put(page, "<div><b>%s <small>%s</small></b><span>%s</span></div>\n", value, unit, what);
}

void page_row(text_buffer *page, const char *what, const char *value)
{
  if (*value) html_put(page, "<tr><th>%s</th><td>%s</td></tr>\n", what, value);
}

void page_link(text_buffer *page, const char *base, const char *name, const char *text)
{
  html_put(page, "<a href=\"");
  html_put_path(page, base);
  html_put_path(page, name);
  html_put(page, "\">%s</a>", text);
}

PetscErrorCode page_base(const char *dir, const char *path, char **base)
{
  char        folder[4300], real_dir[PATH_MAX], real_folder[PATH_MAX];
  const char *slash = strrchr(path, '/');
  PetscFunctionBegin;
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
  const bool is_known = realpath(dir, real_dir) && realpath(folder, real_folder);
  PetscCall(file_format(base, "%s%s", is_known && strcmp(real_dir, real_folder) ? real_dir : "",
                        is_known && strcmp(real_dir, real_folder) ? "/" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- number formats -------------------------------------------------------------------------------------------- */

void page_number(double x, size_t size, char *text)
{
  if (!isfinite(x)) snprintf(text, size, "-");
  else if (x == floor(x) && fabs(x) < 1e6) snprintf(text, size, "%.0f", x);
  else if (fabs(x) >= 1e6 && fabs(x) < 1e9 && x == floor(x)) {
    const long long n = (long long)fabs(x);
    snprintf(text, size, "%s%lld\xe2\x80\xaf%03lld\xe2\x80\xaf%03lld", x < 0 ? "-" : "", n / 1000000, n / 1000 % 1000, n % 1000);
  } else snprintf(text, size, "%.4g", x);
}

void page_duration(double seconds, size_t size, char *text)
{
  const long long s = llround(seconds);
  if (!(seconds >= 0)) snprintf(text, size, "-");
  else if (seconds < 100) snprintf(text, size, "%.3g s", seconds);
  else if (s < 7200) snprintf(text, size, "%lld min %lld s", s / 60, s % 60);
  else if (s < 48 * 3600) snprintf(text, size, "%lld h %lld min", s / 3600, s / 60 % 60);
  else snprintf(text, size, "%lld d %lld h", s / 86400, s / 3600 % 24);
}

void page_bytes(double bytes, size_t size, char *text)
{
  static const char *const unit[] = {"byte", "kB", "MB", "GB", "TB"};
  int                      i      = 0;
  for (; bytes >= 1000 && i < 4; ++i) bytes /= 1000;
  snprintf(text, size, i ? "%.3g %s" : "%.0f %s", bytes, unit[i]);
}

/* --- pages that other commands write at their end ----------------------------------------------------------------- */

bool page_try_write(const char *dir, const char *again, PetscErrorCode (*write)(const char *dir))
{
  if (!plot_sheet_is_possible()) {
    log_info("no report, because gnuplot is not installed (package gnuplot-nox); write it later with `stickslip %s %s`", again, dir);
    return false;
  }
  if (!write(dir)) return true;
  log_warn("no report: %s", error_message());
  error_clear();
  return false;
}
