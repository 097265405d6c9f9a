import { expect, it } from 'vitest'
import { createStop } from './stop-signal.ts'

it('tells once that it is over, and only who still listens', () => {
  const { signal, stop } = createStop()
  const heard: string[] = []
  const second = () => void heard.push('second')
  const first = () => {
    heard.push('first')
    signal.removeEventListener('abort', second)
  }
  signal.addEventListener('abort', first)
  signal.addEventListener('abort', second)
  expect([signal.aborted, signal.reason]).toEqual([false, undefined])
  stop()
  stop()
  expect([signal.aborted, signal.reason]).toEqual([true, expect.any(Error)])
  expect(heard).toEqual(['first'])
})
