/* A job: everything a YAML file says, read by key tables, checked as a whole. Names SI units throughout. */
#ifndef SS_APP_JOB_JOB_H
#define SS_APP_JOB_JOB_H
#include "core/key_table.h"
#include "optim/friction/friction.h"
#include "discretize/mac/mac_keys.h"
#include "discretize/mpm/mpm_body.h"
#include "optim/granular/granular.h"
#include "sim/convex/convex_keys.h"
#include "sim/hybrid/hybrid_keys.h"

enum { JOB_FORMAT = 1 }; /* `stickslip:` at the top of a job */

typedef struct {
  int64_t halvings;
} job_retry;
typedef struct {
  double           end, step, frame;
  const job_retry *retry;
} job_time;

typedef struct {
  key_list between; /* two names: bodies or materials */
  double   friction, stiffness, restitution; /* NaN: the default */
  double   friction_transverse, friction_direction[3]; /* NaN: not given */
  bool     touch;
} job_pair;
typedef struct {
  double   friction, stiffness; /* NaN: not given */
  double   restitution;
  double   overlap_share, overlap_speed; /* the former of `exact` and `monolith`; the latter [m/s], NaN: not given */
  bool     edges;               /* of surfaces meet */
  int      scheme;              /* contact_scheme */
  int      detection;           /* contact_detection */
  key_list pairs;
} job_contact;

enum { JOB_NORM_ACCELERATION, JOB_NORM_IMPULSE };
typedef struct {
  int     norm;
  double  tolerance, stall_tolerance, acceleration_scale;
  int64_t max_iterations;
} job_newton;
const char *job_norm_unit(const job_newton *newton); /* of its tolerance */
enum { JOB_PRECONDITIONER_AUTO, JOB_PRECONDITIONER_BLOCK_DIAGONAL, JOB_PRECONDITIONER_METIS_SCHWARZ, JOB_PRECONDITIONER_NONE };
enum { JOB_REFRESH_STEP, JOB_REFRESH_NEWTON };
enum { JOB_PRECISION_DOUBLE, JOB_PRECISION_SINGLE };
typedef struct {
  int     method, preconditioner, refresh, precision;
  double  tolerance;
  int64_t restart, max_iterations;
} job_linear;
typedef struct {
  const job_newton    *newton;
  const job_linear    *linear;
  const friction_options *friction;
  const flow_options  *flow;
  const convex_options *convex;
  const hybrid_options *hybrid;
  double               friction_stall_tolerance;
  const document_node *petsc;
} job_solver;
extern const char *const job_linear_methods[]; /* PETSc's own names */

typedef struct {
  double   checkpoint;       /* s of simulated time; 0: only at the end and on signals */
  double   checkpoint_wall;  /* s of wall time between checkpoints; 0: off */
  int      checkpoint_beside; /* job_beside */
  int64_t  keep;
  key_list fields;           /* of frames; empty: all */
  int      precision;
  int64_t  history_every;
  int64_t  fclib; /* steps between contact problems written; 0: none */
} job_output;
/* Checkpoints by a child process beside the computation. */
typedef enum { JOB_BESIDE_AUTO, JOB_BESIDE_ALWAYS, JOB_BESIDE_NEVER } job_beside;

/* measure.NAME */
typedef struct {
  double min[3], max[3];
} job_measure_box;
enum { MEASURE_PART_NORMAL, MEASURE_PART_FRICTION };
typedef struct {
  int                    quantity;
  const char            *body, *other;                 /* NULL: not given */
  double                 point[3], direction[3], fraction, radius; /* NaN: not given */
  const job_measure_box *within;                       /* NULL: not given */
  int                    part;                         /* -1: not given */
  key_list               expected;
  double                 every;
} job_measure;

/* picture: how `render` looks at the run by default. */
typedef struct {
  double      eye[3], target[3]; /* NaN: chosen from the bounds */
  const char *field;             /* colour of particles; "" chosen */
  double      range[2];
  key_list    glass;             /* const char *: bodies that are drawn as glass */
  int64_t     width, height;
} job_picture;

typedef struct job {
  int64_t            stickslip;
  const char        *name;
  const char        *description;
  int                formulation;
  double             gravity[3];
  const job_time    *time;
  key_list           materials, bodies, measure, until;
  const mpm_options *mpm; /* what bodies of kind mpm share */
  const mac_options *mac; /* what bodies of kind mac share; NULL: not given */
  const job_contact *contact;
  const job_solver  *solver;
  const job_output  *output;
  const job_picture *picture;
  /* not read from a key: */
  double             acceleration_scale; /* g0 of the residual norm, resolved */
  document          *document;           /* owns everything above */
  const document_node *tree;             /* with every default written out; places are those of what was given */
  char              *resolved;           /* the same as YAML text; owned */
} job;

/* The root of all key tables: the reference manual and the schema are printed from here. */
extern const key_table job_table;

/* Read FILE, apply the overrides "key.path=value" in order, validate. Every complaint goes to `d`; *out is NULL if there were
 * any that make the job unusable. Nothing is written anywhere. */
PetscErrorCode job_read(const char *path, int n_overrides, const char *const *overrides, diagnostics *d, job **out);
/* The same from text: the job embedded in a checkpoint. `name` stands for the file in messages. */
PetscErrorCode job_read_text(const char *name, const char *text, int n_overrides, const char *const *overrides, diagnostics *d, job **out);
/* The same from a document that has been read: takes it over. A sweep makes the jobs of its cases this way. */
PetscErrorCode job_read_document(document **doc, diagnostics *d, job **out);
/* One override, "key.path=value", onto a document that has not become a job yet. */
PetscErrorCode job_override(document *doc, const char *text, diagnostics *d);
void           job_destroy(job **j);
/* May a run be called so? The name becomes a folder: no path separators, nothing hidden, nothing a shell would mangle. */
bool job_name_is_sound(const char *name);
#define JOB_NAME_WORDS "1 to 100 letters, digits, or any of _ - + . (it names a folder)"
#endif
