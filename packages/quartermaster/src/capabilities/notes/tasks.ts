import { fold } from '../shared/text.ts'
import { Refusal } from '../shared/walls/refusal.ts'
import type { NotesConfig } from './config.ts'
import { joinLines, type Line, proseOf, splitLines } from './markdown.ts'
import { baseName, withoutEnding } from './note-name.ts'
import type { Vault } from './vault.ts'

/** A task in the list note. */
export interface Task extends TaskLine {
  /** The index of its line in the list. */
  readonly index: number
}

/** The tasks of a list, in its order. Boxes in code or comments do not count. */
export function tasksIn(lines: readonly Line[]): Task[] {
  const prose = proseOf(lines)
  return lines.flatMap(({ text }, index) => {
    const task = prose[index] ? parseTaskLine(text) : undefined
    return task ? [{ ...task, index }] : []
  })
}

/** The task with this title or note; among several the open one. */
function pickTask(tasks: readonly Task[], wanted: string, config: NotesConfig): Task {
  const found = tasks.filter(task => matches(task, wanted, config))
  const waiting = found.filter(({ status }) => status === 'open' || status === 'inProgress')
  const [first, second] = waiting.length > 0 ? waiting : found.slice(-1)
  if (!first) throw new Refusal(`There is no task "${wanted}" in "${config.taskList}". Find tasks with task_list.`)
  if (!second) return first
  const lines = waiting.map(({ index }) => index + 1).join(', ')
  throw new Refusal(
    `Several tasks in "${config.taskList}" are called "${wanted}" (lines ${lines}). A person has to rename one of them.`,
  )
}

/** Whether the task is done or cancelled. */
export function isOver({ status }: TaskLine): boolean {
  return status === 'done' || status === 'cancelled'
}

export function linksTo({ target }: TaskLine, note: string): boolean {
  return target !== undefined && fold(withoutEnding(target)) === fold(withoutEnding(note))
}

function matches(task: TaskLine, wanted: string, { taskPrefix }: NotesConfig): boolean {
  const name = wanted.trim().replace(/^\[\[(.*)\]\]$/s, '$1')
  return fold(task.title) === fold(name) || linksTo(task, name) || linksTo(task, `${taskPrefix}${name}`)
}

/** Changes the line of one task, named by its title or note, and answers the task before the change. */
export async function editTask(
  vault: Vault,
  { wanted, config, change }: { wanted: string; config: NotesConfig; change(line: string, task: Task): string },
): Promise<{ task: Task; changed: boolean }> {
  let found: Task | undefined
  const { changed } = await vault.edit(config.taskList, text => {
    if (text === undefined) throw new Refusal(`There is no list of tasks yet: "${config.taskList}" does not exist.`)
    const lines = splitLines(text)
    const task = pickTask(tasksIn(lines), wanted, config)
    found = task
    const edited = lines.map((line, index) =>
      index === task.index ? { ...line, text: change(line.text, task) } : line,
    )
    return joinLines(edited)
  })
  if (!found) throw new Refusal(`There is no task "${wanted}".`)
  return { task: found, changed }
}

type TaskStatus = 'open' | 'inProgress' | 'done' | 'cancelled' | 'other'

/** A line with a box, read the way Obsidian and its Tasks plugin do. */
interface TaskLine {
  readonly status: TaskStatus
  /** The name of the first linked note, or its own text. */
  readonly title: string
  /** The first linked note. */
  readonly target?: string
  /** A day such as `2026-12-01`. */
  readonly due?: string
  readonly completed?: string
  /** Without the `#`. */
  readonly tags: readonly string[]
  /** Whether Obsidian makes a new task when it is done. */
  readonly recurs: boolean
}

// A byte order mark may precede the first line of a note.
const BOX = /^\uFEFF?(?:[ \t]*>)*[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[(.)\](?=[ \t])/su
// Signs of the Tasks plugin; some keyboards put a variation selector behind them.
const DUE = /📅\uFE0F?[ \t]*(\d{4}-\d{2}-\d{2})/u
const COMPLETED = /✅\uFE0F?[ \t]*(\d{4}-\d{2}-\d{2})/u
const RECURRENCE = /🔁/u
const SIGNED = /[📅📆🗓✅❌➕⏳⌛🛫]\uFE0F?[ \t]*\d{4}-\d{2}-\d{2}|🔁\uFE0F?[ \t]*every/iu
const LINK = /^\[\[([^[\]|#]+)(?:#[^[\]|]*)?(?:\|([^[\]]*))?\]\]/
const TAG = /(^|[ \t])#([\p{L}\p{N}_/-]+)/gu

const STATUS: Readonly<Record<string, TaskStatus>> = {
  ' ': 'open',
  '/': 'inProgress',
  x: 'done',
  X: 'done',
  '-': 'cancelled',
}
const MARK = { open: ' ', inProgress: '/', done: 'x', cancelled: '-' } as const

/** Reads a line; `undefined` without a box. */
export function parseTaskLine(text: string): TaskLine | undefined {
  const box = BOX.exec(text)
  if (!box) return undefined
  const body = text.slice(box[0].length).trim()
  const plain = masked(body)
  const link = LINK.exec(body)
  const due = DUE.exec(plain)?.[1]
  const completed = COMPLETED.exec(plain)?.[1]
  const target = link?.[1]?.trim()
  return {
    status: STATUS[box[1] ?? ''] ?? 'other',
    title: link?.[2]?.trim() || (target === undefined ? plainTitle(body) : baseName(target)),
    ...(target !== undefined && { target }),
    ...(due !== undefined && { due }),
    ...(completed !== undefined && { completed }),
    tags: tagsIn(body).map(({ tag }) => tag),
    recurs: RECURRENCE.test(plain),
  }
}

/** Whether a title has signs that some readers of tasks would take for a date of the task. */
export function hasSigns(title: string): boolean {
  return SIGNED.test(title)
}

export function writeTaskLine(target: string, due: string | undefined, tags: readonly string[]): string {
  const parts = [`- [ ] [[${target}]]`, ...(due === undefined ? [] : [`📅 ${due}`]), ...tags.map(tag => `#${tag}`)]
  return parts.join(' ')
}

/** The line with another mark in its box, and the day of completion added or removed. */
export function withStatus(text: string, status: keyof typeof MARK, today: string): string {
  const [box = ''] = BOX.exec(text) ?? []
  const opening = box.lastIndexOf('[')
  const marked = `${text.slice(0, opening + 1)}${MARK[status]}${text.slice(box.length - 1)}`
  const bare = status === 'done' ? marked : withoutPart(marked, COMPLETED)
  return status === 'done' && !COMPLETED.test(masked(bare)) ? withPart(bare, `✅ ${today}`) : bare
}

/** The line with another due date, or none. */
export function withDue(text: string, due: string | undefined): string {
  if (due === undefined) return withoutPart(text, DUE)
  const found = DUE.exec(masked(text))
  if (!found) return withPart(text, `📅 ${due}`)
  const at = found.index + found[0].length - (found[1]?.length ?? 0)
  return `${text.slice(0, at)}${due}${text.slice(at + due.length)}`
}

/** The line with exactly these tags. Present ones are not moved. */
export function withTags(text: string, tags: readonly string[]): string {
  const wanted = new Set(tags)
  const found = tagsIn(text)
  const kept = new Set(found.map(({ tag }) => tag).filter(tag => wanted.has(tag)))
  let bare = text
  for (const { tag, from, to } of found.toReversed()) {
    if (!wanted.has(tag)) bare = bare.slice(0, from) + bare.slice(to)
  }
  return tags.filter(tag => !kept.has(tag)).reduce((line, tag) => withPart(line, `#${tag}`), bare)
}

function plainTitle(body: string): string {
  const bare = withTags(withoutPart(withoutPart(body, DUE), COMPLETED), [])
  return bare.trim()
}

/** Adds a part before a block id and trailing spaces, which have a meaning at the end only. */
function withPart(text: string, part: string): string {
  const content = text.trimEnd()
  const id = /[ \t]\^[A-Za-z0-9-]+$/.exec(content)
  const at = id ? id.index : content.length
  return `${text.slice(0, at)} ${part}${text.slice(at)}`
}

function withoutPart(text: string, part: RegExp): string {
  const found = part.exec(masked(text))
  if (!found) return text
  const from = /[ \t]/.test(text[found.index - 1] ?? '') ? found.index - 1 : found.index
  return text.slice(0, from) + text.slice(found.index + found[0].length)
}

/** The tags of a text. `from` includes the space before a tag. */
function tagsIn(text: string): { tag: string; from: number; to: number }[] {
  return [...masked(text).matchAll(TAG)]
    .filter(([, , tag = '']) => !/^\d+$/.test(tag))
    .map(match => ({ tag: match[2] ?? '', from: match.index, to: match.index + match[0].length }))
}

/** The text with links and code blanked out at the same length: they contain no signs of the task. */
function masked(text: string): string {
  return text.replace(/\[\[[^[\]]*\]\]|`[^`]*`/g, hidden => '\0'.repeat(hidden.length))
}
