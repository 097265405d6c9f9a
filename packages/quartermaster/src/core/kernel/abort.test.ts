import { expect, it } from 'vitest'
import { createCancellation } from './index.ts'

it('tells whoever listens that it is over, once, and why', () => {
  const { signal, cancel } = createCancellation()
  const heard: string[] = []
  const gone = () => void heard.push('gone')
  signal.addEventListener('abort', () => heard.push('there'))
  signal.addEventListener('abort', gone)
  signal.removeEventListener('abort', gone)
  expect([signal.aborted, signal.reason]).toEqual([false, undefined])
  cancel(new Error('Never mind.'))
  cancel(new Error('Too late.'))
  expect([signal.aborted, signal.reason]).toEqual([true, new Error('Never mind.')])
  expect(heard).toEqual(['there'])
})
