/**
 * Tools that something else than their own capability sends a model to, by what they are for. Their definitions take the names
 * from here as well, so that a rename is one line.
 */
export const TOLD_TOOLS = {
  find: 'find_tools',
  describe: 'describe_tool',
  call: 'call_tool',
  /** Tells how a call stands that waits. */
  status: 'get_status',
  /** Reads what is written down. */
  docs: 'read_docs',
  delegate: 'delegate_task',
  /** Tells how a task stands that was handed on, and the rest of its result. */
  taskStatus: 'check_task_status',
  recall: 'recall_memory',
  wait: 'wait_for_message',
  reply: 'reply',
  reload: 'registry_reload',
  recheck: 'registry_recheck',
} as const

/** Tools of the gateways that models may know from elsewhere: which tool does it here, and what to do without that. */
export const FOREIGN_TOOLS: Readonly<Record<string, { readonly tool: string; readonly otherwise: string }>> = {
  wb_run: { tool: TOLD_TOOLS.call, otherwise: 'Call the tool itself, by its name.' },
  wb_search: { tool: TOLD_TOOLS.find, otherwise: 'Run on the command line: quartermaster tools' },
  wb_status: { tool: TOLD_TOOLS.status, otherwise: 'Run on the command line: quartermaster status' },
  agent_docs: { tool: TOLD_TOOLS.docs, otherwise: 'Run on the command line: quartermaster docs' },
  mcp_registry_reload: { tool: TOLD_TOOLS.reload, otherwise: 'Run on the command line: quartermaster reload' },
  recheck_disabled_capability: {
    tool: TOLD_TOOLS.recheck,
    otherwise: 'Call the tool: that rechecks it. Or run on the command line: quartermaster recheck NAME',
  },
}
