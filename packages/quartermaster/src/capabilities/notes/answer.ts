import { z } from 'zod'
import type { ToolResult } from '../../contracts/index.ts'
import { type CallContext, toolResult } from '../../core/catalogue/index.ts'
import { answering } from '../shared/refusal.ts'
import { NOTES_WORDS, type NotesConfig } from './config.ts'
import type { Taken } from './route.ts'
import type { Vault, Vaults } from './vault.ts'

/** What every answer says about the way the notes took. */
export const WAY = {
  through: z.enum(['obsidian', 'disk']).describe('Whether Obsidian was asked, or the folder itself.'),
  fallback: z.string().optional().describe('Why it was the folder although Obsidian is configured.'),
}

/** What a tool did: a sentence or the text that was asked for, and the same as data. */
export interface Done<O> {
  readonly text: string
  readonly data: O
}

export interface AnswerOptions<O> {
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
