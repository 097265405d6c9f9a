import { isBlank, type MessageAttachment, type MessagePart } from '../../contracts/index.ts'

/** What a message is made of. */
export interface Content {
  readonly text?: string | undefined
  readonly parts?: readonly MessagePart[] | undefined
  readonly attachments?: readonly MessageAttachment[] | undefined
  /** What it is about, where it says nothing itself. */
  readonly summary?: string | undefined
}

/** What a message says, for whoever reads only text: all its words, then its data as JSON, else what it is about. Never empty. */
export function messageText({ text = '', parts = [], attachments = [], summary = '' }: Content): string {
  const words = parts.flatMap(part => (part.kind === 'text' ? [part.text] : []))
  const data = parts.flatMap(part => (part.kind === 'data' ? [JSON.stringify(part.data)] : []))
  const said = [text, ...words, ...data].filter(isSaid)
  if (said.length > 0) return said.join('\n\n')
  if (isSaid(summary)) return summary
  if (attachments.length > 0) return `(no text; attached: ${attachments.map(({ name }) => name).join(', ')})`
  return '(no text)'
}

/** A message as parts, in the order in which it came, by what a log has of it: its text has all parts in it, and may have more. */
export function wholeParts({
  text,
  parts,
}: {
  readonly text: string
  readonly parts: readonly MessagePart[]
}): readonly MessagePart[] {
  const ofParts = messageText({ parts })
  if (parts.length > 0 && text === ofParts) return parts
  const behind = `\n\n${ofParts}`
  if (parts.length > 0 && text.endsWith(behind))
    return [{ kind: 'text', text: text.slice(0, -behind.length) }, ...parts]
  return [{ kind: 'text', text }]
}

function isSaid(text: string): boolean {
  return !isBlank(text)
}
