import { Refusal } from '../shared/refusal.ts'
import type { NotesConfig } from './config.ts'
import { pickTask, type Task, tasksIn } from './tasks.ts'
import { joinLines, splitLines } from './text-lines.ts'
import type { Vault } from './vault.ts'

export interface TaskEdit {
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

export interface EditedTask {
  /** As it was. */
  readonly task: Task
  readonly changed: boolean
}
