import { expect, it } from 'vitest'
import { createLatencies } from './upstream-calls.ts'

it('have nothing to say before the first call', () => {
  expect(createLatencies().summary()).toBeUndefined()
})

it('are the middle and the slow end of the last calls, in hundredths of a millisecond', () => {
  const latencies = createLatencies()
  for (let ms = 1; ms <= 100; ms++) latencies.add(ms + 0.123_4)
  expect(latencies.summary()).toEqual({ calls: 100, p50Ms: 51.12, p99Ms: 100.12 })
})

it('forget what is long ago, but count it', () => {
  const latencies = createLatencies()
  for (let call = 0; call < 1_000; call++) latencies.add(10_000)
  for (let call = 0; call < 512; call++) latencies.add(1)
  expect(latencies.summary()).toEqual({ calls: 1_512, p50Ms: 1, p99Ms: 1 })
})
