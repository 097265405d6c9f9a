import type { Progress, ToolResult } from '../../contracts/index.ts'

/**
 * What a call tells on the way, and its result at the end: what the AI SDK takes for preliminary results, and hands to no model. A
 * reader that is slower than the call gets the newest of it.
 */
export async function* toldOnTheWay(
  call: (onProgress: (progress: Progress) => void) => Promise<ToolResult>,
): AsyncGenerator<ToolResult> {
  const state: { isOver: boolean; newest?: Progress | undefined } = { isOver: false }
  let wake = () => {}
  const result = call(progress => {
    state.newest = progress
    wake()
  })
  const over = () => {
    state.isOver = true
    wake()
  }
  // A failure is thrown below, once whoever reads has come to it.
  result.then(over, over)
  while (!state.isOver) {
    // What came while whoever reads was busy with the last one has woken nobody.
    if (state.newest === undefined)
      await new Promise<void>(resolve => {
        wake = resolve
      })
    const told = state.newest
    state.newest = undefined
    if (told) yield preliminary(told)
  }
  yield await result
}

function preliminary(progress: Progress): ToolResult {
  const { progress: done, total, message } = progress
  const text = message ?? (total === undefined ? `${done}` : `${done} of ${total}`)
  return { content: [{ type: 'text', text }], _meta: { 'quartermaster/progress': progress } }
}
