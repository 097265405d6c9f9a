import { AppError, isBlank, MessagePart } from '../../contracts/index.ts'
import { Refusal } from './errors.ts'
import type { Part } from './wire.ts'

/** What a client says, as messages have it. Throws where that is not words or data. */
export function toParts(parts: readonly Part[]): MessagePart[] {
  const taken = parts.map(toPart)
  if (!taken.every(part => part.kind === 'text' && isBlank(part.text))) return taken
  throw new AppError('INPUT_INVALID', 'message.parts: all of it is blank. Say something.')
}

/** Files are given as attachments of the API, which checks what they are. */
function toPart({ text, data, raw, url }: Part, index: number): MessagePart {
  const at = `message.parts.${index}`
  if (raw !== undefined || url !== undefined)
    throw new Refusal('CONTENT_TYPE_NOT_SUPPORTED', `${at}: text and data are taken here, no files.`)
  // Null is data where there is nothing else, and says nothing beside text.
  if (text !== undefined && (data ?? undefined) !== undefined)
    throw new AppError('INPUT_INVALID', `${at}: has both text and data. Make two parts of it.`)
  const result = MessagePart.safeParse(text === undefined ? { kind: 'data', data } : { kind: 'text', text })
  if (result.success) return result.data
  throw new AppError('INPUT_INVALID', `${at}: must have text or data that can be kept.`)
}
