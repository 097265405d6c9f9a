import type { BigIntStats } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { z } from 'zod'
import { type CallContext, defineTool, toolResult } from '../../core/catalogue/index.ts'
import { answering, isMissing, Refusal } from '../shared/walls/refusal.ts'
import type { Found, Sandbox, Walls } from '../shared/walls/sandbox.ts'
import { type OmittedEntries, type TreeEntry, type TreeOptions, walkTree } from '../shared/walls/tree.ts'
import { FILES_WORDS, type FilesConfig } from './config.ts'
import { createGlob, type Glob } from './patterns.ts'

const DEFAULT_ENTRIES = 200
const MOST_ENTRIES = 2_000
// A page ends after this many names, wanted or not, so that a rare glob over a large tree answers in time.
const MOST_VISITED = 20_000

const Input = z.strictObject({
  path: z
    .string()
    .min(1)
    .max(4096)
    .default('.')
    .describe('The folder to list; "." (the default) is the folder you were given, or all of them.'),
  depth: z.number().int().min(1).max(10).default(1).describe('How many levels of folders to list.'),
  glob: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Only what matches: "*.md" by name at any depth, "src/**/*.ts" by path from the folder.'),
  limit: z.number().int().min(1).max(MOST_ENTRIES).default(DEFAULT_ENTRIES).describe('The most entries at once.'),
  cursor: z.string().max(10_000).optional().describe('The nextCursor of the page before, with the same other fields.'),
})

const Entry = z.object({
  path: z.string(),
  kind: z.enum(['file', 'folder', 'link', 'other']),
  leadsTo: z.enum(['file', 'folder', 'other']).optional().describe('What a link leads to.'),
  size: z.number().int().optional().describe('Bytes of a file.'),
  modified: z.string().describe('When it was last changed, ISO 8601.'),
})
type Entry = z.infer<typeof Entry>

const Output = z.object({
  path: z.string(),
  entries: z.array(Entry),
  more: z.boolean().describe('Whether the list is cut; then go on with nextCursor.'),
  nextCursor: z.string().optional(),
  notes: z.array(z.string()).describe('What could not be listed, and why.'),
})

/** The tool that lists a folder. */
export function createListFiles(walls: Walls) {
  return defineTool({
    name: 'list_files',
    title: 'List files',
    short: 'Lists files and folders in the folders you were given, sorted, with kind, size and time of change.',
    whenToUse:
      'To find out what is there and how a path is written, before reading or writing. ' +
      'Each entry has the path that the other tools take; a cut list says so and gives nextCursor for the rest. ' +
      'It shows names, not contents (read_file), and does not look into files (search_files). ' +
      'Links are shown and not followed.',
    section: 'files',
    command: { name: 'list-files', arguments: ['path'] },
    input: Input,
    output: Output,
    examples: [
      { query: 'what is in this folder?', input: {} },
      { query: 'all Markdown files', input: { glob: '*.md', depth: 10 } },
    ],
    mutates: false,
    // 2,000 entries, as text and as structured content.
    maxResultBytes: 2 * 1024 * 1024,
    handler: (input, context: CallContext<FilesConfig>) =>
      answering(input.path, () => list(input, context, walls), FILES_WORDS),
  })
}

async function list(input: z.infer<typeof Input>, context: CallContext<FilesConfig>, walls: Walls) {
  const after = input.cursor === undefined ? undefined : fromCursor(input.cursor)
  const wanted = input.glob === undefined ? () => true : createGlob(input.glob)
  const page: Page = { entries: [], wanted, limit: input.limit }
  return walls.enter(context.config, async sandbox => {
    const omitted = { unusable: 0, overfull: 0 }
    const walk = { sandbox, depth: input.depth, omitted, signal: context.signal }
    if (!sandbox.isEverything(input.path)) {
      const start = await sandbox.find(input.path)
      if (start.kind !== 'folder') throw new Refusal(`"${start.display}" is not a folder; use read_file.`)
      await fill(page, walkTree({ ...walk, start, after }), { sandbox, omitted })
      return listed(page, start.display, { glob: input.glob, notes: notesOf(omitted) })
    }
    const { found, problems } = await sandbox.everything()
    await fill(page, walkRoots({ ...walk, found, after }), { sandbox, omitted })
    return listed(page, '.', { glob: input.glob, notes: [...problems, ...notesOf(omitted)] })
  })
}

interface Page {
  readonly entries: Entry[]
  readonly wanted: Glob
  readonly limit: number
  /** The names that lead to the last visited entry, when the page is full. */
  stoppedAt?: readonly string[]
}

/** All roots as if they were in one folder, in the order of the settings. */
async function* walkRoots(
  options: Omit<TreeOptions, 'start'> & { found: readonly Found[] },
): AsyncGenerator<TreeEntry> {
  const { found, depth, after, ...walk } = options
  const from = after ? found.findIndex(root => root.display === after[0]) : 0
  if (from === -1) throw badCursor()
  for (const [index, start] of found.slice(from).entries()) {
    const resuming = after !== undefined && index === 0
    const { pinned, display } = start
    if (!resuming) yield { name: display, kind: 'folder', names: [display], display, folder: pinned, pinned }
    if (depth === 1) continue
    const rest = resuming && after.length > 1 ? after.slice(1) : undefined
    for await (const entry of walkTree({ ...walk, start, depth: depth - 1, after: rest })) {
      yield { ...entry, names: [display, ...entry.names] }
    }
  }
}

async function fill(
  page: Page,
  walk: AsyncGenerator<TreeEntry>,
  { sandbox, omitted }: { sandbox: Sandbox; omitted: OmittedEntries },
): Promise<void> {
  let visited = 0
  let last: TreeEntry | undefined
  for await (const found of walk) {
    // Only an entry beyond a full page proves that there is more.
    if (last && (page.entries.length === page.limit || visited === MOST_VISITED)) {
      page.stoppedAt = last.names
      return
    }
    visited++
    last = found
    if (!page.wanted(found.names.join('/'))) continue
    const entry = await describe(found, sandbox)
    if (entry === 'unusable') omitted.unusable++
    else if (entry) page.entries.push(entry)
  }
}

async function describe(met: TreeEntry, sandbox: Sandbox): Promise<Entry | 'unusable' | undefined> {
  const stat = met.pinned?.stat ?? (await statOf(met, sandbox))
  if (!stat) return undefined
  const entry = { path: met.display, kind: met.kind, modified: stat.mtime.toISOString() }
  if (met.kind === 'file') return { ...entry, size: Number(stat.size) }
  if (met.kind !== 'link') return entry
  const leadsTo = await sandbox.behindLink(met.folder, met.name)
  return leadsTo === undefined || leadsTo === 'link' ? 'unusable' : { ...entry, leadsTo }
}

async function statOf({ folder, name }: TreeEntry, { walker }: Sandbox): Promise<BigIntStats | undefined> {
  try {
    const stat = await lstat(folder.at(name), { bigint: true })
    await walker.confirm(folder)
    return stat
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function notesOf({ unusable, overfull }: OmittedEntries): string[] {
  const notes: string[] = []
  if (unusable > 0) notes.push(`${unusable} not listed: closed, leading outside, or with names that cannot be used.`)
  if (overfull > 0) notes.push(`${overfull} with too many names to list all of them; ask for a folder further in.`)
  return notes
}

function listed(
  { entries, stoppedAt }: Page,
  path: string,
  { glob, notes }: { glob: string | undefined; notes: string[] },
) {
  const output: z.infer<typeof Output> = { path, entries, more: stoppedAt !== undefined, notes }
  if (stoppedAt) output.nextCursor = toCursor(stoppedAt)
  const lines = entries.map(lineOf)
  if (entries.length === 0 && !stoppedAt)
    lines.push(glob === undefined ? 'The folder is empty.' : `Nothing matches "${glob}".`)
  if (output.nextCursor) lines.push(`[There is more: go on with cursor "${output.nextCursor}".]`)
  lines.push(...notes.map(note => `[${note}]`))
  return toolResult({ content: [{ type: 'text', text: lines.join('\n') }], structuredContent: output })
}

function lineOf({ path, kind, leadsTo, size, modified }: Entry): string {
  const what = leadsTo === undefined ? kind : `${kind} to ${leadsTo}`
  return [what, size === undefined ? '-' : String(size), modified, path].join('\t')
}

// The cursor says where the page ended, so that it stays valid while files come and go.
function toCursor(names: readonly string[]): string {
  return Buffer.from(JSON.stringify(names)).toString('base64url')
}

const Names = z.array(z.string().min(1)).min(1).max(70)

function fromCursor(cursor: string): string[] {
  try {
    return Names.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()))
  } catch {
    throw badCursor()
  }
}

function badCursor(): Refusal {
  return new Refusal('The cursor does not belong to this list. Leave it out to begin again.')
}
