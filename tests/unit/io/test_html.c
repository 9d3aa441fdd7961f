/* io/html and io/svg_adopt: arguments of %s never become markup, and several drawings can share a page. */
#include "io/html.h"
#include "io/plot_sheet.h"
#include "test.h"
#include <string.h>

#define assert_puts(expected, ...)                                                                                                         \
  do {                                                                                                                                     \
    text_buffer b_ = {0};                                                                                                                  \
    html_put(&b_, __VA_ARGS__);                                                                                                            \
    assert_string_equal(b_.data ? b_.data : "", expected);                                                                                 \
    memory_free(&b_.data);                                                                                                                 \
  } while (0)

static void texts_are_escaped(void **state)
{
  (void)state;
  assert_puts("<b>&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;</b>", "<b>%s</b>", "<script>alert('1')</script>");
  assert_puts("<a title=\"&quot; onclick=&quot;x&quot;\">&amp;amp;</a>", "<a title=\"%s\">%s</a>", "\" onclick=\"x\"", "&amp;");
  assert_puts("100 % of %s", "100 %% of %s", "%s");
  assert_no_leak();
}

static void numbers_keep_their_formats(void **state)
{
  (void)state;
  assert_puts("-7 0.125 1e-09  3.1 9000000000", "%d %.3f %g %4.1f %lld", -7, 0.125, 1e-9, 3.14, 9000000000LL);
  assert_no_leak();
}

/* U+FFFD for what XML has no place for: control characters, and bytes that are not UTF-8. */
static void only_characters_remain(void **state)
{
  (void)state;
  assert_puts("a\xef\xbf\xbd"
              "b\tc\n",
              "%s",
              "a\x01"
              "b\tc\n");
  assert_puts("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", "%s", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
  assert_puts("\xef\xbf\xbd\xef\xbf\xbd", "%s", "\xc0\x80");                 /* longer than needed */
  assert_puts("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", "%s", "\xed\xa0\x80"); /* half a pair */
  assert_puts("\xef\xbf\xbd", "%s", "\xe2");                                 /* cut off */
  assert_puts("\xef\xbf\xbd<", "%s<", "\xf0");
  assert_no_leak();
}

static void paths_are_encoded(void **state)
{
  (void)state;
  text_buffer b = {0};
  html_put_path(&b, "measure/a b\"<%:\xc3\xa4.csv");
  assert_string_equal(b.data, "measure/a%20b%22%3C%25%3A%C3%A4.csv");
  memory_free(&b.data);
  assert_no_leak();
}

/* RFC 4648, section 10. */
static void pictures_are_base64(void **state)
{
  (void)state;
  static const char *const plain[] = {"", "f", "fo", "foo", "foob", "fooba", "foobar"};
  static const char *const coded[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
  for (int i = 0; i < 7; ++i) {
    char        expected[200];
    text_buffer b = {0};
    snprintf(expected, sizeof expected, "<img width=\"3\" height=\"2\" alt=\"&lt;\" src=\"data:image/png;base64,%s\"/>", coded[i]);
    html_put_png(&b, 3, 2, "<", strlen(plain[i]), (const uint8_t *)plain[i]);
    assert_string_equal(b.data, expected);
    memory_free(&b.data);
  }
  assert_no_leak();
}

static const char drawing[] =
    "<?xml version=\"1.0\"?>\n<svg \n viewBox=\"0 0 48 26\"\n xmlns=\"http://www.w3.org/2000/svg\">\n<title>Gnuplot</title>\n"
    "<g id=\"canvas\">\n<defs>\n\t<circle id='gpDot' r='1'/>\n\t<path id='gpPt1' d='M-1,-1'/>\n\t<use xlink:href='#gpPt1' "
    "id='gpPt2'/>\n</defs>\n"
    "<g fill=\"none\" color=\"white\" stroke=\"currentColor\">\n</g>\n"
    "<g fill=\"none\" color=\"black\" stroke=\"black\">\n\t<path stroke='rgb(  1,   1,   7)' d='M1,2 L3,4'/><polygon fill = 'rgb(  1,   1, "
    "  2)' points = '1,2 3,4'/>"
    "<use xlink:href='#gpPt2' color='rgb(  1,   1,  12)'/><g font-family=\"sans\" clip-path=\"url(#gpClip)\"><text>a &lt; "
    "'b'</text></g></g>\n</g>\n</svg>\n";

static void drawings_get_ids_of_their_own(void **state)
{
  (void)state;
  text_buffer a = {0};
  assert_ok(svg_prepare_for_page(drawing, strlen(drawing), "d3-", "x & y", &a));
  assert_string_equal(
      a.data,
      "<svg class=\"plot\" role=\"img\" aria-label=\"x &amp; y\" viewBox=\"0 0 48 26\" xmlns=\"http://www.w3.org/2000/svg\">\n"
      "<g id=\"d3-canvas\">\n<defs>\n<path id='d3-gpPt1' d='M-1,-1'/>\n<use href='#d3-gpPt1' id='d3-gpPt2'/>\n</defs>\n"
      "<g fill=\"none\" stroke=\"currentColor\">\n<path stroke='var(--c7)' d='M1,2 L3,4'/><polygon fill='var(--c2)' points='1,2 3,4'/>"
      "<use href='#d3-gpPt2' color='var(--c12)'/><g clip-path=\"url(#d3-gpClip)\"><text>a &lt; 'b'</text></g></g>\n</g>\n</svg>\n");
  memory_free(&a.data);
  assert_no_leak();
}

/* Truncated anywhere, it is rejected or accepted, and never read beyond its end (address sanitizer). */
static void damaged_drawings_do_no_harm(void **state)
{
  (void)state;
  for (size_t n = 0; n <= strlen(drawing); ++n) {
    text_buffer          a    = {0};
    const PetscErrorCode code = svg_prepare_for_page(drawing, n, "d-", "", &a);
    if (n + 1 < strlen(drawing)) assert_int_equal(code, PETSC_ERR_LIB);
    error_clear();
    memory_free(&a.data);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(texts_are_escaped), cmocka_unit_test(numbers_keep_their_formats), cmocka_unit_test(only_characters_remain),
          cmocka_unit_test(paths_are_encoded), cmocka_unit_test(pictures_are_base64), cmocka_unit_test(drawings_get_ids_of_their_own),
          cmocka_unit_test(damaged_drawings_do_no_harm))
