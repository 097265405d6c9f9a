// @ts-check

/** @typedef {import('./notes.mjs').Notes} Notes */
/** @typedef {{ lost: string[], doubled: string[], half: string[] }} Findings */
/** @typedef {{ id: string, workspace_id: string, sequence: number, kind: string, direction: 'in' | 'out', peer_kind: string, message_id: string, text: string, delegation_id: string | null }} Activity */
/** @typedef {{ id: string, workspace_id: string, sequence: number }} Waiting */
/** @typedef {{ id: string, state: string, task: string, message_id: string, activity_id: string, notice_id: string | null, slot: number | null, due_at: number | null }} Task */
/** @typedef {{ activity: Activity[], inbox: Waiting[], tasks: Task[], memories: { id: string, content: string }[] }} Records */

const OPEN = new Set(['pending', 'queued', 'in_progress'])

/**
 * What is on record at one moment.
 * @param {import('./database-rows.mjs').Database} database
 * @returns {Promise<Records>}
 */
export async function recordsIn(database) {
  const rows = async (/** @type {string} */ sql) => /** @type {any[]} */ (await database.all(sql))
  const numbered = (/** @type {any[]} */ all) => all.map(row => ({ ...row, sequence: Number(row.sequence) }))
  const records = {
    activity: numbered(
      await rows(
        'SELECT id, workspace_id, sequence, kind, direction, peer_kind, message_id, text, delegation_id FROM activity',
      ),
    ),
    inbox: numbered(await rows('SELECT id, workspace_id, sequence FROM inbox')),
    tasks: (
      await rows('SELECT id, state, task, message_id, activity_id, notice_id, slot, due_at FROM delegations')
    ).map(task => ({ ...task, due_at: task.due_at === null ? null : Number(task.due_at) })),
    memories: await rows('SELECT id, content FROM memories'),
  }
  await database.close()
  return records
}

/**
 * What is not as it was answered, is there twice, or is there by half.
 * @param {Records} records
 * @param {Notes} notes
 * @param {{ isPruned?: boolean }} [options] whether what was acknowledged may have been forgotten
 * @returns {Findings}
 */
export function findingsIn(records, notes, { isPruned = false } = {}) {
  /** @type {Findings} */
  const found = { lost: [...notes.lost], doubled: [...notes.doubled], half: [] }
  const rows = new Map(records.activity.map(row => [row.id, row]))
  const waiting = new Set(records.inbox.map(({ id }) => id))
  // What is over goes from the logs by itself, and only what is not has to be there whole.
  if (!isPruned) {
    checkMessages(records, notes, found)
    checkSequences(records, found)
    checkTaskRows(records, rows, found)
  }
  checkInbox({ records, rows, waiting, notes, found })
  checkTasks(records, notes, found)
  checkMemories(records, notes, found)
  return found
}

/** @param {Records} records @param {Notes} notes @param {Findings} found */
function checkMessages({ activity, tasks }, notes, { lost, doubled, half }) {
  const byMessage = grouped(activity, row => row.message_id)
  for (const [text, { ids }] of notes.messages)
    for (const id of ids)
      if (byMessage.get(id)?.some(row => row.text !== text) ?? true) lost.push(`message ${id}: ${text}`)
  const asked = new Set(tasks.map(({ message_id }) => message_id))
  for (const [id, both] of byMessage) {
    // The platform has no log, and a task is in the log of its peer when it is handed over.
    if (asked.has(id) || both.some(({ peer_kind }) => peer_kind !== 'workspace')) continue
    if (both.length !== 2) half.push(`message ${id} is in ${both.length} logs`)
  }
  const received = activity.filter(({ direction, text }) => direction === 'in' && notes.messages.has(text))
  for (const [text, all] of grouped(received, row => row.text))
    if (all.length > 1) doubled.push(`${text} was received ${all.length} times`)
}

/** @param {Records} records @param {Findings} found */
function checkSequences({ activity }, { half, doubled }) {
  for (const [workspace, rows] of grouped(activity, row => row.workspace_id)) {
    const numbers = rows.map(({ sequence }) => sequence).toSorted((a, b) => a - b)
    for (const [i, number] of numbers.entries()) {
      if (number === numbers[i - 1]) doubled.push(`number ${number} in the log of ${workspace}`)
      else if (number !== (numbers[i - 1] ?? 0) + 1) half.push(`a gap before ${number} in the log of ${workspace}`)
    }
  }
}

/** @param {{ records: Records, rows: Map<string, Activity>, waiting: Set<string>, notes: Notes, found: Findings }} all */
function checkInbox({ records, rows, waiting, notes, found: { lost, doubled, half } }) {
  for (const { id, sequence } of records.inbox)
    if (rows.get(id)?.sequence !== sequence) half.push(`${id} waits and is not in the log`)
  for (const id of notes.acknowledged.keys()) if (waiting.has(id)) doubled.push(`${id} waits again`)
  for (const { ids } of notes.messages.values())
    for (const id of ids)
      if (!waiting.has(`${id}_in`) && !notes.tried.has(`${id}_in`)) lost.push(`${id}_in waits no more`)
  const taskOf = new Map(records.tasks.map(task => [task.activity_id, task]))
  for (const { id, direction, delegation_id: taskId } of records.activity) {
    if (direction !== 'in' || waiting.has(id) || notes.tried.has(id)) continue
    // The message of a task goes with its end, and of some ends there is a row in the log alone.
    const task = taskOf.get(id)
    const isOver = task ? !OPEN.has(task.state) : taskId !== null
    if (!isOver) lost.push(`${id} waits no more, and nobody has taken it out`)
  }
}

/** @param {Records} records @param {Notes} notes @param {Findings} found */
function checkTasks({ activity, tasks }, notes, { lost, doubled, half }) {
  const byId = new Map(tasks.map(task => [task.id, task]))
  for (const [task, { ids }] of notes.tasks)
    for (const id of ids) if (byId.get(id)?.task !== task) lost.push(`task ${id}: ${task}`)
  for (const [task, all] of grouped(tasks, row => row.task))
    if (all.length > 1) doubled.push(`${task} is there ${all.length} times`)
  const results = activity.filter(({ kind, direction }) => kind === 'delegation_result' && direction === 'in')
  for (const [id, all] of grouped(results, row => row.delegation_id ?? ''))
    if (all.length > 1) doubled.push(`the end of task ${id} is told ${all.length} times`)
  for (const { id, state, notice_id: noticeId, slot } of tasks) {
    if (OPEN.has(state) !== (noticeId === null)) half.push(`task ${id}, ${state}, and its end`)
    if (!OPEN.has(state) && slot !== null) half.push(`task ${id} is over and has a place`)
  }
}

/** @param {Records} records @param {Map<string, Activity>} rows @param {Findings} found */
function checkTaskRows({ tasks }, rows, { half }) {
  for (const { id, state, message_id: messageId, activity_id: activityId, notice_id: noticeId } of tasks) {
    if (!rows.has(`${messageId}_out`)) half.push(`task ${id} is not in the log of whoever gave it`)
    if (OPEN.has(state) && (state !== 'queued') !== rows.has(activityId))
      half.push(`task ${id}, ${state}, and its message`)
    if (noticeId !== null && !rows.has(noticeId)) half.push(`task ${id} has an end that nobody is told`)
  }
}

/** @param {Records} records @param {Notes} notes @param {Findings} found */
function checkMemories({ memories }, notes, { lost, doubled }) {
  const byId = new Map(memories.map(({ id, content }) => [id, content]))
  for (const [content, { ids }] of notes.memories)
    for (const id of ids) if (byId.get(id) !== content) lost.push(`memory ${id}: ${content}`)
  for (const [content, all] of grouped(memories, row => row.content))
    if (all.length > 1) doubled.push(`"${content}" is kept ${all.length} times`)
}

/**
 * @template T
 * @param {readonly T[]} all
 * @param {(one: T) => string} by
 */
function grouped(all, by) {
  /** @type {Map<string, T[]>} */
  const groups = new Map()
  for (const one of all) {
    const key = by(one)
    const group = groups.get(key)
    if (group) group.push(one)
    else groups.set(key, [one])
  }
  return groups
}
