import { z } from 'zod'
import type { ToolResult } from '../../contracts/index.ts'
import { type CallContext, toolResult } from '../../core/catalogue/index.ts'
import { answering } from '../shared/walls/refusal.ts'
import { NOTES_WORDS, type NotesConfig } from './config.ts'
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
