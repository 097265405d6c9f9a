import { fold } from '../shared/fold.ts'
import { Refusal } from '../shared/refusal.ts'
import type { NotesConfig } from './config.ts'
import { proseOf } from './markdown.ts'
import { withoutEnding } from './note-name.ts'
import { parseTaskLine, type TaskLine } from './task-line.ts'
import type { Line } from './text-lines.ts'

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
export function pickTask(tasks: readonly Task[], wanted: string, config: NotesConfig): Task {
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
