import type { FileHandle } from 'node:fs/promises'
import { TextDecoder } from 'node:util'
import { z } from 'zod'
import { type CallContext, defineTool, toolResult } from '../../core/catalogue/index.ts'
import {
  type Content,
  DEFAULT_LINES,
  decodeWith,
  detectContent,
  type Encoding,
  HEAD_BYTES,
  LINES_ASKED,
  LINES_LEFT,
  MAX_CHARACTERS,
  mimeTypeOf,
  NotText,
  readUpTo,
  sizeText,
} from '../shared/text.ts'
import { answering, Refusal } from '../shared/walls/refusal.ts'
import type { Found, Walls } from '../shared/walls/sandbox.ts'
import { FILES_WORDS, type FilesConfig } from './config.ts'

const MAX_BINARY_BYTES = 1024 * 1024

const Input = z.strictObject({
  path: z.string().min(1).max(4096).describe('The file to read, as list_files shows it.'),
  ...LINES_ASKED,
})

const Output = z.object({
  path: z.string(),
  kind: z.enum(['text', 'image', 'binary']),
  size: z.number().int().describe('Bytes of the whole file.'),
  mimeType: z.string().optional().describe('For images and other bytes.'),
  text: z.string().optional().describe('The lines that were read.'),
  encoding: z.string().optional().describe('How the text is written in the file.'),
  firstLine: z.number().int().optional(),
  lastLine: z.number().int().optional(),
  totalLines: z.number().int().optional().describe('Known when the end was reached.'),
  ...LINES_LEFT,
})

/** The tool that reads a file. */
export function createReadFile(walls: Walls) {
  return defineTool({
    name: 'read_file',
    title: 'Read a file',
    short: 'Reads a file in the folders you were given: text by lines, images as images, other small files as bytes.',
    whenToUse:
      'When you know the path and want the content. Text comes back as it is, at most 2,000 lines or 100,000 characters ' +
      'at once, with the size of the file, whether there is more and the offset to go on with; ' +
      'give offset and limit for a part of a large file. ' +
      'Images (PNG, JPEG, GIF, WebP) and other files come back whole up to 1 MiB. ' +
      'It does not list folders (list_files) and does not look for words (search_files).',
    section: 'files',
    command: { name: 'read-file' },
    input: Input,
    output: Output,
    examples: [
      { query: 'show the readme', input: { path: 'README.md' } },
      { query: 'lines 500 to 549 of the log', input: { path: 'logs/app.log', offset: 500, limit: 50 } },
    ],
    mutates: false,
    // An image of 1 MiB in base64, or the text twice: as content and as structured content.
    maxResultBytes: 4 * 1024 * 1024,
    handler: (input, context: CallContext<FilesConfig>) =>
      answering(input.path, () => read(input, context, walls), FILES_WORDS),
  })
}

interface OpenFile {
  readonly handle: FileHandle
  readonly path: string
  readonly size: number
}

async function read(input: z.infer<typeof Input>, context: CallContext<FilesConfig>, walls: Walls) {
  return walls.enter(context.config, async sandbox => {
    const found = await sandbox.find(input.path)
    refuseUnlessFile(found)
    const handle = await sandbox.open(found.pinned)
    const file = { handle, path: found.display, size: Number((await handle.stat()).size) }
    const content = detectContent(await readUpTo(handle, HEAD_BYTES), file.path)
    if (content.kind !== 'text') return readBytes(file, content)
    try {
      return await readText(file, { input, context, encoding: content.encoding })
    } catch (error) {
      if (!(error instanceof NotText)) throw error
      return readBytes(file, { kind: 'binary', mimeType: mimeTypeOf(file.path) })
    }
  })
}

function refuseUnlessFile({ kind, display }: Found): void {
  if (kind === 'folder') throw new Refusal(`"${display}" is a folder; list it with list_files.`)
  if (kind !== 'file') throw new Refusal(`"${display}" is a pipe, socket or device; only files can be read.`)
}

async function readText(
  file: OpenFile,
  { input, context, encoding }: { input: z.infer<typeof Input>; context: CallContext<FilesConfig>; encoding: Encoding },
) {
  const { maxFileBytes } = context.config
  if (file.size > maxFileBytes && input.offset === undefined && input.limit === undefined) {
    throw new Refusal(
      `"${file.path}" has ${sizeText(file.size)}, more than is read at once. ` +
        'Give offset and limit for some of its lines, or use search_files.',
    )
  }
  const offset = input.offset ?? 1
  const limit = input.limit ?? DEFAULT_LINES
  const lines = await readLines(file.handle, { encoding, offset, limit, signal: context.signal })
  if (offset > 1 && lines.lastLine < offset) {
    throw new Refusal(`"${file.path}" has ${lines.totalLines} lines, so there is no line ${offset}.`)
  }
  return textResult(file, lines, encoding)
}

function textResult({ path, size }: OpenFile, lines: Lines, encoding: string) {
  const more = lines.nextOffset !== undefined
  const structuredContent = { path, kind: 'text', size, encoding, more, ...lines } satisfies z.infer<typeof Output>
  const content = [{ type: 'text' as const, text: lines.text }]
  if (more) content.push({ type: 'text', text: continuation(lines, size) })
  return toolResult({ content, structuredContent })
}

function continuation({ firstLine, lastLine, nextOffset, cut }: Lines, size: number): string {
  const note = cut ? `Line ${lastLine} is longer than can be shown and is cut. ` : ''
  return `[${note}Lines ${firstLine} to ${lastLine} of a file of ${sizeText(size)}. Go on with offset ${nextOffset}.]`
}

async function readBytes({ handle, path, size }: OpenFile, { kind, mimeType }: Exclude<Content, { kind: 'text' }>) {
  const bytes = await readUpTo(handle, Math.min(size, MAX_BINARY_BYTES) + 1)
  if (bytes.length > MAX_BINARY_BYTES) {
    throw new Refusal(
      `"${path}" is ${mimeType} of ${sizeText(size)}; ` +
        `files that are no text are read up to ${sizeText(MAX_BINARY_BYTES)}.`,
    )
  }
  const data = bytes.toString('base64')
  const structuredContent = { path, kind, size: bytes.length, mimeType, more: false } satisfies z.infer<typeof Output>
  if (kind === 'image') return toolResult({ content: [{ type: 'image', data, mimeType }], structuredContent })
  const resource = { uri: uriOf(path), mimeType, blob: data }
  return toolResult({ content: [{ type: 'resource', resource }], structuredContent })
}

/** A URI with the agent's path, which does not reveal where the folder is. */
function uriOf(path: string): string {
  return `files:///${path.split('/').map(encodeURIComponent).join('/').replace(/^\/+/, '')}`
}

const CHUNK_BYTES = 64 * 1024

interface Lines {
  readonly text: string
  readonly firstLine: number
  /** Smaller than `firstLine` when there is no such line. */
  readonly lastLine: number
  /** Whether the last line is cut because it is too long. */
  readonly cut: boolean
  /** The next line; absent at the end of the file. */
  readonly nextOffset?: number
  /** Known when the end was reached. */
  readonly totalLines?: number
}

/** Reads a range of lines in pieces and stops after it. Throws `NotText`. */
async function readLines(
  handle: FileHandle,
  options: Limits & { encoding: Encoding; signal: AbortSignal },
): Promise<Lines> {
  const collected: Collected = { taken: [], size: 0, line: 1, current: '', endsOpen: false, cut: false }
  const decoder = new TextDecoder(options.encoding, { fatal: true })
  for (let position = 0; ; ) {
    options.signal.throwIfAborted()
    const bytes = await readUpTo(handle, CHUNK_BYTES, position)
    position += bytes.length
    const ended = bytes.length < CHUNK_BYTES
    if (take(collected, decodeWith(decoder, bytes, !ended), options)) return cutShort(collected, options)
    if (ended) return finished(collected, options)
  }
}

interface Limits {
  /** The first line, from 1. */
  offset: number
  /** The most lines. */
  limit: number
}

interface Collected {
  readonly taken: string[]
  /** Characters taken. */
  size: number
  /** The number of the current line. */
  line: number
  /** The part of the current line that was read, if the line is in the range. */
  current: string
  /** Whether the current line has no end yet. */
  endsOpen: boolean
  cut: boolean
}

/** Adds text; answers whether the range is complete. */
function take(collected: Collected, text: string, limits: Limits): boolean {
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf('\n', start)
    collected.endsOpen = newline === -1
    const end = collected.endsOpen ? text.length : newline + 1
    if (collected.line >= limits.offset && !add(collected, text.slice(start, end), limits)) return true
    if (!collected.endsOpen) collected.line++
    start = end
  }
  return false
}

/** Adds a piece of one line; answers whether it fitted. Only a single line over the limit is cut. */
function add(collected: Collected, piece: string, { limit }: Limits): boolean {
  const { taken, size } = collected
  if (taken.length === limit) return false
  collected.current += piece
  if (size + collected.current.length > MAX_CHARACTERS) {
    collected.cut = taken.length === 0
    // Without the first half of a surrogate pair.
    if (collected.cut) taken.push(collected.current.slice(0, MAX_CHARACTERS).replace(/[\uD800-\uDBFF]$/, ''))
    return false
  }
  if (!collected.endsOpen) flush(collected)
  return true
}

function flush(collected: Collected): void {
  collected.taken.push(collected.current)
  collected.size += collected.current.length
  collected.current = ''
}

function cutShort({ taken, cut }: Collected, { offset }: Limits): Lines {
  const nextOffset = offset + taken.length
  return { text: taken.join(''), firstLine: offset, lastLine: nextOffset - 1, cut, nextOffset }
}

function finished(collected: Collected, { offset }: Limits): Lines {
  if (collected.current !== '') flush(collected)
  const { taken, line, endsOpen, cut } = collected
  const totalLines = endsOpen ? line : line - 1
  return { text: taken.join(''), firstLine: offset, lastLine: offset + taken.length - 1, cut, totalLines }
}
