/* Every command, each defined in its own command_*.c; command_list.c puts them in the order of the help. */
#ifndef SS_APP_COMMAND_COMMAND_LIST_H
#define SS_APP_COMMAND_COMMAND_LIST_H
#include "app/command/command.h"
extern const command command_run_entry, command_resume_entry, command_check_entry, command_info_entry, command_diff_entry,
  command_render_entry, command_schema_entry, command_completion_entry, command_manual_entry;
extern const command command_friction_entry;
extern const command command_report_entry, command_sweep_report_entry;
extern const command command_sweep_entry, command_sweep_run_entry, command_sweep_status_entry, command_sweep_retry_entry,
  command_sweep_gather_entry;
#endif
