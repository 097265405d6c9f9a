import { z } from 'zod'
import { type CallContext, defineTool } from '../../core/catalogue/index.ts'
import { type Budget, createBudget } from '../shared/budget.ts'
import { fold } from '../shared/fold.ts'
import { errnoOf, Refusal } from '../shared/refusal.ts'
import type { Sandbox } from '../shared/sandbox.ts'
import type { Met } from '../shared/tree.ts'
import { answerWith, type Done, WAY } from './answer.ts'
import type { NotesConfig } from './config.ts'
import { readPinned } from './disk-store.ts'
import { walkNotes } from './find-note.ts'
import { type Ranked, rankNote, wordsOf } from './rank.ts'
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
  searched: z.number().int().describe('How many notes were looked at.'),
  unreadable: z.number().int().describe('Notes that are too large, no text, or closed.'),
  complete: z.boolean().describe('Whether all notes were looked at.'),
  stoppedBy: z
    .enum(['matches', 'files', 'bytes', 'time'])
    .optional()
    .describe('The limit that ended the search early.'),
  ...WAY,
})
type Found = Omit<z.infer<typeof Output>, 'through'>

/** The tool that looks for words in a vault. */
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
        work: ({ sandbox }) => search({ input, context, sandbox }),
      }),
  })
}

interface Search {
  input: Input
  context: CallContext<NotesConfig>
  sandbox: Sandbox
}

async function search({ input, context, sandbox }: Search): Promise<Done<Found>> {
  const words = wordsOf(input.query)
  if (words.length === 0) throw new Refusal('The query has no words.')
  const { deadline, signal } = context
  const budget = createBudget({ matches: Number.MAX_SAFE_INTEGER, deadline, signal })
  const best: Ranked[] = []
  const counts = { found: 0, searched: 0, unreadable: 0 }
  for await (const met of walkNotes(sandbox, signal)) {
    if (budget.isUsedUp()) break
    await budget.breathe()
    if (!isIn(met, input.folder)) continue
    const text = await textOf(sandbox, met, budget)
    if (text === undefined) counts.unreadable++
    else counts.searched++
    const ranked = text === undefined ? undefined : rankNote({ path: met.display, text }, words)
    if (ranked) counts.found++
    if (ranked) keepBest(best, ranked, input.limit)
  }
  return answer(input, { best, counts, budget })
}

function isIn({ display }: Met, folder: string | undefined): boolean {
  return folder === undefined || fold(display).startsWith(`${fold(folder.replace(/\/+$/, ''))}/`)
}

/** The text of a note, or nothing when it cannot be read; one bad note does not end a search. */
async function textOf(sandbox: Sandbox, { folder, name, display }: Met, budget: Budget): Promise<string | undefined> {
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

/** Keeps the best, in order. */
function keepBest(best: Ranked[], ranked: Ranked, limit: number): void {
  const isBetter = (other: Ranked) =>
    ranked.words > other.words || (ranked.words === other.words && ranked.score > other.score)
  const at = best.findIndex(isBetter)
  if (at !== -1) best.splice(at, 0, ranked)
  else best.push(ranked)
  if (best.length > limit) best.pop()
}

interface Result {
  best: readonly Ranked[]
  counts: Pick<Found, 'found' | 'searched' | 'unreadable'>
  budget: Budget
}

function answer({ query }: Input, { best, counts, budget }: Result): Done<Found> {
  const { stoppedBy } = budget
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
