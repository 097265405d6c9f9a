import { AppError, type ResultPage } from '../../../contracts/index.ts'

/** A result that is too large to be handed over at once, as far as it is kept. */
export interface WholeResult {
  readonly bytes: Uint8Array
  /** Of all of it, also of what is not kept. */
  readonly totalBytes: number
  readonly pageBytes: number
}

const encoder = new TextEncoder()
// A mark of the byte order is a character of the result like any other.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** The beginning of a text, as much as may be kept. */
export function wholeOf(text: string, { most, pageBytes }: { most: number; pageBytes: number }): WholeResult {
  const all = encoder.encode(text)
  return { bytes: all.slice(0, cutAt(all, most)), totalBytes: all.length, pageBytes }
}

/** A page of it from this place on. Throws `INPUT_INVALID` when the place is behind its end. */
export function pageAt({ bytes, totalBytes, pageBytes }: WholeResult, offset: number): ResultPage {
  if (offset > bytes.length) throw behindEnd(offset, bytes.length)
  const start = alignedStart(bytes, offset)
  const end = cutAt(bytes, start + pageBytes)
  const page: ResultPage = { text: decoder.decode(bytes.subarray(start, end)), offset: start, totalBytes }
  return end < bytes.length ? { ...page, nextOffset: end } : page
}

/** All of its pages, one after the other. */
export function pagesOf(whole: WholeResult): ResultPage[] {
  const pages: ResultPage[] = []
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const page = pageAt(whole, offset)
    pages.push(page)
    offset = page.nextOffset
  }
  return pages
}

/** What of a page is from this place on. Throws `INPUT_INVALID` when the place is behind the end of the last page. */
export function restOfPage(page: ResultPage, offset: number): ResultPage {
  if (offset === page.offset) return page
  const bytes = encoder.encode(page.text)
  if (offset > page.offset + bytes.length) throw behindEnd(offset, page.offset + bytes.length)
  const start = alignedStart(bytes, offset - page.offset)
  return { ...page, text: decoder.decode(bytes.subarray(start)), offset: page.offset + start }
}

function behindEnd(offset: number, end: number): AppError {
  return new AppError('INPUT_INVALID', `The result ends at ${end}; offset ${offset} is behind it.`)
}

/** The last place at or before `limit` that does not split a character. */
function cutAt(bytes: Uint8Array, limit: number): number {
  if (limit >= bytes.length) return bytes.length
  let end = limit
  while (end > 0 && isContinuation(bytes[end])) end--
  return end
}

function alignedStart(bytes: Uint8Array, offset: number): number {
  let start = offset
  while (start < bytes.length && isContinuation(bytes[start])) start++
  return start
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}
