import { z } from 'zod'
import type { ToolResult } from '../../contracts/index.ts'
import { type CallContext, toolResult } from '../../core/catalogue/index.ts'
import { closest } from '../../core/kernel/index.ts'
import { fold } from '../shared/text.ts'
import { answering, Refusal } from '../shared/walls/refusal.ts'
import type { Sandbox } from '../shared/walls/sandbox.ts'
import { type Met, walkTree } from '../shared/walls/tree.ts'
import { NOTES_WORDS, type NotesConfig } from './config.ts'
import { baseName, toNotePath } from './note-name.ts'
import type { Taken, Vault, Vaults } from './vault.ts'

/** What every answer says about how the notes were reached. */
export const ROUTE_OUTPUT = {
  through: z.enum(['obsidian', 'disk']).describe('Whether Obsidian was asked, or the folder itself.'),
  fallback: z.string().optional().describe('Why it was the folder although Obsidian is configured.'),
}

/** What a tool did: a sentence or the text that was asked for, and the same as data. */
export interface Done<O> {
  readonly text: string
  readonly data: O
}

interface AnswerOptions<O> {
  vaults: Vaults
  context: CallContext<NotesConfig>
  /** What a refusal of the file system is about. */
  about: string
  work(vault: Vault): Promise<Done<O>>
}

/** Does a tool's work in the agent's vault and answers what came of it and which way it went. */
export function answerWith<O extends object>({ vaults, context, about, work }: AnswerOptions<O>): Promise<ToolResult> {
  return answering(
    about,
    () =>
      vaults.enter(context, async vault => {
        const { text, data } = await work(vault)
        const taken = vault.taken()
        const content = [text, ...fallbackText(taken)].map(part => ({ type: 'text' as const, text: part }))
        return toolResult({ content, structuredContent: { ...data, ...taken } })
      }),
    NOTES_WORDS,
  )
}

function fallbackText({ fallback }: Taken): string[] {
  return fallback === undefined ? [] : [`[By disk, not through Obsidian: ${fallback}]`]
}

/** A day, as tasks have them. */
export const Day = z.iso.date()

/** A tag without its "#": letters, digits, "_", "-" and "/", and not digits alone. */
export const Tag = z
  .string()
  .max(100)
  .regex(/^(?=.*[^\d])[\p{L}\p{N}_/-]+$/u, 'must be a tag without "#", such as "home" or "work/mail"')

/** How an agent says which note it means. */
export const NoteReference = z
  .string()
  .min(1)
  .max(1024)
  .describe('The note: its path in the vault, its name alone, or a link to it.')

/** How an agent says which task it means. */
export const TaskReference = z.string().min(1).max(1024).describe('The title of the task, or the note it links to.')

/** What is written into a note. */
export const NoteText = z
  .string()
  .max(200_000)
  .regex(/^[^\p{Cs}]*$/u, 'has half a surrogate pair, which is no text')

/** The day it is where the gateway runs. */
export function dayOf(now: Date): string {
  const two = (value: number) => String(value).padStart(2, '0')
  return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`
}

const MOST_LEVELS = 64
// Names are all that is looked at, so this takes moments; a vault with more notes is searched in part.
const MOST_NOTES = 50_000
const MOST_SHOWN = 5
// Comparing a word with more names than this costs more than a suggestion is worth.
const MOST_COMPARED = 5_000

/** The notes of a vault: Markdown, not hidden, not in a hidden folder, no links. */
export async function* walkNotes(sandbox: Sandbox, signal: AbortSignal): AsyncGenerator<Met> {
  const start = await sandbox.find('.')
  const untold = { unusable: 0, overfull: 0 }
  const enters = (name: string) => !name.startsWith('.')
  for await (const met of walkTree({ sandbox, start, depth: MOST_LEVELS, enters, untold, signal }))
    if (met.kind === 'file' && !met.name.startsWith('.') && /\.md$/i.test(met.name)) yield met
}

/** A note that is there, and its text: by its path, or by its name alone as links have it. Throws a `Refusal`. */
export async function findNote(vault: Vault, requested: string, signal: AbortSignal): Promise<FoundNote> {
  const found = await seekNote(vault, requested, signal)
  if ('text' in found) return found
  throw new Refusal(nothing(requested, found))
}

/** The same, where it may well be missing: then which path it would have, and which there are. Throws for several. */
export async function seekNote(vault: Vault, requested: string, signal: AbortSignal): Promise<FoundNote | MissingNote> {
  const path = toNotePath(requested)
  const text = await vault.read(path)
  if (text !== undefined) return { path, text }
  const paths = await allPaths(vault.sandbox, signal)
  const other = byName(path, { paths, requested })
  const found = other === undefined ? undefined : await vault.read(other)
  return other === undefined || found === undefined ? { path, paths } : { path: other, text: found }
}

interface FoundNote {
  readonly path: string
  readonly text: string
}

interface MissingNote {
  readonly path: string
  /** Those of all notes. */
  readonly paths: readonly string[]
}

async function allPaths(sandbox: Sandbox, signal: AbortSignal): Promise<string[]> {
  const paths: string[] = []
  for await (const { display } of walkNotes(sandbox, signal)) {
    paths.push(display)
    if (paths.length === MOST_NOTES) break
  }
  return paths
}

/** The one note of this name, wherever it is and however it is spelled. */
function byName(path: string, { paths, requested }: Pick<MissingNote, 'paths'> & { requested: string }) {
  const isBare = !path.includes('/')
  const [whole, name] = [fold(path), fold(baseName(path))]
  const found = paths.filter(other => fold(other) === whole || (isBare && fold(baseName(other)) === name))
  if (found.length > 1) throw new Refusal(several(requested, found))
  return found[0]
}

function nothing(requested: string, { path, paths }: MissingNote): string {
  const compared = paths.length > MOST_COMPARED ? [] : paths
  const name = closest(baseName(path), compared.map(baseName))
  const near = closest(path, compared) ?? compared.find(other => baseName(other) === name)
  return near === undefined
    ? `There is no note "${requested}". Look with note_search.`
    : `There is no note "${requested}". Did you mean "${near}"?`
}

function several(requested: string, found: readonly string[]): string {
  const shown = found.slice(0, MOST_SHOWN).map(path => `"${path}"`)
  const more = found.length > MOST_SHOWN ? ` and ${found.length - MOST_SHOWN} more` : ''
  return `Several notes are called "${requested}": ${shown.join(', ')}${more}. Give the whole path.`
}
