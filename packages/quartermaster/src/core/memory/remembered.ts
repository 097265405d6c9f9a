import { type RecalledMemory, TOLD_TOOLS, type WorkspaceRow } from '../../contracts/index.ts'
import { escapeLine } from '../kernel/index.ts'
import type { Memory } from './memory.ts'

/** What a workspace remembers, for the start of a session; `undefined` when there is nothing. */
export type Remembered = (workspace: WorkspaceRow) => Promise<string | undefined>

/** Every session pays for it, whatever it is about. */
export const MOST_CHARACTERS = 2_000
const LONGEST_ROW = 300
/** How many of those that fit what the workspace is for come before the newest. */
const FITTING = 5
const NEWEST = 20

const HEAD = `What agents of this organisation remembered: first what fits this workspace, then the newest. ${TOLD_TOOLS.recall} finds more.`

export function createRemembered(memory: Pick<Memory, 'recall'>): Remembered {
  return async workspace => {
    const about = [workspace.role, workspace.description ?? ''].join(' ').trim()
    const [fitting, newest] = await Promise.all([
      about === '' ? [] : memory.recall(workspace, { query: about, limit: FITTING }).then(({ memories }) => memories),
      memory.recall(workspace, { limit: NEWEST }).then(({ memories }) => memories),
    ])
    const rows = [...new Map([...fitting, ...newest].map(row => [row.id, row])).values()]
    return rows.length === 0 ? undefined : bounded(rows.map(lineOf))
  }
}

function lineOf({ scope, content, provenance }: RecalledMemory): string {
  const day = new Date(provenance.updatedAt).toISOString().slice(0, 10)
  return `> [${scope}, by ${provenance.workspaceName}, ${day}] "${shown(content)}"`
}

/** The beginning of somebody's words as a literal: nothing in them ends the line or the quotation marks. */
function shown(content: string): string {
  let text = ''
  for (const character of content) {
    const next = escapeLine(JSON.stringify(character).slice(1, -1))
    if (text.length + next.length > LONGEST_ROW) return `${text}…`
    text += next
  }
  return text
}

function bounded(lines: readonly string[]): string {
  return lines.reduce((text, line) => (text.length + line.length < MOST_CHARACTERS ? `${text}\n${line}` : text), HEAD)
}
