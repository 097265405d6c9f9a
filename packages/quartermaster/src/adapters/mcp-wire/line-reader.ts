import { createLineSplitter, type Line, type LineSplitterOptions } from './line-splitter.ts'

/** The lines of a stream, also the last one without an end. A line that is too long costs no more than the limit. */
export async function* readLines(input: AsyncIterable<Buffer>, options: LineSplitterOptions): AsyncGenerator<Line> {
  const splitter = createLineSplitter(options)
  for await (const chunk of input) yield* splitter.push(chunk)
  const rest = splitter.rest()
  if (rest) yield rest
}
