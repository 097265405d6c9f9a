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
} as const
