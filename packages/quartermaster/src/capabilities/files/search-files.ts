import { z } from 'zod'
import { type CallContext, defineTool, toolResult } from '../../core/catalogue/index.ts'
import { type Budget, createBudget } from '../shared/budget.ts'
import { decodeText, detectContent, HEAD_BYTES, NotText, readUpTo } from '../shared/text.ts'
import type { Pinned } from '../shared/walls/pinned.ts'
import { answering, errnoOf, Refusal } from '../shared/walls/refusal.ts'
import type { Found, Sandbox, Walls } from '../shared/walls/sandbox.ts'
import { type TreeEntry, walkTree } from '../shared/walls/tree.ts'
import { FILES_WORDS, type FilesConfig } from './config.ts'
import { createGlob, createMatcher, type Glob, type Matcher, type Span } from './patterns.ts'

const MOST_LEVELS = 64
const IGNORED = new Set(['.git', 'node_modules'])

const Input = z.strictObject({
  query: z
    .string()
    .min(1)
    .max(1000)
    .regex(/^[^\r\n]+$/, 'must be one line')
    .describe('The text to find within one line; with regex a regular expression.'),
  regex: z.boolean().default(false).describe('Read query as a regular expression in RE2 syntax.'),
  path: z
    .string()
    .min(1)
    .max(4096)
    .default('.')
    .describe('The folder or file to search; all folders that are yours when left out.'),
  glob: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Only files that match: "*.md" by name, "src/**/*.ts" by path from the folder.'),
  caseSensitive: z.boolean().default(false).describe('Distinguish upper and lower case.'),
  context: z.number().int().min(0).max(10).default(0).describe('Lines to show before and after each match.'),
  limit: z.number().int().min(1).max(1000).default(100).describe('The most matches.'),
  includeIgnored: z.boolean().default(false).describe('Search .git and node_modules too.'),
})

const Match = z.object({
  path: z.string(),
  in: z.enum(['name', 'content']),
  line: z.number().int().optional(),
  column: z.number().int().optional(),
  text: z.string().optional().describe('The line, cut around the match when it is long.'),
  before: z.array(z.string()).optional(),
  after: z.array(z.string()).optional(),
})
type Match = z.infer<typeof Match>

const Skipped = z.object({
  binary: z.number().int().describe('Files that are no text.'),
  tooLarge: z.number().int().describe('Files over the largest size.'),
  unreadable: z.number().int().describe('Files and folders that could not be opened.'),
  ignoredFolders: z.number().int().describe('.git and node_modules; includeIgnored searches them.'),
})

const Output = z.object({
  matches: z.array(Match),
  filesSearched: z.number().int(),
  skipped: Skipped,
  complete: z.boolean().describe('Whether everything was searched.'),
  stoppedBy: z
    .enum(['matches', 'files', 'bytes', 'time'])
    .optional()
    .describe('The limit that ended the search early.'),
})

/** The tool that searches names and contents of files. */
export function createSearchFiles(walls: Walls) {
  return defineTool({
    name: 'search_files',
    title: 'Search files',
    short:
      'Searches names and contents of files in the folders you were given, for plain text or a regular expression.',
    whenToUse:
      'When you know a word but not the file. Answers paths, line numbers and lines, the first match of each line, ' +
      'in order of path. Says how many files were skipped (no text, too large) and whether a limit ended it early: ' +
      'narrow it with path or glob then. ' +
      'It does not show whole files (read_file), does not follow links and does not match across lines.',
    section: 'files',
    command: { name: 'search-files' },
    input: Input,
    output: Output,
    examples: [
      { query: 'where is the invoice number mentioned?', input: { query: 'invoice number' } },
      {
        query: 'functions whose name begins with parse',
        input: { query: 'function parse\\w+', regex: true, glob: '*.ts' },
      },
    ],
    mutates: false,
    maxResultBytes: 1024 * 1024,
    handler: (input, context: CallContext<FilesConfig>) =>
      answering(input.path, () => search(input, context, walls), FILES_WORDS),
  })
}

/** The state of one search. */
interface Search {
  readonly input: z.infer<typeof Input>
  readonly sandbox: Sandbox
  readonly matcher: Matcher
  readonly wanted: Glob
  readonly budget: Budget
  readonly signal: AbortSignal
  readonly maxFileBytes: number
  readonly output: Pick<z.infer<typeof Output>, 'matches' | 'filesSearched' | 'skipped'>
}

async function search(input: z.infer<typeof Input>, context: CallContext<FilesConfig>, walls: Walls) {
  const { config, signal, deadline } = context
  const matcher = createMatcher(input.query, input)
  const wanted = input.glob === undefined ? () => true : createGlob(input.glob)
  const budget = createBudget({ matches: input.limit, deadline, signal })
  return walls.enter(config, async sandbox => {
    const skipped = { binary: 0, tooLarge: 0, unreadable: 0, ignoredFolders: 0 }
    const output = { matches: [], filesSearched: 0, skipped }
    const run: Search = { input, sandbox, matcher, wanted, budget, signal, maxFileBytes: config.maxFileBytes, output }
    const { found, problems } = await whereToSearch(sandbox, input.path)
    for (const start of found) await searchFrom(run, start)
    return searched(run, problems)
  })
}

async function whereToSearch(sandbox: Sandbox, path: string): Promise<{ found: Found[]; problems: string[] }> {
  if (sandbox.isEverything(path)) return sandbox.everything()
  const found = await sandbox.find(path)
  if (found.kind === 'other') throw new Refusal(`"${found.display}" is a pipe, socket or device, not a file.`)
  return { found: [found], problems: [] }
}

async function searchFrom(run: Search, start: Found): Promise<void> {
  if (start.kind === 'file') return searchContent(run, start.pinned, start.display)
  const { sandbox, budget, input, output, signal } = run
  const omitted = { unusable: 0, overfull: 0 }
  const shouldEnter = (name: string) => input.includeIgnored || !IGNORED.has(name)
  for await (const entry of walkTree({ sandbox, start, depth: MOST_LEVELS, shouldEnter, omitted, signal })) {
    if (budget.isUsedUp()) break
    await budget.breathe()
    if (entry.kind === 'folder' && !shouldEnter(entry.name)) output.skipped.ignoredFolders++
    else await searchEntry(run, entry)
  }
  output.skipped.unreadable += omitted.unusable + omitted.overfull
}

async function searchEntry(run: Search, entry: TreeEntry): Promise<void> {
  const { matcher, budget, output, sandbox, wanted } = run
  if (entry.kind === 'link' || entry.kind === 'other' || !wanted(entry.names.join('/'))) return
  // Agents write names composed (NFC); the file system may have them decomposed.
  if (matcher.find(entry.name) ?? matcher.find(entry.name.normalize('NFC'))) {
    budget.spend({ matches: 1, characters: entry.display.length })
    output.matches.push({ path: entry.display, in: 'name' })
  }
  if (entry.kind !== 'file' || budget.isUsedUp()) return
  const pinned = await sandbox.child(entry.folder, entry.name)
  if (!pinned) return
  if (pinned.stat.isFile()) await searchContent(run, pinned, entry.display)
  await pinned.release()
}

async function searchContent(run: Search, pinned: Pinned, path: string): Promise<void> {
  const { budget, input, output } = run
  const text = await textOf(run, pinned, path)
  if (text === undefined) return
  output.filesSearched++
  for await (const found of searchText(text, run)) {
    const match: Match = { path, in: 'content', line: found.line, column: found.column, text: found.text }
    if (input.context > 0) Object.assign(match, { before: found.before, after: found.after })
    budget.spend({ matches: 1, characters: path.length + [found.text, ...found.before, ...found.after].join().length })
    output.matches.push(match)
  }
}

/** The text of a file; otherwise `undefined`, and the reason is counted. */
async function textOf(
  { sandbox, budget, output, maxFileBytes }: Search,
  pinned: Pinned,
  path: string,
): Promise<string | undefined> {
  budget.spend({ files: 1 })
  if (Number(pinned.stat.size) > maxFileBytes) return void output.skipped.tooLarge++
  try {
    const handle = await sandbox.open(pinned)
    try {
      const head = await readUpTo(handle, Math.min(HEAD_BYTES, maxFileBytes))
      const content = detectContent(head, path)
      if (content.kind !== 'text') return void output.skipped.binary++
      const whole = head.length < HEAD_BYTES ? head : await readUpTo(handle, Number(pinned.stat.size))
      budget.spend({ bytes: whole.length })
      return decodeText(whole, content.encoding)
    } finally {
      await sandbox.walker.close(handle)
    }
  } catch (error) {
    if (error instanceof NotText) return void output.skipped.binary++
    if (errnoOf(error) === undefined) throw error
    return void output.skipped.unreadable++
  }
}

function searched({ output, budget, input }: Search, problems: readonly string[]) {
  const { stoppedBy } = budget
  const structuredContent: z.infer<typeof Output> = { ...output, complete: stoppedBy === undefined }
  if (stoppedBy) structuredContent.stoppedBy = stoppedBy
  const lines = output.matches.map(lineOf)
  if (lines.length === 0) lines.push(`Nothing found for "${input.query}".`)
  lines.push(`[${summary(structuredContent)}]`, ...problems.map(problem => `[${problem}]`))
  return toolResult({ content: [{ type: 'text', text: lines.join('\n') }], structuredContent })
}

function lineOf({ path, line, text, before = [], after = [] }: Match): string {
  if (line === undefined) return path
  const around = (texts: readonly string[], first: number) =>
    texts.map((text, index) => `${path}-${first + index}- ${text}`)
  return [...around(before, line - before.length), `${path}:${line}: ${text}`, ...around(after, line + 1)].join('\n')
}

function summary({ filesSearched, skipped, stoppedBy }: z.infer<typeof Output>): string {
  const { binary, tooLarge, unreadable, ignoredFolders } = skipped
  const parts = [`${filesSearched} files searched`]
  if (binary > 0) parts.push(`${binary} skipped that are no text`)
  if (tooLarge > 0) parts.push(`${tooLarge} skipped that are too large`)
  if (unreadable > 0) parts.push(`${unreadable} that could not be opened`)
  if (ignoredFolders > 0) parts.push(`${ignoredFolders} ignored folders left out`)
  if (stoppedBy) parts.push(`stopped early by the limit of ${stoppedBy}; narrow it with path or glob`)
  return parts.join('; ')
}

/** A line with a match; line and column count from 1. */
type LineMatch = Record<'line' | 'column', number> & { text: string } & Record<'before' | 'after', string[]>

// Enough to recognize a match; one line of a minified file would fill the answer.
const SHOWN = 240
// A very long line is searched in overlapping pieces, so that it does not block the event loop.
const PIECE = 8_192
const OVERLAP = 1_024
const LINES_BETWEEN_BREATHS = 64

/** Searches a text line by line until the budget is used up. */
async function* searchText(text: string, { matcher, input, budget }: Search): AsyncGenerator<LineMatch> {
  const { context } = input
  if (!matcher.mayMatch(text)) return
  const lines = linesOf(text)
  for (const [index, line] of lines.entries()) {
    if (index % LINES_BETWEEN_BREATHS === 0) await budget.breathe()
    if (budget.isUsedUp()) return
    const found = line.length > PIECE ? await findInLongLine(line, matcher, budget) : matcher.find(line)
    if (!found) continue
    yield {
      line: index + 1,
      column: found.start + 1,
      text: cutAround(line, found),
      before: lines.slice(Math.max(0, index - context), index).map(cutStart),
      after: lines.slice(index + 1, index + 1 + context).map(cutStart),
    }
  }
}

/** The part of a line around a match, with "…" where something was cut. */
function cutAround(line: string, { start, end }: Span): string {
  if (line.length <= SHOWN) return line
  const room = Math.max(0, SHOWN - (end - start))
  const from = Math.max(0, Math.min(start - Math.floor(room / 2), line.length - SHOWN))
  const to = Math.min(line.length, from + SHOWN)
  const shown = line.slice(from, to).replace(HALVES, '')
  return `${from > 0 ? '…' : ''}${shown}${to < line.length ? '…' : ''}`
}

// Halves of surrogate pairs at the cuts.
const HALVES = /^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g

function cutStart(line: string): string {
  return cutAround(line, { start: 0, end: 0 })
}

function linesOf(text: string): string[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines.map(line => (line.endsWith('\r') ? line.slice(0, -1) : line))
}

async function findInLongLine(line: string, matcher: Matcher, budget: Budget): Promise<Span | undefined> {
  for (let from = 0; from < line.length && !budget.isUsedUp(); from += PIECE - OVERLAP) {
    const found = matcher.find(line.slice(from, from + PIECE))
    if (found) return { start: from + found.start, end: from + found.end }
    await budget.breathe()
  }
  return undefined
}
