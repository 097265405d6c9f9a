import type { ToolResult } from '../../../contracts/index.ts'

type Block = ToolResult['content'][number]

/** It is sent and written down with the error, which is no place for megabytes. */
const MOST_CHARACTERS = 64 * 1024

/** What a tool said, as much as an error can carry. Half a text is better than none; half of anything else is nothing. */
export function errorContent(content: readonly Block[]): Block[] {
  const said: Block[] = []
  let room = MOST_CHARACTERS
  for (const block of content) {
    const fitting = fitted(block, room)
    if (!fitting) continue
    said.push(fitting)
    room -= JSON.stringify(fitting).length
  }
  const missing = content.length - said.length
  return missing === 0 ? said : [...said, { type: 'text', text: leftOut(missing, content.length) }]
}

function fitted(block: Block, room: number): Block | undefined {
  if (JSON.stringify(block).length <= room) return block
  if (block.type !== 'text' || typeof block.text !== 'string' || room <= 0) return undefined
  // Half a character at the end could be written nowhere.
  const beginning = block.text.slice(0, room).replace(/[\uD800-\uDBFF]$/, '')
  return { type: 'text', text: `${beginning} [Cut here: it is too long for an error.]` }
}

function leftOut(missing: number, all: number): string {
  return `[Left out of this: ${missing} of its ${all} pieces, because they are too large for an error.]`
}
