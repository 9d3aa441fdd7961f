/* Inside of articulated_urdf_read: a URDF while it is put into the words of a job. */
#ifndef SS_DISCRETIZE_ARTICULATED_ARTICULATED_URDF_IMPL_H
#define SS_DISCRETIZE_ARTICULATED_ARTICULATED_URDF_IMPL_H
#include "discretize/articulated/articulated_urdf.h"
#include "discretize/articulated/xml.h"

/* x -> p + R x. */
typedef struct {
  double p[3], R[9];
} urdf_pose;

typedef struct {
  const xml_element *e;
  const char        *name;
  const xml_element *joint;  /* that carries it; NULL: the root */
  int                parent; /* number of the link that it hangs on; -1 */
  bool               is_placed;
  urdf_pose          at;
} urdf_link;

typedef struct {
  const char        *file;
  document          *doc;
  diagnostics       *d;
  const xml_element *robot;
  int                n;
  urdf_link         *link;
} urdf;

/* ---- articulated_urdf_words.c: what elements say, and writing it in our words ---------------------------------------- */

/* "joints.elbow.limit": the element as a user would call it. */
void urdf_name_of(const xml_element *e, size_t size, char *text);
#define COMPLAIN(u, e, ...)                                 \
  do {                                                      \
    char name_[400];                                        \
    urdf_name_of(e, sizeof name_, name_);                   \
    diagnostics_add((u)->d, (e)->mark, name_, __VA_ARGS__); \
  } while (0)

/* n numbers, 3 at most, of an attribute; false if it is not there, or after a complaint: then they are as before. */
bool urdf_numbers(const urdf *u, const xml_element *e, const char *attribute, int n, double *out);
/* The same; that it is not there is a complaint, too. */
bool urdf_wanted(const urdf *u, const xml_element *e, const char *attribute, int n, double *out);
/* What an element may hold and say; the rest is named. Lists end with NULL. */
void urdf_check_words(const urdf *u, const xml_element *e, const char *const *children, const char *const *attributes);
#define WORDS(...) (const char *const[]){__VA_ARGS__, NULL}
#define NO_WORDS   (const char *const[]){NULL}
/* The <origin> of an element, on top of `base`. */
urdf_pose urdf_origin_of(const urdf *u, const xml_element *e, const urdf_pose *base);

PetscErrorCode urdf_put(const urdf *u, document_node *map, const xml_element *e, const char *key, document_node *value);
PetscErrorCode urdf_put_text(const urdf *u, document_node *map, const xml_element *e, const char *key, const char *text);
/* A number, or a list of them if n > 1. */
PetscErrorCode urdf_put_numbers(const urdf *u, document_node *map, const xml_element *e, const char *key, int n, const double *x);

/* ---- articulated_urdf_shapes.c --------------------------------------------------------------------------------------- */

/* The <collision>s of a link as the `shape` of `map`. */
PetscErrorCode urdf_read_shapes(const urdf *u, const urdf_link *l, document_node *map);
#endif
