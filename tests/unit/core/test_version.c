/* The version text fits its buffer and names the libraries of the build. */
#include "core/version.h"
#include <petscversion.h>
#include <string.h>
#include "test.h"

static void text_is_number_and_revision(void **state)
{
  (void)state;
  char number[VERSION_TEXT], revision[VERSION_TEXT];
  assert_int_equal(sscanf(version_text(), "%59s (%59[^)])", number, revision), 2);
  assert_string_equal(number, version_number());
  assert_true(strlen(version_text()) < VERSION_TEXT);
  assert_true(strchr("0123456789", *version_number()) && strlen(revision) >= 7);
  assert_no_leak();
}

static void description_names_the_libraries_and_fits(void **state)
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

TEST_MAIN(cmocka_unit_test(text_is_number_and_revision), cmocka_unit_test(description_names_the_libraries_and_fits))
