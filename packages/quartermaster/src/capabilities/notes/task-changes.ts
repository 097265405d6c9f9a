import { z } from 'zod'
import { type CallContext, defineTool } from '../../core/catalogue/index.ts'
import { Refusal } from '../shared/walls/refusal.ts'
import type { NotesConfig } from './config.ts'
import { endingOf, type FieldValue, joinLines, splitLines, withField } from './markdown.ts'
import { editTask, withDue, withStatus, withTags } from './tasks.ts'
import { answerWith, Day, dayOf, ROUTE_OUTPUT, seekNote, Tag, TaskReference } from './tool-io.ts'
import type { Vault, Vaults } from './vault.ts'

const Input = z.strictObject({
  task: TaskReference,
  due: Day.nullable().optional().describe('The day it is due from now on; null for none.'),
  tags: z.array(Tag).max(20).optional().describe('All tags it has from now on, without "#".'),
  status: z
    .enum(['open', 'inProgress', 'cancelled'])
    .optional()
    .describe('The mark in its box from now on; "open" also reopens a task that was done.'),
})
type Input = z.infer<typeof Input>

const Output = z.object({
  title: z.string(),
  line: z.number().int().describe('Its line in the list.'),
  changed: z.boolean().describe('Whether it was any different.'),
  note: z.string().optional().describe('Its note, where that has front matter that was changed too.'),
  noteProblem: z.string().optional().describe('Why its note could not be changed.'),
  ...ROUTE_OUTPUT,
})

/** The tool that changes a task. */
export function createTaskUpdate(vaults: Vaults, now: () => Date) {
  return defineTool({
    name: 'task_update',
    title: 'Change a task',
    short: 'Changes the due date, the tags or the status of a task in the list of tasks.',
    whenToUse:
      'To move a task to another day, tag it, begin, cancel or reopen it. ' +
      'Due date and tags are changed in the front matter of its note too, where they are written plainly. ' +
      'It does not mark it done (task_complete), rename it, or change the text of its note (note_append).',
    section: 'notes',
    command: { name: 'task-update' },
    input: Input,
    output: Output,
    examples: [
      { query: 'the milk can wait until Friday', input: { task: 'Buy milk', due: '2026-12-04' } },
      { query: 'reopen the report', input: { task: 'Finish the report', status: 'open' } },
    ],
    mutates: true,
    idempotent: true,
    retry: 'replay',
    consent: ['notes.write'],
    handler: (input, context: CallContext<NotesConfig>) =>
      answerWith({ vaults, context, about: input.task, work: vault => update(vault, input, { context, now }) }),
  })
}

async function update(
  vault: Vault,
  input: Input,
  { context, now }: { context: CallContext<NotesConfig>; now: () => Date },
) {
  if (input.due === undefined && input.tags === undefined && input.status === undefined)
    throw new Refusal('Nothing is to be changed. Give due, tags or status.')
  const { task, changed } = await editTask(vault, {
    wanted: input.task,
    config: context.config,
    change: line => changedLine(line, input, dayOf(now())),
  })
  const note = await updateNote(vault, input, { target: task.target, signal: context.signal }).catch(asProblem)
  const isChanged = changed || note.note !== undefined
  const data = { title: task.title, line: task.index + 1, changed: isChanged, ...note }
  return { text: isChanged ? `Changed the task "${task.title}".` : `The task "${task.title}" is so already.`, data }
}

function changedLine(line: string, { due, tags, status }: Input, today: string): string {
  const marked = status === undefined ? line : withStatus(line, status, today)
  const dated = due === undefined ? marked : withDue(marked, due ?? undefined)
  return tags === undefined ? dated : withTags(dated, [...new Set(tags)])
}

/** Leaves front matter alone that is missing or has syntax that is not read here: the list is what counts. */
async function updateNote(
  vault: Vault,
  { due, tags }: Input,
  { target, signal }: { target: string | undefined; signal: AbortSignal },
): Promise<UpdatedNote> {
  if (target === undefined || (due === undefined && tags === undefined)) return {}
  const { path } = await seekNote(vault, target, signal)
  const { changed } = await vault.edit(path, text => {
    if (text === undefined) return undefined
    const dated = due === undefined ? text : changedField(text, 'due', due ?? undefined)
    return tags === undefined ? dated : changedField(dated, 'tags', tags.length === 0 ? undefined : [...new Set(tags)])
  })
  return changed ? { note: path } : {}
}

type UpdatedNote = { note?: string; noteProblem?: string }

/** The line in the list is changed by then, so the call has succeeded. */
function asProblem(error: unknown): UpdatedNote {
  if (!(error instanceof Refusal)) throw error
  return { noteProblem: error.message }
}

function changedField(text: string, key: string, value: FieldValue | undefined): string {
  const lines = splitLines(text)
  const changed = withField(lines, key, { value, ending: endingOf(lines) })
  return changed ? joinLines(changed) : text
}

const CompleteOutput = z.object({
  title: z.string(),
  line: z.number().int().describe('Its line in the list.'),
  changed: z.boolean().describe('Whether it was not done before.'),
  ...ROUTE_OUTPUT,
})

/** The tool that marks a task as done. */
export function createTaskComplete(vaults: Vaults, now: () => Date) {
  return defineTool({
    name: 'task_complete',
    title: 'Complete a task',
    short: 'Marks a task in the list of tasks as done, with the day.',
    whenToUse:
      'When something on the list is done. Answers which line it was, and whether it was done before already. ' +
      'It does not remove the task or its note, and leaves tasks that come again to Obsidian.',
    section: 'notes',
    command: { name: 'task-complete' },
    input: z.strictObject({ task: TaskReference }),
    output: CompleteOutput,
    examples: [{ query: 'I bought the milk', input: { task: 'Buy milk' } }],
    mutates: true,
    mcp: { annotations: { destructiveHint: false } },
    idempotent: true,
    retry: 'replay',
    consent: ['notes.write'],
    handler: (input, context: CallContext<NotesConfig>) =>
      answerWith({
        vaults,
        context,
        about: input.task,
        work: vault => complete(vault, input.task, { config: context.config, today: dayOf(now()) }),
      }),
  })
}

async function complete(vault: Vault, wanted: string, { config, today }: { config: NotesConfig; today: string }) {
  const { task, changed } = await editTask(vault, {
    wanted,
    config,
    change(line, { status, recurs, title }) {
      if (status === 'done') return line
      if (recurs) throw new Refusal(`"${title}" recurs, and only Obsidian makes the next task. Complete it there.`)
      return withStatus(line, 'done', today)
    },
  })
  const data = { title: task.title, line: task.index + 1, changed }
  return { text: changed ? `"${task.title}" is done.` : `"${task.title}" was done already.`, data }
}
