import { z } from 'zod'
import { type CallContext, defineTool } from '../../core/catalogue/index.ts'
import { type Budget, createBudget } from '../shared/budget.ts'
import { fold } from '../shared/text.ts'
import { errnoOf, Refusal } from '../shared/walls/refusal.ts'
import type { Sandbox } from '../shared/walls/sandbox.ts'
import type { TreeEntry } from '../shared/walls/tree.ts'
import type { NotesConfig } from './config.ts'
import { readPinned } from './disk-store.ts'
import { frontMatterOf, headingsOf, joinLines, splitLines } from './markdown.ts'
import { baseName, withoutEnding } from './note-name.ts'
import { answerWith, type Done, ROUTE_OUTPUT, walkNotes } from './tool-io.ts'
import type { Vaults } from './vault.ts'

const Input = z.strictObject({
  query: z.string().min(1).max(500).describe('Words to look for in names, front matter and texts; a tag with its "#".'),
  folder: z.string().min(1).max(500).optional().describe('Only notes in this folder of the vault.'),
  limit: z.number().int().min(1).max(100).default(20).describe('The most notes.'),
})
type Input = z.infer<typeof Input>

const Output = z.object({
  notes: z.array(
    z.object({
      path: z.string(),
      words: z.number().int().describe('How many of the words it has.'),
      lines: z.array(z.object({ line: z.number().int(), text: z.string() })).describe('The first lines with one.'),
    }),
  ),
  found: z.number().int().describe('How many notes have any of the words.'),
  searched: z.number().int().describe('How many notes were searched.'),
  unreadable: z.number().int().describe('Notes that are too large, no text, or closed.'),
  complete: z.boolean().describe('Whether all notes were searched.'),
  stoppedBy: z
    .enum(['matches', 'files', 'bytes', 'time'])
    .optional()
    .describe('The limit that ended the search early.'),
  ...ROUTE_OUTPUT,
})
type Found = Omit<z.infer<typeof Output>, 'through'>

/** The tool that searches the notes of a vault. */
export function createNoteSearch(vaults: Vaults) {
  return defineTool({
    name: 'note_search',
    title: 'Search notes',
    short: 'Searches the vault for words in names, front matter and texts of notes, best notes first.',
    whenToUse:
      'When you know words but not the note. Answers paths and the first lines with a word; ' +
      'notes with more of the words come first, and names count more than texts. ' +
      'It does not show whole notes (note_read), knows no regular expressions and skips hidden folders.',
    section: 'notes',
    command: { name: 'note-search' },
    input: Input,
    output: Output,
    examples: [
      { query: 'which notes are about tomatoes?', input: { query: 'tomatoes' } },
      { query: 'notes of meetings tagged with budget', input: { query: '#budget', folder: 'Meetings' } },
    ],
    mutates: false,
    maxResultBytes: 1024 * 1024,
    handler: (input, context: CallContext<NotesConfig>) =>
      answerWith({
        vaults,
        context,
        about: input.query,
        work: ({ sandbox }) => search(input, context, sandbox),
      }),
  })
}

async function search(input: Input, context: CallContext<NotesConfig>, sandbox: Sandbox): Promise<Done<Found>> {
  const words = wordsOf(input.query)
  if (words.length === 0) throw new Refusal('The query has no words.')
  const { deadline, signal } = context
  const budget = createBudget({ matches: Number.MAX_SAFE_INTEGER, deadline, signal })
  const best: Ranked[] = []
  const counts = { found: 0, searched: 0, unreadable: 0 }
  for await (const entry of walkNotes(sandbox, signal)) {
    if (budget.isUsedUp()) break
    await budget.breathe()
    if (!isIn(entry, input.folder)) continue
    const text = await textOf(sandbox, entry, budget)
    if (text === undefined) counts.unreadable++
    else counts.searched++
    const ranked = text === undefined ? undefined : rankNote(entry.display, text, words)
    if (ranked) counts.found++
    if (ranked) keepBest(best, ranked, input.limit)
  }
  return answer(input.query, best, { ...counts, stoppedBy: budget.stoppedBy })
}

function isIn({ display }: TreeEntry, folder: string | undefined): boolean {
  return folder === undefined || fold(display).startsWith(`${fold(folder.replace(/\/+$/, ''))}/`)
}

/** `undefined` for a note that cannot be read: one bad note does not end a search. */
async function textOf(
  sandbox: Sandbox,
  { folder, name, display }: TreeEntry,
  budget: Budget,
): Promise<string | undefined> {
  const pinned = await sandbox.child(folder, name)
  try {
    budget.spend({ files: 1, bytes: Number(pinned?.stat.size ?? 0) })
    return pinned && (await readPinned(sandbox, pinned, display))
  } catch (error) {
    if (!(error instanceof Refusal) && errnoOf(error) === undefined) throw error
    return undefined
  } finally {
    await pinned?.release()
  }
}

function keepBest(best: Ranked[], ranked: Ranked, limit: number): void {
  const isBetter = (other: Ranked) =>
    ranked.words > other.words || (ranked.words === other.words && ranked.score > other.score)
  const at = best.findIndex(isBetter)
  if (at !== -1) best.splice(at, 0, ranked)
  else best.push(ranked)
  if (best.length > limit) best.pop()
}

function answer(
  query: string,
  best: readonly Ranked[],
  { stoppedBy, ...counts }: Pick<Found, 'found' | 'searched' | 'unreadable'> & Pick<Budget, 'stoppedBy'>,
): Done<Found> {
  const notes = best.map(({ path, words, lines }) => ({ path, words, lines: [...lines] }))
  const shown = notes.map(({ path, lines }) =>
    [path, ...lines.map(({ line, text }) => `  ${line}: ${text}`)].join('\n'),
  )
  if (shown.length === 0) shown.push(`No note has any of the words "${query}".`)
  const end = stoppedBy ? `; stopped early by the limit of ${stoppedBy}, narrow it with folder` : ''
  shown.push(`[${counts.found} of ${counts.searched} notes${end}]`)
  const data = { notes, ...counts, complete: stoppedBy === undefined, ...(stoppedBy && { stoppedBy }) }
  return { text: shown.join('\n'), data }
}

/** A matching note. */
interface Ranked {
  readonly path: string
  readonly words: number
  readonly score: number
  readonly lines: readonly { readonly line: number; readonly text: string }[]
}

// A name tells what a note is about, a heading what a part is about. Many occurrences tell little more than a few.
const POINTS = { wholeName: 20, name: 10, frontMatter: 4, heading: 3, text: 1 } as const
const MOST_COUNTED = 5
const MOST_WORDS = 20
const MOST_LINES = 3
const SHOWN = 240
// Text beyond this does not tell what a note is about.
const MOST_CHARACTERS = 1024 * 1024

/** The distinct words of a query, folded. */
function wordsOf(query: string): string[] {
  const words = fold(query).split(/[\s,;]+/u)
  return [...new Set(words.filter(word => word !== ''))].slice(0, MOST_WORDS)
}

/** The score of a note; `undefined` when it has none of the words. */
function rankNote(path: string, text: string, words: readonly string[]): Ranked | undefined {
  const whole = fold(text.slice(0, MOST_CHARACTERS))
  const foldedPath = fold(withoutEnding(path))
  const present = words.filter(word => foldedPath.includes(word) || whole.includes(word))
  if (present.length === 0) return undefined
  const lines = splitLines(text.slice(0, MOST_CHARACTERS))
  const matter = frontMatterOf(lines)
  const parts = {
    name: fold(baseName(path)),
    path: foldedPath,
    frontMatter: matter ? fold(joinLines(lines.slice(matter.from, matter.to))) : '',
    headings: fold(
      headingsOf(lines)
        .map(({ title }) => title)
        .join('\n'),
    ),
    text: whole,
  }
  const score = present.reduce((sum, word) => sum + pointsOf(word, parts), 0)
  return { path, words: present.length, score, lines: linesWith(lines, present) }
}

type Parts = Record<'name' | 'path' | 'frontMatter' | 'headings' | 'text', string>

function pointsOf(word: string, { name, path, frontMatter, headings, text }: Parts): number {
  const named = name === word ? POINTS.wholeName : path.includes(word) ? POINTS.name : 0
  const described = frontMatter.includes(word) ? POINTS.frontMatter : 0
  const headed = headings.includes(word) ? POINTS.heading : 0
  return named + described + headed + countOf(word, text) * POINTS.text
}

function countOf(word: string, text: string): number {
  let count = 0
  for (let at = text.indexOf(word); at !== -1 && count < MOST_COUNTED; at = text.indexOf(word, at + word.length))
    count++
  return count
}

function linesWith(lines: readonly { readonly text: string }[], words: readonly string[]): Ranked['lines'] {
  const found: { line: number; text: string }[] = []
  for (const [index, { text }] of lines.entries()) {
    const folded = fold(text)
    if (words.some(word => folded.includes(word))) found.push({ line: index + 1, text: cut(text) })
    if (found.length === MOST_LINES) break
  }
  return found
}

/** Cuts without leaving half of a surrogate pair. */
function cut(text: string): string {
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN).replace(/[\uD800-\uDBFF]$/, '')}…`
}
