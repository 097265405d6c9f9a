/** A step of the script that every runtime goes through, with agents and a folder of its own. */
export interface Case {
  readonly tool: string
  /** Why it stands here. */
  readonly what: string
  readonly input: Input
  /** `done`, `no` for what a tool says no to, `waits for approval`, or the code. */
  readonly comesTo: string
  /** Whether it is called with what is no object. */
  readonly isBare?: true
  /** Whether its tool asks a person. */
  readonly asks?: true
  /** Who calls; the clerk unless said. */
  readonly as?: 'reader'
  /** What the clerk's peer does before it, or while it waits. */
  readonly peer?: { readonly when: 'before' | 'meanwhile'; act(peer: Peer): Promise<void> }
}

/** A function for what depends on what was told before, and for what is no object. */
type Input = Readonly<Record<string, unknown>> | ((seen: Seen) => unknown)

/** The last id of its kind that the caller was told of: `ws`, `task`, `msg`, `att`, `mem`, `op`. */
export type Seen = (prefix: string) => string

/** The workspace above the clerk. */
export interface Peer {
  /** The clerk. */
  readonly clerk: string
  /** A file of its own, as it may name one here. */
  readonly file: string
  call(tool: string, input: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>>
}

/** Answers the next task that the clerk gives, with a file. */
async function answers({ call, file }: Peer): Promise<void> {
  const { message } = await call('wait_for_message', { timeout_secs: 50 })
  const { activity_id } = message as { activity_id: string }
  await call('reply', { activity_id, message: 'Twelve.', attachments: [file] })
}

async function asks({ clerk, call }: Peer): Promise<void> {
  const { peers } = await call('list_peers', {})
  const found = (peers as { name: string; workspace_id: string }[]).find(({ name }) => name === clerk)
  await call('delegate_task_async', { workspace_id: found?.workspace_id, task: 'Count the chairs.' })
}

const meanwhile = (act: (peer: Peer) => Promise<void>) => ({ when: 'meanwhile', act }) as const
const before = (act: (peer: Peer) => Promise<void>) => ({ when: 'before', act }) as const
const NO_SUCH_WORKSPACE = 'ws_nobodynobodynobody'
const NOTHING = 'task_nothingnothing'

/** Every built-in tool, called well and called wrong; what comes later may use what was told before. */
export const CASES: readonly Case[] = [
  { tool: 'read_file', what: 'a text', input: { path: 'note.txt' }, comesTo: 'done' },
  { tool: 'read_file', what: 'a picture', input: { path: 'dot.png' }, comesTo: 'done' },
  { tool: 'read_file', what: 'other bytes', input: { path: 'bytes.bin' }, comesTo: 'done' },
  { tool: 'read_file', what: 'what is not there', input: { path: 'none.txt' }, comesTo: 'no' },
  { tool: 'read_file', what: 'a wrong kind of input', input: { path: 5 }, comesTo: 'INPUT_INVALID' },
  { tool: 'list_files', what: 'the folder', input: {}, comesTo: 'done' },
  { tool: 'list_files', what: 'what is outside', input: { path: '/etc' }, comesTo: 'no' },
  { tool: 'search_files', what: 'a word', input: { query: 'mat' }, comesTo: 'done' },
  { tool: 'search_files', what: 'nothing to look for', input: { query: '' }, comesTo: 'INPUT_INVALID' },
  { tool: 'write_file', what: 'allowed', input: { path: 'new.txt', content: 'New.' }, comesTo: 'done' },
  { tool: 'write_file', what: 'taken', input: { path: 'new.txt', content: '', mode: 'create' }, comesTo: 'no' },

  { tool: 'note_read', what: 'a note', input: { note: 'Garden' }, comesTo: 'done' },
  { tool: 'note_read', what: 'none', input: { note: 'Moon' }, comesTo: 'no' },
  { tool: 'note_search', what: 'a word', input: { query: 'tomatoes' }, comesTo: 'done' },
  { tool: 'note_search', what: 'without a word', input: {}, comesTo: 'INPUT_INVALID' },
  { tool: 'note_append', what: 'a line', input: { note: 'Garden', text: '- Water.' }, comesTo: 'done' },
  { tool: 'note_append', what: 'no such note', input: { note: 'Moon', text: '- Dust.' }, comesTo: 'no' },
  { tool: 'task_create', what: 'a task', input: { title: 'Buy milk', due: '2026-12-01' }, comesTo: 'done' },
  { tool: 'task_create', what: 'the same', input: { title: 'Buy milk' }, comesTo: 'no' },
  { tool: 'task_update', what: 'a day', input: { task: 'Buy milk', due: '2026-12-04' }, comesTo: 'done' },
  { tool: 'task_update', what: 'none', input: { task: 'Fly', due: '2026-12-04' }, comesTo: 'no' },
  { tool: 'task_list', what: 'all', input: {}, comesTo: 'done' },
  { tool: 'task_list', what: 'no day', input: { dueBy: 'soon' }, comesTo: 'INPUT_INVALID' },
  { tool: 'task_complete', what: 'a task', input: { task: 'Buy milk' }, comesTo: 'done' },
  { tool: 'task_complete', what: 'none', input: { task: 'Fly' }, comesTo: 'no' },

  { tool: 'get_workspace_info', what: 'itself', input: {}, comesTo: 'done' },
  { tool: 'list_peers', what: 'all', input: {}, comesTo: 'done' },
  { tool: 'list_peers', what: 'no cursor', input: { cursor: 'nonsense' }, comesTo: 'CURSOR_GONE' },
  {
    tool: 'delegate_task',
    what: 'to a peer who answers',
    input: seen => ({ workspace_id: seen('ws'), task: 'Count the chairs.' }),
    peer: meanwhile(answers),
    comesTo: 'done',
  },
  {
    tool: 'delegate_task',
    what: 'to nobody',
    input: { workspace_id: NO_SUCH_WORKSPACE, task: 'Hi.' },
    comesTo: 'PEER_NOT_FOUND',
  },
  {
    tool: 'delegate_task_async',
    what: 'to a peer',
    input: seen => ({ workspace_id: seen('ws'), task: 'Paint the chairs.' }),
    comesTo: 'done',
  },
  {
    tool: 'delegate_task_async',
    what: 'to nobody',
    input: { workspace_id: NO_SUCH_WORKSPACE, task: 'Hi.' },
    comesTo: 'PEER_NOT_FOUND',
  },
  { tool: 'wait_for_message', what: 'an answer', input: { timeout_secs: 50 }, peer: before(answers), comesTo: 'done' },
  {
    tool: 'delegate_task_async',
    what: 'another',
    input: seen => ({ workspace_id: seen('ws'), task: 'Sell the chairs.' }),
    comesTo: 'done',
  },
  {
    tool: 'check_task_status',
    what: 'one that waits',
    input: seen => ({ workspace_id: seen('ws'), task_id: seen('task') }),
    comesTo: 'done',
  },
  {
    tool: 'check_task_status',
    what: 'none',
    input: { workspace_id: NO_SUCH_WORKSPACE, task_id: NOTHING },
    comesTo: 'NAME_UNKNOWN',
  },
  { tool: 'cancel_task', what: 'one that waits', input: seen => ({ task_id: seen('task') }), comesTo: 'done' },
  { tool: 'cancel_task', what: 'none', input: { task_id: NOTHING }, comesTo: 'NAME_UNKNOWN' },

  { tool: 'wait_for_message', what: 'a task', input: { timeout_secs: 50 }, peer: before(asks), comesTo: 'done' },
  { tool: 'wait_for_message', what: 'no time', input: { timeout_secs: 'long' }, comesTo: 'INPUT_INVALID' },
  { tool: 'inbox_peek', what: 'all', input: {}, comesTo: 'done' },
  { tool: 'inbox_peek', what: 'no limit', input: { limit: 'many' }, comesTo: 'INPUT_INVALID' },
  { tool: 'read_attachment', what: 'the file', input: seen => ({ attachment_id: seen('att') }), comesTo: 'done' },
  { tool: 'read_attachment', what: 'none', input: { attachment_id: 'att_nothing' }, comesTo: 'NAME_UNKNOWN' },
  {
    tool: 'reply',
    what: 'to the task',
    input: seen => ({ activity_id: seen('msg'), message: 'Twelve.' }),
    comesTo: 'done',
  },
  {
    tool: 'reply',
    what: 'to nothing',
    input: { activity_id: 'msg_nothing_in', message: 'Hi.' },
    comesTo: 'NAME_UNKNOWN',
  },
  { tool: 'broadcast_message', what: 'a text', input: { message: 'Doors open at ten.' }, comesTo: 'done' },
  { tool: 'broadcast_message', what: 'a blank', input: { message: ' ' }, comesTo: 'INPUT_INVALID' },
  { tool: 'inbox_pop', what: 'what is out already', input: seen => ({ activity_id: seen('msg') }), comesTo: 'done' },
  { tool: 'inbox_pop', what: 'nothing named', input: {}, comesTo: 'INPUT_INVALID' },
  { tool: 'chat_history', what: 'with a peer', input: seen => ({ peer_id: seen('ws') }), comesTo: 'done' },
  { tool: 'chat_history', what: 'with nobody', input: { peer_id: NO_SUCH_WORKSPACE }, comesTo: 'PEER_NOT_FOUND' },
  { tool: 'send_message_to_user', what: 'a text', input: { message: 'On it.' }, comesTo: 'done' },
  { tool: 'send_message_to_user', what: 'a blank', input: { message: '  ' }, comesTo: 'INPUT_INVALID' },

  { tool: 'commit_memory', what: 'a fact', input: { content: 'There are twelve chairs.' }, comesTo: 'done' },
  {
    tool: 'commit_memory',
    what: 'for everybody',
    input: { content: 'Chairs.', scope: 'GLOBAL' },
    comesTo: 'REQUEST_REFUSED',
  },
  { tool: 'recall_memory', what: 'a question', input: { query: 'chairs' }, comesTo: 'done' },
  { tool: 'recall_memory', what: 'no scope', input: { scope: 'MOON' }, comesTo: 'INPUT_INVALID' },
  { tool: 'forget_memory', what: 'the fact', input: seen => ({ memory_id: seen('mem') }), comesTo: 'done' },
  { tool: 'forget_memory', what: 'a number', input: { memory_id: 5 }, comesTo: 'INPUT_INVALID' },

  { tool: 'registry_status', what: 'all', input: {}, comesTo: 'done' },
  { tool: 'registry_status', what: 'none', input: { name: 'dependency:moon' }, comesTo: 'DEPENDENCY_UNKNOWN' },
  { tool: 'registry_recheck', what: 'a tool', input: { name: 'now', force: true }, comesTo: 'done' },
  { tool: 'registry_recheck', what: 'none', input: { name: 'moon' }, comesTo: 'NAME_UNKNOWN' },
  { tool: 'registry_reload', what: 'what has not changed', input: {}, comesTo: 'done' },
  { tool: 'registry_reload', what: 'more than it takes', input: { force: true }, comesTo: 'INPUT_INVALID' },

  { tool: 'picture', what: 'words and a picture', input: {}, comesTo: 'done' },
  { tool: 'number', what: 'a number', input: {}, comesTo: 'done' },
  { tool: 'refuse', what: 'a no', input: {}, comesTo: 'no' },
  { tool: 'blot', what: 'a no with a picture', input: {}, comesTo: 'no' },
  { tool: 'papers', what: 'two files and where a third is', input: {}, comesTo: 'done' },
  { tool: 'sum', what: 'a structure without a word', input: {}, comesTo: 'done' },
  { tool: 'steps', what: 'what tells how far it is', input: {}, comesTo: 'done' },
  { tool: 'number', what: 'nothing at all', input: () => null, isBare: true, comesTo: 'done' },
  { tool: 'number', what: 'a text', input: () => 'five', isBare: true, comesTo: 'INPUT_INVALID' },
  { tool: 'number', what: 'a list', input: () => [5], isBare: true, comesTo: 'INPUT_INVALID' },
  { tool: 'boom', what: 'a fault', input: {}, comesTo: 'no' },
  { tool: 'ask', what: 'a question to nobody', input: {}, asks: true, comesTo: 'ANSWER_UNAVAILABLE' },
  { tool: 'long', what: 'more than fits', input: {}, comesTo: 'done' },
  { tool: 'fail', what: 'too much', input: { code: 'LIMIT_EXCEEDED' }, comesTo: 'LIMIT_EXCEEDED' },
  { tool: 'fail', what: 'given up', input: { code: 'CANCELLED' }, comesTo: 'CANCELLED' },
  { tool: 'fail', what: 'a wrong kind of input', input: { code: 5 }, comesTo: 'INPUT_INVALID' },
  { tool: 'now', what: 'what is disabled', input: {}, comesTo: 'TOOL_DISABLED' },
  { tool: 'pay', what: 'what a person has to allow', input: {}, comesTo: 'waits for approval' },
  { tool: 'order', what: 'what waits and promises a structure', input: {}, comesTo: 'waits for approval' },
  { tool: 'get_status', what: 'what waits', input: seen => ({ id: seen('op') }), comesTo: 'done' },
  { tool: 'get_status', what: 'none', input: { id: 'op_nothingnothing' }, comesTo: 'NAME_UNKNOWN' },
  { tool: 'read_docs', what: 'a page', input: { path: 'chairs' }, comesTo: 'done' },
  { tool: 'read_docs', what: 'nothing that fits', input: { query: 'xylophone' }, comesTo: 'no' },

  { as: 'reader', tool: 'find_tools', what: 'a wish', input: { query: 'read a file' }, comesTo: 'done' },
  { as: 'reader', tool: 'find_tools', what: 'no text', input: { query: 5 }, comesTo: 'INPUT_INVALID' },
  { as: 'reader', tool: 'describe_tool', what: 'one', input: { name: 'read_file' }, comesTo: 'done' },
  { as: 'reader', tool: 'describe_tool', what: 'none', input: { name: 'moon' }, comesTo: 'TOOL_NOT_FOUND' },
  {
    as: 'reader',
    tool: 'call_tool',
    what: 'one that works',
    input: { name: 'read_file', arguments: { path: 'note.txt' } },
    comesTo: 'done',
  },
  {
    as: 'reader',
    tool: 'call_tool',
    what: 'one that waits',
    input: { name: 'write_file', arguments: { path: 'a.txt', content: 'A' } },
    comesTo: 'waits for approval',
  },
  { as: 'reader', tool: 'call_tool', what: 'none', input: { name: 'moon' }, comesTo: 'TOOL_NOT_FOUND' },
]
