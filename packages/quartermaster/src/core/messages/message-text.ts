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

function isSaid(text: string): boolean {
  return !isBlank(text)
}
