import { type AgentControl, isAppError, type ToolSummary } from '../../contracts/index.ts'
import { isToolOf, toolsOf } from './do-words.ts'
import type { Session } from './session.ts'

/**
 * Throws `TOOL_DISABLED`, as a call would, where the word is that of a tool which is held back or listed no more. Such a tool is
 * in no list, so it is asked for by the names that make this word. Answers whether one of these is there now: its server may have
 * been asked for this what it has.
 */
export async function refuseHeld(
  session: Session,
  control: Pick<AgentControl, 'tool'>,
  { tools, word }: { readonly tools: readonly ToolSummary[]; readonly word: string },
): Promise<boolean> {
  if (toolsOf(tools, word).length > 0 || tools.some(tool => isToolOf(tool, word))) return false
  for (const name of namesOf(word)) if (await isThere(session, control, name)) return true
  return false
}

async function isThere(session: Session, control: Pick<AgentControl, 'tool'>, name: string): Promise<boolean> {
  try {
    await session.attend('Looking', on => control.tool({ name }, on))
    return true
  } catch (error) {
    if (!isAppError(error) || error.code !== 'TOOL_NOT_FOUND') throw error
    return false
  }
}

/** `notes-read-page` may be `notes_read_page`, `notes_read-page` of a server that writes it so, and itself. */
function namesOf(word: string): Set<string> {
  return new Set([word.replaceAll('-', '_'), word.replace('-', '_'), word])
}
