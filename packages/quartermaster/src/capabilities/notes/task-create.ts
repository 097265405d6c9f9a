import { z } from 'zod'
import { AppError, type EffectSpec } from '../../contracts/index.ts'
import { type CallContext, defineTool } from '../../core/catalogue/index.ts'
import { errnoOf, Refusal } from '../shared/walls/refusal.ts'
import type { NotesConfig } from './config.ts'
import {
  endingOf,
  fieldsAsData,
  frontMatterOf,
  insertLines,
  joinLines,
  linesToAdd,
  splitLines,
  writeField,
} from './markdown.ts'
import { baseName, isSafeTitle, isVisible, TITLE } from './note-name.ts'
import { hasSigns, isOver, linksTo, type Task, tasksIn, writeTaskLine } from './tasks.ts'
import { answerWith, Day, NoteText, ROUTE_OUTPUT, Tag } from './tool-io.ts'
import type { Vault, Vaults } from './vault.ts'

const Input = z.strictObject({
  title: z
    .string()
    .trim()
    .normalize('NFC')
    .min(1, { abort: true })
    .max(150, { abort: true })
    .regex(TITLE, {
      error: 'must be the name of a note: no \\ / : * ? " < > | # ^ [ ] and no "." at the beginning',
      abort: true,
    })
    .refine(isVisible, { error: 'has characters that cannot be seen', abort: true })
    .refine(title => !hasSigns(title), {
      error: 'has a sign of the Tasks plugin and what it is for, such as a day; give due instead',
      abort: true,
    })
    .refine(isSafeTitle, 'is too long, or ends in a dot')
    .describe('What to do, in a few words. It becomes the name of a note.'),
  due: Day.optional().describe('The day it is due, as 2026-12-01.'),
  tags: z.array(Tag).max(20).default([]).describe('Tags without "#".'),
  text: NoteText.default('').describe('More about the task, as Markdown; it goes into the note.'),
})
type Input = z.infer<typeof Input>

const Output = z.object({
  id: z.string().describe('Stands in the front matter of the note.'),
  title: z.string(),
  note: z.string().describe('The path of its note.'),
  list: z.string().describe('The note that lists it.'),
  ...ROUTE_OUTPUT,
})

/** The effects: a note with the operation's id in it, and a link to it in the list. */
export const TASK_EFFECTS: readonly [EffectSpec, EffectSpec] = [
  {
    name: 'note',
    kind: 'fileWritten',
    within: '{config.vault}',
    path: '{config.taskPrefix}{input.title}.md',
    contains: '{operationId}',
  },
  {
    name: 'line',
    kind: 'fileWritten',
    within: '{config.vault}',
    path: '{config.taskList}',
    contains: '[[{config.taskPrefix}{input.title}]]',
  },
]

/** The tool that makes a task: a note of its own, and a line in the list. */
export function createTaskCreate(vaults: Vaults, now: () => Date) {
  return defineTool({
    name: 'task_create',
    title: 'Create a task',
    short: 'Creates a task: a line with a box in the list of tasks, and a note of its own that it links to.',
    whenToUse:
      'To put something on the list of things to be done. Answers the paths of its note and of the list. ' +
      'It does not change a task that is there (task_update), and makes none whose title another note has.',
    section: 'notes',
    command: { name: 'task-create' },
    input: Input,
    output: Output,
    examples: [
      { query: 'remind me to buy milk', input: { title: 'Buy milk', tags: ['home'] } },
      { query: 'the report is due on the first', input: { title: 'Finish the report', due: '2026-12-01' } },
    ],
    mutates: true,
    mcp: { annotations: { destructiveHint: false } },
    idempotent: true,
    retry: 'verifyFirst',
    effects: TASK_EFFECTS,
    consent: ['notes.write'],
    handler: (input, context: CallContext<NotesConfig>) =>
      answerWith({ vaults, context, about: input.title, work: vault => create(vault, input, { context, now }) }),
  })
}

/** Writes the note first: a link to nothing would look like a task that lost its note. */
async function create(
  vault: Vault,
  input: Input,
  { context, now }: { context: CallContext<NotesConfig>; now: () => Date },
) {
  const { config, operationId: id } = context
  const target = `${config.taskPrefix}${input.title}`
  const note = `${target}.md`
  // An unreadable list, or one with the task, is refused before there is a note without a line.
  const list = (await vault.read(config.taskList)) ?? ''
  if (isWanted(context, 'note'))
    await vault.edit(note, text => {
      if (text === undefined && isWanted(context, 'line')) refuseListed(list, target, config)
      return newNote(text, { input, id, note, now: now() })
    })
  if (isWanted(context, 'line'))
    await vault
      .edit(config.taskList, text => withLine(text, input, target))
      .catch(error => throwPartial(error, note, config))
  const data = { id, title: input.title, note, list: config.taskList }
  return { text: `Made the task "${input.title}": its note is "${note}", its line is in "${config.taskList}".`, data }
}

/** A note without its line is neither done nor refused; the effects show what is missing. */
function throwPartial(error: unknown, note: string, { taskList }: NotesConfig): never {
  const reason = error instanceof Refusal ? error.message : errnoOf(error)
  if (reason === undefined) throw error
  const message = `The note "${note}" is there, but its line in "${taskList}" could not be written: ${reason}`
  throw new AppError('OUTCOME_UNKNOWN', message, { cause: error })
}

/** The first attempt writes everything, a later one only what is missing. */
function isWanted({ missingEffects }: CallContext, name: string): boolean {
  return missingEffects.length === 0 || missingEffects.some(effect => effect.name === name)
}

/** Two lines for one note would be the same task twice. A finished task does not block its title. */
function refuseListed(list: string, target: string, { taskList }: NotesConfig): void {
  const listed = tasksIn(splitLines(list)).find(task => !isOver(task) && isLinkTo(task, target))
  if (!listed) return
  throw new Refusal(
    `The list "${taskList}" links to "${target}" already, in line ${listed.index + 1}, and nothing was made. ` +
      'Change that task with task_update, or choose another title.',
  )
}

/** By its path, or by its name alone, which would also lead to the new note. */
function isLinkTo(task: Task, target: string): boolean {
  return linksTo(task, target) || linksTo(task, baseName(target))
}

function newNote(
  existing: string | undefined,
  { input, id, note, now }: { input: Input; id: string; note: string; now: Date },
): string | undefined {
  if (existing !== undefined) {
    const matter = frontMatterOf(splitLines(existing))
    // An earlier attempt of the same operation made it.
    if (matter && fieldsAsData(matter).id === id) return undefined
    throw new Refusal(`There is a note "${note}" already, and it was left alone. Choose another title.`)
  }
  const fields = [
    ...writeField('id', id, '\n'),
    ...writeField('created', now.toISOString(), '\n'),
    ...(input.due === undefined ? [] : writeField('due', input.due, '\n')),
    ...(input.tags.length === 0 ? [] : writeField('tags', [...new Set(input.tags)], '\n')),
  ]
  const body = input.text === '' ? '' : `\n${joinLines(linesToAdd(input.text, '\n'))}`
  return `---\n${joinLines(fields)}---\n${body}`
}

function withLine(text: string | undefined, { due, tags }: Input, target: string): string | undefined {
  const lines = splitLines(text ?? '')
  if (tasksIn(lines).some(task => !isOver(task) && linksTo(task, target))) return undefined
  const ending = endingOf(lines)
  const line = { text: writeTaskLine(target, due, [...new Set(tags)]), end: ending }
  return joinLines(insertLines(lines, lines.length, [line], ending))
}
