import { z } from 'zod'
import { type CallContext, defineTool } from '../../core/catalogue/index.ts'
import { Refusal } from '../shared/walls/refusal.ts'
import type { NotesConfig } from './config.ts'
import { endingOf, headingsOf, insertLines, joinLines, type Line, linesToAdd, splitLines } from './markdown.ts'
import { isSafeNote } from './note-name.ts'
import { sectionOf } from './note-read.ts'
import { answerWith, findNote, NoteReference, NoteText, ROUTE_OUTPUT, seekNote } from './tool-io.ts'
import type { Vault, Vaults } from './vault.ts'

const Input = z.strictObject({
  note: NoteReference,
  text: NoteText.min(1).describe('What to add, as Markdown.'),
  heading: z.string().min(1).max(500).optional().describe('Add it to the section below this heading.'),
  create: z.boolean().default(false).describe('Make the note when there is none.'),
})
type Input = z.infer<typeof Input>

const Output = z.object({
  path: z.string(),
  created: z.boolean(),
  line: z.number().int().describe('Where what was added begins.'),
  ...ROUTE_OUTPUT,
})

/** The tool that adds to a note. */
export function createNoteAppend(vaults: Vaults) {
  return defineTool({
    name: 'note_append',
    title: 'Add to a note',
    short: 'Adds text to the end of a note, or to the end of the section below a heading.',
    whenToUse:
      'To write something down in a note that is there, or in a new one with create. All that was there stays as it is. ' +
      'Answers the path and the line where the addition begins. ' +
      'It does not change or remove what is there, and for tasks there is task_create.',
    section: 'notes',
    command: { name: 'note-append' },
    input: Input,
    output: Output,
    examples: [
      { query: 'note that the tomatoes need water', input: { note: 'Garden', text: '- Tomatoes need water.' } },
      { query: 'add a decision', input: { note: 'Meetings/Monday', heading: 'Decisions', text: '- We move in May.' } },
    ],
    mutates: true,
    mcp: { annotations: { destructiveHint: false } },
    idempotent: false,
    consent: ['notes.write'],
    handler: (input, context: CallContext<NotesConfig>) =>
      answerWith({ vaults, context, about: input.note, work: vault => append(vault, input, context.signal) }),
  })
}

async function append(vault: Vault, input: Input, signal: AbortSignal) {
  const path = await pathOf(vault, input, signal)
  let line = 1
  const { created } = await vault.edit(path, text => {
    if (text === undefined && !input.create) throw new Refusal(`There is no note "${path}". Set create to make it.`)
    const added = withAddition(path, splitLines(text ?? ''), input)
    line = added.line
    return joinLines(added.lines)
  })
  const text = `${created ? 'Made' : 'Added to'} "${path}", from line ${line} on.`
  return { text, data: { path, created, line } }
}

/** The path of the requested note; a new note needs a name that works on all systems. */
async function pathOf(vault: Vault, { note, create }: Input, signal: AbortSignal): Promise<string> {
  const found = create ? await seekNote(vault, note, signal) : await findNote(vault, note, signal)
  if ('text' in found) return found.path
  const path = found.path.normalize('NFC')
  if (!isSafeNote(path))
    throw new Refusal(`"${note}" has characters that a new note cannot have in its name, or that cannot be seen.`)
  return path
}

function withAddition(path: string, lines: readonly Line[], { text, heading }: Input): { lines: Line[]; line: number } {
  const ending = endingOf(lines)
  const at = heading === undefined ? lines.length : endOfSection(lines, sectionOf(path, headingsOf(lines), heading))
  return { lines: insertLines(lines, at, linesToAdd(text, ending), ending), line: at + 1 }
}

/** The place after the last line with text: empty lines keep the next heading apart. */
function endOfSection(lines: readonly Line[], { from, to }: { from: number; to: number }): number {
  let end = to
  while (end > from + 1 && lines[end - 1]?.text.trim() === '') end--
  return end
}
