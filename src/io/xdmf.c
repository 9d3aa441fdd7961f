/* XDMF file of a time series, see xdmf.h. */
#define _GNU_SOURCE /* memmem */
#include "io/xdmf.h"
#include "core/memory.h"
#include "core/regular_file.h"
#include "io/sealed_file.h"
#include <stdlib.h>
#include <string.h>

struct xdmf {
  char  *job_name;
  char  *text; /* the frames so far */
  size_t n, capacity;
  size_t at; /* position in `text` where xdmf_copy searches the next frame */
};

/* Frames are between these texts, indented by four; their content by more. */
static const char FRAME_BEGIN[] = "    <Grid Name=\"step ", FRAME_END[] = "\n    </Grid>\n", TAIL[] = "  </Grid>\n</Domain>\n</Xdmf>\n";

PetscErrorCode xdmf_create(const char *job_name, xdmf **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("xdmf", 1, sizeof **out, out));
  const PetscErrorCode code = file_format(&(*out)->job_name, "%s", job_name);
  if (code) xdmf_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void xdmf_destroy(xdmf **x)
{
  if (!*x) return;
  MEMORY_FREE(&(*x)->job_name, &(*x)->text, x);
}

/* Names may come from files: escape markup. Slashes of block names would look like paths to ParaView. */
static void put_name(FILE *out, const char *name, bool is_block)
{
  for (; *name; ++name) switch (*name) {
    case '&': fputs("&amp;", out); break;
    case '<': fputs("&lt;", out); break;
    case '>': fputs("&gt;", out); break;
    case '"': fputs("&quot;", out); break;
    case '/': fputc(is_block ? '.' : '/', out); break;
    default: fputc(*name, out);
    }
}

/* <DataItem> of the dataset /TREE/GROUP[/FIELD]: [n] for 0 columns, else [n][columns]. */
static void put_data(FILE *out, const char *file, const char *tree, const char *group, const char *field_name, int64_t n, int columns,
                     const char *number, int precision)
{
  fprintf(out, "<DataItem Format=\"HDF\" NumberType=\"%s\" Precision=\"%d\" Dimensions=\"%lld", number, precision, (long long)n);
  if (columns) fprintf(out, " %d", columns);
  fputs("\">frames/", out);
  put_name(out, file, false);
  fprintf(out, ":/%s/", tree);
  put_name(out, group, false);
  if (field_name) fputc('/', out), put_name(out, field_name, false);
  fputs("</DataItem>\n", out);
}

static void put_field_data(FILE *out, const char *file, const catalog_group *g, const catalog_field *f)
{
  const char *number = f->type == STORE_F64 || f->type == STORE_F32 ? "Float" : f->type == STORE_U8 ? "UChar" : "Int";

  put_data(out, f->is_constant ? CATALOG_CONSTANTS : file, "fields", g->name, f->name, g->n_rows, f->n_components > 1 ? f->n_components : 0,
           number, (int)store_size(f->type));
}

static void put_attribute(FILE *out, const char *file, const catalog_group *g, const catalog_field *f)
{
  const char *kind = f->n_components == 1 ? "Scalar" : f->n_components == 3 ? "Vector" : f->n_components == 9 ? "Tensor" : "Matrix";

  fputs("        <Attribute Name=\"", out);
  put_name(out, f->name, false);
  fprintf(out, "\" AttributeType=\"%s\" Center=\"Node\">\n          ", kind);
  put_field_data(out, file, g, f);
  fputs("        </Attribute>\n", out);
}

static void put_block(FILE *out, const char *file, const catalog_group *g)
{
  const int corners  = field_geometry_corners(g->geometry);
  const int position = catalog_find_field(g, "position");

  fputs("      <Grid Name=\"", out);
  put_name(out, g->name, true);
  fputs("\" GridType=\"Uniform\">\n        <Topology TopologyType=\"", out);
  if (corners == 3) fprintf(out, "Triangle\" NumberOfElements=\"%lld\">\n          ", (long long)g->n_cells);
  else if (corners == 2) fprintf(out, "Polyline\" NumberOfElements=\"%lld\" NodesPerElement=\"2\">\n          ", (long long)g->n_cells);
  else fprintf(out, "Polyvertex\" NumberOfElements=\"%lld\" NodesPerElement=\"1\">\n          ", (long long)g->n_rows);
  put_data(out, g->has_constants ? CATALOG_CONSTANTS : file, "topology", g->name, NULL, corners > 1 ? g->n_cells : g->n_rows, corners,
           "Int", 4);
  fputs("        </Topology>\n        <Geometry GeometryType=\"XYZ\">\n          ", out);
  put_field_data(out, file, g, &g->fields[position]);
  fputs("        </Geometry>\n", out);
  for (int i = 0; i < g->n_fields; ++i)
    if (i != position) put_attribute(out, file, g, &g->fields[i]);
  fputs("      </Grid>\n", out);
}

static bool is_block(const catalog_group *g)
{
  const int position = catalog_find_field(g, "position");

  return g->geometry != FIELD_GROUP_PLAIN && g->geometry != FIELD_GROUP_SHAPES && g->n_rows > 0 && position >= 0 &&
         g->fields[position].n_components == 3 && (field_geometry_corners(g->geometry) == 1 || g->n_cells > 0);
}

static PetscErrorCode xdmf_append(xdmf *x, const char *text, size_t n)
{
  PetscFunctionBegin;
  if (x->n + n > x->capacity) {
    x->capacity = 2 * (x->n + n);
    PetscCall(memory_resize("xdmf", (int64_t)x->capacity, 1, &x->text));
  }
  memcpy(x->text + x->n, text, n);
  x->n += n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode xdmf_add(xdmf *x, const catalog *frame)
{
  const char *slash    = strrchr(frame->path, '/');
  char       *text     = NULL;
  size_t      n        = 0;
  int         n_blocks = 0;

  PetscFunctionBegin;
  for (int i = 0; i < frame->n_groups; ++i) n_blocks += is_block(&frame->groups[i]);
  if (!n_blocks) PetscFunctionReturn(PETSC_SUCCESS); /* ParaView cannot show an empty collection */
  FILE *out = open_memstream(&text, &n);
  PetscCheck(out, PETSC_COMM_SELF, PETSC_ERR_MEM, "out of memory: no space for the XDMF text; use a smaller scene or a larger machine");
  fprintf(out, "%s%lld\" GridType=\"Collection\" CollectionType=\"Spatial\">\n      <Time Value=\"%.17g\"/>\n", FRAME_BEGIN,
          (long long)frame->step, frame->time);
  for (int i = 0; i < frame->n_groups; ++i)
    if (is_block(&frame->groups[i])) put_block(out, slash ? slash + 1 : frame->path, &frame->groups[i]);
  fputs("    </Grid>\n", out);
  bool good                 = !ferror(out);
  good                      = !fclose(out) && good;
  const PetscErrorCode code = good ? xdmf_append(x, text, n) : PETSC_SUCCESS;
  free(text);
  PetscCall(code);
  PetscCheck(good, PETSC_COMM_SELF, PETSC_ERR_MEM, "out of memory: no space for the XDMF text; use a smaller scene or a larger machine");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void put_head(FILE *out, const char *job_name)
{
  fputs("<?xml version=\"1.0\"?>\n<!DOCTYPE Xdmf SYSTEM \"Xdmf.dtd\" []>\n<Xdmf Version=\"3.0\">\n<Domain>\n  <Grid Name=\"", out);
  put_name(out, job_name, true);
  fputs("\" GridType=\"Collection\" CollectionType=\"Temporal\">\n", out);
}

PetscErrorCode xdmf_write(const xdmf *x, const char *path)
{
  char  *text = NULL;
  size_t n    = 0;

  PetscFunctionBegin;
  FILE *out = open_memstream(&text, &n);
  PetscCheck(out, PETSC_COMM_SELF, PETSC_ERR_MEM, "out of memory: no space for the XDMF text; use a smaller scene or a larger machine");
  put_head(out, x->job_name);
  if (x->n) fwrite(x->text, 1, x->n, out);
  fputs(TAIL, out);
  bool good           = !ferror(out);
  good                = !fclose(out) && good;
  PetscErrorCode code = good ? file_replace_text(path, n, text) : PETSC_SUCCESS;
  free(text);
  PetscCall(code);
  PetscCheck(good, PETSC_COMM_SELF, PETSC_ERR_MEM, "out of memory: no space for the XDMF text; use a smaller scene or a larger machine");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Taking up --------------------------------------------------------------------------------------------------------- */

/* The whole file, or NULL if it cannot be read. free() it. */
static char *read_whole(const char *path, size_t *n)
{
  char       *text = NULL, piece[1 << 16];
  size_t      got;
  const char *why;
  FILE       *in = regular_file_stream(path, "r", &why);

  *n = 0;
  if (!in) return NULL;
  FILE *out = open_memstream(&text, n);
  while (out && (got = fread(piece, 1, sizeof piece, in)) > 0) fwrite(piece, 1, got, out);
  bool good = out && !ferror(in) && !ferror(out);
  good      = out && !fclose(out) && good;
  fclose(in);
  if (!good) free(text), text = NULL;
  return text;
}

static bool has(const char *text, size_t n, const char *word, size_t n_word) { return n >= n_word && !memcmp(text, word, n_word); }

PetscErrorCode xdmf_read(const char *path, const char *job_name, xdmf **out)
{
  char          *head   = NULL;
  size_t         n_head = 0, n;
  const size_t   n_tail = strlen(TAIL);
  PetscErrorCode code   = PETSC_SUCCESS;

  PetscFunctionBegin;
  *out       = NULL;
  char *text = read_whole(path, &n);
  FILE *o    = open_memstream(&head, &n_head);
  PetscCheck(o, PETSC_COMM_SELF, PETSC_ERR_MEM, "out of memory: no space for the XDMF text; use a smaller scene or a larger machine");
  put_head(o, job_name);
  fclose(o);
  if (text && has(text, n, head, n_head) && n >= n_head + n_tail && !memcmp(text + n - n_tail, TAIL, n_tail)) {
    code = xdmf_create(job_name, out);
    if (!code && n > n_head + n_tail) code = xdmf_append(*out, text + n_head, n - n_head - n_tail);
    if (code) xdmf_destroy(out);
  }
  free(head), free(text);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Length of the frame that begins at x->text + at, 0 if none does. */
static size_t frame_length(const xdmf *x, size_t at)
{
  if (at >= x->n || !has(x->text + at, x->n - at, FRAME_BEGIN, strlen(FRAME_BEGIN))) return 0;
  const char *end = memmem(x->text + at, x->n - at, FRAME_END, strlen(FRAME_END));
  return end ? (size_t)(end - x->text) - at + strlen(FRAME_END) : 0;
}

PetscErrorCode xdmf_copy(xdmf *x, xdmf *old, const char *name, bool *is_there)
{
  char word[300];

  PetscFunctionBegin;
  *is_there   = false;
  const int m = snprintf(word, sizeof word, "\">frames/%s:/", name);
  for (size_t at = old->at, n; (n = frame_length(old, at)); at += n) {
    if (!memmem(old->text + at, n, word, (size_t)m)) continue;
    PetscCall(xdmf_append(x, old->text + at, n));
    old->at   = at + n;
    *is_there = true;
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
