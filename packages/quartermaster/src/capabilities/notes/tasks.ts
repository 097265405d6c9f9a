import { fold } from '../shared/text.ts'
import { Refusal } from '../shared/walls/refusal.ts'
import type { NotesConfig } from './config.ts'
import { joinLines, type Line, proseOf, splitLines } from './markdown.ts'
import { baseName, withoutEnding } from './note-name.ts'
import type { Vault } from './vault.ts'

/** A task in the list note. */
export interface Task extends TaskLine {
  /** The index of its line. */
  readonly index: number
}

/** The tasks of a list, in its order. A box in code or in a comment is none. */
export function tasksIn(lines: readonly Line[]): Task[] {
  const prose = proseOf(lines)
  return lines.flatMap(({ text }, index) => {
    const task = prose[index] ? parseTaskLine(text) : undefined
    return task ? [{ ...task, index }] : []
  })
}

/** The one task that is meant: by its title, or by its note. Of several with one title the open one. */
function pickTask(tasks: readonly Task[], wanted: string, config: NotesConfig): Task {
  const found = tasks.filter(task => isCalled(task, wanted, config))
  const waiting = found.filter(({ status }) => status === 'open' || status === 'inProgress')
  const [first, second] = waiting.length > 0 ? waiting : found.slice(-1)
  if (!first) throw new Refusal(`There is no task "${wanted}" in "${config.taskList}". Look with task_list.`)
  if (!second) return first
  const lines = waiting.map(({ index }) => index + 1).join(', ')
  throw new Refusal(
    `Several tasks in "${config.taskList}" are called "${wanted}" (lines ${lines}). A person has to rename one of them.`,
  )
}

/** Whether nothing is left to be done about it. */
export function isOver({ status }: TaskLine): boolean {
  return status === 'done' || status === 'cancelled'
}

/** Whether a task links to this note. */
export function linksTo({ target }: TaskLine, note: string): boolean {
  return target !== undefined && fold(withoutEnding(target)) === fold(withoutEnding(note))
}

function isCalled(task: TaskLine, wanted: string, { taskPrefix }: NotesConfig): boolean {
  const name = wanted.trim().replace(/^\[\[(.*)\]\]$/s, '$1')
  return fold(task.title) === fold(name) || linksTo(task, name) || linksTo(task, `${taskPrefix}${name}`)
}

interface TaskEdit {
  /** The title or note of the task. */
  wanted: string
  config: NotesConfig
  /** Its line as it is to be. */
  change(line: string, task: Task): string
}

/** Changes the line of one task and nothing else in the list. */
export async function editTask(vault: Vault, { wanted, config, change }: TaskEdit): Promise<EditedTask> {
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

interface EditedTask {
  /** As it was. */
  readonly task: Task
  readonly changed: boolean
}

/** What the mark in a task's box says. */
type TaskStatus = 'open' | 'inProgress' | 'done' | 'cancelled' | 'other'

/** A line with a box, read the way Obsidian and its Tasks plugin do. */
interface TaskLine {
  readonly status: TaskStatus
  /** What it is called: the note it links to first, or its own text. */
  readonly title: string
  /** The note it links to first. */
  readonly target?: string
  /** When it is due, as `2026-12-01`. */
  readonly due?: string
  readonly completed?: string
  /** Without the `#`. */
  readonly tags: readonly string[]
  /** Whether it comes again when it is done. */
  readonly recurs: boolean
}

// A mark of byte order may stand before the first line of a note.
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

/** Reads a line, or tells that it has no box. */
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

/** Whether a title has something that readers of tasks who look into links would take for a date of the task. */
export function hasSigns(title: string): boolean {
  return SIGNED.test(title)
}

/** A new task. */
export function writeTaskLine({
  target,
  due,
  tags,
}: {
  target: string
  due?: string | undefined
  tags: readonly string[]
}) {
  const parts = [`- [ ] [[${target}]]`, ...(due === undefined ? [] : [`📅 ${due}`]), ...tags.map(tag => `#${tag}`)]
  return parts.join(' ')
}

/** The line with another mark in its box. The day of completion comes and goes with it. */
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

/** The line with these tags and no others. Those that stay are not touched. */
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

/** What is left of a text without its signs, dates and tags. */
function plainTitle(body: string): string {
  const bare = withTags(withoutPart(withoutPart(body, DUE), COMPLETED), [])
  return bare.trim()
}

/** With one more part, before a block's id and the spaces at the end, which mean something at the end only. */
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

interface FoundTag {
  readonly tag: string
  /** With the space before it. */
  readonly from: number
  readonly to: number
}

/** Tags in a text. */
function tagsIn(text: string): FoundTag[] {
  return [...masked(text).matchAll(TAG)]
    .filter(([, , tag = '']) => !/^\d+$/.test(tag))
    .map(match => ({ tag: match[2] ?? '', from: match.index, to: match.index + match[0].length }))
}

/** The text, as long as it is, without its links and code: what stands in them is part of a name, and no sign. */
function masked(text: string): string {
  return text.replace(/\[\[[^[\]]*\]\]|`[^`]*`/g, hidden => '\0'.repeat(hidden.length))
}
