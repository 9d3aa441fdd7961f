/* Arbitrary bytes as an expression: rejected with a position inside the text, or evaluated without error, both value and
 * derivative. */
#include "fuzz.h"
#include <string.h>
#include "core/expression.h"
#include "core/memory.h"

static void fuzz_set_up(void) {}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  static const char *const names[] = {"t", "x", "speed"};
  const double             vars[]  = {0.75, -2.0, 1e3};
  char                    *text = malloc(n + 1), message[200] = "";
  expression              *e;
  int                      place = -1;

  MUST(text);
  memcpy(text, data, n);
  text[n] = 0;
  MUST(!expression_compile(text, 3, names, &e, &place, message, sizeof message));
  if (e) {
    const double value = expression_value(e, vars);
    for (int i = 0; i < 3; ++i) {
      double again;
      (void)expression_derivative(e, vars, i, &again);
      MUST(!memcmp(&value, &again, sizeof value) || (value != value && again != again));
    }
  } else {
    MUST(message[0] && strlen(message) < sizeof message);
    MUST(place >= 0 && (size_t)place <= strlen(text));
  }
  expression_destroy(&e);
  free(text);
  MUST(memory_live() == 0);
  return 0;
}
