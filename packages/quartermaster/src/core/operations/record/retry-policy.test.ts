import { describe, expect, it } from 'vitest'
import { AppError, DEFAULT_SETTINGS, type ErrorCode } from '../../../contracts/index.ts'
import { afterFailure, type FailedRun } from './running-calls.ts'

const NOW = 1_700_000_000_000
const terms = (random = 0.5) => ({ settings: DEFAULT_SETTINGS, random: () => random })

function failed(more: Partial<FailedRun> & { code?: ErrorCode; details?: Record<string, unknown> } = {}): FailedRun {
  const { code = 'DEPENDENCY_UNAVAILABLE', details, ...rest } = more
  const failure = new AppError(code, 'It failed.', details ? { details } : {})
  return { policy: 'replay', mutates: true, failure, hasRun: true, attempts: 1, expiryOf: NOW + 1, now: NOW, ...rest }
}

describe('an operation whose run failed', () => {
  it('is tried again when that may help and its tool says so', () => {
    expect(afterFailure(failed(), terms())).toEqual({ kind: 'again', dueAt: NOW + 10_000 })
    expect(afterFailure(failed({ policy: 'verifyFirst' }), terms())).toMatchObject({ kind: 'again' })
  })

  it('ends when its tool is retried manually', () => {
    const policy = 'manual'
    expect(afterFailure(failed({ policy }), terms())).toEqual({ kind: 'end', state: 'failed' })
    const unknown = failed({ policy, code: 'OUTCOME_UNKNOWN' })
    expect(afterFailure(unknown, terms())).toEqual({ kind: 'end', state: 'unknown' })
  })

  it('is over when it changes nothing: its caller can ask again', () => {
    expect(afterFailure(failed({ mutates: false }), terms())).toEqual({ kind: 'end', state: 'failed' })
  })

  it.each(['INPUT_INVALID', 'CONSENT_DENIED'] as const)('ends after %s, which no retry fixes', code =>
    expect(afterFailure(failed({ code }), terms())).toEqual({ kind: 'end', state: 'failed' }),
  )

  it.each(['CANCELLED', 'OUTPUT_INVALID', 'UPSTREAM_ERROR'])(
    'ends with an unknown outcome because of %s, which no retry fixes',
    because => {
      const unknown = failed({ code: 'OUTCOME_UNKNOWN', details: { because } })
      expect(afterFailure(unknown, terms())).toEqual({ kind: 'end', state: 'unknown' })
    },
  )

  it('is over when it was cancelled', () => {
    expect(afterFailure(failed({ code: 'CANCELLED' }), terms())).toEqual({ kind: 'end', state: 'cancelled' })
  })

  it('waits for what is missing without a time and without using up an attempt', () => {
    const waiting = failed({ code: 'TOOL_DISABLED', attempts: 99, hasRun: false })
    expect(afterFailure(waiting, terms())).toEqual({ kind: 'again', dueAt: undefined })
  })

  it('uses up attempts when it was run and met a disabled tool inside', () => {
    const met = (attempts: number) => failed({ code: 'TOOL_DISABLED', attempts, hasRun: true })
    expect(afterFailure(met(1), terms())).toEqual({ kind: 'again', dueAt: NOW + 10_000 })
    expect(afterFailure(met(99), terms())).toEqual({ kind: 'end', state: 'exhausted' })
  })

  it('is denied when a person has denied it before it ran', () => {
    const denied = failed({ code: 'CONSENT_DENIED', hasRun: false })
    expect(afterFailure(denied, terms())).toEqual({ kind: 'end', state: 'denied' })
  })

  it('is tried exactly as often as the setting says', () => {
    const kinds = [1, 2, 3, 4, 5, 6].map(attempts => afterFailure(failed({ attempts }), terms()).kind)
    expect(kinds).toEqual(['again', 'again', 'again', 'again', 'again', 'end'])
    expect(afterFailure(failed({ attempts: 6 }), terms())).toEqual({ kind: 'end', state: 'exhausted' })
  })

  it('expires when it is too old, whatever it waits for', () => {
    const old = { expiryOf: NOW }
    expect(afterFailure(failed(old), terms())).toEqual({ kind: 'end', state: 'expired' })
    expect(afterFailure(failed({ ...old, code: 'TOOL_DISABLED' }), terms())).toEqual({ kind: 'end', state: 'expired' })
  })

  it('waits twice as long each time, up to a limit, spread by a fifth', () => {
    const pause = (attempts: number, random?: number) => {
      const settings = { ...DEFAULT_SETTINGS, retryAttempts: 100 }
      const next = afterFailure(failed({ attempts }), { settings, random: () => random ?? 0.5 })
      return next.kind === 'again' && next.dueAt !== undefined ? next.dueAt - NOW : undefined
    }
    expect([1, 2, 3, 4].map(attempts => pause(attempts))).toEqual([10_000, 20_000, 40_000, 80_000])
    expect(pause(50)).toBe(600_000)
    expect(pause(1, 0)).toBe(8_000)
    expect(pause(1, 0.999999)).toBeCloseTo(12_000, -1)
  })

  it('waits at least as long as the server asked for', () => {
    const asked = failed({ details: { retryAfterMs: 90_000 } })
    expect(afterFailure(asked, terms())).toEqual({ kind: 'again', dueAt: NOW + 90_000 })
  })

  it.each([
    [Number.NaN, 10_000],
    ['90000', 10_000],
    [20_000.4, 20_000],
    [Number.POSITIVE_INFINITY, 10_000],
    [1e300, 24 * 3_600_000],
  ])('takes no pause but a time, and none longer than it may wait at all: %s', (retryAfterMs, pause) => {
    expect(afterFailure(failed({ details: { retryAfterMs } }), terms())).toEqual({ kind: 'again', dueAt: NOW + pause })
  })
})
