import { z } from 'zod'
import { type CallContext, defineTool } from '../../core/catalogue/index.ts'
import { DEFAULT_LINES, fold, LINES_ASKED, LINES_LEFT, MAX_CHARACTERS } from '../shared/text.ts'
import { Refusal } from '../shared/walls/refusal.ts'
import type { NotesConfig } from './config.ts'
import { fieldsAsData, frontMatterOf, type Heading, headingsOf, joinLines, type Line, splitLines } from './markdown.ts'
import { answerWith, type Done, findNote, NoteReference, ROUTE_OUTPUT } from './tool-io.ts'
import type { Vaults } from './vault.ts'

const MOST_HEADINGS = 200

const Input = z.strictObject({
  note: NoteReference,
  heading: z.string().min(1).max(500).optional().describe('Only the section below this heading, subsections included.'),
  ...LINES_ASKED,
})
type Input = z.infer<typeof Input>

const Output = z.object({
  path: z.string(),
  text: z.string(),
  frontMatter: z
    .record(z.string(), z.union([z.string(), z.array(z.string())]))
    .describe('Its plain fields as texts and lists; what is written in other ways is in the text only.'),
  headings: z.array(z.object({ level: z.number().int(), title: z.string(), line: z.number().int() })),
  firstLine: z.number().int(),
  lastLine: z.number().int(),
  totalLines: z.number().int(),
  ...LINES_LEFT,
  ...ROUTE_OUTPUT,
})

/** The tool that shows a note. */
export function createNoteRead(vaults: Vaults) {
  return defineTool({
    name: 'note_read',
    title: 'Read a note',
    short: 'Reads a note of the vault: all of it, the section of a heading, or some lines.',
    whenToUse:
      'When you know the name of a note and want what it says. Answers the text as it is, its front matter as data, ' +
      'its headings with their lines, and whether there is more. ' +
      'It does not look for words (note_search) and shows no tasks as such (task_list).',
    section: 'notes',
    command: { name: 'note-read' },
    input: Input,
    output: Output,
    examples: [
      { query: 'what is in the note on the garden?', input: { note: 'Garden' } },
      { query: 'the decisions of the meeting', input: { note: 'Meetings/2026-11-02', heading: 'Decisions' } },
    ],
    mutates: false,
    // The text twice: as content and as structured content.
    maxResultBytes: 4 * 1024 * 1024,
    handler: (input, context: CallContext<NotesConfig>) =>
      answerWith({
        vaults,
        context,
        about: input.note,
        async work(vault) {
          const { path, text } = await findNote(vault, input.note, context.signal)
          return show(path, splitLines(text), input)
        },
      }),
  })
}

function show(path: string, lines: readonly Line[], input: Input): Done<Omit<z.infer<typeof Output>, 'through'>> {
  const headings = headingsOf(lines)
  const range = rangeOf(path, headings, { ...input, lineCount: lines.length })
  const { text, count, cut } = take(lines, range)
  const more = range.from + count < range.to
  const matter = frontMatterOf(lines)
  const data = {
    path,
    text,
    frontMatter: matter ? fieldsAsData(matter) : {},
    headings: headings.slice(0, MOST_HEADINGS).map(({ level, title, from }) => ({ level, title, line: from + 1 })),
    firstLine: range.from + 1,
    lastLine: range.from + count,
    totalLines: lines.length,
    more,
    ...(more && { nextOffset: range.from + count + 1 }),
    ...(cut && { cut }),
  }
  return { text: more ? `${text}\n[There is more; go on with offset ${data.nextOffset}.]` : text, data }
}

type Range = Record<'from' | 'to' | 'limit', number>

function rangeOf(path: string, headings: readonly Heading[], input: Input & { lineCount: number }): Range {
  const section =
    input.heading === undefined ? { from: 0, to: input.lineCount } : sectionOf(path, headings, input.heading)
  const from = Math.max(section.from, (input.offset ?? 1) - 1)
  if (from > section.from && from >= section.to)
    throw new Refusal(`"${path}" ends at line ${section.to} there, so there is no line ${from + 1}.`)
  return { from, to: section.to, limit: input.limit ?? DEFAULT_LINES }
}

/** The first section with this heading. */
export function sectionOf(path: string, headings: readonly Heading[], wanted: string): Heading {
  const title = wanted.replace(/^#{1,6}[ \t]+/, '').trim()
  const found = headings.find(heading => fold(heading.title) === fold(title))
  if (found) return found
  const known = headings.slice(0, 20).map(heading => `"${heading.title}"`)
  throw new Refusal(
    `"${path}" has no heading "${title}". ${known.length > 0 ? `It has: ${known.join(', ')}.` : 'It has none at all.'}`,
  )
}

function take(lines: readonly Line[], { from, to, limit }: Range): { text: string; count: number; cut: boolean } {
  const wanted = lines.slice(from, Math.min(to, from + limit))
  let size = 0
  const end = wanted.findIndex(({ text }) => (size += text.length + 2) > MAX_CHARACTERS)
  if (end === -1) return { text: joinLines(wanted), count: wanted.length, cut: false }
  if (end > 0) return { text: joinLines(wanted.slice(0, end)), count: end, cut: false }
  // Without the first half of a surrogate pair.
  const text = (wanted[0]?.text ?? '').slice(0, MAX_CHARACTERS).replace(/[\uD800-\uDBFF]$/, '')
  return { text, count: 1, cut: true }
}
