/** A piece of a paragraph. */
export interface Inline {
  readonly kind: 'words' | 'code' | 'comment'
  /** As it was written. */
  readonly text: string
  /** What of it is seen. */
  readonly said: string
}

const MARK = /\\[^]|`+|<!--/g

/** The pieces of a paragraph: code between as many ticks as it began with, comments, and words. */
export function inlines(text: string): Inline[] {
  const pieces: Inline[] = []
  const tickEnd = createTicks(text)
  let at = 0
  let from = 0
  // Where one has no end, none behind it has.
  let hasEnd = true
  const put = (kind: Inline['kind'], end: number, said: string) => {
    if (end > at) pieces.push({ kind, text: text.slice(at, end), said })
    at = end
  }
  for (let found = markFrom(text, from); found; found = markFrom(text, from)) {
    const [mark] = found
    const start = found.index
    from = start + mark.length
    if (mark.startsWith('\\')) continue
    const isComment = mark === '<!--'
    if (isComment && !hasEnd) continue
    const end = isComment ? text.indexOf('-->', from) : tickEnd(from, mark.length)
    if (isComment) hasEnd = end >= 0
    if (end < 0) continue
    put('words', start, text.slice(at, start))
    const said = isComment ? '' : text.slice(from, end).trim()
    put(isComment ? 'comment' : 'code', end + (isComment ? '-->' : mark).length, said)
    from = at
  }
  put('words', text.length, text.slice(at))
  return pieces
}

function markFrom(text: string, from: number): RegExpExecArray | null {
  MARK.lastIndex = from
  return MARK.exec(text)
}

/** Finds the next run of exactly so many ticks. Asked from left to right. */
function createTicks(text: string): (from: number, length: number) => number {
  let runs: Map<number, number[]> | undefined
  return (from, length) => {
    runs ??= runsIn(text)
    const starts = runs.get(length) ?? []
    while (starts.length > 0 && (starts.at(-1) ?? 0) < from) starts.pop()
    return starts.at(-1) ?? -1
  }
}

/** Where runs of ticks begin, by their length, the first at the end. */
function runsIn(text: string): Map<number, number[]> {
  const runs = new Map<number, number[]>()
  for (const { 0: run, index } of [...text.matchAll(/`+/g)].toReversed()) {
    const starts = runs.get(run.length)
    if (starts) starts.push(index)
    else runs.set(run.length, [index])
  }
  return runs
}
