import { describe, expect, it } from 'vitest'
import { createYieldingQueue } from './incoming-message.ts'

/** A worker, and in which turn of the event loop it did what. */
function countingWorker() {
  const turns: number[] = []
  const calls: string[] = []
  let turn = 0
  let tell: () => void = () => {}
  const idle = new Promise<void>(resolve => {
    tell = resolve
  })
  const worker = createYieldingQueue<number>({
    handle: () => void (turns[turn] = (turns[turn] ?? 0) + 1),
    onBusy: () => calls.push('busy'),
    onIdle() {
      calls.push('idle')
      tell()
    },
  })
  const count = () => {
    turn++
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  return { worker, turns, calls, idle, stop: () => clearImmediate(counting) }
}

const items = (length: number) => Array.from({ length }, (_, i) => i)

describe('work in turns', () => {
  it('is spread over as many turns as it needs', async () => {
    const { worker, turns, calls, idle, stop } = countingWorker()
    worker.add(items(2_000))
    await idle
    stop()
    expect(turns.reduce((sum, count) => sum + count, 0)).toBe(2_000)
    expect(Math.max(...turns.filter(Number))).toBeLessThanOrEqual(256)
    expect(calls.at(-1)).toBe('idle')
    expect(calls.slice(0, -1).every(call => call === 'busy')).toBe(true)
  })
})
