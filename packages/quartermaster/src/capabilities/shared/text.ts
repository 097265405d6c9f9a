import type { FileHandle } from 'node:fs/promises'
import { extname } from 'node:path'
import { TextDecoder } from 'node:util'
import { z } from 'zod'

export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be'

export type Content = { kind: 'text'; encoding: Encoding } | { kind: 'image' | 'binary'; mimeType: string }

/** Enough for every signature, and to recognise text. */
export const HEAD_BYTES = 8192

/** Thrown for bytes that turn out not to be text. */
export class NotText extends Error {}

/** The content of a file, by its first bytes. Text is UTF-8, or UTF-16 with a byte order mark; all else is binary. */
export function detectContent(head: Uint8Array, name: string): Content {
  const signature = SIGNATURES.find(({ parts }) => parts.every(([at, bytes]) => startsWith(head, bytes, at)))
  if (signature)
    return { kind: signature.mimeType.startsWith('image/') ? 'image' : 'binary', mimeType: signature.mimeType }
  const encoding = encodingOf(head)
  return encoding ? { kind: 'text', encoding } : { kind: 'binary', mimeType: mimeTypeOf(name) }
}

/** Decodes a whole file; throws `NotText`. */
export function decodeText(bytes: Uint8Array, encoding: Encoding): string {
  return decodeWith(new TextDecoder(encoding, { fatal: true }), bytes, false)
}

/** Decodes a piece of a text; throws `NotText`. An incomplete character at the end waits for the next piece. */
export function decodeWith(decoder: TextDecoder, bytes: Uint8Array, more: boolean): string {
  try {
    return decoder.decode(bytes, { stream: more })
  } catch (error) {
    throw new NotText('The bytes are no text.', { cause: error })
  }
}

/** The media type by the extension, for bytes without a known signature. */
export function mimeTypeOf(name: string): string {
  return BY_EXTENSION[extname(name).toLowerCase()] ?? 'application/octet-stream'
}

/** Up to `limit` bytes from a position; fewer only at the end. */
export async function readUpTo(handle: FileHandle, limit: number, position = 0): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(limit)
  let filled = 0
  while (filled < limit) {
    const { bytesRead } = await handle.read(buffer, filled, limit - filled, position + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}

const ascii = (text: string) => [...Buffer.from(text, 'latin1')]

const SIGNATURES: readonly { parts: readonly (readonly [at: number, bytes: readonly number[]])[]; mimeType: string }[] =
  [
    { parts: [[0, [0x89, ...ascii('PNG\r\n'), 0x1a, 0x0a]]], mimeType: 'image/png' },
    { parts: [[0, [0xff, 0xd8, 0xff]]], mimeType: 'image/jpeg' },
    { parts: [[0, ascii('GIF87a')]], mimeType: 'image/gif' },
    { parts: [[0, ascii('GIF89a')]], mimeType: 'image/gif' },
    {
      parts: [
        [0, ascii('RIFF')],
        [8, ascii('WEBP')],
      ],
      mimeType: 'image/webp',
    },
    { parts: [[0, ascii('%PDF-')]], mimeType: 'application/pdf' },
    { parts: [[0, [...ascii('PK'), 3, 4]]], mimeType: 'application/zip' },
    { parts: [[0, [0x1f, 0x8b, 0x08]]], mimeType: 'application/gzip' },
  ]

const BY_EXTENSION: Readonly<Record<string, string>> = {
  '.avif': 'image/avif',
  '.bmp': 'image/bmp',
  '.ico': 'image/x-icon',
  '.mp3': 'audio/mpeg',
  '.mp4': 'video/mp4',
  '.ogg': 'audio/ogg',
  '.sqlite': 'application/vnd.sqlite3',
  '.wasm': 'application/wasm',
  '.wav': 'audio/wav',
  '.woff2': 'font/woff2',
}

function startsWith(head: Uint8Array, bytes: readonly number[], at: number): boolean {
  return bytes.every((byte, index) => head[at + index] === byte)
}

function encodingOf(head: Uint8Array): Encoding | undefined {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le'
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be'
  if (head.includes(0)) return undefined
  try {
    decodeWith(new TextDecoder('utf-8', { fatal: true }), head, true)
    return 'utf-8'
  } catch {
    return undefined // Not UTF-8 is an answer here, not an error.
  }
}

/** How many lines are read at once by default. */
export const DEFAULT_LINES = 2_000
/** About 25,000 tokens, more than clients let a model see of one answer. */
export const MAX_CHARACTERS = 100_000

/** Inputs of tools that read lines. */
export const LINES_ASKED = {
  offset: z.number().int().min(1).optional().describe('The first line to read, counted from 1.'),
  limit: z
    .number()
    .int()
    .min(1)
    .max(100_000)
    .optional()
    .describe(`The most lines to read; ${DEFAULT_LINES} when left out.`),
}

/** Outputs of tools that read lines. */
export const LINES_LEFT = {
  more: z.boolean().describe('Whether there is more behind what was read.'),
  nextOffset: z.number().int().optional().describe('The offset that goes on from here.'),
  cut: z.boolean().optional().describe('Whether the last line was too long and is cut.'),
}

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB'] as const

/** A size for people and programs: `1.4 MiB (1468006 bytes)`. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? '1 byte' : `${bytes} bytes`
  const power = Math.min(UNITS.length, Math.floor(Math.log2(bytes) / 10))
  return `${(bytes / 1024 ** power).toFixed(1)} ${UNITS[power - 1]} (${bytes} bytes)`
}

// Some file systems (HFS+, case-insensitive ext4 folders) ignore invisible characters.
const UNSEEN = /\p{Default_Ignorable_Code_Point}/gu

/** A form that is equal for all names that some file system considers equal: case, composed letters, ligatures, long s. */
export function fold(text: string): string {
  return text.normalize('NFD').replace(UNSEEN, '').toUpperCase().toLowerCase().normalize('NFC')
}
