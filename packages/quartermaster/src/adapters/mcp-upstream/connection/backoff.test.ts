import { expect, it } from 'vitest'
import { afterFailedStart, afterFall, delayAfter, type Falls, NO_FALLS } from './connection-state-machine.ts'

const fall = (times: number, livedMs = 0): Falls =>
  Array.from({ length: times }).reduce<Falls>(falls => afterFall(falls, livedMs), NO_FALLS)

it('starts at once after the first fall, and ever later after that, to half a minute', () => {
  const delays = Array.from({ length: 12 }, (_, index) => delayAfter(fall(index + 1), () => 1))
  expect(delays).toEqual([0, 100, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 30_000])
})

it('begins anew with one that had been up for a while', () => {
  expect(delayAfter(afterFall(fall(8), 60_000), () => 1)).toBe(0)
})

it('spreads out those that fell together', () => {
  expect(delayAfter(fall(9), () => 0)).toBe(24_000)
})

it('does not try again at once what could not be started', () => {
  expect(delayAfter(afterFailedStart(NO_FALLS), () => 1)).toBe(100)
  expect(delayAfter(afterFailedStart(fall(3)), () => 1)).toBe(1_000)
})
