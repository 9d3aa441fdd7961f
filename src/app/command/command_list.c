#include "app/command/command_list.h"

/* In the order of the help; actions of a command (names of two words) behind it. */
const command *const commands[] = {
  &command_run_entry,
  &command_resume_entry,
  &command_check_entry,
  &command_info_entry,
  &command_diff_entry,
  &command_render_entry,
  &command_report_entry,
  &command_sweep_entry,
  &command_sweep_run_entry,
  &command_sweep_status_entry,
  &command_sweep_retry_entry,
  &command_sweep_gather_entry,
  &command_sweep_report_entry,
  &command_friction_entry,
  &command_schema_entry,
  &command_completion_entry,
  &command_manual_entry,
  NULL};
