import { z } from 'zod'
import { type CallContext, defineTool } from '../../core/catalogue/index.ts'
import type { NotesConfig } from './config.ts'
import { splitLines } from './markdown.ts'
import { isOver, type Task, tasksIn } from './tasks.ts'
import { answerWith, Day, type Done, ROUTE_OUTPUT, Tag } from './tool-io.ts'
import type { Vaults } from './vault.ts'

const Input = z.strictObject({
  status: z
    .enum(['open', 'done', 'cancelled', 'all'])
    .default('open')
    .describe('Which tasks; "open": all that are neither done nor cancelled.'),
  tag: Tag.optional().describe('Only tasks with this tag or one below it, without "#".'),
  dueBy: Day.optional().describe('Only tasks that are due on this day or before.'),
  limit: z.number().int().min(1).max(500).default(100).describe('The most tasks.'),
})
type Input = z.infer<typeof Input>

const Output = z.object({
  tasks: z.array(
    z.object({
      title: z.string(),
      status: z.enum(['open', 'inProgress', 'done', 'cancelled', 'other']),
      note: z.string().optional().describe('The note it links to.'),
      due: z.string().optional(),
      completed: z.string().optional(),
      tags: z.array(z.string()),
      line: z.number().int().describe('Its line in the list.'),
    }),
  ),
  found: z.number().int().describe('How many there are.'),
  list: z.string().describe('The note that lists them.'),
  ...ROUTE_OUTPUT,
})
type Listed = Omit<z.infer<typeof Output>, 'through'>

/** The tool that shows the tasks. */
export function createTaskList(vaults: Vaults) {
  return defineTool({
    name: 'task_list',
    title: 'List tasks',
    short: 'Lists the tasks in the list of tasks, with due dates, tags and notes.',
    whenToUse:
      'To see what is to be done, or what was. Answers the tasks in the order of the list. ' +
      'It does not look for boxes in other notes, and what a task is about is in its note (note_read).',
    section: 'notes',
    command: { name: 'task-list' },
    input: Input,
    output: Output,
    examples: [
      { query: 'what is to be done by Friday?', input: { dueBy: '2026-12-04' } },
      { query: 'what did I finish at home?', input: { status: 'done', tag: 'home' } },
    ],
    mutates: false,
    maxResultBytes: 1024 * 1024,
    handler: (input, context: CallContext<NotesConfig>) =>
      answerWith({
        vaults,
        context,
        about: context.config.taskList,
        work: async vault => list(await vault.read(context.config.taskList), input, context.config.taskList),
      }),
  })
}

function list(text: string | undefined, input: Input, note: string): Done<Listed> {
  const found = tasksIn(splitLines(text ?? '')).filter(task => isWanted(task, input))
  const tasks = found.slice(0, input.limit).map(shown)
  const lines = tasks.map(taskText)
  if (lines.length === 0) lines.push(text === undefined ? `"${note}" does not exist yet.` : 'There are no such tasks.')
  if (found.length > tasks.length) lines.push(`[${found.length - tasks.length} more; narrow it, or raise limit]`)
  return { text: lines.join('\n'), data: { tasks, found: found.length, list: note } }
}

function isWanted(task: Task, { status: wanted, tag, dueBy }: Input): boolean {
  const { status, tags, due } = task
  const hasStatus = wanted === 'all' || (wanted === 'open' ? !isOver(task) : status === wanted)
  const hasTag = tag === undefined || tags.some(one => one === tag || one.startsWith(`${tag}/`))
  return hasStatus && hasTag && (dueBy === undefined || (due !== undefined && due <= dueBy))
}

function shown({ title, status, target, due, completed, tags, index }: Task): Listed['tasks'][number] {
  return {
    title,
    status,
    ...(target !== undefined && { note: target }),
    ...(due !== undefined && { due }),
    ...(completed !== undefined && { completed }),
    tags: [...tags],
    line: index + 1,
  }
}

function taskText({ title, status, due, tags }: Listed['tasks'][number]): string {
  const parts = [title, ...(status === 'open' ? [] : [`(${status})`]), ...(due ? [`due ${due}`] : [])]
  return [...parts, ...tags.map(tag => `#${tag}`)].join(' ')
}
