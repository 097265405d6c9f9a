import { AppError } from '../../contracts/index.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The text of a body. Bytes that are no UTF-8 are refused: replaced by question marks they would pass as another text. */
export function textOfBody(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw new AppError('INPUT_INVALID', 'The request body is not UTF-8.', { cause })
  }
}
