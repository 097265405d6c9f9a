import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import type { Probe, ProbeFunction } from '../../core/catalogue/index.ts'
import { allOf, secret } from './index.ts'

const probe = (kind: string, run: ProbeFunction): Probe => ({ describe: { kind }, run })
const up = probe('up', () => true)
const down = (reason: string) => probe('down', () => ({ up: false, reason }))
const throwing = probe('throwing', () => Promise.reject(new Error('no idea')))

/** Ends only with its signal, and remembers that it did. */
function hanging() {
  const state = { aborted: false }
  const run: ProbeFunction = ({ signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        state.aborted = true
        reject(signal.reason)
      })
    })
  return { state, probe: probe('hanging', run) }
}

const context = (signal = new AbortController().signal) => ({ signal, hasSecret: (name: string) => name === 'there' })

describe('allOf', () => {
  it('is up when all are', async () => {
    expect(
      await allOf(
        up,
        secret({ name: 'there' }),
        probe('verdict', async () => ({ up: true })),
      ).run(context()),
    ).toEqual({ up: true })
    expect(await allOf().run(context())).toEqual({ up: true })
  })

  it('gives the reason of the first that is not', async () => {
    expect(await allOf(up, down('first'), down('second')).run(context())).toEqual({ up: false, reason: 'first' })
    expect(
      await allOf(
        up,
        probe('custom', () => false),
      ).run(context()),
    ).toEqual({ up: false, reason: 'The custom probe said no.' })
  })

  it('answers a definite no at once and ends the others', async () => {
    const { state, probe } = hanging()
    expect(await allOf(probe, throwing, down('gone')).run(context())).toEqual({ up: false, reason: 'gone' })
    expect(state.aborted).toBe(true)
  })

  it('cannot tell when one cannot and none says no', async () => {
    await expect(allOf(up, throwing).run(context())).rejects.toThrow('no idea')
  })

  it('ends with the signal and forgets about it', async () => {
    const controller = new AbortController()
    const { state, probe } = hanging()
    const running = allOf(up, probe).run(context(controller.signal))
    const reason = new Error('deadline')
    controller.abort(reason)
    await expect(running).rejects.toBe(reason)
    expect(state.aborted).toBe(true)
    const { signal } = new AbortController()
    await allOf(up).run(context(signal))
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('describes all it looks at', () => {
    expect(allOf(up, secret({ name: 'there' })).describe).toEqual({
      kind: 'allOf',
      probes: [{ kind: 'up' }, { kind: 'secret', name: 'there' }],
    })
  })
})
