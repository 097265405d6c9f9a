import { z } from 'zod'
import type { ToolResult } from '../../contracts/index.ts'
import { type CallContext, toolResult } from '../../core/catalogue/index.ts'
import { closest } from '../../core/kernel/index.ts'
import { fold } from '../shared/text.ts'
import { answering, Refusal } from '../shared/walls/refusal.ts'
import type { Sandbox } from '../shared/walls/sandbox.ts'
import { type TreeEntry, walkTree } from '../shared/walls/tree.ts'
import { NOTES_WORDS, type NotesConfig } from './config.ts'
import { baseName, toNotePath } from './note-name.ts'
import type { Vault, Vaults } from './vault.ts'

/** Output fields: how the notes were reached. */
export const ROUTE_OUTPUT = {
  through: z.enum(['obsidian', 'disk']).describe('Whether Obsidian was asked, or the folder itself.'),
  fallback: z.string().optional().describe('Why it was the folder although Obsidian is configured.'),
}

/** A tool's result as text and as data. */
export interface Done<O> {
  readonly text: string
  readonly data: O
}

/** Runs a tool in the agent's vault and adds to its result how the notes were reached. `about` names the input in errors. */
export function answerWith<O extends object>(options: {
  vaults: Vaults
  context: CallContext<NotesConfig>
  about: string
  work(vault: Vault): Promise<Done<O>>
}): Promise<ToolResult> {
  const { vaults, context, about, work } = options
  return answering(
    about,
    () =>
      vaults.enter(context, async vault => {
        const { text, data } = await work(vault)
        const route = vault.routeUsed()
        const { fallback } = route
        const texts = fallback === undefined ? [text] : [text, `[By disk, not through Obsidian: ${fallback}]`]
        const content = texts.map(part => ({ type: 'text' as const, text: part }))
        return toolResult({ content, structuredContent: { ...data, ...route } })
      }),
    NOTES_WORDS,
  )
}

export const Day = z.iso.date()

/** A tag without its "#": letters, digits, "_", "-" and "/", and not digits alone. */
export const Tag = z
  .string()
  .max(100)
  .regex(/^(?=.*[^\d])[\p{L}\p{N}_/-]+$/u, 'must be a tag without "#", such as "home" or "work/mail"')

export const NoteReference = z
  .string()
  .min(1)
  .max(1024)
  .describe('The note: its path in the vault, its name alone, or a link to it.')

export const TaskReference = z.string().min(1).max(1024).describe('The title of the task, or the note it links to.')

export const NoteText = z
  .string()
  .max(200_000)
  .regex(/^[^\p{Cs}]*$/u, 'has half a surrogate pair, which is no text')

/** The local day. */
export function dayOf(now: Date): string {
  const two = (value: number) => String(value).padStart(2, '0')
  return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`
}

const MOST_LEVELS = 64
// Only names are read, which is fast; a larger vault is searched in part.
const MOST_NOTES = 50_000
const MOST_SHOWN = 5
// Comparing more names takes too long for a suggestion.
const MOST_COMPARED = 5_000

/** The notes of a vault: Markdown files that are not hidden, not in hidden folders and no links. */
export async function* walkNotes(sandbox: Sandbox, signal: AbortSignal): AsyncGenerator<TreeEntry> {
  const start = await sandbox.find('.')
  const omitted = { unusable: 0, overfull: 0 }
  const shouldEnter = (name: string) => !name.startsWith('.')
  for await (const entry of walkTree({ sandbox, start, depth: MOST_LEVELS, shouldEnter, omitted, signal }))
    if (entry.kind === 'file' && !entry.name.startsWith('.') && /\.md$/i.test(entry.name)) yield entry
}

/** An existing note by its path, or by its name alone as in links. Throws a `Refusal`. */
export async function findNote(vault: Vault, requested: string, signal: AbortSignal): Promise<FoundNote> {
  const found = await seekNote(vault, requested, signal)
  if ('text' in found) return found
  throw new Refusal(missingMessage(requested, found))
}

/** Like `findNote`; for a missing note the path it would have and all existing paths. Throws for an ambiguous name. */
export async function seekNote(vault: Vault, requested: string, signal: AbortSignal): Promise<FoundNote | MissingNote> {
  const path = toNotePath(requested)
  const text = await vault.read(path)
  if (text !== undefined) return { path, text }
  const paths = await allPaths(vault.sandbox, signal)
  const other = byName(path, paths, requested)
  const found = other === undefined ? undefined : await vault.read(other)
  return other === undefined || found === undefined ? { path, paths } : { path: other, text: found }
}

interface FoundNote {
  readonly path: string
  readonly text: string
}

interface MissingNote {
  readonly path: string
  /** The paths of all notes. */
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

/** The note of this name in any folder and spelling. */
function byName(path: string, paths: readonly string[], requested: string): string | undefined {
  const isBare = !path.includes('/')
  const [whole, name] = [fold(path), fold(baseName(path))]
  const found = paths.filter(other => fold(other) === whole || (isBare && fold(baseName(other)) === name))
  if (found.length > 1) throw new Refusal(ambiguousMessage(requested, found))
  return found[0]
}

function missingMessage(requested: string, { path, paths }: MissingNote): string {
  const compared = paths.length > MOST_COMPARED ? [] : paths
  const name = closest(baseName(path), compared.map(baseName))
  const near = closest(path, compared) ?? compared.find(other => baseName(other) === name)
  return near === undefined
    ? `There is no note "${requested}". Find notes with note_search.`
    : `There is no note "${requested}". Did you mean "${near}"?`
}

function ambiguousMessage(requested: string, found: readonly string[]): string {
  const shown = found.slice(0, MOST_SHOWN).map(path => `"${path}"`)
  const more = found.length > MOST_SHOWN ? ` and ${found.length - MOST_SHOWN} more` : ''
  return `Several notes are called "${requested}": ${shown.join(', ')}${more}. Give the whole path.`
}
