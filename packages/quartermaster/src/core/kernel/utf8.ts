import { AppError } from '../../contracts/index.ts'

/** The text of a body. Bytes that are no UTF-8 are refused: replaced by question marks they would pass as another text. */
export function textOfBody(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new AppError('INPUT_INVALID', 'The request body is not UTF-8.', { cause })
  }
}
