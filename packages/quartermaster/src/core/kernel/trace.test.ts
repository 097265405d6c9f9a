import { describe, expect, it } from 'vitest'
import { traceFrom, traceIdOf } from './index.ts'

const IDS = '4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7'

describe('a trace context', () => {
  it('is what the standard describes', () => {
    const trace = traceFrom(`00-${IDS}-01`, 'vendor=value,other=1')
    expect(trace).toEqual({ traceparent: `00-${IDS}-01`, tracestate: 'vendor=value,other=1' })
    expect(trace && traceIdOf(trace)).toBe('4bf92f3577b34da6a3ce929d0e0e4736')
  })

  it('of a later version is passed on as the one we know', () => {
    expect(traceFrom(`cc-${IDS}-01-more`)).toEqual({ traceparent: `00-${IDS}-01` })
  })

  it.each([
    undefined,
    42,
    '',
    'nonsense',
    `ff-${IDS}-01`,
    `00-${IDS}-01-more`,
    `00-${IDS.toUpperCase()}-01`,
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    `00-4bf92f3577b34da6a3ce929d0e0e4736-${'0'.repeat(16)}-01`,
  ])('is not %s', value => {
    expect(traceFrom(value)).toBeUndefined()
  })

  it('goes on without a state that nobody could read', () => {
    expect(traceFrom(`00-${IDS}-00`, 'x'.repeat(513))).toEqual({ traceparent: `00-${IDS}-00` })
    expect(traceFrom(`00-${IDS}-00`, 'a=\u0000')).toEqual({ traceparent: `00-${IDS}-00` })
  })
})
