/* What the program says of itself fits where it is written, and names what it was built with. */
#include "core/version.h"
#include <petscversion.h>
#include <string.h>
#include "test.h"

static void text_is_number_and_revision(void **state)
{
  (void)state;
  char expected[2 * VERSION_TEXT];
  (void)snprintf(expected, sizeof expected, "%s (%s)", version_number(), version_revision());
  assert_string_equal(version_text(), expected);
  assert_true(strlen(version_text()) < VERSION_TEXT);
  assert_true(strchr("0123456789", *version_number()) && strlen(version_revision()) >= 7);
  assert_no_leak();
}

static void description_names_the_libraries_and_stays_in_its_room(void **state)
{
  (void)state;
  char text[2048], few[24], petsc[64];
  (void)snprintf(petsc, sizeof petsc, "PETSc %d.%d.%d (built with", PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, PETSC_VERSION_SUBMINOR);
  version_describe(sizeof text, text);
  assert_non_null(strstr(text, petsc));
  assert_non_null(strstr(text, "-std=gnu11"));
  memset(few, '#', sizeof few);
  version_describe(sizeof few - 4, few);
  assert_int_equal(strlen(few), sizeof few - 5);
  assert_int_equal(few[sizeof few - 4], '#');
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(text_is_number_and_revision), cmocka_unit_test(description_names_the_libraries_and_stays_in_its_room))
