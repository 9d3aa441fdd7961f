#include "app/report/cite.h"
#include <string.h>
#include "core/version.h"
#include "discretize/material/material.h"
#include "io/html.h"
#include "sim/formulations.h"

/* The same as in docs/references.bib, where the rest of each entry stands; `key` is its name there. */
static const struct {
  const char *used, *key, *text;
} papers[] = {
  {"penalty", "DingSchroeder2020", "O. Ding, C. Schroeder: Penalty Force for Coupling Materials with Coulomb Friction. IEEE Transactions on Visualization and Computer Graphics 26(7), 2020"},
  {"monolith", "TakahashiBatty2021", "T. Takahashi, C. Batty: FrictionalMonolith: A Monolithic Optimization-based Approach for Granular Flow with Contact-Aware Rigid-Body Coupling. ACM Transactions on Graphics 40(6), 2021"},
  {"drucker_prager", "Klar2016", "G. Kl\xc3\xa1r, T. Gast, A. Pradhana, C. Fu, C. Schroeder, C. Jiang, J. Teran: Drucker-Prager Elastoplasticity for Sand Animation. ACM Transactions on Graphics 35(4), 2016"},
  {"snow", "Stomakhin2013", "A. Stomakhin, C. Schroeder, L. Chai, J. Teran, A. Selle: A Material Point Method for Snow Simulation. ACM Transactions on Graphics 32(4), 2013"},
  {"fixed_corotated", "Stomakhin2012", "A. Stomakhin, R. Howes, C. Schroeder, J. Teran: Energetically Consistent Invertible Elasticity. Symposium on Computer Animation, 2012"},
  {"linear_corotated", "MullerGross2004", "M. M\xc3\xbcller, M. Gross: Interactive Virtual Materials. Graphics Interface, 2004, pp. 239-246"},
  {"von_mises", "ZongJiangHan2024", "Z. Zong, C. Jiang, X. Han: A convex formulation of frictional contact for the material point method and rigid bodies. arXiv preprint, 2024"},
};

static bool uses(const job *j, const char *what)
{
  if (strcmp(formulation_names[j->formulation], what) == 0) return true;
  for (int i = 0; i < j->scene.materials.n; ++i)
    if (strcmp(material_table.variants[j->scene.materials.item[i].variant].name, what) == 0) return true;
  return false;
}

PetscErrorCode cite_put(const job *j, text_buffer *page)
{
  PetscFunctionBegin;
  PetscCall(html_put(page, "<ul>\n<li>The stickslip authors: stickslip, a batch solver for frictional contact, version %s (CITATION.cff)</li>\n", version_text()));
  for (size_t i = 0; j && i < sizeof papers / sizeof *papers; ++i)
    if (uses(j, papers[i].used)) PetscCall(html_put(page, "<li>%s: %s [%s]</li>\n", papers[i].used, papers[i].text, papers[i].key));
  PetscCall(html_put(page, "</ul>\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
