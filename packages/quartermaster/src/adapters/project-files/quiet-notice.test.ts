import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createQuietNotice } from './file-watch.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('tells once, when nothing has happened for 60 ms', () => {
  const tell = vi.fn<(items: string[]) => void>()
  const notice = createQuietNotice<string>(items => tell([...items]))
  notice.add('agents')
  vi.advanceTimersByTime(59)
  notice.add('agents')
  notice.add('config')
  vi.advanceTimersByTime(59)
  expect(tell).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(tell.mock.calls).toEqual([[['agents', 'config']]])
  notice.add('config')
  vi.advanceTimersByTime(60)
  expect(tell.mock.lastCall).toEqual([['config']])
})

it('tells nothing after it was cancelled', () => {
  const tell = vi.fn<() => void>()
  const notice = createQuietNotice<string>(tell)
  notice.add('agents')
  notice.cancel()
  vi.advanceTimersByTime(1000)
  expect(tell).not.toHaveBeenCalled()
})
